/* SPDX-License-Identifier: Apache-2.0 */
/* sql_pinned - adds up what the blocks of a group keep, and computes their confidence interval. */
#include "profile/sql_pinned.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/records.h"
#include "profile/sql_functions.h"
#include "stats/estimate/interval.h"

/* The state of one group; SQLite provides it zeroed. */
struct sql_pinned_group {
	struct gg_tally tally;
	uint32_t moment; /* GG_LOOK_*; 0: there was no row yet */
	bool has_failed;
};

static void fail(sqlite3_context *context, struct sql_pinned_group *group, const char *text)
{
	group->has_failed = true;
	sqlite3_result_error(context, text, -1);
}

/* Returns GG_LOOK_LAST, GG_LOOK_PEAK, or 0 if the name is another one. */
static uint32_t moment_of(int count, sqlite3_value **values)
{
	const char *name = count > 1 ? (const char *)sqlite3_value_text(values[1]) : "last";

	if (name != NULL && strcmp(name, "last") == 0)
		return GG_LOOK_LAST;
	return name != NULL && strcmp(name, "peak") == 0 ? GG_LOOK_PEAK : 0;
}

static void add_to_group(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct gg_sql_pinned *pinned = sqlite3_user_data(context);
	struct sql_pinned_group *group = sqlite3_aggregate_context(context, sizeof(*group));
	uint32_t moment = moment_of(count, values);
	sqlite3_int64 sample = sqlite3_value_int64(values[0]);
	char text[160];

	if (group == NULL || group->has_failed || sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (moment == 0 || (group->moment != 0 && group->moment != moment)) {
		fail(context, group, "the moment of a group is 'last' or 'peak'");
		return;
	}
	group->moment = moment;
	if (pinned->add(pinned->context, (uint64_t)sample, moment, &group->tally))
		return;
	snprintf(text, sizeof(text),
	         "sample %lld is in no look at the moment '%s': add 'where moments & %u'",
	         (long long)sample, moment == GG_LOOK_LAST ? "last" : "peak", moment);
	fail(context, group, text);
}

/*
 * Returns the bounded tally of a group.  NULL: it has an error, no rows, or only blocks that other
 * processes represent.
 */
static const struct gg_tally *tally_of(sqlite3_context *context)
{
	const struct gg_sql_pinned *pinned = sqlite3_user_data(context);
	struct sql_pinned_group *group = sqlite3_aggregate_context(context, 0);

	if (group == NULL || group->has_failed ||
	    (group->tally.sample_count == 0 && !gg_tally_is_uncertain(&group->tally)))
		return NULL;
	pinned->bound(pinned->context, group->moment, &group->tally);
	return &group->tally;
}

static void end_bytes(sqlite3_context *context)
{
	const struct gg_tally *tally = tally_of(context);

	if (tally != NULL)
		sqlite3_result_double(context, gg_tally_estimate(tally, GG_BYTES).value);
}

/* Ends that are unknown are NULL. */
static void end_low(sqlite3_context *context)
{
	const struct gg_tally *tally = tally_of(context);
	struct gg_interval interval;

	if (tally == NULL)
		return;
	interval = gg_interval_of(tally, GG_BYTES, 0.95, true);
	if (interval.method != GG_METHOD_UNKNOWN)
		sqlite3_result_double(context, interval.low);
}

static void end_high(sqlite3_context *context)
{
	const struct gg_tally *tally = tally_of(context);
	struct gg_interval interval;

	if (tally == NULL)
		return;
	interval = gg_interval_of(tally, GG_BYTES, 0.95, true);
	if (interval.method != GG_METHOD_UNKNOWN && isfinite(interval.high))
		sqlite3_result_double(context, interval.high);
}

int gg_sql_pinned_register(sqlite3 *db, const struct gg_sql_pinned *pinned)
{
	static const struct {
		const char *name;
		void (*end)(sqlite3_context *context);
	} functions[] = { { "gg_pinned_bytes", end_bytes },
		          { "gg_pinned_low", end_low },
		          { "gg_pinned_high", end_high } };
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, result = SQLITE_OK;

	for (size_t i = 0; i < 2 * GG_COUNT(functions) && result == SQLITE_OK; i++)
		result = sqlite3_create_function_v2(
			db, functions[i / 2].name, i % 2 == 0 ? 1 : 2, flags, (void *)pinned, NULL,
			pinned != NULL ? add_to_group : NULL,
			pinned != NULL ? functions[i / 2].end : NULL, NULL);
	return result;
}
