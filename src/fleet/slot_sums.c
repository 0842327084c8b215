/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/slot_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fleet/fleet_model.h"
#include "fleet/fleet_statements.h"
#include "stats/estimate/interval.h"

void gg_slot_sums_done(struct gg_slot_sums *slots)
{
	gg_array_done(&slots->items);
}

/* Slots and what every host reported of them; a row is a series. */
static int read_slots(struct gg_slot_sums *slots, struct gg_clickhouse_rows *rows,
                      struct gg_error *error)
{
	while (gg_clickhouse_rows_more(rows)) {
		uint32_t slot_s = gg_clickhouse_read_u32(rows);
		struct gg_slot_sum *last = slots->items.count > 0
		                                   ? &slots->items.items[slots->items.count - 1]
		                                   : NULL;

		if (last == NULL || last->slot_s != slot_s) {
			last = gg_array_add(&slots->items);
			if (last == NULL)
				return gg_error_memory(error, "fleet timeline");
			last->slot_s = slot_s;
		}
		gg_clickhouse_read_u64(rows);
		last->host_count += gg_clickhouse_read_u32(rows);
		gg_clickhouse_read_double(rows);
		gg_clickhouse_read_double(rows);
		last->rss_bytes += gg_clickhouse_read_double(rows);
	}
	return gg_fleet_check_rows(rows, error);
}

/* Adds the tallies of one statement to those of the slots. */
static int read_live(struct gg_slot_sums *slots, const struct gg_buf *reply, bool is_folded,
                     struct gg_tally *tallies, struct gg_error *error)
{
	struct gg_clickhouse_rows rows = gg_clickhouse_rows_of(reply);
	size_t at = 0;

	while (gg_clickhouse_rows_more(&rows)) {
		uint64_t slot_s = gg_clickhouse_read_u64(&rows);
		struct gg_tally tally = gg_fleet_read_tally(&rows, 1, false, is_folded);

		while (at < slots->items.count && slots->items.items[at].slot_s < slot_s)
			at++;
		/* The rows of a slot in `process` may be on their way. */
		if (at < slots->items.count && slots->items.items[at].slot_s == slot_s)
			gg_tally_merge(&tallies[at], &tally);
	}
	return gg_fleet_check_rows(&rows, error);
}

/* The figures of all slots. */
static int add_live(struct gg_slot_sums *slots, struct gg_clickhouse *store,
                    const struct gg_fleet_scope *scope, double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf live = { 0 }, folded = { 0 };
	struct gg_tally *tallies = calloc(slots->items.count + 1, sizeof(*tallies));
	double gap_max = 0;
	int status = tallies != NULL ? 0 : gg_error_memory(error, "fleet timeline");

	for (size_t i = 0; i < scope->members.count; i++)
		gap_max = fmax(gap_max, scope->members.items[i].gap_max);
	if (status == 0)
		status = gg_fleet_scope_ask(scope, store, GG_FLEET_LIVE_SLOTS, 0, &live, error);
	if (status == 0)
		status = gg_fleet_scope_ask(scope, store, GG_FLEET_FOLDED_SLOTS, 0, &folded, error);
	if (status == 0)
		status = read_live(slots, &live, false, tallies, error);
	if (status == 0)
		status = read_live(slots, &folded, true, tallies, error);
	for (size_t i = 0; i < slots->items.count && status == 0; i++) {
		struct gg_slot_sum *slot = &slots->items.items[i];
		struct gg_interval interval;

		gg_tally_expose(&tallies[i], gap_max);
		interval = gg_interval_of(&tallies[i], GG_BYTES, confidence, false);
		slot->live_bytes = gg_tally_estimate(&tallies[i], GG_BYTES).value;
		slot->low = interval.low;
		slot->high = interval.high;
	}
	free(tallies);
	return status;
}

int gg_slot_sums_of(struct gg_slot_sums *slots, struct gg_clickhouse *store,
                    const struct gg_fleet_scope *scope, double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reported = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_SLOTS, 0, &reported, error);

	rows = gg_clickhouse_rows_of(&reported);
	if (status == 0)
		status = read_slots(slots, &rows, error);
	if (status == 0)
		status = add_live(slots, store, scope, confidence, error);
	if (status == 0 && slots->items.count == 0)
		status = gg_error_set(error, -ENODATA, "fleet timeline", NULL, "there is no slot");
	return status;
}
