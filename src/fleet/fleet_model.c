/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fleet/fleet_rollup.h"
#include "fleet/fleet_statements.h"
#include "profile/profile.h"
#include "region/reader/view.h"

enum { ID_BYTES = 16, STORED_FRAMES_MAX = 1 << 16, FRAME_LINES_MAX = 256 };

/* A row of the tallies. */
struct tally_row {
	uint64_t series, group;
	struct gg_fleet_stack_id stack;
	struct gg_tally tally;
	double sample_count; /* of the tally, which has whole numbers */
};

/* A frame as the store has it. */
struct store_frame {
	const unsigned char *build_id, *module; /* in `frame_rows`; not terminated */
	size_t build_id_length, module_length;
	uint64_t address;
	const unsigned char *symbol; /* in `symbol_rows`: its three arrays; NULL: no names */
	uint32_t number;             /* in the profile; 0: not made yet */
};

struct store_stack {
	struct gg_fleet_stack_id id;
	const unsigned char *frames; /* in `stack_rows` */
	size_t frame_count;
	uint32_t number; /* in the profile */
};

struct make {
	struct gg_clickhouse *store;
	const struct gg_fleet_scope *scope;
	uint64_t groups;
	struct gg_error *error;
	struct gg_profile *profile;
	bool lacks_objects; /* sums of some process are lower bounds (GG_FLEET_LACKING) */
	GG_ARRAY(struct tally_row) rows;
	struct gg_map row_map; /* by series, group and stack */
	GG_ARRAY(struct gg_tally) tallies;
	struct gg_buf stack_rows, frame_rows, symbol_rows, host_rows; /* replies */
	GG_ARRAY(struct store_stack) stacks;
	GG_ARRAY(struct store_frame) frames;
	struct gg_map stack_map, frame_map, process_map, host_map;
};

static int no_memory(const struct make *make)
{
	return gg_error_memory(make->error, "fleet");
}

/* --- tallies --------------------------------------------------------------------------------- */

static void read_moments(struct gg_clickhouse_rows *rows, struct gg_moments *moments, double slots)
{
	moments->seen.high = gg_clickhouse_read_double(rows) / slots;
	moments->value.high = gg_clickhouse_read_double(rows) / slots;
	moments->variance.high = gg_clickhouse_read_double(rows) / slots;
	moments->skew.high = gg_clickhouse_read_double(rows) / slots;
}

static uint64_t whole_count(double count)
{
	return count > 1 ? (uint64_t)llround(count) : 1;
}

/* *ret_count is the number of samples before it is rounded. */
static struct gg_tally read_tally(struct gg_clickhouse_rows *rows, double slots, bool is_average,
                                  bool has_slack, double *ret_count)
{
	struct gg_tally tally = { 0 };

	*ret_count = gg_clickhouse_read_double(rows) / slots;
	tally.sample_count = whole_count(*ret_count);
	tally.reserve_max[GG_BYTES] = gg_clickhouse_read_double(rows);
	tally.reserve_max[GG_ALLOCATIONS] = gg_clickhouse_read_double(rows);
	tally.sampled_interval_max = tally.reserve_max[GG_BYTES];
	tally.allocations_per_byte_max = gg_clickhouse_read_double(rows);
	read_moments(rows, &tally.usual[GG_BYTES], slots);
	read_moments(rows, &tally.usual[GG_ALLOCATIONS], slots);
	read_moments(rows, &tally.sure[GG_BYTES], slots);
	read_moments(rows, &tally.sure[GG_ALLOCATIONS], slots);
	for (int i = 0; i < GG_QUANTITY_COUNT && has_slack; i++)
		tally.skew_slack[i].high = gg_clickhouse_read_double(rows) / slots;
	for (int i = 0; i < GG_QUANTITY_COUNT && has_slack; i++)
		tally.unknown[i].high = gg_clickhouse_read_u8(rows);
	/* How long a block lived within the window is not known, so its skew is only bounded. */
	for (int i = 0; i < GG_QUANTITY_COUNT && is_average; i++) {
		tally.skew_slack[i].high += tally.usual[i].skew.high + tally.sure[i].skew.high;
		tally.usual[i].skew.high = tally.sure[i].skew.high = 0;
	}
	return tally;
}

struct gg_tally gg_fleet_read_tally(struct gg_clickhouse_rows *rows, double slots, bool is_average,
                                    bool is_folded)
{
	double count;

	return read_tally(rows, slots, is_average, is_folded, &count);
}

