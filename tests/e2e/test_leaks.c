/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `geiger leaks`, `geiger diff` and `geiger timeline` as checks of a build meet them: exit
 * statuses, messages, and what programs read.  Their looks are in the golden files.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "e2e/command.h"
#include "made_profile.h"

#define SECOND INT64_C(1000000000)
#define MIB    (1 << 20)

static bool has_history = true; /* of the profiles that are written */

/* 100 s: a table of 20 MiB, a leak of 30 MiB if asked for, requests of a second. */
static void write_profile(const char *name, bool leaks)
{
	struct made_profile made;
	uint32_t table, leak, request;
	struct gg_error error;

	made_begin(&made, scratch_path(name), 4096, 1);
	if (!has_history &&
	    gg_profile_set_session(made.profile,
	                           &(const struct gg_profile_session){ .command = "made",
	                                                               .end_ns = 100 * SECOND,
	                                                               .interval_bytes = 4096 },
	                           &error) < 0)
		abort();
	made.process = made_process(&made, 100, 0, 100 * SECOND);
	table = made_stack(&made, "main@m.c:1>load_table@t.c:5>malloc");
	leak = made_stack(&made, "main@m.c:2>serve@s.c:9>log_line@l.c:3>malloc");
	request = made_stack(&made, "main@m.c:2>serve@s.c:7>malloc");
	for (int i = 0; i < 20; i++)
		made_sample(&made, table, MIB, i, GG_TIME_NONE);
	for (int i = 0; i < 100; i++)
		made_sample(&made, request, MIB, i * SECOND, (i + 1) * SECOND);
	if (leaks &&
	    (gg_profile_intern_name(made.profile, GG_NAME_HEAP, "python.obj", &made.heap, &error) <
	             0 ||
	     gg_profile_intern_name(made.profile, GG_NAME_TYPE, "Entry", &made.type, &error) < 0))
		abort();
	for (int i = 0; i < 30 && leaks; i++)
		made_sample(&made, leak, MIB, i * 100 * SECOND / 30 + 1, GG_TIME_NONE);
	if (gg_profile_finish(made.profile, &error) < 0)
		abort();
	gg_profile_close(made.profile);
}

static void write_both(void)
{
	write_profile("a.geiger", false);
	write_profile("b.geiger", true);
	scratch_write("known.supp", "# known\nleak:^load_table$\nleak:no_such_function\n");
	scratch_write("wrong.supp", "leak:fine\n\nmalloc\n");
}

TEST(leaks_are_told_by_class_and_stack)
{
	write_both();
	command_expect("leaks b.geiger", 0, "...growing      30.0 MiB", "");
	command_expect("leaks b.geiger", 0,
	               "...\n    log_line l.c:3\n    serve s.c:9\n    main m.c:2\n", "");
	command_expect("leaks b.geiger", 0,
	               "...\n    30.0 MiB ± 0.1 %  100 %  type Entry\n    log_line", "");
	command_expect("leaks b.geiger --json", 0,
	               "...\"types\":[{\"type\":\"Entry\",\"samples\":30,\"live_bytes\":", "");
	command_expect("leaks b.geiger --json", 0,
	               "...\"types\":[{\"type\":\"[no type]\",\"samples\":20,", "");
	command_expect("leaks b.geiger", 0, "...never freed  20.0 MiB", "");
	command_expect("leaks a.geiger", 0, "...growing           0         -       -\n", "");
	command_expect("leaks b.geiger --limit 1", 0, "...1 more: --limit 0 shows all stacks.\n",
	               "");
	command_expect("leaks b.geiger --json", 0,
	               "...\"rows\":[{\"class\":\"growing\",\"samples\":30,", "");
	command_expect("leaks b.geiger --json", 0,
	               "...\"function\":\"log_line\",\"file\":\"l.c\",\"line\":3", "");
}

TEST(a_check_fails_with_3_if_what_is_old_is_certainly_more)
{
	/* 20 and 27 MiB are older than 10 s. */
	command_expect("leaks b.geiger --fail-above 46MiB", 3, "...failed: ", "");
	command_expect("leaks b.geiger --fail-above 48MiB", 0, "...passed: ", "");
	command_expect("leaks b.geiger --fail-above 0", 3, "...failed: ", "");
	command_expect("leaks b.geiger --fail-above 46MiB --json", 3, "...\"failed\":true", "");
	command_expect("leaks b.geiger --fail-above 48MiB --json", 0, "...\"failed\":false", "");
	command_expect("leaks b.geiger --fail-above lots", 2, "", "...'lots'");
}

TEST(what_is_suppressed_does_not_fail_a_check)
{
	command_expect("leaks b.geiger --suppressions known.supp", 0,
	               "...suppressed by leak:^load_table$: 1 stack, 20.0 MiB\n", "");
	command_expect("leaks b.geiger --suppressions known.supp", 0,
	               "...suppressed by leak:no_such_function: nothing\n", "");
	command_expect("leaks b.geiger -s known.supp --fail-above 28MiB", 0, "...passed: ", "");
	command_expect("leaks b.geiger -s known.supp --fail-above 26MiB", 3, "...failed: ", "");
	command_expect("leaks a.geiger -s known.supp --fail-above 0", 0, "...passed: ", "");
	command_expect("leaks b.geiger -s known.supp --json", 0,
	               "...\"suppressed\":[{\"pattern\":", "");
}

TEST(a_wrong_suppression_is_refused_with_its_line)
{
	command_expect("leaks b.geiger --suppressions wrong.supp", 2, "",
	               "...geiger: wrong.supp:3: 'malloc' is no suppression of a leak.");
	command_expect("leaks b.geiger --suppressions none.supp", 1, "",
	               "...none.supp: No such file");
	command_expect("leaks none.geiger", 1, "", "...none.geiger");
	command_expect("leaks", 2, "", "...profile");
	command_expect("leaks b.geiger --process 7", 2, "", "...7");
}

