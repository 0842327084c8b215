/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory reports are about if nobody says: of a program that gives all back what it held at its
 * peak, and for scripts what is live.  GEIGER names the program.
 */
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "made_profile.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define MIB    (1 << 20)

static char directory[] = "/tmp/metric-XXXXXX";

/* 10 s: 100 MiB in parse() from 1 s to 9 s, and some MiB in cache() for ever. */
static void write_profile(const char *name, int parsed_mib, int cached_mib)
{
	struct made_profile made;
	struct gg_error error;
	uint32_t parse, cache;
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	made_begin(&made, path, 4096, 1);
	made.process = made_process(&made, 100, 0, 10 * SECOND);
	parse = made_stack(&made, "main@m.c:1>parse@p.c:5>malloc");
	cache = made_stack(&made, "main@m.c:2>cache@c.c:3>malloc");
	for (int i = 0; i < parsed_mib; i++)
		made_sample(&made, parse, MIB, SECOND + i, 9 * SECOND + i);
	for (int i = 0; i < cached_mib; i++)
		made_sample(&made, cache, MIB, SECOND + i, GG_TIME_NONE);
	if (gg_profile_finish(made.profile, &error) < 0)
		abort();
	gg_profile_close(made.profile);
}

__attribute__((constructor)) static void make_profiles(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	write_profile("back.geiger", 100, 5);
	write_profile("more.geiger", 150, 5);
	write_profile("kept.geiger", 100, 20);
}

__attribute__((destructor)) static void remove_profiles(void)
{
	static const char *const names[] = { "back.geiger", "more.geiger", "kept.geiger" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void expect(const char *line, int exit_status, const char *words)
{
	const char *const environment[] = { "LC_ALL=C.UTF-8", "COLUMNS=80", NULL };
	char script[512];
	const char *argv[] = { "sh", "-c", script, NULL };
	struct child child;

	snprintf(script, sizeof(script), "cd '%s' && \"$GEIGER\" %s", directory, line);
	CHECK(child_run(&child, argv, environment, 60));
	CHECK_MSG(child.exit_status == exit_status &&
	                  strstr(gg_buf_text(&child.out), words) != NULL,
	          "geiger %s: %d: %s%s", line, child.exit_status, gg_buf_text(&child.out),
	          gg_buf_text(&child.err));
	child_done(&child);
}

TEST(what_gives_all_back_is_shown_at_its_peak)
{
	expect("report back.geiger", 0, "\npeak at 1 s: ");
	expect("tree back.geiger", 0, "\npeak at 1 s: ");
	expect("report kept.geiger", 0, "\nlive at the end: ");
	expect("tree kept.geiger", 0, "\nlive at the end: ");
}

TEST(of_what_gives_all_back_leaks_tells_when_to_look)
{
	expect("leaks back.geiger", 0, "'--at 1.000000s'");
	expect("leaks back.geiger --at 8.5s", 0, "\nlive at 8.5 s: 105.0 MiB");
	expect("leaks back.geiger --at 8.5s", 0, "never freed          2 ");
	expect("leaks kept.geiger", 0, " in 1 stack\n");
	expect("leaks back.geiger --fail-above 50MiB", 0, "not certainly above");
	expect("leaks back.geiger --fail-above 50MiB --at 8.5s", 3, "failed: ");
	expect("leaks back.geiger --at 8.5s --json", 0, "\"live_at_ns\":8500000000");
	expect("leaks kept.geiger | grep -c 'little is left'", 1, "0\n");
}

TEST(an_expression_that_matches_nothing_is_told_as_such)
{
	expect("report back.geiger -m peak --focus nowhere", 0, "\n--focus left no sample: ");
	expect("report kept.geiger --focus nowhere", 0, "\n--focus left no sample: ");
	expect("report kept.geiger --ignore main", 0, "\n--ignore left no sample: ");
}

TEST(who_asks_is_given_what_was_asked_for)
{
	expect("report back.geiger --metric live", 0, "\nlive at the end: ");
	expect("report kept.geiger --metric peak", 0, "\npeak at 1 s: ");
	expect("report back.geiger --at 9.5s", 0, "\nlive at 9.5 s: ");
	expect("report back.geiger --between 9s 10s", 0, "\nlive");
}

TEST(scripts_read_what_is_live)
{
	expect("report back.geiger --json", 0, "\"metric\":\"live\"");
	expect("tree back.geiger --json", 0, "\"metric\":\"live\"");
	expect("diff back.geiger more.geiger --json", 0, "\"metric\":\"live\"");
	expect("diff back.geiger more.geiger --fail-on-growth", 0, "No row differs");
}

TEST(two_profiles_are_compared_at_their_peaks_if_both_give_all_back)
{
	expect("diff back.geiger more.geiger", 0, " peak, 10 s");
	expect("diff back.geiger more.geiger", 0, "+50.0 MiB");
	expect("diff back.geiger kept.geiger", 0, " live, 10 s");
}

TEST(a_plan_is_for_the_peak_of_what_gives_all_back)
{
	expect("lab plan --no-cost --profile back.geiger --function parse -e 5%", 0,
	       "peak bytes of");
	expect("lab plan --no-cost --profile kept.geiger --function cache -e 5%", 0,
	       "live bytes of");
	expect("lab plan --no-cost --profile kept.geiger --function parse -e 5%", 1, "");
	expect("lab plan --no-cost --profile back.geiger --function cache -e 5%", 0, "(5 MiB)");
}