static uint64_t group_in(const struct gg_fleet_scope *scope, uint64_t groups, uint64_t sender)
{
	if (groups == GG_FLEET_CERTAIN_APART)
		return gg_map_get(&scope->certain, sender) != GG_MAP_NONE
		               ? UINT64_MAX
		               : gg_fleet_scope_host(scope, sender);
	return groups == GG_FLEET_NO_GROUPS   ? 0
	       : groups == GG_FLEET_EACH_HOST ? gg_fleet_scope_host(scope, sender)
	                                      : sender % groups;
}

static uint64_t group_of(const struct make *make, uint64_t sender)
{
	return group_in(make->scope, make->groups, sender);
}

/* The first half of an id decides where a stack stands in the map, and the whole id decides. */
static uint64_t half_of(const struct gg_fleet_stack_id *id)
{
	uint64_t half;

	memcpy(&half, id->bytes, sizeof(half));
	return half;
}

struct row_key {
	const struct make *make;
	const struct tally_row *row;
};

static bool is_row(uint64_t index, const void *context)
{
	const struct row_key *key = context;
	const struct tally_row *row = &key->make->rows.items[index];

	return row->series == key->row->series && row->group == key->row->group &&
	       memcmp(&row->stack, &key->row->stack, sizeof(row->stack)) == 0;
}

/* Adds a row to that of the same series, group and stack. */
static int add_row(struct make *make, const struct tally_row *row)
{
	struct row_key key = { make, row };
	uint64_t hash = half_of(&row->stack) ^ (row->series + row->group * 0x9e3779b97f4a7c15);
	uint64_t index = gg_map_find(&make->row_map, hash, is_row, &key);
	struct tally_row *known;

	if (index == GG_MAP_NONE)
		return gg_map_insert(&make->row_map, hash, make->rows.count) < 0 ||
		                       !gg_array_push(&make->rows, *row)
		               ? no_memory(make)
		               : 0;
	known = &make->rows.items[index];
	gg_tally_merge(&known->tally, &row->tally);
	known->sample_count += row->sample_count;
	known->tally.sample_count = whole_count(known->sample_count);
	return 0;
}

/* The slots over which live memory is averaged; 1: it is no average. */
static double averaged_slots(const struct make *make)
{
	const struct gg_fleet_question *question = make->scope->question;

	return question->metric == GG_METRIC_LIVE && make->scope->slot_count > 1 &&
	                       !question->by_slot
	               ? make->scope->slot_count
	               : 1;
}

/*
 * Each sender has a divisor of its own if hosts lack slots, so its sums come on their own.  Rollups
 * do not have them, so hosts count with what they reported once raw rows are gone.
 */
static bool needs_senders(const struct make *make)
{
	return make->groups == GG_FLEET_EACH_HOST || make->groups == GG_FLEET_CERTAIN_APART ||
	       (averaged_slots(make) > 1 && make->scope->lacking_count > 0 &&
	        !gg_fleet_is_beyond_raw(make->scope));
}

/* Reads the rows of one statement.  `has_slack`: they are of sums, which have more columns. */
static int read_sums(struct make *make, int statement, bool has_slack)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	double slots = averaged_slots(make);
	bool by_sender = needs_senders(make);
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(make->scope, make->store, statement,
	                                by_sender ? GG_FLEET_EACH_HOST : make->groups, &reply,
	                                make->error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct tally_row row = { .series = gg_clickhouse_read_u64(&rows) };
		const unsigned char *id;
		bool is_known;

		row.group = gg_clickhouse_read_u64(&rows);
		id = gg_clickhouse_read_bytes(&rows, ID_BYTES);
		if (id != NULL)
			memcpy(row.stack.bytes, id, ID_BYTES);
		is_known = !by_sender || gg_fleet_scope_host(make->scope, row.group) != 0;
		row.tally = read_tally(&rows,
		                       slots > 1 && by_sender
		                               ? gg_fleet_scope_slots(make->scope, row.group)
		                               : slots,
		                       slots > 1, has_slack, &row.sample_count);
		if (by_sender)
			row.group = group_of(make, row.group);
		/* Rows of a sender whose row in `process` is on its way do not count yet. */
		if (!is_known)
			continue;
		status = add_row(make, &row);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, make->error) : status;
}

