/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_hostile - opens damaged and forged profiles.
 *
 * Each gives a clear error or a partial result, and never a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "model/model.h"
#include "profile.h"
#include "profile/schema.h"
#include "profile/sql_query.h"
#include "stats/sampling/rng.h"
#include "test.h"

static struct gg_error error;
static char path[] = "/tmp/geiger-hostile-XXXXXX";

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

static bool make_profile(void)
{
	struct gg_profile *profile;
	bool ok;

	if (strchr(path, 'X') != NULL)
		close(mkstemp(path));
	unlink(path);
	if (!OK(gg_profile_create(&profile, path, &error)))
		return false;
	ok = CHECK(profile_write(profile, &error));
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	return ok;
}

/* Makes a profile and does to it what no writer of ours does. */
static bool spoil(const char *sql)
{
	sqlite3 *db;
	char *message = NULL;
	bool done;

	if (!make_profile() || !CHECK_EQ_I64(sqlite3_open(path, &db), SQLITE_OK))
		return false;
	sqlite3_exec(db, "pragma writable_schema = on; pragma foreign_keys = off;", NULL, NULL,
	             NULL);
	done = CHECK_MSG(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s: %s", sql,
	                 message);
	sqlite3_close(db);
	return done;
}

static int see_process(const struct gg_profile_process *process, void *context)
{
	(void)process, (void)context;
	return 0;
}
static int see_thread(const struct gg_profile_thread *thread, void *context)
{
	(void)thread, (void)context;
	return 0;
}
static int see_module(const struct gg_profile_module *module, void *context)
{
	(void)module, (void)context;
	return 0;
}
static int see_mapping(const struct gg_profile_mapping *mapping, void *context)
{
	(void)mapping, (void)context;
	return 0;
}
static int see_frame(const struct gg_profile_frame *frame, void *context)
{
	(void)frame, (void)context;
	return 0;
}
static int see_line(const struct gg_profile_line *line, void *context)
{
	(void)line, (void)context;
	return 0;
}

static int see_stack(const struct gg_profile_stack *stack, void *context)
{
	(void)context;
	CHECK(stack->id > 0 && stack->parent < stack->id);
	return 0;
}

static int see_sample(const struct gg_profile_sample *sample, void *context)
{
	(void)context;
	CHECK(sample->process <= 1 && sample->thread <= 1 && sample->stack <= 2);
	CHECK(sample->heap <= 1 && sample->type <= 1 && gg_draw_is_valid(&sample->draw));
	return 0;
}

static int see_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	(void)context;
	CHECK(aggregate->process <= 1 && aggregate->thread <= 1 && aggregate->stack <= 2);
	return 0;
}

static int see_total(const struct gg_profile_total *total, void *context)
{
	(void)context;
	CHECK(total->process <= 1 && total->thread <= 1 && total->stack <= 2);
	return 0;
}

static int see_memory(const struct gg_profile_memory *memory, void *context)
{
	(void)memory, (void)context;
	return 0;
}
static int see_event(const struct gg_profile_event *event, void *context)
{
	(void)event, (void)context;
	return 0;
}

static int see_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	(void)process, (void)value, (void)context;
	CHECK(name != NULL);
	return 0;
}

static int see_note(const char *text, void *context)
{
	(void)context;
	CHECK(text != NULL);
	return 0;
}

static void ask(struct gg_profile *profile, const char *sql)
{
	struct gg_sql_query *query;

	if (gg_sql_query_new(&query, profile, sql, &error) < 0)
		return;
	for (int i = 0; i < 1000 && gg_sql_query_next(query, &error) > 0; i++)
		for (int column = 0; column < gg_sql_query_column_count(query); column++)
			gg_sql_query_text(query, column, NULL);
	gg_sql_query_free(query);
}

struct problems {
	int count;
	char first[256];
};

static void keep_problem(const char *problem, void *context)
{
	struct problems *problems = context;

	if (problems->count++ == 0)
		snprintf(problems->first, sizeof(problems->first), "%s", problem);
}

/* Any profile that loads makes a valid model. */
static void load_model(struct gg_profile *profile)
{
	struct gg_model *model;

	if (gg_model_load(&model, &profile, 1, NULL, &error) < 0)
		return;
	CHECK_MSG(gg_model_validate(model, &error) == 0, "%s", error.message);
	gg_model_free(model);
}

