/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_rollup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/map.h"
#include "fleet/fleet_retention.h"
#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"

enum {
	CHUNK_ROWS = 4000000,
	STAGING_NAME_MAX = 48,
	RAW_SPANS_MAX = 4,
	DELAY_LEAST_S = 60, /* that a replica may always be behind */
};

/* --- rolling --------------------------------------------------------------------------------- */

struct roll {
	struct gg_clickhouse *store;
	const struct gg_fleet_roll_plan *plan;
	struct gg_error *error;
	char staging[STAGING_NAME_MAX];
	const char *table; /* of the rollups that are made */
	bool has_staging;
	struct gg_error ignored;
	GG_ARRAY(uint32_t) failed_days; /* begins of days that failed, or an hour of theirs */
	bool lacks_failed_days;         /* some days failed, and nobody knows which */
};

/* Runs a statement of upkeep about the span [from_s, to_s). */
static int run(struct roll *roll, enum gg_fleet_upkeep statement, uint32_t from_s, uint32_t to_s,
               uint64_t chunk, uint64_t chunks, struct gg_buf *reply)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", roll->plan->tenant),
		gg_clickhouse_text("db_text", roll->plan->tenant),
		gg_clickhouse_name("table", roll->table != NULL ? roll->table : "-"),
		gg_clickhouse_name("staging", roll->staging[0] != '\0' ? roll->staging : "-"),
		gg_clickhouse_u64("from", from_s),
		gg_clickhouse_u64("to", to_s),
		gg_clickhouse_u64("chunk", chunk),
		gg_clickhouse_u64("chunks", chunks),
	};
	int status = gg_clickhouse_bind(&query, gg_fleet_upkeep(statement), values,
	                                GG_COUNT(values), roll->error);

	return status < 0 ? status : gg_clickhouse_query(roll->store, &query, reply, roll->error);
}

struct spans {
	GG_ARRAY(uint32_t);
};

/* Reads the begins of spans that must be rolled. */
static int find_dirty(struct roll *roll, enum gg_fleet_upkeep statement, uint32_t from_s,
                      uint32_t to_s, struct spans *spans)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status;

	if (from_s >= to_s)
		return 0;
	status = run(roll, statement, from_s, to_s, 0, 1, &reply);
	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint32_t start_s = gg_clickhouse_read_u32(&rows);

		gg_clickhouse_read_u64(&rows);
		if (!gg_array_push(spans, start_s))
			return gg_error_memory(roll->error, "fleet roll");
	}
	return status == 0 ? gg_fleet_check_rows(&rows, roll->error) : status;
}

static int begin_staging(struct roll *roll, const char *table)
{
	uint64_t number = 0;
	int status;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		number = (uint64_t)time(NULL);
	snprintf(roll->staging, sizeof(roll->staging), "rollup_staging_%016llx",
	         (unsigned long long)number);
	roll->table = table;
	status = run(roll, GG_FLEET_ROLL_STAGING, 0, 0, 0, 1, NULL);
	roll->has_staging = status == 0;
	return status;
}

static int end_staging(struct roll *roll, int status)
{
	struct gg_error ignored;
	struct gg_error *error = roll->error;
	int ended;

	if (!roll->has_staging)
		return status;
	if (status < 0)
		roll->error = &ignored;
	ended = run(roll, GG_FLEET_ROLL_DROP_STAGING, 0, 0, 0, 1, NULL);
	roll->error = error;
	roll->has_staging = false;
	return status < 0 ? status : ended;
}

/* Drops tables of rolls that were killed, a day later. */
static int drop_stagings(struct roll *roll)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = run(roll, GG_FLEET_STAGINGS, 0, 0, 0, 1, &reply);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		size_t length;
		const char *name = gg_clickhouse_read_text(&rows, &length);
		uint32_t made_s = gg_clickhouse_read_u32(&rows);

		if (length >= sizeof(roll->staging) || time(NULL) < (time_t)made_s + GG_FLEET_DAY_S)
			continue;
		memcpy(roll->staging, name, length);
		roll->staging[length] = '\0';
		status = run(roll, GG_FLEET_ROLL_DROP_STAGING, 0, 0, 0, 1, NULL);
	}
	return status;
}