/* Samples that the store knows one by one, sums that hosts folded, and rollups. */
static int read_tallies(struct make *make)
{
	const struct gg_fleet_cover *cover = make->scope->cover;
	enum gg_metric metric = make->scope->question->metric;
	int statement = metric == GG_METRIC_LIVE        ? GG_FLEET_LIVE_TALLIES
	                : metric == GG_METRIC_ALLOCATED ? GG_FLEET_ALLOCATED_TALLIES
	                                                : GG_FLEET_FREED_TALLIES;
	int status = 0;

	if (cover->raw_to_s > cover->raw_from_s) {
		status = read_sums(make, statement, false);
		if (status == 0)
			status = read_sums(make, GG_FLEET_FOLDED_TALLIES, true);
	}
	if (status == 0 && cover->hours.count + cover->days.count > 0)
		status = read_sums(make, GG_FLEET_ROLLED_TALLIES, true);
	return status;
}

/* --- names ----------------------------------------------------------------------------------- */

static int ask(struct make *make, int live, int drawn, struct gg_buf *reply)
{
	bool is_live = make->scope->question->metric == GG_METRIC_LIVE;

	return gg_fleet_scope_ask(make->scope, make->store, is_live ? live : drawn, 0, reply,
	                          make->error);
}

struct stack_key {
	const struct make *make;
	const struct gg_fleet_stack_id *id;
};

static bool is_stack(uint64_t index, const void *context)
{
	const struct stack_key *key = context;

	return memcmp(&key->make->stacks.items[index].id, key->id, sizeof(*key->id)) == 0;
}

static struct store_stack *find_stack(const struct make *make, const struct gg_fleet_stack_id *id)
{
	struct stack_key key = { make, id };
	uint64_t index = gg_map_find(&make->stack_map, half_of(id), is_stack, &key);

	return index != GG_MAP_NONE ? &make->stacks.items[index] : NULL;
}

static int read_stacks(struct make *make)
{
	struct gg_clickhouse_rows rows;
	int status = ask(make, GG_FLEET_LIVE_STACKS, GG_FLEET_DRAWN_STACKS, &make->stack_rows);

	rows = gg_clickhouse_rows_of(&make->stack_rows);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		const unsigned char *id = gg_clickhouse_read_bytes(&rows, ID_BYTES);
		struct store_stack stack = { .number = 0 };

		stack.frame_count = gg_clickhouse_read_varint(&rows);
		stack.frames = stack.frame_count <= STORED_FRAMES_MAX
		                       ? gg_clickhouse_read_bytes(&rows, stack.frame_count * 8)
		                       : NULL;
		if (id == NULL || stack.frames == NULL) {
			rows.failed = true;
			break;
		}
		memcpy(stack.id.bytes, id, ID_BYTES);
		/* A stack is announced again each month. */
		if (find_stack(make, &stack.id) != NULL)
			continue;
		if (gg_map_insert(&make->stack_map, half_of(&stack.id), make->stacks.count) < 0 ||
		    !gg_array_push(&make->stacks, stack))
			return no_memory(make);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, make->error) : status;
}

static int read_frames(struct make *make)
{
	struct gg_clickhouse_rows rows;
	int status = ask(make, GG_FLEET_LIVE_FRAMES, GG_FLEET_DRAWN_FRAMES, &make->frame_rows);

	rows = gg_clickhouse_rows_of(&make->frame_rows);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t id = gg_clickhouse_read_u64(&rows);
		struct store_frame frame = { .number = 0 };

		frame.build_id = (const unsigned char *)gg_clickhouse_read_text(
			&rows, &frame.build_id_length);
		frame.address = gg_clickhouse_read_u64(&rows);
		frame.module = (const unsigned char *)gg_clickhouse_read_text(&rows,
		                                                              &frame.module_length);
		if (gg_map_get(&make->frame_map, id) != GG_MAP_NONE)
			continue;
		if (gg_map_put(&make->frame_map, id, make->frames.count) < 0 ||
		    !gg_array_push(&make->frames, frame))
			return no_memory(make);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, make->error) : status;
}