/* Reads everything there is; what the reader refused to believe, or -Exxx of opening. */
static int64_t read_everything(struct problems *problems)
{
	struct gg_profile_session session;
	struct gg_profile *profile;
	int64_t dangling;
	int status = gg_profile_open(&profile, path, &error);

	if (status < 0)
		return status;
	(void)!gg_profile_session(profile, &session, &error);
	gg_profile_each_process(profile, see_process, NULL, &error);
	gg_profile_each_thread(profile, see_thread, NULL, &error);
	gg_profile_each_module(profile, see_module, NULL, &error);
	gg_profile_each_mapping(profile, see_mapping, NULL, &error);
	gg_profile_each_frame(profile, see_frame, NULL, &error);
	gg_profile_each_line(profile, see_line, NULL, &error);
	gg_profile_each_stack(profile, see_stack, NULL, &error);
	gg_profile_each_sample(profile, see_sample, NULL, &error);
	gg_profile_each_aggregate(profile, see_aggregate, NULL, &error);
	gg_profile_each_total(profile, see_total, NULL, &error);
	gg_profile_each_memory(profile, see_memory, NULL, &error);
	gg_profile_each_event(profile, see_event, NULL, &error);
	gg_profile_each_counter(profile, see_counter, NULL, &error);
	gg_profile_each_note(profile, see_note, NULL, &error);
	dangling = (int64_t)gg_profile_dangling_count(profile);
	if (gg_profile_check(profile, keep_problem, problems, &error) < 0)
		problems->count = -1;
	ask(profile, "select * from v_function");
	ask(profile, "select * from v_stack");
	ask(profile, "select * from v_timeline");
	ask(profile, "select * from v_leak");
	ask(profile, "select * from v_sample");
	load_model(profile);
	gg_profile_close(profile);
	return dangling;
}

/* Changes to a file, the problem that a check reports, and whether readers of records notice it. */
static const struct {
	const char *sql, *problem;
	bool is_seen_by_readers;
} spoilings[] = {
	{ "update sample set stack = 99 where id = 1", "sample 1: its stack is not there", true },
	{ "update sample set stack = -1", "sample 1: its stack is not there", true },
	{ "update sample set stack = 'x'", "sample 1: its stack is not there", true },
	{ "update sample set process = 9223372036854775807", "process is not there", true },
	{ "update sample set thread = 4294967297", "thread is not there", true },
	{ "update sample set size = 'many' where id = 2", "sample 2: its size is not", true },
	{ "update sample set size = -5", "its size is not", true },
	{ "update sample set interval = 1e300", "it cannot have been drawn so", true },
	{ "update sample set interval = -9e999", "it cannot have been drawn so", true },
	{ "update sample set interval = null", "it cannot have been drawn so", true },
	{ "update sample set interval = x'00'", "it cannot have been drawn so", true },
	{ "update sample set scheme = 77", "it cannot have been drawn so", true },
	{ "update sample set marks = 0", "it cannot have been drawn so", true },
	{ "update sample set offset = 4096", "its first mark is behind its end", false },
	{ "update sample set t_free = 5 where id = 2", "the times are not in order", false },
	{ "update sample set t_alloc = 'dawn' where id = 1", "a time is not a whole number", true },
	{ "update sample set origin = 1234", "its origin is not there", false },
	{ "update stack set parent = 2 where id = 1", "its parent is not before it", true },
	{ "update stack set parent = 2 where id = 2", "its parent is not before it", true },
	{ "update stack set frame = 3", "its frame is not there", true },
	{ "delete from stack where id = 1", "stack: ids have a gap after 0", true },
	{ "delete from process", "its process is not there", true },
	{ "update stack set id = 4000000000 where id = 2", "ids have a gap after 1", true },
	{ "update line set symbol = 99", "line: its symbol is not there", false },
	{ "update line set depth = -1 where depth = 0", NULL, true },
	{ "update frame set address = 1.5", NULL, true },
	{ "update module set path = x'ff', build_id = 'text'", NULL, true },
	{ "update total set freed_samples = 10", "more was freed than allocated", false },
	{ "update total set allocated_samples = 8", "allocated minus freed is 4 samples, but 1",
	  false },
	{ "update total set lifetimes = '[1,2'", NULL, true },
	{ "update total set lifetimes = '[99999999999]'", NULL, true },
	{ "update total set allocated_bytes = -1", NULL, true },
	{ "update coarse set count = 0.5", "its sums are not what samples add up to", false },
	{ "update coarse set bytes = -9e999", "its sums are not what", true },
	{ "update memory set rss_bytes = 'big'", "rss_bytes is not a number", true },
	{ "update process set end_least_ns = end_ns + 1", "its earliest end is not between", true },
	{ "update process set end_least_ns = start_ns - 1", "its earliest end is not", true },
	{ "update process set end_ns = null, end_least_ns = 1", "its earliest end is not", true },
	{ "update process set end_least_ns = end_ns - 1", NULL, false },
	{ "delete from session", "session: there is none", false },
	{ "update session set scheme = 'poisson', interval = 'wide'", NULL, true },
	{ "update counter set process = 2", "its process is not there", true },
	{ "insert into note values (null, 5)", NULL, false }, /* text by affinity */
};

