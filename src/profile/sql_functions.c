/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sql_functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "stats/estimate/interval.h"

/* The state of one group; SQLite provides it zeroed. */
struct group_state {
	struct gg_tally tally;
	double confidence; /* 0: 0.95 */
	int is_wrong;
};

/* Accepts the scheme by name, as in v_sample, or by number, as in sample. */
static int scheme_of(sqlite3_value *value, enum gg_scheme *ret_scheme)
{
	const char *name;

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		*ret_scheme = (enum gg_scheme)sqlite3_value_int(value);
		return 0;
	}
	name = (const char *)sqlite3_value_text(value);
	if (name != NULL && strcmp(name, gg_scheme_name(GG_SCHEME_BIASED)) == 0) {
		*ret_scheme = GG_SCHEME_BIASED;
		return 0;
	}
	return name != NULL ? gg_scheme_parse(name, ret_scheme) : -1;
}

static void add_to_group(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct group_state *group = sqlite3_aggregate_context(context, sizeof(*group));
	struct gg_draw draw;

	if (group == NULL || sqlite3_value_type(values[4]) == SQLITE_NULL)
		return;
	draw.sampling_interval = sqlite3_value_double(values[1]);
	draw.offset_bytes = (uint64_t)sqlite3_value_int64(values[2]);
	draw.sample_point_count = (uint32_t)sqlite3_value_int64(values[3]);
	if (scheme_of(values[0], &draw.scheme) < 0 || !gg_draw_is_valid(&draw) ||
	    sqlite3_value_int64(values[4]) < 0) {
		group->is_wrong = 1;
		return;
	}
	if (count > 5)
		group->confidence = sqlite3_value_double(values[5]);
	gg_tally_add(&group->tally, &draw, (uint64_t)sqlite3_value_int64(values[4]));
}

static void end_group(sqlite3_context *context)
{
	/* "bl": bytes, low; "ch": count, high; "b?": bytes, an upper end that does not exist */
	const char *what = sqlite3_user_data(context);
	struct group_state *group = sqlite3_aggregate_context(context, 0);
	struct gg_interval interval;
	double confidence;

	if (group == NULL || (group->tally.sample_count == 0 && !group->is_wrong)) {
		sqlite3_result_null(context);
		return;
	}
	confidence = group->confidence > 0 && group->confidence < 1 ? group->confidence : 0.95;
	if (group->is_wrong) {
		sqlite3_result_error(
			context, "needs (scheme, interval, offset, marks, size) of samples", -1);
		return;
	}
	if (what[1] == '?') {
		sqlite3_result_null(context);
		return;
	}
	interval = gg_interval_of(&group->tally, what[0] == 'b' ? GG_BYTES : GG_ALLOCATIONS,
	                          confidence, true);
	sqlite3_result_double(context, what[1] == 'l' ? interval.low : interval.high);
}

static void print_size(sqlite3_context *context, int count, sqlite3_value **values)
{
	char text[GG_SIZE_TEXT_MAX];

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	gg_size_format(sqlite3_value_double(values[0]), text);
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int gg_sql_functions_register(sqlite3 *db, bool is_lacking)
{
	const struct {
		const char *name;
		const char *what;
	} ends[] = { { "gg_bytes_low", "bl" },
		     { "gg_bytes_high", is_lacking ? "b?" : "bh" },
		     { "gg_count_low", "cl" },
		     { "gg_count_high", is_lacking ? "c?" : "ch" } };
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int result = sqlite3_create_function_v2(db, "gg_size", 1, flags, NULL, print_size, NULL,
	                                        NULL, NULL);

	for (size_t i = 0; i < 2 * GG_COUNT(ends) && result == SQLITE_OK; i++)
		result = sqlite3_create_function_v2(db, ends[i / 2].name, i % 2 == 0 ? 5 : 6, flags,
		                                    (void *)(uintptr_t)ends[i / 2].what, NULL,
		                                    add_to_group, end_group, NULL);
	return result;
}