/* Steps over the three arrays of a symbol. */
static void skip_symbol(struct gg_clickhouse_rows *rows)
{
	size_t length;

	for (int i = 0; i < 2; i++)
		for (uint64_t left = gg_clickhouse_read_varint(rows); left > 0 && !rows->failed;
		     left--)
			gg_clickhouse_read_text(rows, &length);
	for (uint64_t left = gg_clickhouse_read_varint(rows); left > 0 && !rows->failed; left--)
		gg_clickhouse_read_u32(rows);
}

static int read_symbols(struct make *make)
{
	struct gg_clickhouse_rows rows;
	int status = ask(make, GG_FLEET_LIVE_SYMBOLS, GG_FLEET_DRAWN_SYMBOLS, &make->symbol_rows);

	rows = gg_clickhouse_rows_of(&make->symbol_rows);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t index = gg_map_get(&make->frame_map, gg_clickhouse_read_u64(&rows));

		if (index != GG_MAP_NONE)
			make->frames.items[index].symbol = rows.at;
		skip_symbol(&rows);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, make->error) : status;
}

/* The name of each host, by the id of the name. */
static int read_hosts(struct make *make)
{
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(make->scope, make->store, GG_FLEET_HOSTS, 0,
	                                &make->host_rows, make->error);

	rows = gg_clickhouse_rows_of(&make->host_rows);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t sender = gg_clickhouse_read_u64(&rows);
		uint64_t place = (uint64_t)(rows.at - (const unsigned char *)make->host_rows.data);
		size_t length;

		gg_clickhouse_read_text(&rows, &length);
		if (gg_map_put(&make->host_map, gg_fleet_scope_host(make->scope, sender), place) <
		    0)
			return no_memory(make);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, make->error) : status;
}

/* --- the profile ----------------------------------------------------------------------------- */

/* A copy of bytes as a text; the caller frees it. */
static char *text_at(const unsigned char *bytes, size_t length)
{
	return strndup((const char *)bytes, length);
}

static int put_module(struct make *make, const struct store_frame *frame, uint32_t *ret_module)
{
	uint8_t build_id[64];
	char *path;
	struct gg_profile_module module = { .build_id = build_id };
	int status;

	*ret_module = 0;
	if (frame->module_length == 0 && frame->build_id_length == 0)
		return 0;
	path = text_at(frame->module, frame->module_length);
	if (path == NULL)
		return no_memory(make);
	module.path = path;
	module.build_id_bytes = gg_fleet_read_build_id(
		(const char *)frame->build_id, frame->build_id_length, build_id, sizeof(build_id));
	if (module.build_id_bytes == 0)
		module.build_id = NULL;
	status = gg_profile_intern_module(make->profile, &module, ret_module, make->error);
	free(path);
	return status;
}

/* The functions of a frame, as the store has them. */
static int put_lines(struct make *make, const struct store_frame *frame)
{
	const char *end = make->symbol_rows.data + make->symbol_rows.length;
	struct gg_clickhouse_rows rows = { frame->symbol, (const unsigned char *)end, false };
	struct gg_profile_line lines[FRAME_LINES_MAX] = { 0 };
	char *texts[2 * FRAME_LINES_MAX] = { 0 };
	uint64_t counts[3] = { 0 };
	size_t text_count = 0, length;
	int status = 0;

	for (int part = 0; part < 3; part++) {
		counts[part] = gg_clickhouse_read_varint(&rows);
		for (uint64_t i = 0; i < counts[part] && !rows.failed; i++) {
			const char *text = part < 2 ? gg_clickhouse_read_text(&rows, &length)
			                            : NULL;
			uint32_t number = part == 2 ? gg_clickhouse_read_u32(&rows) : 0;

			if (i >= FRAME_LINES_MAX)
				continue;
			if (part == 2) {
				lines[i].line = number;
				continue;
			}
			texts[text_count] = strndup(text, length);
			if (part == 0)
				lines[i].function = texts[text_count];
			else if (length > 0)
				lines[i].file = texts[text_count];
			text_count++;
		}
	}
	if (counts[0] > FRAME_LINES_MAX)
		counts[0] = FRAME_LINES_MAX;
	for (uint32_t i = 0; i < counts[0]; i++) {
		lines[i].frame = frame->number;
		lines[i].depth = i;
		lines[i].inlined = i + 1 < counts[0];
	}
	if (counts[0] > 0)
		status = gg_profile_put_lines(make->profile, frame->number, lines,
		                              (uint32_t)counts[0], make->error);
	for (size_t i = 0; i < text_count; i++)
		free(texts[i]);
	return status;
}