static int count_rows(struct roll *roll, uint32_t start_s, uint64_t *ret_count)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = run(roll, GG_FLEET_RAW_ROWS, start_s, start_s + GG_FLEET_HOUR_S, 0, 1, &reply);

	rows = gg_clickhouse_rows_of(&reply);
	*ret_count = status == 0 ? gg_clickhouse_read_u64(&rows) : 0;
	return status;
}

/*
 * Puts the rollup in its place, unless its rows were dropped by another command meanwhile: the time
 * up to which rows are gone is noted before the first of them goes.
 */
static int replace(struct roll *roll, uint32_t start_s, bool is_day)
{
	struct gg_fleet_floors floors;
	int status = gg_fleet_read_floors(&floors, roll->store, roll->plan->tenant, roll->error);

	if (status < 0 || start_s < (is_day ? floors.hours_s : floors.raw_s))
		return status;
	return run(roll, GG_FLEET_ROLL_REPLACE, start_s, start_s, 0, 1, NULL);
}

static int roll_hour(struct roll *roll, uint32_t start_s, struct gg_fleet_rolled *rolled)
{
	static const enum gg_fleet_upkeep parts[] = { GG_FLEET_ROLL_DRAWS, GG_FLEET_ROLL_LIVE,
		                                      GG_FLEET_ROLL_FOLDED };
	uint64_t most = roll->plan->chunk_rows > 0 ? roll->plan->chunk_rows : CHUNK_ROWS;
	uint32_t end_s = start_s + GG_FLEET_HOUR_S;
	uint64_t count, chunks;
	int status = count_rows(roll, start_s, &count);

	chunks = count / most + 1;
	/* Marks come first: rows that arrive from now on make the rollup an old one. */
	if (status == 0 && !roll->plan->is_dry_run)
		status = run(roll, GG_FLEET_ROLL_MARKS, start_s, end_s, 0, 1, NULL);
	for (size_t i = 0; i < GG_COUNT(parts) && !roll->plan->is_dry_run; i++)
		for (uint64_t chunk = 0; chunk < chunks && status == 0; chunk++)
			status = run(roll, parts[i], start_s, end_s, chunk, chunks, NULL);
	if (status == 0 && !roll->plan->is_dry_run)
		status = replace(roll, start_s, false);
	if (status < 0)
		return status;
	rolled->raw_row_count += count;
	rolled->hour_count++;
	return 0;
}

/*
 * Notes that the span at start_s has no rollup; 0: nobody could look for spans.  Returns the first
 * error, which `error` keeps.
 */
static int note_failed(struct roll *roll, int first, int status, uint32_t start_s,
                       uint32_t *first_s, struct gg_fleet_rolled *rolled)
{
	if (status == 0)
		return first;
	rolled->failed_count++;
	if (start_s < *first_s)
		*first_s = start_s;
	if (start_s == 0 || !gg_array_push(&roll->failed_days, start_s - start_s % GG_FLEET_DAY_S))
		roll->lacks_failed_days = true;
	/* Later failures must not overwrite the error. */
	if (first == 0)
		roll->error = &roll->ignored;
	return first < 0 ? first : status;
}

static int roll_day(struct roll *roll, uint32_t start_s, struct gg_fleet_rolled *rolled)
{
	int status = run(roll, GG_FLEET_ROLL_DAY, start_s, start_s + GG_FLEET_DAY_S, 0, 1, NULL);

	if (status == 0)
		status = replace(roll, start_s, true);
	rolled->day_count += status == 0;
	return status;
}

/* Rolls an hour or a day into an empty staging table.  Returns `failed`, or the first failure. */
static int roll_span(struct roll *roll, bool is_day, uint32_t start_s, int failed,
                     struct gg_fleet_rolled *rolled)
{
	uint32_t *first_s = is_day ? &rolled->first_day_s : &rolled->first_hour_s;
	/* A table that a span left half full is no place for the next one. */
	int status = roll->has_staging || roll->plan->is_dry_run
	                     ? 0
	                     : begin_staging(roll, is_day ? "rollup_day" : "rollup_hour");

