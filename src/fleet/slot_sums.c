/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/slot_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "fleet/fleet_extend.h"
#include "fleet/fleet_model.h"
#include "fleet/fleet_statements.h"
#include "stats/estimate/interval.h"

enum { SLOT_PPM = 1000000 };

/* A sender that ran in a slot. */
struct slot_sender {
	uint64_t id;
	uint32_t slot;         /* index in the slots */
	uint32_t selected_ppm; /* the chance that its stacks are sent; 0: they are not */
	double rss_bytes;
	bool has_rss; /* of all of its processes */
};

struct slot_run {
	struct gg_slot_sums *slots;
	const struct gg_fleet_scope *scope;
	GG_ARRAY(struct slot_sender) senders; /* by slot, then id */
	/* One for each sender whose stacks are there, in that order; without a draw one a slot. */
	struct gg_tally *tallies;
	bool is_drawn; /* stacks of some senders were not sent */
	double gap_max;
	double confidence;
	struct gg_error *error;
};

void gg_slot_sums_done(struct gg_slot_sums *slots)
{
	gg_array_done(&slots->items);
}

static int no_memory(const struct slot_run *run)
{
	return gg_error_memory(run->error, "fleet timeline");
}

/* --- senders --------------------------------------------------------------------------------- */

/* RSS of a slot is known if each of its processes has one: a part of it is not to be compared. */
static int read_senders(struct slot_run *run, struct gg_clickhouse_rows *rows)
{
	struct gg_slot_sums *slots = run->slots;

	while (gg_clickhouse_rows_more(rows)) {
		uint32_t slot_s = gg_clickhouse_read_u32(rows);
		struct slot_sender sender = { .id = gg_clickhouse_read_u64(rows) };
		struct gg_slot_sum *last = slots->items.count > 0
		                                   ? &slots->items.items[slots->items.count - 1]
		                                   : NULL;
		bool is_running = gg_clickhouse_read_u64(rows) > 0;

		sender.selected_ppm = gg_clickhouse_read_u32(rows);
		sender.rss_bytes = gg_clickhouse_read_double(rows);
		sender.has_rss = gg_clickhouse_read_u8(rows) != 0;
		if (last == NULL || last->slot_s != slot_s) {
			last = gg_array_add(&slots->items);
			if (last == NULL)
				return no_memory(run);
			last->slot_s = slot_s;
		}
		if (!is_running)
			continue;
		sender.slot = (uint32_t)slots->items.count - 1;
		last->rss_bytes = sender.has_rss && last->rss_bytes >= 0
		                          ? last->rss_bytes + sender.rss_bytes
		                          : -1;
		run->is_drawn = run->is_drawn || sender.selected_ppm == 0;
		if (!gg_array_push(&run->senders, sender))
			return no_memory(run);
	}
	return gg_fleet_check_rows(rows, run->error);
}

/* --- tallies --------------------------------------------------------------------------------- */

static int make_tallies(struct slot_run *run)
{
	size_t count = run->slots->items.count;

	for (size_t i = 0; i < run->senders.count && run->is_drawn; i++)
		count += run->senders.items[i].selected_ppm > 0;
	run->tallies = calloc(count + 1, sizeof(*run->tallies));
	return run->tallies != NULL ? 0 : no_memory(run);
}

/* Adds the tallies of one statement to those of the slots. */
static int read_of_slots(struct slot_run *run, struct gg_clickhouse_rows *rows, bool is_folded)
{
	struct gg_slot_sums *slots = run->slots;
	size_t at = 0;

	while (gg_clickhouse_rows_more(rows)) {
		uint64_t slot_s = gg_clickhouse_read_u64(rows);
		struct gg_tally tally;

		gg_clickhouse_read_u64(rows);
		tally = gg_fleet_read_tally(rows, 1, false, is_folded);
		while (at < slots->items.count && slots->items.items[at].slot_s < slot_s)
			at++;
		/* The rows of a slot in `process` may be on their way. */
		if (at < slots->items.count && slots->items.items[at].slot_s == slot_s)
			gg_tally_merge(&run->tallies[at], &tally);
	}
	return gg_fleet_check_rows(rows, run->error);
}