/* The profile's number of a frame; frames that the store has not seen yet have no names. */
static int put_frame(struct make *make, uint64_t id, uint32_t *ret_number)
{
	uint64_t index = gg_map_get(&make->frame_map, id);
	struct store_frame *frame;
	uint32_t module;
	int status;

	if (index == GG_MAP_NONE)
		return gg_profile_intern_frame(make->profile, 0, id, ret_number, make->error);
	frame = &make->frames.items[index];
	*ret_number = frame->number;
	if (frame->number != 0)
		return 0;
	status = put_module(make, frame, &module);
	if (status == 0)
		status = gg_profile_intern_frame(make->profile, module, frame->address,
		                                 &frame->number, make->error);
	if (status == 0 && frame->symbol != NULL)
		status = put_lines(make, frame);
	*ret_number = frame->number;
	return status;
}

static int put_stack(struct make *make, const struct gg_fleet_stack_id *id, uint32_t *ret_number)
{
	struct store_stack *stack = find_stack(make, id);
	int status = 0;

	*ret_number = 0;
	if (stack == NULL)
		return 0;
	for (size_t i = stack->frame_count; i > 0 && stack->number == 0 && status == 0; i--) {
		uint64_t frame = 0;
		uint32_t number = 0;

		for (int byte = 7; byte >= 0; byte--)
			frame = frame << 8 | stack->frames[8 * (i - 1) + (size_t)byte];
		status = put_frame(make, frame, &number);
		if (status == 0)
			status = gg_profile_intern_stack(make->profile, *ret_number, number,
			                                 ret_number, make->error);
	}
	if (stack->number == 0)
		stack->number = *ret_number;
	*ret_number = stack->number;
	return status;
}

int gg_fleet_number_groups(const struct gg_fleet_scope *scope, uint64_t groups, uint32_t *pids)
{
	struct gg_map known = { 0 };
	uint32_t count = 0;
	int status = 0;

	for (size_t i = 0; i < scope->members.count && status == 0; i++) {
		const struct gg_fleet_member *member = &scope->members.items[i];
		uint64_t group = group_in(scope, groups, member->sender), pid;

		pids[i] = 0;
		if (!member->is_selected)
			continue;
		pid = gg_map_get(&known, group);
		if (pid == GG_MAP_NONE) {
			pid = ++count;
			status = gg_map_put(&known, group, pid);
		}
		pids[i] = (uint32_t)pid;
	}
	gg_map_done(&known);
	return status;
}

/* Hashes a series and a group: the key of a process. */
static uint64_t process_key(uint64_t series, uint64_t group)
{
	const uint64_t key[2] = { series, group };
	struct gg_fleet_stack_id id = gg_fleet_stack_id(key, GG_COUNT(key));

	return half_of(&id);
}

static int put_label(struct make *make, uint32_t process, const char *key, const char *value)
{
	return value == NULL || value[0] == '\0'
	               ? 0
	               : gg_profile_put_label(make->profile, process, key, value, make->error);
}

static int put_host_label(struct make *make, uint32_t process, uint64_t host)
{
	uint64_t place = gg_map_get(&make->host_map, host);
	const unsigned char *bytes = (const unsigned char *)gg_buf_text(&make->host_rows);
	struct gg_clickhouse_rows rows;
	size_t length;
	const char *text;
	char *name;
	int status;

	if (place == GG_MAP_NONE)
		return 0;
	rows = (struct gg_clickhouse_rows){ bytes + place, bytes + make->host_rows.length, false };
	text = gg_clickhouse_read_text(&rows, &length);
	name = strndup(text, length);
	if (name == NULL)
		return no_memory(make);
	status = put_label(make, process, "host", name);
	free(name);
	return status;
}

static int put_labels(struct make *make, uint32_t process,
                      const struct gg_fleet_scope_series *series, uint64_t group)
{
	int status = 0;

	for (size_t i = 0; i < series->label_count && status == 0; i++)
		status = put_label(make, process, series->labels[i].key, series->labels[i].value);
	if (status == 0)
		status = put_label(make, process, "service", make->scope->question->service);
	if (status == 0)
		status = put_label(make, process, "version", series->version);
	if (status == 0 && make->groups == GG_FLEET_EACH_HOST)
		status = put_host_label(make, process, group);
	return status;
}