TEST(every_spoilt_row_is_told_or_survived)
{
	for (size_t i = 0; i < GG_COUNT(spoilings); i++) {
		struct problems problems = { 0 };
		int64_t seen;

		if (!spoil(spoilings[i].sql))
			continue;
		seen = read_everything(&problems);
		CHECK_MSG(spoilings[i].is_seen_by_readers ? seen > 0 : seen == 0,
		          "%s: %lld by readers: %s", spoilings[i].sql, (long long)seen,
		          error.message);
		if (spoilings[i].problem != NULL)
			CHECK_MSG(problems.count > 0 &&
			                  strstr(problems.first, spoilings[i].problem) != NULL,
			          "%s: '%s'", spoilings[i].sql, problems.first);
	}
	unlink(path);
}

/* Changes that make a file be refused, each with its message. */
static const struct {
	const char *sql, *message;
} refusals[] = {
	{ "pragma user_version = 9", "a profile of version 9; this geiger reads up to" },
	{ "pragma user_version = 1", "a profile of version 1, which no release made" },
	{ "pragma user_version = 0", "a profile of version 0" },
	{ "pragma application_id = 5", "not a profile: its application id is 0x00000005" },
	{ "pragma user_version = 2", "its table 'process' is not as geiger makes it" },
	{ "drop table total", "it has no table 'total'" },
	{ "alter table sample add column extra", "its table 'sample' is not as geiger makes it" },
	{ "drop table note; create view note as select 1 as id, 'x' as text",
	  "it has no table 'note'" },
	{ "drop table note; create virtual table note using fts5(text)", "it has no table 'note'" },
	{ "update sqlite_schema set sql = 'create table event(id integer primary key, time_ns,"
	  " process, kind, detail as (zeroblob(100000000)))' where name = 'event'",
	  "its table 'event' is not as geiger makes it" },
	{ "update sqlite_schema set rootpage = 9999 where name = 'sample'", NULL },
	{ "update sqlite_schema set rootpage = 1 where name = 'sample'", NULL },
};

TEST(a_file_that_is_not_a_profile_of_ours_says_why)
{
	for (size_t i = 0; i < GG_COUNT(refusals); i++) {
		struct problems problems = { 0 };

		if (!spoil(refusals[i].sql))
			continue;
		error.message[0] = '\0';
		if (refusals[i].message == NULL) {
			read_everything(&problems);
			continue;
		}
		CHECK_MSG(read_everything(&problems) == -EBADMSG, "%s", refusals[i].sql);
		CHECK_MSG(strstr(error.message, refusals[i].message) != NULL, "%s: %s",
		          refusals[i].sql, error.message);
	}
	unlink(path);
}

/*
 * Gives the profile the tables of an older version, and that version as its own if `is_stated`.
 * The processes stay; the other tables become empty, but for one reading of memory.
 */
static bool make_older(uint32_t version, bool is_stated)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };

	gg_buf_printf(&sql, "pragma user_version = %u;", is_stated ? version : GG_PROFILE_VERSION);
	gg_buf_append_text(&sql, "create temp table kept as select * from process;");
	for (size_t i = 0; gg_schema_tables[i] != NULL; i++) {
		const struct gg_record_table *table = gg_schema_tables[i];
		const char *create = gg_record_table_create(table, version);

		if (create == NULL)
			gg_buf_printf(&sql, "drop table %s;", table->name);
		else if (create != table->create)
			gg_buf_printf(&sql, "drop table %s; create table %s;", table->name, create);
	}
	if (version <= 3)
		gg_buf_append_text(
			&sql, "insert into process select id, parent, pid, start_ns, end_ns, exe,"
			      " command, ending, interval, scheme from kept;");
	if (version <= 2)
		gg_buf_append_text(&sql, "insert into memory values"
		                         " (1, 1, 5, 77, 6, 1, 2, 3, 4, 5, 6, 7, 8)");
	return spoil(gg_buf_text(&sql));
}

static int see_old_memory(const struct gg_profile_memory *memory, void *context)
{
	CHECK_EQ_I64(memory->rss_bytes, 77);
	CHECK_EQ_DOUBLE(memory->live_bytes, 8);
	CHECK_EQ_I64(memory->span_ns, -1);
	CHECK_EQ_I64(memory->max_rss_bytes, -1);
	CHECK_EQ_I64(memory->geiger_bytes, -1);
	++*(int *)context;
	return 0;
}

