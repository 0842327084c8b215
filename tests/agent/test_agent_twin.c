/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_twin - compares the agent's profile of a program with exact counts.
 *
 * The twin counts every call of the same run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/place.h"
#include "agent/twin.h"
#include "child.h"
#include "region/reader/view.h"
#include "test.h"

struct twin_run {
	const struct twin_log *truth; /* until the next run */
	struct gg_region_view view;
	bool good;
};

enum { SETTINGS_MAX = 16, LIMIT_SECONDS = 60 };

static const char *directory;

/* Reads what the run left in the directory. */
static const char *read_run(struct twin_run *run)
{
	static struct twin_log truth;
	char path[200];
	FILE *file;
	bool has_log;

	snprintf(path, sizeof(path), "%s/twin", directory);
	file = fopen(path, "r");
	has_log = file != NULL && fread(&truth, sizeof(truth), 1, file) == 1;
	if (file != NULL)
		fclose(file);
	run->truth = &truth;
	if (!has_log || truth.dropped_count > 0)
		return "the twin has no whole log";
	run->good = place_open_region(directory, &run->view);
	if (!run->good)
		return "there is no region";
	if (run->view.torn || run->view.damaged_count > 0 ||
	    gg_region_view_check(&run->view, NULL) < 0)
		return "the region is not consistent";
	return NULL;
}