	if (status == 0)
		status = is_day ? roll_day(roll, start_s, rolled)
		                : roll_hour(roll, start_s, rolled);
	failed = note_failed(roll, failed, status, start_s, first_s, rolled);
	if (status < 0)
		end_staging(roll, status);
	return failed;
}

static int roll_hours(struct roll *roll, uint32_t from_s, uint32_t to_s,
                      struct gg_fleet_rolled *rolled)
{
	struct spans hours = { 0 };
	int failed = 0, status = find_dirty(roll, GG_FLEET_DIRTY_HOURS, from_s, to_s, &hours);

	if (status < 0)
		failed = note_failed(roll, 0, status, 0, &rolled->first_hour_s, rolled);
	for (size_t i = 0; i < hours.count; i++)
		failed = roll_span(roll, false, hours.items[i], failed, rolled);
	gg_array_done(&hours);
	return end_staging(roll, failed);
}

static int roll_days(struct roll *roll, uint32_t from_s, uint32_t to_s,
                     struct gg_fleet_rolled *rolled)
{
	struct spans days = { 0 };
	int failed = 0, status = find_dirty(roll, GG_FLEET_DIRTY_DAYS, from_s, to_s, &days);

	if (status < 0)
		failed = note_failed(roll, 0, status, 0, &rolled->first_day_s, rolled);
	rolled->day_count += roll->plan->is_dry_run ? days.count : 0;
	for (size_t i = 0; i < days.count && !roll->plan->is_dry_run; i++)
		failed = roll_span(roll, true, days.items[i], failed, rolled);
	gg_array_done(&days);
	return end_staging(roll, failed);
}

/* --- notes of days --------------------------------------------------------------------------- */

/* The parts that hold a day's raw rows, and those of its rollups. */
struct day_parts {
	uint32_t start_s;
	uint64_t raw, rolled;
};

struct day_parts_array {
	GG_ARRAY(struct day_parts);
};

static int read_parts(struct roll *roll, struct day_parts_array *days)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = run(roll, GG_FLEET_DAY_PARTS, 0, UINT32_MAX, 0, 1, &reply);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct day_parts day = { .start_s = gg_clickhouse_read_u32(&rows) };

		day.raw = gg_clickhouse_read_u64(&rows);
		day.rolled = gg_clickhouse_read_u64(&rows);
		if (!gg_array_push(days, day))
			return gg_error_memory(roll->error, "fleet roll");
	}
	return status == 0 ? gg_fleet_check_rows(&rows, roll->error) : status;
}

/*
 * Like read_parts(), but returns false after a failure.  Notes of days only make questions faster,
 * so a user without the right to read system.parts rolls without them.
 */
static bool try_parts(struct roll *roll, struct day_parts_array *days)
{
	struct gg_error ignored, *error = roll->error;
	int status;

	roll->error = &ignored;
	status = read_parts(roll, days);
	roll->error = error;
	return status == 0;
}

static int insert_notes(struct roll *roll, struct gg_buf *notes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf statement = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", roll->plan->tenant),
	};
	int status = gg_clickhouse_bind(&statement, "INSERT INTO {db}.rolled_day FORMAT RowBinary",
	                                values, GG_COUNT(values), roll->error);

	if (notes->failed)
		return gg_error_memory(roll->error, "fleet roll");
	return status < 0 || notes->length == 0
	               ? status
	               : gg_clickhouse_insert(roll->store, &statement, notes->data, notes->length,
	                                      roll->error);
}

static bool has_failed(const struct roll *roll, uint32_t day_s)
{
	for (size_t i = 0; i < roll->failed_days.count; i++)
		if (roll->failed_days.items[i] == day_s)
			return true;
	return false;
}

/*
 * Notes the parts of each day that is over, if they are the same as before its hours and the day
 * were compared with what they are made of: then the rollups have these rows, and questions need
 * not read them to know it.  The parts of the rollups count as well, because another roll may put
 * older rollups back.  So a run notes only days of which it rolled nothing.  A day that failed has
 * the same parts as before, but not the rollups of its rows: the others are noted without it.
 */