TEST(a_file_of_version_2_is_read_and_its_readings_have_no_maximum)
{
	struct gg_profile *profile;
	int seen = 0;

	if (!make_older(2, true))
		return;
	if (OK(gg_profile_open(&profile, path, &error))) {
		OK(gg_profile_each_memory(profile, see_old_memory, &seen, &error));
		CHECK_EQ_I64(seen, 1);
		gg_profile_close(profile);
	}
	if (make_older(2, false))
		CHECK_EQ_I64(gg_profile_open(&profile, path, &error), -EBADMSG);
	unlink(path);
}

/*
 * The sums of such a file lack columns.  Queries add up the samples, and finishing it again leaves
 * the sums empty.
 */
TEST(a_file_of_version_2_is_asked_and_finished_as_a_new_one_is)
{
	struct gg_profile *profile;
	struct gg_sql_query *query;

	if (!make_older(2, true))
		return;
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	if (OK(gg_sql_query_new(
		    &query, profile,
		    "select sum(live_samples), sum(left_samples) from v_stack"
		    " union all select max(live_samples), max(left_samples) from v_function",
		    &error))) {
		CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
		CHECK(gg_sql_query_integer(query, 0) > 0 && gg_sql_query_integer(query, 1) > 0);
		CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
		gg_sql_query_free(query);
	}
	gg_profile_close(profile);
	unlink(path);
}

static int see_exact_end(const struct gg_profile_process *process, void *context)
{
	CHECK_EQ_I64(process->end_ns, 5000);
	CHECK_EQ_I64(process->end_range_ns, 0);
	++*(int *)context;
	return 0;
}

/* Changes the ends of all processes, which a file of version 3 cannot hold a lower bound of. */
static int change_end(struct gg_profile *profile)
{
	const struct gg_profile_process process = { .end_ns = 5000, .end_range_ns = 1000 };

	return gg_profile_update_process(profile, 1, &process, &error);
}

static int see_look(const struct gg_profile_look *look, void *context)
{
	(void)look;
	++*(int *)context;
	return 0;
}

/* The query counts the rows of a table that a file of that version lacks. */
static void check_empty(struct gg_profile *profile, const char *sql)
{
	struct gg_sql_query *query;

	if (!OK(gg_sql_query_new(&query, profile, sql, &error)))
		return;
	CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
	CHECK_EQ_I64(gg_sql_query_integer(query, 0), 0);
	gg_sql_query_free(query);
}

static int see_attach(const struct gg_profile_attach *attach, void *context)
{
	(void)attach;
	++*(int *)context;
	return 0;
}

TEST(a_file_of_version_5_is_read_and_changed_and_has_no_attach)
{
	const struct gg_profile_attach attach = { .process = 1 };
	struct problems problems = { 0 };
	struct gg_profile *profile;
	int seen = 0;

	if (!make_older(5, true))
		return;
	CHECK_EQ_I64(read_everything(&problems), 0);
	CHECK_MSG(problems.count == 0, "%s", problems.first);
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(gg_profile_put_attach(profile, &attach, &error));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_profile_each_attach(profile, see_attach, &seen, &error));
	CHECK_EQ_I64(seen, 0);
	check_empty(profile, "select count(*) from attach");
	gg_profile_close(profile);
	unlink(path);
}

TEST(a_file_of_version_4_is_read_and_has_no_looks)
{
	const struct gg_profile_look look = { .process = 1 };
	struct problems problems = { 0 };
	struct gg_profile *profile;
	int seen = 0;

	if (!make_older(4, true))
		return;
	CHECK_EQ_I64(read_everything(&problems), 0);
	CHECK_MSG(problems.count == 0, "%s", problems.first);
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(gg_profile_put_look(profile, &look, &(struct gg_profile_look_parts){ 0 },
		                       &error));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_profile_each_look(profile, see_look, &seen, &error));
	CHECK_EQ_I64(seen, 0);
	check_empty(profile, "select count(*) from look_block");
	gg_profile_close(profile);
	unlink(path);
}

