/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - validates a profile by a list of rules.
 *
 * A rule is an SQL statement that counts the rows that violate it and names the first one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/row_reader.h"

struct rule {
	const char *problem; /* "N rows of ..., such as ID: PROBLEM" */
	const char *table;
	const char *condition; /* selects the wrong rows */
};

#define REFERENCE(table, column, target)                                            \
	{                                                                           \
		"its " column " is not there", table,                               \
			column " is not null and " column                           \
			       " <> 0 and not exists (select 1 from " target        \
			       " as target where target.id = " table "." column ")" \
	}

#define NUMBER(table, column, condition)                                       \
	{                                                                      \
		column " is not a number that it can be", table,               \
			column " is not null and not (typeof(" column          \
			       ") in ('integer', 'real') and (" condition "))" \
	}

static const struct rule rules[] = {
	REFERENCE("process", "parent", "process"),
	REFERENCE("thread", "process", "process"),
	REFERENCE("mapping", "process", "process"),
	REFERENCE("mapping", "module", "module"),
	REFERENCE("frame", "module", "module"),
	REFERENCE("line", "frame", "frame"),
	REFERENCE("line", "symbol", "symbol"),
	REFERENCE("stack", "parent", "stack"),
	REFERENCE("stack", "frame", "frame"),
	REFERENCE("sample", "process", "process"),
	REFERENCE("sample", "thread", "thread"),
	REFERENCE("sample", "stack", "stack"),
	REFERENCE("sample", "heap", "heap"),
	REFERENCE("sample", "type", "type"),
	REFERENCE("sample", "free_thread", "thread"),
	REFERENCE("sample", "free_stack", "stack"),
	REFERENCE("sample", "origin", "sample"),
	REFERENCE("coarse", "process", "process"),
	REFERENCE("coarse", "thread", "thread"),
	REFERENCE("coarse", "stack", "stack"),
	REFERENCE("total", "process", "process"),
	REFERENCE("total", "thread", "thread"),
	REFERENCE("total", "stack", "stack"),
	REFERENCE("memory", "process", "process"),
	REFERENCE("event", "process", "process"),
	REFERENCE("counter", "process", "process"),
	REFERENCE("label", "process", "process"),
	{ "its parent is not before it", "stack", "parent >= id" },
	{ "its parent is not before it", "process", "parent >= id" },
	{ "the times are not in order", "process", "end_ns < start_ns" },
	{ "the times are not in order", "thread", "end_ns < start_ns" },
	{ "it ends before it starts", "mapping", "start > end and (start < 0) = (end < 0)" },
	{ "the times are not in order", "sample", "t_free < t_alloc" },
	{ "the times are not in order", "coarse", "to_ns < from_ns" },
	{ "a time is not a whole number", "sample",
	  "typeof(t_alloc) <> 'integer' or typeof(t_free) not in ('integer', 'null')" },
	{ "it was freed by a thread, but at no time", "sample",
	  "t_free is null and coalesce(free_thread, free_stack) is not null" },
	{ "its size is not a number of bytes", "sample",
	  "typeof(size) <> 'integer' or size < 0 or typeof(usable) <> 'integer' or usable < 0" },
	{ "it cannot have been drawn so", "sample",
	  "typeof(scheme) <> 'integer' or scheme not between 0 and 6"
	  " or typeof(interval) not in ('integer', 'real')"
	  " or not interval between iif(scheme = 5, 0, 1) and 1.0141204801825835e31"
	  " or typeof(marks) <> 'integer' or marks < 1 or marks > 4294967295"
	  " or (marks <> 1 and scheme not in (2, 3))" },
	{ "its first mark is behind its end", "sample",
	  "typeof(offset) <> 'integer' or offset < 0 or offset >= max(size, 1)" },
	{ "its sums are not what samples add up to", "coarse",
	  "typeof(samples) <> 'integer' or samples < iif(coalesce(lost, 0) & 8, 0, 1)"
	  " or (count_variance is not null and not count + 1 >= samples * 0.999999)"
	  " or (bytes_variance is not null and not bytes >= size * 0.999999)"
	  " or not count >= 0 or not bytes >= 0 or not count_variance >= 0"
	  " or not bytes_variance >= 0" },
	NUMBER("memory", "rss_bytes", "rss_bytes >= 0"),
	NUMBER("memory", "live_bytes", "live_bytes >= 0"),
};