static int note_days(struct roll *roll, const struct day_parts_array *before, uint32_t from_s,
                     uint32_t closed_s)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };
	struct day_parts_array after = { 0 };
	bool has_parts = try_parts(roll, &after);

	for (size_t i = 0, j = 0; i < after.count && has_parts; i++) {
		const struct day_parts *day = &after.items[i];

		while (j < before->count && before->items[j].start_s < day->start_s)
			j++;
		if (j == before->count || before->items[j].start_s != day->start_s ||
		    before->items[j].raw != day->raw || before->items[j].rolled != day->rolled ||
		    day->start_s < from_s || (uint64_t)day->start_s + GG_FLEET_DAY_S > closed_s ||
		    has_failed(roll, day->start_s))
			continue;
		gg_clickhouse_write_u32(&notes, day->start_s);
		gg_clickhouse_write_u64(&notes, day->raw ^ day->rolled);
		gg_clickhouse_write_u32(&notes, (uint32_t)time(NULL));
	}
	gg_array_done(&after);
	return insert_notes(roll, &notes);
}

/*
 * Refuses to roll at a replica that is behind, such as one with a new disk.  It would replace whole
 * rollups by those of the rows that it has, on all replicas, and rows may be dropped before the
 * next roll.  A user who may not read system.replicas rolls all the same.
 */
static int check_delay(struct roll *roll)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_error ignored, *error = roll->error;
	uint32_t most_s = roll->plan->settle_s > DELAY_LEAST_S ? roll->plan->settle_s
	                                                       : DELAY_LEAST_S;
	struct gg_clickhouse_rows rows;
	uint64_t delay_s;
	int status;

	roll->error = &ignored;
	status = run(roll, GG_FLEET_DELAY, 0, 0, 0, 1, &reply);
	roll->error = error;
	rows = gg_clickhouse_rows_of(&reply);
	delay_s = status == 0 ? gg_clickhouse_read_u64(&rows) : 0;
	if (delay_s <= most_s)
		return 0;
	return gg_error_set(error, -EAGAIN, "fleet roll",
	                    "Roll at another replica, or when this one has fetched its rows.",
	                    "the replica is %" PRIu64
	                    " seconds behind, so it lacks rows that others have",
	                    delay_s);
}

static uint32_t round_up(uint32_t time_s, uint32_t span_s)
{
	return (time_s + span_s - 1) / span_s * span_s;
}

static int first_of(int first, int second)
{
	return first < 0 ? first : second;
}

int gg_fleet_roll(struct gg_clickhouse *store, const struct gg_fleet_roll_plan *plan,
                  struct gg_fleet_rolled *ret_rolled, struct gg_error *error)
{
	struct roll roll = { .store = store, .plan = plan, .error = error };
	uint32_t closed_s = plan->now_s > plan->settle_s ? plan->now_s - plan->settle_s : 0;
	struct gg_fleet_floors floors;
	struct day_parts_array parts = { 0 };
	bool has_parts = false;
	int status = gg_fleet_schema_check(store, plan->tenant, error), days, noted;

	*ret_rolled = (struct gg_fleet_rolled){ 0 };
	if (status == 0)
		status = gg_fleet_read_floors(&floors, store, plan->tenant, error);
	if (status == 0)
		status = check_delay(&roll);
	if (status < 0)
		return status;
	ret_rolled->first_hour_s = ret_rolled->first_day_s = UINT32_MAX;
	if (!plan->is_dry_run)
		status = drop_stagings(&roll);
	if (status == 0 && !plan->is_dry_run)
		has_parts = try_parts(&roll, &parts);
	if (status < 0)
		roll.error = &roll.ignored;
	status = first_of(status, roll_hours(&roll, round_up(floors.raw_s, GG_FLEET_HOUR_S),
	                                     closed_s - closed_s % GG_FLEET_HOUR_S, ret_rolled));
	days = roll_days(&roll, round_up(floors.hours_s, GG_FLEET_DAY_S),
	                 closed_s - closed_s % GG_FLEET_DAY_S, ret_rolled);
	/* A day of which an hour failed is made of an old rollup of that hour, or lacks it. */
	if (ret_rolled->first_hour_s < ret_rolled->first_day_s)
		ret_rolled->first_day_s = ret_rolled->first_hour_s -
		                          ret_rolled->first_hour_s % GG_FLEET_DAY_S;
	status = first_of(status, days);
	if (has_parts && !roll.lacks_failed_days) {
		noted = note_days(&roll, &parts, round_up(floors.raw_s, GG_FLEET_DAY_S), closed_s);
		status = first_of(status, noted);
	}
	gg_array_done(&parts);
	gg_array_done(&roll.failed_days);
	return status;
}

