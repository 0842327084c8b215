/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions: at the end of a recording, and later by `geiger symbolize`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

#define NAMED "select count(*) from v_function where function = 'main'"

static bool record(struct recording *r, const char *option)
{
	const char *program = getenv("RECORD_PROGRAM");
	const char *arguments[] = { "-i", "1k", option, "--", program, "churn", "3000", NULL };

	return CHECK(recording_begin(r)) && CHECK(recording_run(r, arguments, 60)) &&
	       CHECK_MSG(r->child.exit_status == 0, "%s", gg_buf_text(&r->child.err));
}

static void symbolize(struct recording *r, const char *option)
{
	const char *arguments[] = { "symbolize", r->path, option, NULL };

	CHECK(recording_geiger(r, arguments, 60));
}

TEST(a_recording_knows_its_functions)
{
	struct recording r;

	if (record(&r, "--quiet")) {
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 1);
		CHECK_EQ_DOUBLE(
			recording_number(&r,
		                         "select count(*) from module where status is null and id "
		                         "in (select module from frame)"),
			0);
	}
	recording_end(&r);
}

#if defined(__x86_64__)
static void record_made_code(const char *when)
{
	const char *program = getenv("RECORD_PROGRAM");
	const char *arguments[] = { "-i", "1k", "-q", "--", program, when, "3000", NULL };
	struct recording r;
	char path[64];

	if (CHECK(recording_begin(&r)) && CHECK(recording_run(&r, arguments, 60)) &&
	    CHECK_EQ_I64(r.child.exit_status, 0)) {
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from v_function where function = "
		                                 "'made_function'"),
		                1);
		/* 3000 x 777 bytes / 1 KiB: 1592 +- 27 sampled blocks, and all of them live. */
		double live = recording_number(&r, "select live_samples from v_function where "
		                                   "function = 'made_function'");

		CHECK_MSG(live > 1450 && live < 1750, "%g", live);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from frame where module is null"), 0);
		snprintf(path, sizeof(path), "/tmp/perf-%.0f.map",
		         recording_number(&r, "select pid from process"));
		CHECK_EQ_I64(unlink(path), 0);
		CHECK(recording_geiger(&r, (const char *const[]){ "check", r.path, NULL }, 60) &&
		      r.child.exit_status == 0);
	}
	recording_end(&r);
}
#endif

TEST(code_made_at_run_time_has_the_names_that_its_maker_told)
{
#if defined(__x86_64__)
	record_made_code("made");
#else
	SKIP("the code that it makes is for x86-64");
#endif
}

TEST(names_that_are_told_at_the_end_are_used_too)
{
#if defined(__x86_64__)
	record_made_code("made-late");
#else
	SKIP("the code that it makes is for x86-64");
#endif
}

#if defined(__x86_64__)
/* Records a program that writes a jitdump and a perf map. */
static bool record_dump(struct recording *r, const char *what)
{
	const char *program = getenv("RECORD_PROGRAM");
	const char *arguments[] = { "-i", "1k", "-q", "--", program, what, "3000", NULL };

	return CHECK(recording_begin(r)) && CHECK(recording_run(r, arguments, 60)) &&
	       CHECK_EQ_I64(r->child.exit_status, 0);
}

/* Returns how many functions of that name have nearly all samples. */
static double count_main(struct recording *r, const char *function)
{
	char text[200];

	snprintf(text, sizeof(text),
	         "select count(*) from v_function where function = '%s' and live_samples > 1450",
	         function);
	return recording_number(r, text);
}

static void remove_dump(struct recording *r)
{
	double pid = recording_number(r, "select pid from process");
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%.0f.map", pid);
	CHECK_EQ_I64(unlink(path), 0);
	snprintf(path, sizeof(path), "/tmp/jit-%.0f.dump", pid);
	CHECK_EQ_I64(unlink(path), 0);
}
#endif

TEST(a_jitdump_has_names_and_lines_and_decides_where_a_perf_map_has_others)
{
#if defined(__x86_64__)
	struct recording r;

	if (record_dump(&r, "made-dump")) {
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from v_function where function = "
		                                 "'made_function'"),
		                0);
		CHECK_EQ_DOUBLE(count_main(&r, "dumped_function"), 1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select max(line) from v_frame where function "
		                                     "= 'dumped_function'"),
		                42);
		remove_dump(&r);
	}
	recording_end(&r);