/* Adds the tallies of one statement to those of the senders whose stacks are there. */
static int read_of_senders(struct slot_run *run, struct gg_clickhouse_rows *rows, bool is_folded)
{
	const struct slot_sender *senders = run->senders.items;
	const struct gg_slot_sum *slots = run->slots->items.items;
	size_t at = 0, place = 0;

	while (gg_clickhouse_rows_more(rows)) {
		uint64_t slot_s = gg_clickhouse_read_u64(rows), id = gg_clickhouse_read_u64(rows);
		struct gg_tally tally = gg_fleet_read_tally(rows, 1, false, is_folded);

		while (at < run->senders.count &&
		       (slots[senders[at].slot].slot_s < slot_s ||
		        (slots[senders[at].slot].slot_s == slot_s && senders[at].id < id)))
			place += senders[at++].selected_ppm > 0;
		if (at < run->senders.count && slots[senders[at].slot].slot_s == slot_s &&
		    senders[at].id == id && senders[at].selected_ppm > 0)
			gg_tally_merge(&run->tallies[place], &tally);
	}
	return gg_fleet_check_rows(rows, run->error);
}

static int read_live(struct slot_run *run, struct gg_clickhouse *store, int statement,
                     bool is_folded)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(run->scope, store, statement,
	                                run->is_drawn ? GG_FLEET_EACH_HOST : GG_FLEET_NO_GROUPS,
	                                &reply, run->error);

	rows = gg_clickhouse_rows_of(&reply);
	if (status < 0)
		return status;
	return run->is_drawn ? read_of_senders(run, &rows, is_folded)
	                     : read_of_slots(run, &rows, is_folded);
}

/* --- slots ----------------------------------------------------------------------------------- */

static void set_interval(const struct slot_run *run, struct gg_slot_sum *slot,
                         struct gg_tally *tally)
{
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, run->confidence, false);

	slot->live_bytes = gg_tally_estimate(tally, GG_BYTES).value;
	slot->low = interval.low;
	slot->high = interval.high;
}

/* The units of a slot's draw: machines, or random groups of them. */
struct slot_units {
	struct gg_map unit_of; /* host -> index */
	double *values, *known;
	size_t count;
	double drawn_count, all_count, known_total;
	uint32_t least_ppm, most_ppm;
	struct gg_tally drawn, certain;
};

static void units_done(struct slot_units *units)
{
	gg_map_done(&units->unit_of);
	free(units->values);
	free(units->known);
}

static uint64_t host_of(const struct slot_run *run, uint64_t sender)
{
	uint64_t host = gg_fleet_scope_host(run->scope, sender);

	return host != 0 ? host : sender;
}

static bool is_drawn(const struct slot_sender *sender)
{
	return sender->selected_ppm > 0 && sender->selected_ppm < SLOT_PPM;
}