/* --- reading --------------------------------------------------------------------------------- */

void gg_fleet_cover_done(struct gg_fleet_cover *cover)
{
	gg_array_done(&cover->hours);
	gg_array_done(&cover->days);
}

struct raw_hour {
	uint32_t start_s;
	uint64_t mark;
};

/* [from_s, to_s) */
struct clean_span {
	uint32_t from_s, to_s;
};

/* A row of metric 255 of rollups. */
struct rolled_mark {
	uint32_t start_s;
	uint64_t mark;
	bool is_day;
	uint8_t grouped;
};

struct covering {
	struct gg_fleet_cover *cover;
	const struct gg_fleet_scope *scope;
	struct gg_map raw_of; /* hour -> index in raw */
	GG_ARRAY(struct raw_hour) raw;
	struct gg_map is_rolled; /* begins of hours and days that are read */
	/*
	 * Whole hours of the window whose raw rows need no look: the parts of their days are those
	 * that the rollups were made from.
	 */
	GG_ARRAY(struct clean_span) clean;
	GG_ARRAY(struct rolled_mark) rolled;
};

static void covering_done(struct covering *covering)
{
	gg_map_done(&covering->raw_of);
	gg_array_done(&covering->raw);
	gg_map_done(&covering->is_rolled);
	gg_array_done(&covering->clean);
	gg_array_done(&covering->rolled);
}

static bool is_clean(const struct covering *covering, uint32_t time_s)
{
	for (size_t i = 0; i < covering->clean.count; i++)
		if (time_s >= covering->clean.items[i].from_s &&
		    time_s < covering->clean.items[i].to_s)
			return true;
	return false;
}

/* The whole hours of a day that the window has. */
static struct clean_span clean_span_of(const struct gg_fleet_scope *scope, uint32_t day_s)
{
	uint32_t end_s = day_s + GG_FLEET_DAY_S;
	uint32_t from_s = scope->from_s > day_s ? scope->from_s : day_s;
	uint32_t to_s = scope->to_s < end_s ? scope->to_s : end_s;

	return (struct clean_span){ round_up(from_s, GG_FLEET_HOUR_S),
		                    to_s - to_s % GG_FLEET_HOUR_S };
}

/*
 * Reads the days of the window whose rows are those of their rollups.  Without the right to read
 * system.parts there are no such days, so the question compares all raw rows.
 */
static int read_clean_days(struct covering *covering, struct gg_clickhouse *store,
                           struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	struct gg_error ignored;

	if (gg_fleet_scope_ask(covering->scope, store, GG_FLEET_CLEAN_DAYS, 0, &reply, &ignored) <
	    0)
		return 0;
	rows = gg_clickhouse_rows_of(&reply);
	while (gg_clickhouse_rows_more(&rows)) {
		uint32_t day_s = gg_clickhouse_read_u32(&rows);
		struct clean_span span = clean_span_of(covering->scope, day_s);

		gg_clickhouse_read_u64(&rows);
		if (day_s >= covering->scope->floors.raw_s && span.from_s < span.to_s &&
		    !gg_array_push(&covering->clean, span))
			return gg_error_memory(error, "fleet");
	}
	return gg_fleet_check_rows(&rows, error);
}

