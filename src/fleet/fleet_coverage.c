/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_coverage - in which slots of a window the memory of each sender is known.
 *
 *   status = gg_fleet_read_coverage(&scope, &store, error);
 *   mean = sum / gg_fleet_scope_slots(&scope, sender);
 *
 * An average divides a sender's sum by the slots in which its memory is known.  Those are the slots
 * that it reported, and those in which it is known to have held nothing.  All others are lacking,
 * and the sender counts there with its average.
 *
 * Own senders      A sender of geiger's says when it ends.  It held nothing from that slot up to
 *                  its next report.  Before its first report, and after its last one, it held
 *                  nothing in the slots in which another sender of its host reported: a host
 *                  that is there would have reported it.  A slot that it missed between two
 *                  reports is lacking, whichever other senders of the host reported it.
 * Other agents     never say that a process has ended, so the rows tell when it ran: from its first
 *                  slot to its last one.  It held nothing before and after.  A slot that it
 *                  missed within is lacking.  On a host with a sender of geiger's own it follows
 *                  the rule of own senders.
 * Edges            Some slots around the window tell a sender that was silent at the window's edge
 *                  from one that did not run.  A sender that was heard within two slots of the
 *                  newest one may still run.
 * Receivers        A process of another agent that is silent has not ended if its receiver is
 *                  silent as well: nobody could have heard it.  The table `batch` has the signs
 *                  of life of receivers.
 *
 * Threads  any, each with a store of its own.
 */
#include "fleet/fleet_question.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "fleet/fleet_statements.h"

/* A sender reported in a slot. */
struct report_row {
	uint64_t sender;
	uint32_t slot_s, host;
	bool is_running;
};

/* The slots of a sender's processes, in the window and around it. */
struct sender_life {
	uint32_t first_s, last_s;
	uint32_t heard_s; /* the last sign of its receiver; UINT32_MAX: no receiver is known */
	bool is_foreign;
};

struct coverage {
	GG_ARRAY(struct report_row) rows; /* by sender, then slot */
	GG_ARRAY(uint32_t) slots;         /* sorted */
	GG_ARRAY(struct sender_life) lives;
	struct gg_map life_of;  /* sender -> index in lives */
	struct gg_map reported; /* of host and slot: some sender of the host reported */
	bool *has_own;          /* by host: a sender of it is geiger's own */
	uint32_t newest_s;      /* the newest slot that is known */
};

static void coverage_done(struct coverage *coverage)
{
	gg_array_done(&coverage->rows);
	gg_array_done(&coverage->slots);
	gg_array_done(&coverage->lives);
	gg_map_done(&coverage->life_of);
	gg_map_done(&coverage->reported);
	free(coverage->has_own);
}