#else
	SKIP("the code that it makes is for x86-64");
#endif
}

TEST(code_that_was_replaced_after_its_last_sample_keeps_its_name)
{
	struct recording r;

#if !defined(__x86_64__)
	SKIP("the code that it makes is for x86-64");
#else
	if (record_dump(&r, "made-replaced")) {
		CHECK_EQ_DOUBLE(count_main(&r, "dumped_function"), 1);
		remove_dump(&r);
	}
	recording_end(&r);
#endif
}

TEST(functions_can_be_looked_up_later)
{
	struct recording r;

	if (record(&r, "--no-symbols")) {
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 0);
		symbolize(&r, "--offline");
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "frames have names");
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 1);
		CHECK(recording_geiger(&r, (const char *const[]){ "check", r.path, NULL }, 60));
		CHECK_EQ_I64(r.child.exit_status, 0);
	}
	recording_end(&r);
}

/* The names of the functions of `stripped`, in their order. */
#define STRIPPED_NAMES                                                                            \
	"select group_concat(function) from (select distinct function from v_frame where module " \
	"like '%/stripped' order by function)"
#define STRIPPED_COUNT "select count(distinct function) from v_frame where module like '%/stripped'"
#define STRIPPED_FRAMES \
	"select count(*) from frame where module in (select id from module where path like '%/stripped')"

/*
 * Makes `stripped`, the program without symbols, in the recording's folder.  False: no strip.  It
 * has the program's build-id, so the cache of symbols, which may know the program, is off.
 */
static bool make_stripped(struct recording *r, char *path, size_t path_bytes)
{
	char command[512];

	snprintf(path, path_bytes, "%s/stripped", r->directory);
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	snprintf(command, sizeof(command), "strip -o '%s' '%s'", path, getenv("RECORD_PROGRAM"));
	return system(command) == 0; // NOLINT
}

static bool record_stripped(struct recording *r, const char *path, const char *option)
{
	const char *arguments[] = { "-i", "1k", option, "--", path, "together", "300", NULL };

	return CHECK(recording_run(r, arguments, 60)) &&
	       CHECK_MSG(r->child.exit_status == 0, "%s", gg_buf_text(&r->child.err));
}

TEST(a_stripped_program_has_the_same_functions_in_each_run)
{
	struct recording r;
	char path[256], first[4096];

	if (CHECK(recording_begin(&r)) && make_stripped(&r, path, sizeof(path)) &&
	    record_stripped(&r, path, "--quiet")) {
		double count = recording_number(&r, STRIPPED_COUNT);

		CHECK(count >= 2);
		CHECK_MSG(count < recording_number(&r, STRIPPED_FRAMES), "%g functions", count);
		snprintf(first, sizeof(first), "%s", recording_text(&r, STRIPPED_NAMES));
		CHECK_CONTAINS(first, "stripped+0x");
		CHECK(record_stripped(&r, path, "--quiet"));
		CHECK_EQ_STR(recording_text(&r, STRIPPED_NAMES), first);
		/* Frames keep their addresses. */
		CHECK(recording_number(&r, STRIPPED_FRAMES) ==
		      recording_number(&r, "select count(distinct address) from frame where module "
		                           "in (select id from module where path like "
		                           "'%/stripped')"));
		unlink(path);
	}
	recording_end(&r);
}

TEST(a_diff_of_two_runs_of_a_stripped_program_has_the_same_rows)
{
	struct recording r;
	char path[256], before[256];

	if (CHECK(recording_begin(&r)) && make_stripped(&r, path, sizeof(path)) &&
	    record_stripped(&r, path, "--quiet")) {
		snprintf(before, sizeof(before), "%s/before.geiger", r.directory);
		CHECK_EQ_I64(rename(r.path, before), 0);
		const char *more[] = { "-q", "-i", "1k", "--", path, "together", "900", NULL };
		const char *diff[] = { "diff", "-m", "allocated", before, r.path, NULL };

		CHECK(recording_run(&r, more, 60) && r.child.exit_status == 0);
		CHECK(recording_geiger(&r, diff, 60) && r.child.exit_status == 0);
		/* The function that allocates twice is one row, in both runs. */
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "stripped+0x");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "1 of 1 rows differs, 1 grew");
		unlink(before);
		unlink(path);
	}
	recording_end(&r);
}