TEST(a_profile_does_not_differ_from_itself)
{
	command_expect("diff a.geiger a.geiger", 0, "...No row differs", "");
	command_expect("diff a.geiger a.geiger --fail-on-growth", 0, "...passed: ", "");
	command_expect("diff b.geiger b.geiger --all", 0, "...20.0 MiB", "");
}

TEST(growth_is_shown_and_fails_a_check_with_3)
{
	command_expect("diff a.geiger b.geiger", 0, "...log_line (made)", "");
	command_expect("diff a.geiger b.geiger --fail-on-growth", 3, "...failed: memory grew", "");
	command_expect("diff a.geiger b.geiger --fail-on-growth --json", 3, "...\"failed\":true",
	               "");
	command_expect("diff b.geiger a.geiger --fail-on-growth", 0, "...passed: ", "");
	command_expect("diff b.geiger a.geiger --fail-on-growth --json", 0, "...\"failed\":false",
	               "");
	command_expect("diff a.geiger b.geiger --by stack", 0,
	               "...\n    log_line\n    serve\n    main\n", "");
	command_expect("diff a.geiger b.geiger --by line", 0, "...l.c:3 log_line", "");
	command_expect("diff a.geiger b.geiger --by module --total", 0, ".../usr/bin/made", "");
}

TEST(runs_are_made_comparable_only_when_asked)
{
	command_expect("diff a.geiger b.geiger --normalize time --json", 0, "...\"scale\":1,", "");
	command_expect("diff a.geiger b.geiger --normalize allocated --head", 0,
	               "...Before is multiplied by 1.25 (--normalize allocated).\n", "");
	command_expect("diff a.geiger b.geiger --by module --normalize 2.5", 0, "...No row differs",
	               "");
	command_expect("diff a.geiger b.geiger --normalize 0.5 --all", 0, "...before x 0.5 ", "");
	command_expect("diff a.geiger b.geiger --normalize 0.5 --json", 0,
	               "...\"before_scaled\":", "");
	command_expect("diff a.geiger b.geiger --normalize time", 0, "...live memory does not grow",
	               "");
	command_expect("diff a.geiger b.geiger --normalize time --json", 0,
	               "...\"warnings\":[\"live memory", "");
	command_expect("diff a.geiger b.geiger --normalize time -m allocated --json", 0,
	               "...\"warnings\":[]", "");
	command_expect("diff a.geiger b.geiger --normalize week", 2, "", "...diff: --normalize");
	command_expect("diff a.geiger b.geiger --normalize 0", 2, "", "...diff: --normalize");
	command_expect("diff a.geiger b.geiger --normalize -1", 2, "", "...diff: --normalize");
}

TEST(a_difference_needs_two_profiles)
{
	command_expect("diff a.geiger", 2, "", "...diff: needs two profiles");
	command_expect("diff a.geiger b.geiger b.geiger", 2, "", "...unexpected operand");
	command_expect("diff a.geiger none.geiger", 1, "", "...none.geiger");
	command_expect("diff a.geiger b.geiger --rate 1.5", 2, "", "...diff: --rate: 1.5");
}

/* Lines of the output between the first and the last that hold the text. */
static size_t lines_with(const struct child *child, const char *text)
{
	const char *at = gg_buf_text(&child->out);
	size_t count = 0;

	for (; (at = strstr(at, text)) != NULL; at++)
		count++;
	return count;
}

TEST(a_chart_has_the_size_that_was_asked_for)
{
	struct child child = command_run("timeline b.geiger --ascii --width 40 --height 9");

	CHECK_EQ_I64(child.exit_status, 0);
	CHECK_MSG(lines_with(&child, " |") == 9, "%s", gg_buf_text(&child.out));
	CHECK_EQ_U64(lines_with(&child, ": peak 51.0 MiB"), 1);
	child_done(&child);
	child = command_run("timeline b.geiger --ascii --width 40 --json");
	CHECK_EQ_U64(lines_with(&child, "\"most_bytes\""), 40);
	child_done(&child);
	child = command_run("timeline b.geiger --json");
	CHECK_EQ_U64(lines_with(&child, "\"most_bytes\""), (size_t)2 * (80 - 11));
	child_done(&child);
}

TEST(without_history_only_what_never_freed_is_judged)
{
	has_history = false; /* as a region has it whose program nobody recorded */
	write_both();
	command_expect("leaks b.geiger", 0, "...note: the profile has no history", "");
	command_expect("leaks b.geiger", 0, "...growing      30.0 MiB", "");
	command_expect("leaks b.geiger --at 1s", 1, "", "...what was live then is not known");
	command_expect("timeline b.geiger", 0, "...the chart has only what was never freed", "");
	command_expect("timeline b.geiger --json", 0, "...\"peak\":null", "");
	has_history = true;
	write_both();
}

TEST(what_has_no_times_is_neither_judged_nor_drawn)
{
	command_expect("merge -q -o a.geiger b.geiger", 0, "", "");
	command_expect("leaks a.geiger", 1, "", "...has no times to tell leaks by");
	command_expect("timeline a.geiger", 1, "", "...has no times to draw");
	write_both();
}

TEST(a_chart_of_nonsense_is_refused)
{
	command_expect("timeline b.geiger --width 5", 2, "",
	               "...timeline: --width: a chart is 20 to 1000");
	command_expect("timeline b.geiger --height 2", 2, "",
	               "...timeline: --height: a chart is 3 to 1000");
	command_expect("timeline b.geiger --process 7", 2, "", "...7");
	command_expect("timeline", 2, "", "...profile");
}