TEST(a_file_of_version_3_is_read_and_changed_and_its_ends_have_no_lower_bound)
{
	struct problems problems = { 0 };
	struct gg_profile *profile;
	struct gg_sql_query *query;
	int seen = 0;

	if (!make_older(3, true))
		return;
	CHECK_EQ_I64(read_everything(&problems), 0);
	CHECK_MSG(problems.count == 0, "%s", problems.first);
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(change_end(profile));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_profile_each_process(profile, see_exact_end, &seen, &error));
	CHECK_EQ_I64(seen, 1);
	if (OK(gg_sql_query_new(&query, profile,
	                        "select count(*), count(end_least_ns) from process"
	                        " union all select count(*), count(*) > 0 from v_block",
	                        &error))) {
		CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
		CHECK_EQ_I64(gg_sql_query_integer(query, 0), 1);
		CHECK_EQ_I64(gg_sql_query_integer(query, 1), 0);
		CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
		CHECK_EQ_I64(gg_sql_query_integer(query, 1), 1);
		gg_sql_query_free(query);
	}
	gg_profile_close(profile);
	if (make_older(3, false))
		CHECK_EQ_I64(gg_profile_open(&profile, path, &error), -EBADMSG);
	unlink(path);
}

static int see_end_range(const struct gg_profile_process *process, void *context)
{
	CHECK_EQ_I64(process->end_range_ns, 1000);
	++*(int *)context;
	return 0;
}

TEST(the_lower_bound_of_an_end_is_read_as_it_was_written)
{
	struct gg_profile *profile;
	int seen = 0;

	if (!make_profile())
		return;
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(change_end(profile));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (OK(gg_profile_open(&profile, path, &error))) {
		OK(gg_profile_each_process(profile, see_end_range, &seen, &error));
		CHECK_EQ_I64(seen, 1);
		gg_profile_close(profile);
	}
	unlink(path);
}

TEST(what_a_file_brings_along_is_not_run)
{
	struct gg_profile *profile;
	struct gg_sql_query *query;

	if (!spoil("drop view v_function; create view v_function as select 666 as function;"
	           "create trigger t after insert on note begin delete from sample; end"))
		return;
	if (OK(gg_profile_edit(&profile, path, &error))) {
		OK(gg_profile_add_note(profile, "new", &error));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
	}
	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	if (OK(gg_sql_query_new(&query, profile,
	                        "select (select count(*) from sample), * from v_function limit 1",
	                        &error))) {
		CHECK_EQ_I64(gg_sql_query_next(query, &error), 1);
		CHECK_EQ_I64(gg_sql_query_integer(query, 0), 2);
		CHECK(strcmp(gg_sql_query_text(query, 1, NULL), "666") != 0);
		gg_sql_query_free(query);
	}
	gg_profile_close(profile);
	unlink(path);
}

TEST(a_truncated_file_is_told_to_be_one)
{
	struct problems problems = { 0 };

	for (long bytes = 0; bytes < 60000; bytes += bytes < 200 ? 50 : 4321) {
		if (!make_profile())
			return;
		CHECK_EQ_I64(truncate(path, bytes), 0);
		CHECK_EQ_I64(read_everything(&problems), -EBADMSG);
		if (bytes >= 100)
			CHECK_MSG(strstr(error.message, "truncated") != NULL, "%s", error.message);
	}
	unlink(path);
}

static bool is_dull(unsigned char byte)
{
	return byte == 0 || (byte >= ' ' && byte <= '~');
}

/* The same by chance: any bytes of the file, a few at a time. */
TEST(no_change_of_bytes_crashes_a_reader)
{
	const char *wanted = getenv("GG_TEST_MUTATIONS");
	int runs = wanted != NULL ? atoi(wanted) : 300, opened = 0;
	static unsigned char original[1 << 20], spoilt[1 << 20];
	ssize_t bytes;
	struct gg_rng rng;
	int file;

	gg_rng_seed(&rng, 11, 1);
	if (!make_profile())
		return;
	file = open(path, O_RDWR);
	bytes = read(file, original, sizeof(original));
	CHECK(bytes > 50000 && bytes < (ssize_t)sizeof(original));
	for (int run = 0; run < runs && !test_failed; run++) {
		struct problems problems = { 0 };

		memcpy(spoilt, original, (size_t)bytes);
		for (int i = 1 + (int)(gg_rng_next(&rng) % 8); i > 0; i--) {
			size_t at = gg_rng_next(&rng) % (size_t)bytes;

			/* Most of a small file is empty, and most else the schema's text. */
			for (int tries = 0; tries < 200 && is_dull(original[at]); tries++)
				at = gg_rng_next(&rng) % (size_t)bytes;
			spoilt[at] = (unsigned char)gg_rng_next(&rng);
		}
		CHECK_EQ_I64(pwrite(file, spoilt, (size_t)bytes, 0), bytes);
		opened += read_everything(&problems) >= 0;
	}
	CHECK_MSG(opened > runs / 10, "%d of %d opened", opened, runs);
	close(file);
	unlink(path);
}
