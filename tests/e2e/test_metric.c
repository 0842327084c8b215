/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory reports are about if nobody says: of a program that gives all back what it held at
 * its peak, and for scripts what is live.  GEIGER names the program.
 */
#include <stdlib.h>

#include "e2e/command.h"
#include "made_profile.h"

#define SECOND INT64_C(1000000000)
#define MIB    (1 << 20)

/* 10 s: 100 MiB in parse() from 1 s to 9 s, and some MiB in cache() for ever. */
static void write_profile(const char *name, int parsed_mib, int cached_mib)
{
	struct made_profile made;
	struct gg_error error;
	uint32_t parse, cache;

	made_begin(&made, scratch_path(name), 4096, 1);
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
	write_profile("back.geiger", 100, 5);
	write_profile("more.geiger", 150, 5);
	write_profile("kept.geiger", 100, 20);
}

TEST(what_gives_all_back_is_shown_at_its_peak)
{
	command_expect("report back.geiger", 0, "...\npeak at 1 s: ", NULL);
	command_expect("tree back.geiger", 0, "...peak at 1 s: ", NULL);
	command_expect("report kept.geiger", 0, "...\nlive at the end: ", NULL);
	command_expect("tree kept.geiger", 0, "...live at the end: ", NULL);
}

TEST(of_what_gives_all_back_leaks_tells_when_to_look)
{
	command_expect("leaks back.geiger", 0, "...'--at 1.000000s'", NULL);
	command_expect("leaks back.geiger --at 8.5s", 0, "...live at 8.5 s: 105.0 MiB", NULL);
	command_expect("leaks back.geiger --at 8.5s", 0, "...never freed       2 ", NULL);
	command_expect("leaks kept.geiger", 0, "... in 1 stack\n", NULL);
	command_expect("leaks back.geiger --fail-above 50MiB", 0, "...not certainly above", NULL);
	command_expect("leaks back.geiger --fail-above 50MiB --at 8.5s", 3, "...failed: ", NULL);
	command_expect("leaks back.geiger --at 8.5s --json", 0, "...\"live_at_ns\":8500000000",
	               NULL);
	command_expect("leaks kept.geiger | grep -c 'little is left'", 1, "...0\n", NULL);
}

TEST(an_expression_that_matches_nothing_is_told_as_such)
{
	command_expect("report back.geiger -m peak --focus nowhere", 0,
	               "...\n--focus left no sample: ", NULL);
	command_expect("report kept.geiger --focus nowhere", 0,
	               "...\n--focus left no sample: ", NULL);
	command_expect("report kept.geiger --ignore main", 0,
	               "...\n--ignore left no sample: ", NULL);
}

TEST(who_asks_is_given_what_was_asked_for)
{
	command_expect("report back.geiger --metric live", 0, "...live at the end: ", NULL);
	command_expect("report kept.geiger --metric peak", 0, "...peak at 1 s: ", NULL);
	command_expect("report back.geiger --at 9.5s", 0, "...live at 9.5 s: ", NULL);
	command_expect("report back.geiger --between 9s 10s", 0, "...live", NULL);
}

TEST(scripts_read_what_is_live)
{
	command_expect("report back.geiger --json", 0, "...\"metric\":\"live\"", NULL);
	command_expect("tree back.geiger --json", 0, "...\"metric\":\"live\"", NULL);
	command_expect("diff back.geiger more.geiger --json", 0, "...\"metric\":\"live\"", NULL);
	command_expect("diff back.geiger more.geiger --fail-on-growth", 0, "...No row differs",
	               NULL);
}

TEST(two_profiles_are_compared_at_their_peaks_if_both_give_all_back)
{
	command_expect("diff back.geiger more.geiger", 0,
	               "...before back.geiger (peak), after more.geiger (peak)\n", NULL);
	command_expect("diff back.geiger more.geiger", 0, "...+50.0 MiB", NULL);
	command_expect("diff back.geiger kept.geiger", 0,
	               "...before back.geiger (live), after kept.geiger (live)\n", NULL);
}

TEST(a_plan_is_for_the_peak_of_what_gives_all_back)
{
	command_expect("lab plan --no-cost --profile back.geiger --function parse -e 5%", 0,
	               "...peak bytes of", NULL);
	command_expect("lab plan --no-cost --profile kept.geiger --function cache -e 5%", 0,
	               "...live bytes of", NULL);
	command_expect("lab plan --no-cost --profile kept.geiger --function parse -e 5%", 1, NULL,
	               NULL);
	command_expect("lab plan --no-cost --profile back.geiger --function cache -e 5%", 0,
	               "...(5 MiB)", NULL);
}
