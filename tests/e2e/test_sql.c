/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger sql` and `geiger check` on a profile whose numbers are known. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "profile.h"
#include "stats/estimate/interval.h"
#include "test.h"

static struct gg_error error;
static char path[] = "/tmp/geiger-sql-XXXXXX";

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

/*
 * Stacks, with 10 samples of 1000 bytes at an interval of 1000 each:
 *
 *   1  main                   0 ms, all live
 *   2  main parse             10 ms, none live
 *   3  main parse grow        20 ms, half live
 *   4  main parse grow parse  30 ms, all live; parse is there twice
 */
static const char *const functions[] = { "main", "parse", "grow", "parse" };

static bool drops_samples; /* the profile has a counter that says so */

/* Makes the profile; if is_biased is true, a live sample of stack 3 has no known error. */
static bool make_samples(bool finish, bool is_biased)
{
	struct gg_profile *profile;
	uint32_t stack = 0, frame;

	if (strchr(path, 'X') != NULL)
		close(mkstemp(path));
	unlink(path);
	if (!OK(gg_profile_create(&profile, path, &error)))
		return false;
	OK(gg_profile_set_session(profile, &profile_session, &error));
	OK(gg_profile_add_process(profile,
	                          &(struct gg_profile_process){ .pid = 9, .end_ns = 40000000 },
	                          NULL, &error));
	OK(gg_profile_add_thread(profile, &(struct gg_profile_thread){ .process = 1 }, NULL,
	                         &error));
	for (uint32_t i = 0; i < 4; i++) {
		struct gg_profile_line line = { .function = functions[i], .file = "a \"b\", c.c" };

		OK(gg_profile_intern_frame(profile, 0, i, &frame, &error));
		OK(gg_profile_put_lines(profile, frame, &line, 1, &error));
		OK(gg_profile_intern_stack(profile, stack, frame, &stack, &error));
		for (int n = 0; n < 10; n++) {
			bool is_live = i == 0 || i == 3 || (i == 2 && n < 5);
			struct gg_profile_sample sample = {
				.alloc_ns = 10000000 * (int64_t)i,
				.free_ns = is_live ? GG_TIME_NONE : 10000000 * (int64_t)i + 5000000,
				.process = 1,
				.thread = 1,
				.stack = stack,
				.size_bytes = 1000,
				.draw = { .sampling_interval = 1000, .sample_point_count = 1 },
			};

			if (is_biased && i == 2 && n == 0)
				sample.draw.scheme = GG_SCHEME_BIASED;

			OK(gg_profile_add_sample(profile, &sample, NULL, &error));
		}
	}
	if (drops_samples)
		OK(gg_profile_put_counter(profile, 1, "samples dropped: live full", 1, &error));
	OK(gg_profile_add_memory(profile,
	                         &(struct gg_profile_memory){
					 .process = 1, .time_ns = 20000000, .rss_bytes = 123456 },
	                         &error));
	OK(finish ? gg_profile_finish(profile, &error) : gg_profile_commit(profile, &error));
	gg_profile_close(profile);
	return !test_failed;
}

static bool make_profile(bool finish)
{
	return make_samples(finish, false);
}

/* Asks, and expects this output, or in that of errors; the exit status tells which. */
static void expect(const char *question, const char *format, int status, const char *wanted)
{
	const char *argv[] = { getenv("GEIGER"), "sql", path, question, format, NULL };
	struct child child;
	const char *got;

	if (CHECK(argv[0] != NULL) && CHECK(child_run(&child, argv, NULL, 60))) {
		got = gg_buf_text(status == 0 ? &child.out : &child.err);
		CHECK_MSG(child.exit_status == status, "%s: exit %d, %s", question,
		          child.exit_status, gg_buf_text(&child.err));
		CHECK_MSG(status == 0 ? strcmp(got, wanted) == 0 : strstr(got, wanted) != NULL,
		          "%s:\n%swanted:\n%s", question, got, wanted);
	}
	child_done(&child);
}

/* 10 samples stand for 1/p = 1/(1 - 1/e) allocations each, of 1000 bytes. */
#define V_FUNCTION                                                                    \
	"select function, file, self_live_samples as a, self_allocated_samples as b," \
	" live_samples as c, allocated_samples as d, round(live_bytes) as e,"         \
	" round(allocated_count, 3) as f from v_function order by function"

static const char by_function[] = "function,file,a,b,c,d,e,f\n"
				  "grow,\"a \"\"b\"\", c.c\",5,10,15,20,23730,31.64\n"
				  "main,\"a \"\"b\"\", c.c\",10,10,25,40,39549,63.279\n"
				  "parse,\"a \"\"b\"\", c.c\",10,20,15,30,23730,47.459\n";

TEST(functions_are_counted_once_however_often_they_are_on_a_stack)
{
	if (make_profile(true))
		expect(V_FUNCTION, "--csv", 0, by_function);
}

TEST(a_profile_that_was_not_finished_gives_the_same_answers)
{
	if (!make_profile(false))
		return;
	expect("select count(*) as n from function_sum", "--csv", 0, "n\n0\n");
	expect(V_FUNCTION, "--csv", 0, by_function);
	expect("select stack, functions, live_samples from v_stack order by stack limit 2", "--csv",
	       0, "stack,functions,live_samples\n1,main,10\n2,main;parse,0\n");
}

TEST(a_sum_with_an_unknown_error_has_no_variance_finished_or_not)
{
	for (int finish = 0; finish <= 1; finish++) {
		if (!make_samples(finish, true))
			return;
		expect("select stack, live_bytes_variance is null as a,"
		       " allocated_count_variance is null as b, left_bytes_variance is null as c"
		       " from v_stack order by stack",
		       "--csv", 0, "stack,a,b,c\n1,0,0,0\n2,0,0,0\n3,1,1,1\n4,0,0,0\n");
		expect("select function, self_live_bytes_variance is null as a,"
		       " live_bytes_variance is null as b from v_function order by function",
		       "--csv", 0, "function,a,b\ngrow,1,1\nmain,0,1\nparse,0,1\n");
	}
}

TEST(stacks_are_written_outermost_first)
{
	if (!make_profile(true))
		return;
	expect("select stack, functions, live_samples, allocated_samples from v_stack", "--csv", 0,
	       "stack,functions,live_samples,allocated_samples\n"
	       "1,main,10,10\n2,main;parse,0,10\n3,main;parse;grow,5,10\n"
	       "4,main;parse;grow;parse,10,10\n");
}

TEST(leaks_are_what_is_live_at_the_end)
{
	if (!make_profile(true))
		return;
	expect("select stack, live_samples, round(share_live, 6) as share, first_ns, last_ns from v_leak"
	       " order by stack",
	       "--csv", 0,
	       "stack,live_samples,share,first_ns,last_ns\n1,10,1,0,0\n"
	       "3,5,0.5,20000000,20000000\n4,10,1,30000000,30000000\n");
}

TEST(a_timeline_has_100_moments)
{
	if (!make_profile(true))
		return;
	expect("select count(*) as n, max(time_ns) as t, round(sum(allocated_bytes)) as b"
	       " from v_timeline",
	       "--csv", 0, "n,t,b\n100,30000000,63279\n");
	expect("select time_ns, round(live_bytes / 1581.98) as samples, rss_bytes from v_timeline"
	       " where time_ns in (300000, 10200000, 15300000, 20100000, 30000000)",
	       "--csv", 0,
	       "time_ns,samples,rss_bytes\n300000,10,\n10200000,20,\n15300000,10,\n"
	       "20100000,20,123456\n30000000,25,123456\n");
}

TEST(samples_carry_what_they_stand_for)
{
	if (!make_profile(true))
		return;
	expect("select id, scheme, round(count, 6) as count, round(bytes_variance) as v from"
	       " v_sample where id = 1",
	       "--csv", 0, "id,scheme,count,v\n1,poisson,1.581977,920674\n");
}

TEST(csv_quotes_what_needs_it_and_json_is_a_list_of_objects)
{
	if (!make_profile(true))
		return;
	expect("select 'a,b' as \"x\"\"y\", 'c\"d' as q, null as n, '' as e, 'l\nm' as l, x'00ff' as h,"
	       " 1.5 as r",
	       "--csv", 0, "\"x\"\"y\",q,n,e,l,h,r\n\"a,b\",\"c\"\"d\",,\"\",\"l\nm\",00ff,1.5\n");
	expect("select 1 as a where 0", "--csv", 0, "a\n");
	expect("select '=1+1' as a, -1 as b, '-2' as c, -1.5 as d", "--csv", 0,
	       "a,b,c,d\n\"'=1+1\",-1,-2,-1.5\n");
	expect("select 1 as a where 0", "--json", 0, "[]\n");
	expect("select 1 as a, 'x\"' as b, null as c, x'0a' as d, -2 as e, 0.1 as f union all"
	       " select 2, 3, 4, 5, 6, 9e999",
	       "--json", 0,
	       "[{\"a\":1,\"b\":\"x\\\"\",\"c\":null,\"d\":\"0a\",\"e\":-2,\"f\":0.1},"
	       "{\"a\":2,\"b\":3,\"c\":4,\"d\":5,\"e\":6,\"f\":null}]\n");
	expect("select 'x' as name, 12 as n union all select 'longer', 3", NULL, 0,
	       "name     n\nx       12\nlonger   3\n");
}

TEST(intervals_are_those_of_the_library)
{
	struct gg_tally tally = { 0 };
	struct gg_draw draw = { .sampling_interval = 1000, .sample_point_count = 1 };
	struct gg_interval interval;
	char wanted[128];

	if (!make_profile(true))
		return;
	for (int i = 0; i < 10; i++)
		gg_tally_add(&tally, &draw, 1000);
	interval = gg_interval_of(&tally, GG_BYTES, 0.9, true);
	snprintf(wanted, sizeof(wanted), "low,high\n%.15g,%.15g\n", interval.low, interval.high);
	expect("select format('%.15g', gg_bytes_low(scheme, interval, offset, marks, size, 0.9)) as low,"
	       " format('%.15g', gg_bytes_high(scheme, interval, offset, marks, size, 0.9)) as high"
	       " from v_sample where stack = 1",
	       "--csv", 0, wanted);
	interval = gg_interval_of(&tally, GG_ALLOCATIONS, 0.95, true);
	snprintf(wanted, sizeof(wanted), "low,high\n%.15g,%.15g\n", interval.low, interval.high);
	expect("select format('%.15g', gg_count_low(scheme, interval, offset, marks, size)) as low,"
	       " format('%.15g', gg_count_high(scheme, interval, offset, marks, size)) as high"
	       " from sample where stack = 1",
	       "--csv", 0, wanted);
	expect("select gg_size(1536) as s", "--csv", 0, "s\n1.50 KiB\n");
	expect("select gg_bytes_low('dice', 1, 1, 1, 1)", NULL, 2, "needs (scheme, interval,");
}

TEST(a_profile_that_lacks_samples_has_no_upper_ends)
{
	drops_samples = true;
	if (make_profile(true))
		expect("select gg_bytes_high(scheme, interval, offset, marks, size) as bytes,"
		       " gg_count_high(scheme, interval, offset, marks, size) as count,"
		       " gg_bytes_low(scheme, interval, offset, marks, size) > 0 as low from sample",
		       "--csv", 0, "bytes,count,low\n,,1\n");
	drops_samples = false;
}

TEST(nothing_can_be_changed)
{
	static const char *const changes[] = {
		"delete from sample",
		"update sample set size = 0",
		"insert into note values (null, 'x')",
		"drop table sample",
		"create table mine(a)",
		"create temp table mine(a)",
		"attach 'x' as y",
		"vacuum into '/tmp/geiger-sql-copy'",
		"pragma journal_mode = wal",
		"pragma user_version = 8",
		"pragma query_only = off",
		"begin",
		"reindex",
	};
	struct stat before, after;

	if (!make_profile(true))
		return;
	stat(path, &before);
	for (size_t i = 0; i < GG_COUNT(changes); i++)
		expect(changes[i], NULL, 2, "a profile is not changed");
	stat(path, &after);
	CHECK_EQ_I64(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	CHECK_EQ_U64(before.st_ino, after.st_ino);
	expect("select load_extension('x')", NULL, 2, "not authorized");
	expect("select 1; select 2", NULL, 2, "more than one statement");
	expect("", NULL, 2, "there is no question");
	expect("select nobody", NULL, 2, "no such column: nobody");
	expect("pragma user_version", "--csv", 0, "user_version\n8\n");
}

/* Runs a command on the file and expects a part of what it prints, to either stream. */
static void run(const char *command, int status, const char *wanted)
{
	const char *argv[] = { getenv("GEIGER"), command, path, NULL };
	struct child child;

	if (CHECK(argv[0] != NULL) && CHECK(child_run(&child, argv, NULL, 60))) {
		CHECK_MSG(child.exit_status == status, "exit %d", child.exit_status);
		CHECK_MSG(strstr(gg_buf_text(&child.out), wanted) != NULL ||
		                  strstr(gg_buf_text(&child.err), wanted) != NULL,
		          "%s%s", gg_buf_text(&child.out), gg_buf_text(&child.err));
	}
	child_done(&child);
}

TEST(without_a_question_tables_and_views_are_listed)
{
	if (!make_profile(true))
		return;
	run("sql", 0, "v_function");
	run("sql", 0, "mapping");
}

TEST(check_tells_whole_profiles_from_others)
{
	struct gg_profile *profile;
	FILE *file;

	if (!make_profile(true))
		return;
	run("check", 0, "whole");
	if (OK(gg_profile_edit(&profile, path, &error))) {
		struct gg_profile_total total = { .process = 1, .thread = 1, .stack = 1 };

		total.allocated.sample_count = 3;
		OK(gg_profile_put_total(profile, &total, &error));
		gg_profile_close(profile);
	}
	run("check", 1, "process 1: allocated minus freed is 3 samples, but 25 live");
	file = fopen(path, "w");
	fputs("no profile", file);
	fclose(file);
	run("check", 1, "not a profile");
	run("sql", 1, "not a profile");
	file = fopen(path, "w");
	fputs("GGGR-REG", file);
	fclose(file);
	run("check", 1, "a region, not a profile");
	unlink(path);
	run("check", 1, "No such file");
}