/* The counters that make sums of a process lower bounds. */
static int put_losses(struct make *make, uint32_t process, const struct gg_fleet_member *member)
{
	int status = 0;

	make->lacks_objects |= member->lacks_objects;
	if (member->dropped_count > 0)
		status = gg_profile_put_counter(make->profile, process,
		                                gg_region_counter_name(GG_COUNT_DROP_LIVE_FULL),
		                                (uint64_t)member->dropped_count, make->error);
	if (status == 0 && member->lacks_objects)
		status = gg_profile_put_counter(make->profile, process, GG_PROFILE_LACKING_SENDERS,
		                                1, make->error);
	return status;
}

/*
 * A process for each series and group that reported, with or without a sample: all of them were
 * exposed to their sampling interval.  The pid of a group is its place among the groups, from 1 on.
 */
static int put_processes(struct make *make)
{
	const struct gg_fleet_scope *scope = make->scope;
	uint32_t *pids = calloc(scope->members.count + 1, sizeof(*pids));
	int status = 0;

	if (pids == NULL || gg_fleet_number_groups(scope, make->groups, pids) < 0) {
		free(pids);
		return no_memory(make);
	}
	for (size_t i = 0; i < scope->members.count && status == 0; i++) {
		const struct gg_fleet_member *member = &scope->members.items[i];
		const struct gg_fleet_scope_series *series = &scope->series.items[member->series];
		uint64_t group = group_of(make, member->sender);
		uint64_t key = process_key(series->id, group);
		uint64_t known = gg_map_get(&make->process_map, key);
		struct gg_profile_process process = { .command = scope->question->service };
		uint32_t id;

		if (!member->is_selected)
			continue;
		if (known == GG_MAP_NONE) {
			for (size_t j = i; j < scope->members.count; j++)
				if (scope->members.items[j].series == member->series &&
				    group_of(make, scope->members.items[j].sender) == group)
					process.interval_bytes = fmax(
						process.interval_bytes,
						scope->members.items[j].gap_max);
			process.pid = pids[i];
			process.end_ns = GG_TIME_NONE;
			status = gg_profile_add_process(make->profile, &process, &id, make->error);
			if (status == 0 && gg_map_put(&make->process_map, key, id) < 0)
				status = no_memory(make);
			if (status == 0)
				status = put_labels(make, id, series, group);
		} else {
			id = (uint32_t)known;
		}
		if (status == 0)
			status = put_losses(make, id, member);
	}
	free(pids);
	return status;
}

static int put_aggregates(struct make *make)
{
	bool is_live = make->scope->question->metric == GG_METRIC_LIVE;
	int status = 0;

	for (size_t i = 0; i < make->rows.count && status == 0; i++) {
		const struct tally_row *row = &make->rows.items[i];
		uint64_t process = gg_map_get(&make->process_map,
		                              process_key(row->series, row->group));
		struct gg_profile_aggregate aggregate = {
			.process = process != GG_MAP_NONE ? (uint32_t)process : 0,
			.to_ns = is_live ? GG_TIME_NONE : 0,
			.size_class = 255,
			.interval_bytes = row->tally.sampled_interval_max,
			.sums = {
				.sample_count = row->tally.sample_count,
				.size_bytes = (uint64_t)gg_tally_seen(&row->tally, GG_BYTES),
				.count = gg_fixed_from(
					gg_tally_estimate(&row->tally, GG_ALLOCATIONS).value),
				.bytes = gg_fixed_from(
					gg_tally_estimate(&row->tally, GG_BYTES).value),
			},
		};

		/* A host that nobody counts yet, because its row in `process` is on its way. */
		if (process == GG_MAP_NONE)
			continue;
		status = put_stack(make, &row->stack, &aggregate.stack);
		if (status == 0)
			status = gg_profile_add_aggregate(make->profile, &aggregate, make->error);
		if (status == 0 && !gg_array_push(&make->tallies, row->tally))
			status = no_memory(make);
	}
	return status;
}

/* Says that some processes told nothing about what they allocated or freed. */
static int note_unknown(struct make *make)
{
	bool is_unknown = false;

	for (size_t i = 0; i < make->rows.count && !is_unknown; i++)
		for (int j = 0; j < GG_QUANTITY_COUNT; j++)
			is_unknown = is_unknown || !gg_tally_has_error(&make->rows.items[i].tally,
			                                               (enum gg_quantity)j);
	return !is_unknown ? 0
	                   : gg_profile_add_note(make->profile,
	                                         "Sums of some processes are not known, because "
	                                         "their agent does not say them or parts of them "
	                                         "were lost. Rows that need them have no interval.",
	                                         make->error);
}