/* Reads the fingerprint of the raw rows of each hour of a span. */
static int read_raw_span(struct covering *covering, struct gg_clickhouse *store, uint32_t from_s,
                         uint32_t to_s, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_fleet_scope scope = *covering->scope;
	struct gg_clickhouse_rows rows;
	int status;

	if (from_s >= to_s)
		return 0;
	scope.from_s = from_s;
	scope.to_s = to_s;
	status = gg_fleet_scope_ask(&scope, store, GG_FLEET_RAW_MARKS, 0, &reply, error);
	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct raw_hour hour = { .start_s = gg_clickhouse_read_u32(&rows) };

		hour.mark = gg_clickhouse_read_u64(&rows);
		if (gg_map_put(&covering->raw_of, hour.start_s, covering->raw.count) < 0 ||
		    !gg_array_push(&covering->raw, hour))
			return gg_error_memory(error, "fleet");
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

/*
 * Reads the fingerprints of all hours that are not clean.  A window with many spans of either kind
 * is read as one, so that the number of statements has a bound.
 */
static int read_raw(struct covering *covering, struct gg_clickhouse *store, struct gg_error *error)
{
	uint32_t to_s = covering->scope->to_s, at_s = covering->scope->from_s, spans = 0;
	const struct clean_span *clean = covering->clean.items;
	size_t count = covering->clean.count;
	int status = 0;

	if (at_s < covering->scope->floors.raw_s)
		at_s = covering->scope->floors.raw_s;
	for (size_t i = 1; i < count; i++)
		spans += clean[i].from_s != clean[i - 1].to_s;
	if (spans > RAW_SPANS_MAX)
		return read_raw_span(covering, store, at_s, to_s, error);
	for (size_t i = 0; i < count && status == 0; i++) {
		status = read_raw_span(covering, store, at_s, clean[i].from_s, error);
		at_s = clean[i].to_s;
	}
	return status < 0 ? status : read_raw_span(covering, store, at_s, to_s, error);
}

/* Adds the fingerprints of the raw rows of a span up; 0: there are no rows. */
static uint64_t raw_mark(const struct covering *covering, uint32_t start_s, uint32_t length_s)
{
	uint64_t sum = 0;

	for (uint32_t at_s = start_s; at_s < start_s + length_s; at_s += GG_FLEET_HOUR_S) {
		uint64_t index = gg_map_get(&covering->raw_of, at_s);

		if (index != GG_MAP_NONE)
			sum += covering->raw.items[index].mark;
	}
	return sum;
}

static uint64_t day_key(uint32_t slot_s)
{
	return (uint64_t)1 << 32 | (slot_s - slot_s % GG_FLEET_DAY_S);
}

static uint64_t hour_key(uint32_t slot_s)
{
	return slot_s - slot_s % GG_FLEET_HOUR_S;
}

static bool is_covered(const struct covering *covering, uint32_t slot_s)
{
	return gg_map_get(&covering->is_rolled, day_key(slot_s)) != GG_MAP_NONE ||
	       gg_map_get(&covering->is_rolled, hour_key(slot_s)) != GG_MAP_NONE;
}

/* Takes a rollup if it lies in the window, and is that of its raw rows. */
static int take(struct covering *covering, bool is_day, uint32_t start_s, uint64_t mark)
{
	const struct gg_fleet_scope *scope = covering->scope;
	uint32_t length_s = is_day ? GG_FLEET_DAY_S : GG_FLEET_HOUR_S;
	uint64_t raw = raw_mark(covering, start_s, length_s);
	bool is_taken;

	if (start_s < scope->from_s || (uint64_t)start_s + length_s > scope->to_s ||
	    is_covered(covering, start_s))
		return 0;
	/* The rollup stands for raw rows that were dropped, whatever came late. */
	if (raw != mark && raw != 0 && start_s >= scope->floors.raw_s)
		return 0;
	is_taken = is_day ? gg_array_push(&covering->cover->days, start_s)
	                  : gg_array_push(&covering->cover->hours, start_s);
	return !is_taken ? -ENOMEM
	                 : gg_map_put(&covering->is_rolled,
	                              is_day ? day_key(start_s) : hour_key(start_s), 0);
}

/* The raw rows of a clean day are those of its hours. */
static int add_clean_hour(struct covering *covering, const struct rolled_mark *rolled)
{
	struct raw_hour hour = { rolled->start_s, rolled->mark };

	if (rolled->is_day || !is_clean(covering, rolled->start_s) ||
	    gg_map_get(&covering->raw_of, rolled->start_s) != GG_MAP_NONE)
		return 0;
	return gg_map_put(&covering->raw_of, hour.start_s, covering->raw.count) < 0 ||
	                       !gg_array_push(&covering->raw, hour)
	               ? -ENOMEM
	               : 0;
}

static int read_rolled(struct covering *covering, struct gg_clickhouse *store, uint64_t groups,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(covering->scope, store, GG_FLEET_ROLLED_MARKS, 0, &reply,
	                                error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct rolled_mark rolled = { .is_day = gg_clickhouse_read_u8(&rows) != 0 };

		rolled.start_s = gg_clickhouse_read_u32(&rows);
		rolled.mark = gg_clickhouse_read_u64(&rows);
		rolled.grouped = gg_clickhouse_read_u8(&rows);
		if (!gg_array_push(&covering->rolled, rolled) ||
		    add_clean_hour(covering, &rolled) < 0)
			return gg_error_memory(error, "fleet");
	}
	/* Days come first, and hours only where no day is taken. */
	for (size_t i = 0; i < covering->rolled.count && status == 0; i++) {
		const struct rolled_mark *rolled = &covering->rolled.items[i];

		if (groups != GG_FLEET_NO_GROUPS && groups != rolled->grouped)
			continue;
		if (take(covering, rolled->is_day, rolled->start_s, rolled->mark) < 0)
			return gg_error_memory(error, "fleet");
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

static int refuse_dropped(const struct gg_fleet_scope *scope, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf floor = { 0 };
	char advice[GG_ERROR_ADVICE_MAX];

	gg_fleet_append_time(scope->floors.raw_s, &floor);
	snprintf(advice, sizeof(advice),
	         "Ask for whole hours or days, not by host, or for a time after %s UTC.",
	         gg_buf_text(&floor));
	return gg_error_set(error, -ENODATA, "fleet", advice,
	                    "rows of single slots and hosts before %s UTC were dropped",
	                    gg_buf_text(&floor));
}

/*
 * Allocations may lie in slots without a row in `process`: agents that send differences have a slot
 * for each second.  Sums therefore read all raw rows that no rollup holds, and not only the slots
 * in which somebody reported.
 */
static void cover_sums(const struct covering *covering, bool by_span)
{
	const struct gg_fleet_scope *scope = covering->scope;
	bool has_raw = !by_span || covering->cover->raw_to_s > 0;

	for (size_t i = 0; i < covering->raw.count && !has_raw; i++)
		has_raw = !is_covered(covering, covering->raw.items[i].start_s);
	if (!has_raw)
		return;
	covering->cover->raw_from_s = scope->from_s > scope->floors.raw_s ? scope->from_s
	                                                                  : scope->floors.raw_s;
	covering->cover->raw_to_s = scope->to_s;
}

int gg_fleet_cover_of(struct gg_fleet_cover *cover, struct gg_clickhouse *store,
                      const struct gg_fleet_scope *scope, uint64_t groups, bool by_span,
                      struct gg_error *error)
{
	GG_CLEANUP(covering_done) struct covering covering = { .cover = cover, .scope = scope };
	int status = 0;

	if (scope->is_latest) {
		cover->raw_from_s = scope->from_s;
		cover->raw_to_s = scope->to_s;
		return scope->moment_s < scope->floors.raw_s ? refuse_dropped(scope, error) : 0;
	}
	if (by_span)
		status = read_clean_days(&covering, store, error);
	if (by_span && status == 0)
		status = read_raw(&covering, store, error);
	if (by_span && status == 0)
		status = read_rolled(&covering, store, groups, error);
	for (size_t i = 0; i < scope->slots.count && status == 0; i++) {
		uint32_t slot_s = scope->slots.items[i];

		if (is_covered(&covering, slot_s))
			continue;
		if (slot_s < scope->floors.raw_s)
			return refuse_dropped(scope, error);
		if (cover->raw_to_s == 0)
			cover->raw_from_s = slot_s;
		cover->raw_to_s = slot_s + 1;
	}
	if (status == 0 && scope->question->metric != GG_METRIC_LIVE)
		cover_sums(&covering, by_span);
	return status;
}