/* sqlite3 and its library have no symbols but those that the library exports. */
TEST(programs_of_the_system_have_the_same_functions_in_each_run)
{
	static const char program[] =
		"create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 "
		"from c where x < 20000) insert into t select x, hex(randomblob(20)) from c; "
		"create index i on t(b); select count(*) from t;";
	static const char names[] =
		"select group_concat(function) from (select distinct function from v_frame where "
		"function like '%sqlite3%+0x%' order by function)";
	static const char frames[] =
		"select count(distinct frame) from v_frame where function like '%sqlite3%+0x%'";
	static const char functions[] =
		"select count(distinct function) from v_frame where function like '%sqlite3%+0x%'";
	const char *arguments[] = { "-q", "-i", "4k", "--", "sqlite3", ":memory:", program, NULL };
	struct recording r;
	char first[8192];

	if (CHECK(recording_begin(&r)) && CHECK(recording_run(&r, arguments, 60)) &&
	    CHECK_EQ_I64(r.child.exit_status, 0)) {
		double count = recording_number(&r, functions);

		snprintf(first, sizeof(first), "%s", recording_text(&r, names));
		CHECK_MSG(count == 0 || count < recording_number(&r, frames), "%g", count);
		CHECK(recording_run(&r, arguments, 60));
		CHECK_EQ_STR(recording_text(&r, names), first);
	}
	recording_end(&r);
}

TEST(functions_named_by_address_get_their_names_when_the_symbols_are_there)
{
	struct recording r;
	char path[256], command[512], bounds[4096];

	if (CHECK(recording_begin(&r)) && make_stripped(&r, path, sizeof(path)) &&
	    record_stripped(&r, path, "--no-symbols")) {
		double frames = recording_number(&r, STRIPPED_FRAMES);

		CHECK_EQ_DOUBLE(recording_number(&r, STRIPPED_COUNT), frames);
		symbolize(&r, "--offline");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), " the address of their function;");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "names are missing in stripped: ");
		CHECK(recording_number(&r, STRIPPED_COUNT) < frames);
		snprintf(bounds, sizeof(bounds), "%s", recording_text(&r, STRIPPED_NAMES));
		CHECK(bounds[0] != '\0');
		/* Nothing is lost without the file. */
		symbolize(&r, "--sysroot=/var/empty");
		unlink(path);
		symbolize(&r, "--offline");
		CHECK_EQ_STR(recording_text(&r, STRIPPED_NAMES), bounds);
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 0);
		snprintf(command, sizeof(command), "cp '%s' '%s'", getenv("RECORD_PROGRAM"), path);
		CHECK_EQ_I64(system(command), 0); // NOLINT
		symbolize(&r, "--offline");
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 1);
		CHECK(strstr(gg_buf_text(&r.child.out), "names are missing in stripped") == NULL);
		CHECK(strstr(recording_text(&r, STRIPPED_NAMES), "stripped+0x") == NULL);
		unlink(path);
	}
	recording_end(&r);
}

TEST(no_name_is_lost_where_the_files_are_missing)
{
	struct recording r;

	if (record(&r, "--quiet")) {
		double lines = recording_number(&r, "select count(*) from line");
		char status[64];

		snprintf(status, sizeof(status), "%.60s",
		         recording_text(&r, "select group_concat(status) from module"));
		symbolize(&r, "--sysroot=/var/empty");
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_EQ_DOUBLE(recording_number(&r, NAMED), 1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from line"), lines);
		CHECK_EQ_I64(strncmp(recording_text(&r, "select group_concat(status) from module"),
		                     status, strlen(status)),
		             0);
	}
	recording_end(&r);
}

TEST(without_frames_there_is_nothing_to_look_up)
{
	struct recording r;

	if (CHECK(recording_begin(&r))) {
		CHECK(recording_geiger(
			&r, (const char *const[]){ "record", "-o", r.path, "true", NULL }, 60));
		symbolize(&r, "--offline");
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "nothing to look up");
	}
	recording_end(&r);
}

TEST(what_is_no_profile_is_refused)
{
	struct recording r;

	if (CHECK(recording_begin(&r))) {
		CHECK(recording_geiger(&r, (const char *const[]){ "symbolize", NULL }, 60));
		CHECK_EQ_I64(r.child.exit_status, 2);
		CHECK(recording_geiger(&r, (const char *const[]){ "symbolize", "/dev/null", NULL },
		                       20));
		CHECK_EQ_I64(r.child.exit_status, 1);
	}
	recording_end(&r);
}
