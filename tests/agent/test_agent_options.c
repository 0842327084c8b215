/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_options - shows that the environment's settings arrive in the region of a program.
 *
 * The seed is fixed, but which of the program's threads is first, and which stream it has, is not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/place.h"
#include "child.h"
#include "region/reader/view.h"
#include "test.h"

static const char *directory;
static struct gg_region_view view; /* of the last run */

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
}

/* Runs twin_program with two settings ("": none) and reads its region. */
static bool run(const char *first, const char *second)
{
	const char *const argv[] = { getenv("TWIN_PROGRAM"), NULL };
	struct place_command command;
	char dir[100];
	const char *const with[] = { command.preload,
		                     dir,
		                     "GEIGER_SEED=1",
		                     *first != '\0' ? first : NULL,
		                     *second != '\0' ? second : NULL,
		                     NULL };
	struct child child;
	bool found;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	CHECK(child_run(&child, command.argv, with, 60) && child.exit_status == 0 &&
	      child.err.length == 0);
	child_done(&child);
	found = place_open_region(directory, &view);
	place_empty(directory);
	return found;
}

static double allocated_bytes(void)
{
	return gg_fixed_value(gg_region_view_totals(&view).allocated.bytes);
}

/* twin_program allocates the same each time: with an interval of 1 it is known exactly. */
static double truth(void)
{
	static double bytes;

	if (bytes == 0 && CHECK(run("GEIGER_INTERVAL=1", ""))) {
		bytes = allocated_bytes();
		gg_region_view_done(&view);
	}
	return bytes;
}

TEST(the_default_is_poisson_at_512_kib)
{
	if (!CHECK(run("", "")))
		return;
	CHECK(view.header.control.interval_bytes == 512 * 1024 && view.header.control.active == 1);
	CHECK(view.live_count > 0 && view.live[0].sampling_interval == 512 * 1024 &&
	      view.live[0].scheme == GG_SCHEME_POISSON);
	CHECK(view.header.end_monotonic_ns > view.header.start_monotonic_ns);
	CHECK(memmem(view.header.exe, view.header.exe_bytes, "twin_program", 12) != NULL);
	CHECK(memmem(view.header.command, view.header.command_bytes, "twin_program", 13) != NULL);
	CHECK(view.header.process_start_ticks > 0);
	gg_region_view_done(&view);
}

TEST(each_scheme_estimates_the_same_total)
{
	static const char *const schemes[] = { "GEIGER_SCHEME=poisson", "GEIGER_SCHEME=bernoulli",
		                               "GEIGER_SCHEME=poisson-count",
		                               "GEIGER_SCHEME=stride" };

	for (int i = 0; i < 4; i++) {
		double sigma, error;

		truth();
		if (!CHECK(run(schemes[i], "GEIGER_INTERVAL=16k")))
			return;
		error = allocated_bytes() - truth();
		/* By the marks alone at most R times the total; stride is better. */
		sigma = 16384 * truth();
		/* 6 sigma: 2 in 10^9, for each order of the threads. */
		CHECK_MSG(error * error < 36 * sigma, "%s: %.0f instead of %.0f", schemes[i],
		          allocated_bytes(), truth());
		gg_region_view_done(&view);
	}
}

TEST(a_program_that_starts_switched_off_records_nothing)
{
	if (!CHECK(run("GEIGER_ACTIVE=0", "GEIGER_INTERVAL=1")))
		return;
	CHECK_EQ_U64(view.header.control.active, 0);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_SAMPLES], 0);
	gg_region_view_done(&view);
}

TEST(the_startup_interval_ends_after_its_bytes)
{
	uint64_t early = 0, late = 0;

	truth();
	if (!CHECK(run("GEIGER_STARTUP=1k:8M", "GEIGER_INTERVAL=64k")))
		return;
	for (uint32_t i = 0; i < view.live_count; i++) {
		early += view.live[i].sampling_interval == 1024;
		late += view.live[i].sampling_interval == 65536;
	}
	/* Some 3 % of the bytes stay. */
	CHECK_MSG(early > 20 && late > 20 && early + late == view.live_count,
	          "%lu early, %lu late of %u", (unsigned long)early, (unsigned long)late,
	          view.live_count);
	/*
	 * The change adds no error: the total is within 6 sigma of the longer interval, as
	 * otherwise.
	 */
	CHECK(fabs(allocated_bytes() - truth()) < 6 * sqrt(65536 * truth()));
	CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
	gg_region_view_done(&view);
}

TEST(capacities_that_are_full_drop_and_count)
{
	if (!CHECK(run("GEIGER_MAX_LIVE=1024", "GEIGER_INTERVAL=1")))
		return;
	CHECK(view.live_count <= 1024);
	CHECK(view.header.counters[GG_COUNT_DROP_LIVE_FULL] > 0);
	CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
	gg_region_view_done(&view);
}

TEST(probes_are_listed_in_the_library)
{
	const char *const argv[] = { "readelf", "-n", getenv("GEIGER_AGENT"), NULL };
	struct child child;

	if (place_is_emulated())
		SKIP("the other machine's headers have no <sys/sdt.h>");
	if (CHECK(child_run(&child, argv, NULL, 60) && child.exit_status == 0)) {
		const char *text = gg_buf_text(&child.out);

		CHECK(strstr(text, "otel_memory") != NULL && strstr(text, "Name: alloc") != NULL &&
		      strstr(text, "Name: free") != NULL && strstr(text, "Name: sample") != NULL);
	}
	child_done(&child);
}