/* Gives each machine that was drawn a unit; more than GG_FLEET_UNITS_MAX become groups. */
static int make_units(const struct slot_run *run, const struct slot_sender *senders, size_t count,
                      struct slot_units *units)
{
	units->values = calloc(count + 1, sizeof(*units->values));
	units->known = calloc(count + 1, sizeof(*units->known));
	if (units->values == NULL || units->known == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t host = host_of(run, senders[i].id);

		if (!is_drawn(&senders[i]) || gg_map_get(&units->unit_of, host) != GG_MAP_NONE)
			continue;
		if (gg_map_put(&units->unit_of, host, units->count++) < 0)
			return -ENOMEM;
	}
	if (units->count <= GG_FLEET_UNITS_MAX)
		return 0;
	units->count = GG_FLEET_RANDOM_GROUPS;
	for (size_t i = 0; i < count; i++) {
		uint64_t host = host_of(run, senders[i].id);

		if (is_drawn(&senders[i]) &&
		    gg_map_put(&units->unit_of, host, host % GG_FLEET_RANDOM_GROUPS) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds up what the senders hold; `tallies` are those of the selected ones. */
static void fill_units(const struct slot_run *run, const struct slot_sender *senders, size_t count,
                       const struct gg_tally *tallies, struct slot_units *units)
{
	bool by_rss = true;

	units->least_ppm = SLOT_PPM;
	for (size_t i = 0; i < count; i++)
		by_rss = by_rss && (senders[i].selected_ppm >= SLOT_PPM || senders[i].has_rss);
	for (size_t i = 0; i < count; i++) {
		const struct slot_sender *sender = &senders[i];
		double known = by_rss ? sender->rss_bytes : 1;
		uint64_t unit;

		if (sender->selected_ppm >= SLOT_PPM) {
			gg_tally_merge(&units->certain, tallies++);
			continue;
		}
		units->all_count++;
		units->known_total += known;
		if (sender->selected_ppm == 0)
			continue;
		unit = gg_map_get(&units->unit_of, host_of(run, sender->id));
		units->values[unit] += gg_tally_estimate(tallies, GG_BYTES).value;
		units->known[unit] += known;
		units->drawn_count++;
		units->least_ppm = sender->selected_ppm < units->least_ppm ? sender->selected_ppm
		                                                           : units->least_ppm;
		units->most_ppm = sender->selected_ppm > units->most_ppm ? sender->selected_ppm
		                                                         : units->most_ppm;
		gg_tally_merge(&units->drawn, tallies++);
	}
}

/* Extends the drawn senders of a slot to all of it. */
static int extend_slot(const struct slot_run *run, const struct slot_sender *senders, size_t count,
                       const struct gg_tally *tallies, struct gg_slot_sum *slot)
{
	GG_CLEANUP(units_done) struct slot_units units = { 0 };
	struct gg_two_stage parts[2];
	struct gg_tally all;

	if (make_units(run, senders, count, &units) < 0)
		return -ENOMEM;
	fill_units(run, senders, count, tallies, &units);
	all = units.certain;
	gg_tally_merge(&all, &units.drawn);
	gg_tally_expose(&all, run->gap_max);
	if (units.all_count == units.drawn_count) {
		set_interval(run, slot, &all);
		return 0;
	}
	/* Nobody was drawn, or with shares so different that they are no one draw. */
	if (units.drawn_count == 0 ||
	    units.most_ppm > GG_FLEET_SHARES_RATIO_MAX * units.least_ppm) {
		slot->live_bytes = slot->low = 0;
		slot->high = INFINITY;
		return 0;
	}
	const struct gg_drawn_units drawn = {
		.values = units.values,
		.known = units.known,
		.unit_count = units.count,
		.drawn_count = units.drawn_count,
		.all_count = units.all_count,
		.known_total = units.known_total,
		.sampling_variance = gg_tally_estimate(&units.drawn, GG_BYTES).variance,
		.sampling_skew = gg_fleet_sampling_of(&units.drawn, GG_BYTES).skew,
	};
	parts[0] = gg_two_stage_of(&drawn);
	if (!gg_tally_is_empty(&units.certain)) {
		parts[1] = gg_fleet_sampling_of(&units.certain, GG_BYTES);
		parts[0] = gg_two_stage_join(parts, NULL, 2, false);
	}
	gg_two_stage_extend(&all, GG_BYTES, &parts[0], run->confidence);
	set_interval(run, slot, &all);
	return 0;
}

static int finish_slots(struct slot_run *run)
{
	struct gg_slot_sum *slots = run->slots->items.items;
	const struct slot_sender *senders = run->senders.items;
	const struct gg_tally *tallies = run->tallies;
	size_t at = 0, end;

	for (size_t i = 0; i < run->slots->items.count; i++) {
		size_t selected = 0;

		if (!run->is_drawn) {
			gg_tally_expose(&run->tallies[i], run->gap_max);
			set_interval(run, &slots[i], &run->tallies[i]);
			continue;
		}
		for (end = at; end < run->senders.count && senders[end].slot == i; end++)
			selected += senders[end].selected_ppm > 0;
		if (extend_slot(run, senders + at, end - at, tallies, &slots[i]) < 0)
			return no_memory(run);
		at = end;
		tallies += selected;
	}
	return 0;
}

int gg_slot_sums_of(struct gg_slot_sums *slots, struct gg_clickhouse *store,
                    const struct gg_fleet_scope *scope, double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct slot_run run = {
		.slots = slots, .scope = scope, .confidence = confidence, .error = error
	};
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_SLOTS, 0, &reply, error);

	for (size_t i = 0; i < scope->members.count; i++)
		run.gap_max = fmax(run.gap_max, scope->members.items[i].gap_max);
	rows = gg_clickhouse_rows_of(&reply);
	if (status == 0)
		status = read_senders(&run, &rows);
	if (status == 0)
		status = make_tallies(&run);
	if (status == 0)
		status = read_live(&run, store, GG_FLEET_LIVE_SLOTS, false);
	if (status == 0)
		status = read_live(&run, store, GG_FLEET_FOLDED_SLOTS, true);
	if (status == 0)
		status = finish_slots(&run);
	slots->is_extended = run.is_drawn;
	if (status == 0 && slots->items.count == 0)
		status = gg_error_set(error, -ENODATA, "fleet timeline", NULL, "there is no slot");
	gg_array_done(&run.senders);
	free(run.tallies);
	return status;
}