/* Rules about columns that older versions lack. */
static const struct {
	uint32_t version; /* the first with these columns */
	struct rule rule;
} newer_rules[] = {
	{ GG_PROFILE_VERSION_END_LEAST,
	  { "its earliest end is not between its start and its end", "process",
	    "end_least_ns is not null and"
	    " not coalesce(end_least_ns >= start_ns and end_least_ns <= end_ns, 0)" } },
	{ GG_PROFILE_VERSION_LOOK, REFERENCE("look", "process", "process") },
	{ GG_PROFILE_VERSION_LOOK, REFERENCE("look_mapping", "look", "look") },
	{ GG_PROFILE_VERSION_LOOK, REFERENCE("look_block", "look", "look") },
	{ GG_PROFILE_VERSION_LOOK, REFERENCE("look_total", "look", "look") },
	{ GG_PROFILE_VERSION_LOOK,
	  { "its mappings do not add up to its RSS", "look",
	    "rss_bytes is not null and rss_bytes <> (select coalesce(sum(m.rss_bytes), 0)"
	    " from look_mapping as m where m.look = look.id)" } },
	{ GG_PROFILE_VERSION_ATTACH, REFERENCE("attach", "process", "process") },
	{ GG_PROFILE_VERSION_FAULT, REFERENCE("fault", "process", "process") },
	{ GG_PROFILE_VERSION_FAULT, REFERENCE("fault", "stack", "stack") },
	{ GG_PROFILE_VERSION_FAULT, REFERENCE("fault", "alloc_stack", "stack") },
	{ GG_PROFILE_VERSION_FAULT, REFERENCE("fault", "free_stack", "stack") },
	{ GG_PROFILE_VERSION_AGGREGATE_KIND, REFERENCE("coarse", "heap", "heap") },
	{ GG_PROFILE_VERSION_AGGREGATE_KIND, REFERENCE("coarse", "type", "type") },
};

struct checking {
	struct gg_profile *profile;
	gg_problem_visit *visit;
	void *context;
	int count;
};

static GG_PRINTF(2, 3) void tell(struct checking *checking, const char *format, ...)
{
	char text[512];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	checking->count++;
	checking->visit(text, checking->context);
}

/* SQLite's own check of pages, cells, and indexes. */
static int check_integrity(struct checking *checking, struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, checking->profile, "pragma integrity_check(20)");
	while (gg_row_reader_next(&reading)) {
		const char *text = gg_row_reader_text(&reading);

		if (text != NULL && strcmp(text, "ok") != 0)
			tell(checking, "the file is damaged: %s", text);
	}
	return gg_row_reader_end(&reading, error);
}

static bool has_ids(const char *table)
{
	static const char *const others[] = {
		"line",         "total",      "counter",    "label",
		"look_mapping", "look_block", "look_total", "attach"
	};

	for (size_t i = 0; i < GG_COUNT(others); i++)
		if (strcmp(table, others[i]) == 0)
			return false;
	return true;
}

static int check_rule(struct checking *checking, const struct rule *rule, struct gg_error *error)
{
	struct gg_row_reader reading;
	bool has_id = has_ids(rule->table);
	char sql[1024];

	snprintf(sql, sizeof(sql), "select count(*), min(%s) from %s where %s",
	         has_id ? "id" : "null", rule->table, rule->condition);
	gg_row_reader_begin(&reading, checking->profile, sql);
	if (gg_row_reader_next(&reading)) {
		int64_t count = gg_row_reader_integer(&reading, 0, INT64_MAX);
		int64_t first = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);

		if (count > 0 && has_id)
			tell(checking, "%s %" PRId64 ": %s (%" PRId64 " such)", rule->table, first,
			     rule->problem, count);
		else if (count > 0)
			tell(checking, "%s: %s (%" PRId64 " such)", rule->table, rule->problem,
			     count);
	}
	return gg_row_reader_end(&reading, error);
}

/* Ids must be 1, 2, 3 ... without gaps, because readers index arrays by them. */
static int check_dense(struct checking *checking, struct gg_error *error)
{
	static const char *const tables[] = { "process", "thread", "module", "frame",
		                              "stack",   "heap",   "type" };
	struct gg_profile *profile = checking->profile;
	char sql[64];
	int result = SQLITE_OK;

	for (int i = 0; i < GG_DENSE_COUNT && result == SQLITE_OK; i++) {
		snprintf(sql, sizeof(sql), "select count(*) from %s", tables[i]);
		int64_t count = gg_database_read_integer(profile, sql, &result);

		if (result == SQLITE_OK && count != profile->counts[i])
			tell(checking, "%s: ids have a gap after %" PRIu32, tables[i],
			     profile->counts[i]);
	}
	return result == SQLITE_OK ? 0 : gg_database_fail(profile, result, error);
}