static int put_session(struct make *make, const char *notes)
{
	const struct gg_fleet_scope *scope = make->scope;
	struct gg_profile_session session = { .exit_status = -1 };
	char command[300];
	int status;

	snprintf(command, sizeof(command), "%.150s%s%.60s (%zu host%s)", scope->question->service,
	         scope->question->version != NULL ? " " : "",
	         scope->question->version != NULL ? scope->question->version : "",
	         scope->host_count, scope->host_count == 1 ? "" : "s");
	session.command = command;
	for (size_t i = 0; i < scope->members.count; i++)
		session.interval_bytes = fmax(session.interval_bytes,
		                              scope->members.items[i].gap_max);
	session.start_wall_ns = (uint64_t)(scope->start_s != 0 ? scope->start_s : scope->from_s) *
	                        1000000000;
	status = gg_profile_set_session(make->profile, &session, make->error);
	while (status == 0 && *notes != '\0') {
		char *note = strndup(notes, strcspn(notes, "\n"));

		status = note != NULL ? gg_profile_add_note(make->profile, note, make->error)
		                      : no_memory(make);
		free(note);
		notes += strcspn(notes, "\n");
		notes += *notes == '\n';
	}
	return status == 0 ? note_unknown(make) : status;
}

/* Says that some processes allocated more than their samples tell. */
static int note_lacking(struct make *make)
{
	return !make->lacks_objects
	               ? 0
	               : gg_profile_add_note(
				 make->profile,
				 "Sampling of some processes was off for a while, or an attach misses "
				 "some of their Java objects.  So figures are lower bounds (\"at "
				 "least\").",
				 make->error);
}

static int read_all(struct make *make)
{
	int status = read_tallies(make);

	if (status == 0)
		status = read_stacks(make);
	if (status == 0)
		status = read_frames(make);
	if (status == 0)
		status = read_symbols(make);
	if (status == 0 && make->groups == GG_FLEET_EACH_HOST)
		status = read_hosts(make);
	return status;
}

static int write_all(struct make *make, const char *notes)
{
	int status = gg_profile_create(&make->profile, NULL, make->error);

	if (status == 0)
		status = put_session(make, notes);
	if (status == 0)
		status = put_processes(make);
	if (status == 0)
		status = note_lacking(make);
	if (status == 0)
		status = put_aggregates(make);
	return status;
}

static void make_done(struct make *make)
{
	gg_profile_close(make->profile);
	gg_array_done(&make->rows);
	gg_map_done(&make->row_map);
	gg_array_done(&make->tallies);
	gg_array_done(&make->stacks);
	gg_array_done(&make->frames);
	gg_buf_done(&make->stack_rows);
	gg_buf_done(&make->frame_rows);
	gg_buf_done(&make->symbol_rows);
	gg_buf_done(&make->host_rows);
	gg_map_done(&make->stack_map);
	gg_map_done(&make->frame_map);
	gg_map_done(&make->process_map);
	gg_map_done(&make->host_map);
}

int gg_fleet_model_make(struct gg_model **ret_model, struct gg_clickhouse *store,
                        const struct gg_fleet_scope *scope, uint64_t groups,
                        const struct gg_model_options *options, const char *notes,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_fleet_cover_done) struct gg_fleet_cover cover = { 0 };
	struct gg_fleet_scope covered = *scope; /* borrows all that `scope` owns */
	struct make make = { .store = store, .scope = &covered, .groups = groups, .error = error };
	bool by_span = !scope->question->by_slot && scope->question->host == NULL &&
	               !needs_senders(&make);
	int status = gg_fleet_cover_of(&cover, store, scope, groups, by_span, error);

	covered.cover = &cover;
	if (status == 0)
		status = read_all(&make);
	if (status == 0)
		status = write_all(&make, notes);
	if (status == 0)
		status = gg_model_load(ret_model, &make.profile, 1, options, error);
	if (status == 0 && gg_model_set_aggregate_tallies(*ret_model, make.tallies.items,
	                                                  make.tallies.count) < 0) {
		gg_model_free(*ret_model);
		status = no_memory(&make);
	}
	make_done(&make);
	return status;
}