static const char *start(struct twin_run *run, const char *const settings[])
{
	const char *const argv[] = { getenv("TWIN_PROGRAM"), NULL };
	char preload[8200], dir[100], log[100];
	const char *with[SETTINGS_MAX + 4];
	struct place_command command;
	const char *wrong = NULL;
	struct child child;
	int count = 0;

	snprintf(preload, sizeof(preload), "%s %s", getenv("TWIN"), getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(log, sizeof(log), "GEIGER_TWIN=%s/twin", directory);
	place_command(&command, argv, preload);
	with[count++] = command.preload;
	with[count++] = dir;
	with[count++] = log;
	for (int i = 0; i < SETTINGS_MAX && settings[i] != NULL; i++)
		with[count++] = settings[i];
	with[count] = NULL;
	if (!child_run(&child, command.argv, with, LIMIT_SECONDS) || child.exit_status != 0)
		wrong = "the program failed";
	else if (child.err.length != 0)
		wrong = "the program said something";
	child_done(&child);
	return wrong != NULL ? wrong : read_run(run);
}

/* `settings`: NAME=VALUE of the agent.  Done by twin_run_done() in any case. */
static bool twin_run(struct twin_run *run, const char *const settings[])
{
	const char *wrong;

	if (directory == NULL)
		directory = place_make();
	memset(run, 0, sizeof(*run));
	wrong = start(run, settings);
	place_empty(directory);
	if (wrong != NULL)
		printf("%s\n", wrong);
	return wrong == NULL;
}

static void twin_run_done(struct twin_run *run)
{
	if (run->good)
		gg_region_view_done(&run->view);
	run->good = false;
}

/* The code that called the allocator: the first frame that is not the twin's. */
static uint64_t twin_run_site(const struct twin_run *run, uint32_t stack)
{
	uint64_t pcs[8];
	uint32_t count = gg_region_view_stack(&run->view, stack, pcs, 8);

	for (uint32_t i = 0; i < count && i < 8; i++)
		if (pcs[i] < run->truth->code_begin || pcs[i] >= run->truth->code_end)
			return pcs[i];
	return 0;
}

/* Adds the rows of the region to sites as the twin has them.  False: more sites than it has. */
static bool sum_rows(const struct twin_run *run, struct twin_site *sites,
                     struct twin_site *estimates)
{
	for (uint32_t i = 0; i < run->view.site_total_count; i++) {
		const struct gg_region_site_total *row = &run->view.site_totals[i];
		uint64_t pc = twin_run_site(run, row->stack);
		uint32_t tid = run->view.threads[row->thread].tid, at;

		if (row->allocated.sample_count + row->freed.sample_count == 0)
			continue;
		for (at = 0; at < TWIN_SITES_MAX; at++)
			if (run->truth->sites[at].pc == pc && run->truth->sites[at].tid == tid)
				break;
		if (at == TWIN_SITES_MAX)
			return false;
		sites[at].allocated_count += row->allocated.sample_count;
		sites[at].allocated_bytes += row->allocated.size_bytes;
		sites[at].freed_count += row->freed.sample_count;
		sites[at].freed_bytes += row->freed.size_bytes;
		estimates[at].allocated_count += (uint64_t)gg_fixed_value(row->allocated.count);
		estimates[at].allocated_bytes += (uint64_t)gg_fixed_value(row->allocated.bytes);
		estimates[at].freed_count += (uint64_t)gg_fixed_value(row->freed.count);
		estimates[at].freed_bytes += (uint64_t)gg_fixed_value(row->freed.bytes);
	}
	return true;
}

/* Adds the live samples, by the thread that allocated them. */
static bool sum_live(const struct twin_run *run, struct twin_site *sites)
{
	for (uint32_t i = 0; i < run->view.live_count; i++) {
		const struct gg_region_sample *sample = &run->view.live[i];
		uint64_t pc = twin_run_site(run, sample->stack);
		uint32_t tid = run->view.threads[sample->thread].tid, at;

		for (at = 0; at < TWIN_SITES_MAX; at++)
			if (run->truth->sites[at].pc == pc && run->truth->sites[at].tid == tid)
				break;
		if (at == TWIN_SITES_MAX)
			return false;
		sites[at].live_count++;
		sites[at].live_bytes += sample->size_bytes;
	}
	return true;
}

static bool is_equal(const struct twin_site *a, const struct twin_site *b)
{
	return a->allocated_count == b->allocated_count &&
	       a->allocated_bytes == b->allocated_bytes && a->freed_count == b->freed_count &&
	       a->freed_bytes == b->freed_bytes;
}

/* Compares what was allocated and freed.  Returns how many allocations there were. */
static uint64_t check_sites(const struct twin_run *run, const struct twin_site *sites,
                            const struct twin_site *estimates)
{
	uint64_t counted = 0;

	for (int i = 0; i < TWIN_SITES_MAX; i++) {
		const struct twin_site *t = &run->truth->sites[i];

		CHECK_MSG(is_equal(t, &sites[i]) && is_equal(t, &estimates[i]),
		          "site %lx thread %u: %lu of %lu allocations, %lu of %lu frees",
		          (unsigned long)t->pc, t->tid, (unsigned long)sites[i].allocated_count,
		          (unsigned long)t->allocated_count, (unsigned long)sites[i].freed_count,
		          (unsigned long)t->freed_count);
		counted += t->allocated_count;
	}
	return counted;
}

static void check_exact(const char *scheme)
{
	static struct twin_site sites[TWIN_SITES_MAX], estimates[TWIN_SITES_MAX];
	uint64_t counted = 0;
	struct twin_run run;

	memset(sites, 0, sizeof(sites));
	memset(estimates, 0, sizeof(estimates));
	if (CHECK(twin_run(&run, (const char *const[]){ "GEIGER_INTERVAL=1", "GEIGER_SEED=1",
	                                                scheme, NULL })) &&
	    CHECK(sum_rows(&run, sites, estimates)) && CHECK(sum_live(&run, sites))) {
		for (int i = 0; i < TWIN_SITES_MAX; i++) {
			const struct twin_site *t = &run.truth->sites[i];

			CHECK_MSG(sites[i].live_count == t->live_count &&
			                  sites[i].live_bytes == t->live_bytes,
			          "site %lx thread %u: %lu of %lu live", (unsigned long)t->pc,
			          t->tid, (unsigned long)sites[i].live_count,
			          (unsigned long)t->live_count);
		}
		counted = check_sites(&run, sites, estimates);
		CHECK_MSG(counted > 60000, "%lu allocations", (unsigned long)counted);
		CHECK_EQ_U64(run.view.header.counters[GG_COUNT_MISSED_FREES], 0);
		CHECK_EQ_U64(run.view.header.counters[GG_COUNT_DROP_BUSY], 0);
	}
	twin_run_done(&run);
}

TEST(at_an_interval_of_one_byte_every_number_is_exact)
{
	check_exact("GEIGER_SCHEME=poisson");
	check_exact("GEIGER_SCHEME=bernoulli");
	check_exact("GEIGER_SCHEME=poisson-count");
	check_exact("GEIGER_SCHEME=stride");
	check_exact("GEIGER_SCHEME=per-allocation");
}

TEST(the_same_seed_gives_the_same_samples)
{
	uint64_t first = 0;

	/* One thread's stream; with more, which thread is first decides which stream it has. */
	for (int i = 0; i < 2; i++) {
		uint64_t samples = 0;
		struct twin_run run;

		if (CHECK(twin_run(&run, (const char *const[]){ "GEIGER_INTERVAL=64k",
		                                                "GEIGER_SEED=7", NULL })))
			for (uint32_t j = 0; j < run.view.site_total_count; j++)
				if (run.view.threads[run.view.site_totals[j].thread].tid ==
				    run.view.header.pid)
					samples = samples * 31 +
					          run.view.site_totals[j].allocated.sample_count;
		CHECK(i == 0 || samples == first);
		first = samples;
		twin_run_done(&run);
	}
	CHECK(first != 0);
}

/* By code alone: what is live follows from the counts of all threads together. */
static void check_live_by_code(const struct twin_site *sites, const struct twin_site *truth)
{
	for (int i = 0; i < TWIN_SITES_MAX; i++) {
		uint64_t count = 0, bytes = 0, wanted_count = 0, wanted_bytes = 0;

		for (int j = 0; j < TWIN_SITES_MAX; j++) {
			if (truth[j].pc != truth[i].pc)
				continue;
			count += sites[j].allocated_count - sites[j].freed_count;
			bytes += sites[j].allocated_bytes - sites[j].freed_bytes;
			wanted_count += truth[j].live_count;
			wanted_bytes += truth[j].live_bytes;
		}
		CHECK_EQ_U64(count, wanted_count);
		CHECK_EQ_U64(bytes, wanted_bytes);
	}
}

TEST(exact_counts_are_those_of_the_twin_to_the_byte)
{
	static struct twin_site sites[TWIN_SITES_MAX], estimates[TWIN_SITES_MAX];
	uint64_t counted = 0;
	struct twin_run run;

	memset(sites, 0, sizeof(sites));
	memset(estimates, 0, sizeof(estimates));
	if (CHECK(twin_run(&run, (const char *const[]){ "GEIGER_EXACT=1", NULL })) &&
	    CHECK(sum_rows(&run, sites, estimates))) {
		CHECK(run.view.exact_totals != NULL);
		counted = check_sites(&run, sites, estimates);
		CHECK_MSG(counted > 60000, "%lu allocations", (unsigned long)counted);
		check_live_by_code(sites, run.truth->sites);
		CHECK_EQ_U64(run.view.header.counters[GG_COUNT_MISSED_FREES], 0);
		CHECK_EQ_U64(run.view.header.counters[GG_COUNT_DROP_BUSY], 0);
	}
	twin_run_done(&run);
}