static int check_session(struct checking *checking, struct gg_error *error)
{
	struct gg_profile *profile = checking->profile;
	int result;
	int64_t count = gg_database_read_integer(profile, "select count(*) from session", &result);

	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	if (count != 1)
		tell(checking, "session: there is none");
	return 0;
}

/* Per stack: one thread may free more than it allocated, but all threads together may not. */
static int check_frees(struct checking *checking, struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, checking->profile,
	                    "select count(*), min(process) from (select process from total group by"
	                    " process, stack having sum(freed_samples) > sum(allocated_samples))");
	if (gg_row_reader_next(&reading)) {
		int64_t count = gg_row_reader_integer(&reading, 0, INT64_MAX);
		int64_t first = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);

		if (count > 0)
			tell(checking,
			     "process %" PRId64 ": more was freed than allocated (%" PRId64
			     " stacks in all)",
			     first, count);
	}
	return gg_row_reader_end(&reading, error);
}

/* --- allocated - freed = live ------------------------------------------------------------- */

struct balance {
	struct gg_sums allocated, freed, live; /* by process: from site totals, and from samples */
	bool has_total;
};

static int add_total(const struct gg_profile_total *total, void *context)
{
	struct balance *balance = (struct balance *)context + total->process;

	gg_sums_add(&balance->allocated, &total->allocated);
	gg_sums_add(&balance->freed, &total->freed);
	balance->has_total = true;
	return 0;
}

static int add_live(const struct gg_profile_sample *sample, void *context)
{
	struct balance *balance = (struct balance *)context + sample->process;
	struct gg_sums sums;

	if (sample->free_ns != GG_TIME_NONE)
		return 0;
	sums = gg_sums_of(&sample->draw, sample->size_bytes);
	gg_sums_add(&balance->live, &sums);
	return 0;
}

/* With exact counts, what is live is in aggregates. */
static int add_live_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct balance *balance = (struct balance *)context + aggregate->process;

	if (aggregate->is_exact && aggregate->to_ns == GG_TIME_NONE)
		gg_sums_add(&balance->live, &aggregate->sums);
	return 0;
}

static void compare(struct checking *checking, uint32_t process, struct balance *balance)
{
	double allocated = gg_fixed_value(balance->allocated.bytes), live, seen;

	gg_sums_subtract(&balance->allocated, &balance->freed);
	live = gg_fixed_value(balance->allocated.bytes);
	seen = gg_fixed_value(balance->live.bytes);
	if (balance->allocated.sample_count != balance->live.sample_count)
		tell(checking,
		     "process %" PRIu32 ": allocated minus freed is %" PRId64
		     " samples, but %" PRIu64 " live",
		     process, (int64_t)balance->allocated.sample_count, balance->live.sample_count);
	else if (!(fabs(live - seen) <= 1e-9 * allocated + 1))
		tell(checking,
		     "process %" PRIu32 ": allocated minus freed is %.0f bytes, but %.0f live",
		     process, live, seen);
}

static int check_balance(struct checking *checking, struct gg_error *error)
{
	struct gg_profile *profile = checking->profile;
	uint32_t count = profile->counts[GG_DENSE_PROCESS];
	struct balance *balances = calloc((size_t)count + 1, sizeof(*balances));
	int status;

	if (balances == NULL)
		return gg_error_memory(error, profile->path);
	status = gg_profile_each_total(profile, add_total, balances, error);
	if (status == 0)
		status = gg_profile_each_sample(profile, add_live, balances, error);
	if (status == 0)
		status = gg_profile_each_aggregate(profile, add_live_aggregate, balances, error);
	for (uint32_t i = 1; i <= count && status == 0; i++)
		if (balances[i].has_total)
			compare(checking, i, &balances[i]);
	free(balances);
	return status;
}

int gg_profile_check(struct gg_profile *profile, gg_problem_visit *visit, void *context,
                     struct gg_error *error)
{
	struct checking checking = { profile, visit, context, 0 };
	int status = check_integrity(&checking, error);

	if (status == 0)
		status = check_session(&checking, error);
	if (status == 0)
		status = check_dense(&checking, error);
	for (size_t i = 0; i < GG_COUNT(rules) && status == 0; i++)
		status = check_rule(&checking, &rules[i], error);
	for (size_t i = 0; i < GG_COUNT(newer_rules) && status == 0; i++)
		if (profile->version >= newer_rules[i].version)
			status = check_rule(&checking, &newer_rules[i].rule, error);
	if (status == 0)
		status = check_frees(&checking, error);
	if (status == 0)
		status = check_balance(&checking, error);
	return status < 0 ? status : checking.count;
}