static int compare_slots(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static uint64_t report_key(uint32_t host, uint32_t slot_s)
{
	return (uint64_t)host << 32 | slot_s;
}

static int read_reports(struct coverage *coverage, struct gg_fleet_scope *scope,
                        struct gg_clickhouse *store, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	GG_CLEANUP(gg_map_done) struct gg_map known = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_COVERAGE, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct report_row row = { .sender = gg_clickhouse_read_u64(&rows) };
		bool is_new;

		row.slot_s = gg_clickhouse_read_u32(&rows);
		row.is_running = gg_clickhouse_read_u64(&rows) > 0;
		is_new = gg_map_get(&known, row.slot_s) == GG_MAP_NONE;
		if (gg_fleet_scope_find_host(scope, row.sender, &row.host) < 0 ||
		    !gg_array_push(&coverage->rows, row) ||
		    gg_map_put(&coverage->reported, report_key(row.host, row.slot_s), 1) < 0 ||
		    (is_new && (gg_map_put(&known, row.slot_s, 0) < 0 ||
		                !gg_array_push(&coverage->slots, row.slot_s))))
			status = gg_error_memory(error, "fleet");
	}
	if (coverage->slots.count > 0)
		qsort(coverage->slots.items, coverage->slots.count, sizeof(*coverage->slots.items),
		      compare_slots);
	if (coverage->slots.count > 0)
		coverage->newest_s = coverage->slots.items[coverage->slots.count - 1];
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

static struct sender_life *life_of(const struct coverage *coverage, uint64_t sender)
{
	uint64_t index = gg_map_get(&coverage->life_of, sender);

	return index != GG_MAP_NONE ? &coverage->lives.items[index] : NULL;
}

static int read_lives(struct coverage *coverage, const struct gg_fleet_scope *scope,
                      struct gg_clickhouse *store, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_LIVES, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t sender = gg_clickhouse_read_u64(&rows);
		struct sender_life life = { .heard_s = UINT32_MAX };

		life.first_s = gg_clickhouse_read_u32(&rows);
		life.last_s = gg_clickhouse_read_u32(&rows);
		life.is_foreign = gg_clickhouse_read_u8(&rows) != 0;
		if (gg_map_get(&scope->host_of, sender) == GG_MAP_NONE)
			continue; /* it is in no slot of the window */
		if (life.last_s > coverage->newest_s)
			coverage->newest_s = life.last_s;
		if (gg_map_put(&coverage->life_of, sender, coverage->lives.count) < 0 ||
		    !gg_array_push(&coverage->lives, life))
			status = gg_error_memory(error, "fleet");
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

/* Reads the last signs of receivers, if a process of another agent needs them. */
static int read_signs(struct coverage *coverage, const struct gg_fleet_scope *scope,
                      struct gg_clickhouse *store, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	bool has_foreign = false;
	int status = 0;

	for (size_t i = 0; i < coverage->lives.count; i++)
		has_foreign = has_foreign || coverage->lives.items[i].is_foreign;
	if (has_foreign)
		status = gg_fleet_scope_ask(scope, store, GG_FLEET_SIGNS, 0, &reply, error);
	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct sender_life *life = life_of(coverage, gg_clickhouse_read_u64(&rows));
		uint32_t heard_s = gg_clickhouse_read_u32(&rows);

		if (life != NULL)
			life->heard_s = heard_s;
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

static int note_own(struct coverage *coverage, const struct gg_fleet_scope *scope,
                    struct gg_error *error)
{
	coverage->has_own = calloc(scope->hosts.count + 1, sizeof(*coverage->has_own));
	if (coverage->has_own == NULL)
		return gg_error_memory(error, "fleet");
	for (size_t i = 0; i < coverage->rows.count; i++) {
		const struct report_row *row = &coverage->rows.items[i];
		const struct sender_life *life = life_of(coverage, row->sender);

		if (life == NULL || !life->is_foreign)
			coverage->has_own[row->host] = true;
	}
	return 0;
}

/* Ends the window before its newest slot if a sender that ran in the slot before is missing. */
static void leave_out_incomplete(struct gg_fleet_scope *scope, struct coverage *coverage)
{
	size_t count = coverage->slots.count, expected = 0, reported = 0;
	uint32_t newest_s = count > 1 ? coverage->slots.items[count - 1] : 0;

	if (count < 2)
		return;
	for (size_t i = 0; i < coverage->rows.count; i++) {
		const struct report_row *row = &coverage->rows.items[i];
		bool ran = row->slot_s == coverage->slots.items[count - 2] && row->is_running;

		expected += ran;
		reported += ran && i + 1 < coverage->rows.count &&
		            coverage->rows.items[i + 1].sender == row->sender;
	}
	if (reported == expected)
		return;
	scope->to_s = newest_s;
	coverage->slots.count--;
}

/* The last slot in which the sender may have run, as far as its silence tells. */
static uint32_t end_of(const struct coverage *coverage, const struct sender_life *life,
                       uint32_t slot_length_s)
{
	uint64_t silent_s = GG_FLEET_SNAPSHOT_SLOTS * (uint64_t)slot_length_s;

	if (coverage->newest_s < life->last_s + silent_s)
		return UINT32_MAX;
	/* Its next slot would have come a slot after the slot's end. */
	if (life->heard_s < life->last_s + silent_s + slot_length_s)
		return UINT32_MAX;
	return life->last_s;
}

/*
 * True if a sender held nothing in a slot that it did not report.  `before` is its last report
 * before that slot, `has_later` says that there is one after it.
 */
static bool held_nothing(const struct coverage *coverage, const struct gg_fleet_scope *scope,
                         const struct report_row *row, const struct report_row *before,
                         bool has_later, uint32_t slot_s)
{
	const struct sender_life *life = life_of(coverage, row->sender);
	uint32_t slot_length_s = scope->question->slot_length_s;

	if (before != NULL && !before->is_running)
		return true;
	/* Its processes began and ended within slots. */
	if (life == NULL && before != NULL)
		return true;
	if (life != NULL && slot_s >= life->first_s &&
	    (has_later || slot_s <= end_of(coverage, life, slot_length_s)))
		return false;
	if (life != NULL && life->is_foreign && !coverage->has_own[row->host])
		return true;
	return gg_map_get(&coverage->reported, report_key(row->host, slot_s)) != GG_MAP_NONE;
}

/* Counts the slots of the sender of rows[first], up to rows[end]. */
static uint32_t count_slots(const struct coverage *coverage, const struct gg_fleet_scope *scope,
                            size_t first, size_t end)
{
	const struct report_row *rows = coverage->rows.items;
	uint32_t count = 0;
	size_t at = first;

	for (size_t i = 0; i < coverage->slots.count; i++) {
		uint32_t slot_s = coverage->slots.items[i];

		while (at < end && rows[at].slot_s < slot_s)
			at++;
		if (at < end && rows[at].slot_s == slot_s)
			count++;
		else
			count += held_nothing(coverage, scope, &rows[first],
			                      at > first ? &rows[at - 1] : NULL, at < end, slot_s);
	}
	return count;
}

/*
 * True if the sender of rows[0] to rows[count - 1] is a process of another agent that counts as
 * ended in the last slot of the window.
 */
static bool counts_as_ended(const struct coverage *coverage, const struct gg_fleet_scope *scope,
                            const struct report_row *rows, size_t count)
{
	const struct report_row *last = &rows[count - 1];
	const struct sender_life *life = life_of(coverage, last->sender);
	uint32_t slot_s = coverage->slots.count > 0
	                          ? coverage->slots.items[coverage->slots.count - 1]
	                          : 0;

	return life != NULL && life->is_foreign && !coverage->has_own[last->host] &&
	       slot_s > last->slot_s && held_nothing(coverage, scope, rows, last, false, slot_s);
}

static int count_covered(struct gg_fleet_scope *scope, const struct coverage *coverage)
{
	const struct report_row *rows = coverage->rows.items;
	size_t end;

	for (size_t i = 0; i < coverage->rows.count; i = end) {
		for (end = i; end < coverage->rows.count && rows[end].sender == rows[i].sender;)
			end++;
		if (gg_map_put(&scope->sender_of, rows[i].sender, scope->covered_counts.count) <
		            0 ||
		    !gg_array_push(&scope->covered_counts, count_slots(coverage, scope, i, end)))
			return -ENOMEM;
		scope->ended_count += counts_as_ended(coverage, scope, &rows[i], end - i);
	}
	scope->slot_count = (uint32_t)coverage->slots.count;
	return 0;
}

int gg_fleet_read_coverage(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                           struct gg_error *error)
{
	GG_CLEANUP(coverage_done) struct coverage coverage = { 0 };
	int status = read_reports(&coverage, scope, store, error);

	if (status == 0)
		status = read_lives(&coverage, scope, store, error);
	if (status == 0)
		status = read_signs(&coverage, scope, store, error);
	if (status == 0)
		status = note_own(&coverage, scope, error);
	if (status == 0 && scope->question->metric == GG_METRIC_LIVE && !scope->question->by_slot &&
	    !scope->question->is_part)
		leave_out_incomplete(scope, &coverage);
	if (status == 0 && count_covered(scope, &coverage) < 0)
		status = gg_error_memory(error, "fleet");
	for (size_t i = 0; i < coverage.slots.count && status == 0; i++)
		if (!gg_array_push(&scope->slots, coverage.slots.items[i]))
			status = gg_error_memory(error, "fleet");
	return status;
}
