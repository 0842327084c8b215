/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent says of a program against what was: the twin counts every call of the same run.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/twin.h"
#include "base/compiler.h"
#include "child.h"
#include "region/view.h"
#include "stats/interval.h"
#include "test.h"

static char directory[] = "/dev/shm/geiger-test-XXXXXX";
static struct twin_log truth;
static struct gg_region_view view;

__attribute__((constructor(101))) static void make_directory(void)
{
	if (mkdtemp(directory) == NULL)
		exit(1);
}

__attribute__((destructor)) static void remove_directory(void)
{
	rmdir(directory);
}

/* Reads what the run left in the directory, and removes it. */
static bool read_run(void)
{
	static struct gg_error error;
	DIR *d = opendir(directory);
	struct dirent *entry;
	bool has_log = false, has_view = false;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[600];

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (strcmp(entry->d_name, "twin") == 0) {
			FILE *file = fopen(path, "r");

			has_log = file != NULL && fread(&truth, sizeof(truth), 1, file) == 1;
			if (file != NULL)
				fclose(file);
		} else if (entry->d_name[0] != '.') {
			has_view = gg_region_view_open(&view, path, &error) == 0;
		} else {
			continue;
		}
		unlink(path);
	}
	if (d != NULL)
		closedir(d);
	return has_log && has_view && truth.dropped_count == 0;
}

/* Runs the program under the twin and the agent; done by gg_region_view_done(&view). */
static bool run(const char *interval, int seed, const char *scheme)
{
	char preload[4200], dir[100], twin[100], interval_setting[60], seed_setting[60],
		scheme_setting[60];
	const char *const with[] = { preload,        dir, twin, interval_setting, seed_setting,
		                     scheme_setting, NULL };
	const char *const argv[] = { getenv("TWIN_PROGRAM"), NULL };
	struct child child;
	bool good;

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s %s", getenv("TWIN"),
	         getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(twin, sizeof(twin), "GEIGER_TWIN=%s/twin", directory);
	snprintf(interval_setting, sizeof(interval_setting), "GEIGER_INTERVAL=%s", interval);
	snprintf(seed_setting, sizeof(seed_setting), "GEIGER_SEED=%d", seed);
	snprintf(scheme_setting, sizeof(scheme_setting), "GEIGER_SCHEME=%s", scheme);
	good = CHECK(child_run(&child, argv, with, 60)) && CHECK(child.exit_status == 0) &&
	       CHECK(child.err.length == 0);
	child_done(&child);
	return good && CHECK(read_run()) && CHECK(gg_region_view_check(&view, NULL) == 0);
}

/* The code that called the allocator: the first frame outside the twin. */
static uint64_t site_of(uint32_t stack)
{
	uint64_t pcs[8];
	uint32_t count = gg_region_view_stack(&view, stack, pcs, 8);

	for (uint32_t i = 0; i < count && i < 8; i++)
		if (pcs[i] < truth.code_begin || pcs[i] >= truth.code_end)
			return pcs[i];
	return 0;
}

/* Adds the rows of the region to sites as the twin has them.  False: more sites than it has. */
static bool sum_rows(struct twin_site *sites, struct twin_site *estimates)
{
	for (uint32_t i = 0; i < view.row_count; i++) {
		const struct gg_region_row *row = &view.rows[i];
		uint64_t pc = site_of(row->stack);
		uint32_t tid = view.threads[row->thread].tid, at;

		if (row->allocated.sample_count + row->freed.sample_count == 0)
			continue;
		for (at = 0; at < TWIN_SITES_MAX; at++)
			if (truth.sites[at].pc == pc && truth.sites[at].tid == tid)
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

static bool is_equal(const struct twin_site *a, const struct twin_site *b)
{
	return a->allocated_count == b->allocated_count &&
	       a->allocated_bytes == b->allocated_bytes && a->freed_count == b->freed_count &&
	       a->freed_bytes == b->freed_bytes;
}

static void check_exact(const char *scheme)
{
	static struct twin_site sites[TWIN_SITES_MAX], estimates[TWIN_SITES_MAX];
	uint64_t counted = 0;

	memset(sites, 0, sizeof(sites));
	memset(estimates, 0, sizeof(estimates));
	if (!run("1", 1, scheme))
		return;
	CHECK(sum_rows(sites, estimates));
	for (int i = 0; i < TWIN_SITES_MAX; i++) {
		const struct twin_site *t = &truth.sites[i];

		CHECK_MSG(is_equal(t, &sites[i]) && is_equal(t, &estimates[i]),
		          "site %lx thread %u: %lu of %lu allocations, %lu of %lu frees",
		          (unsigned long)t->pc, t->tid, (unsigned long)sites[i].allocated_count,
		          (unsigned long)t->allocated_count, (unsigned long)sites[i].freed_count,
		          (unsigned long)t->freed_count);
		counted += t->allocated_count;
	}
	CHECK_MSG(counted > 60000, "%lu allocations", (unsigned long)counted);
	CHECK(view.header.counters[GG_COUNT_MISSED_FREES] == 0);
	CHECK(view.header.counters[GG_COUNT_DROP_BUSY] == 0);
	gg_region_view_done(&view);
}

TEST(at_an_interval_of_one_byte_every_number_is_exact)
{
	check_exact("poisson");
	check_exact("bernoulli");
	check_exact("poisson-count");
	check_exact("stride");
	check_exact("per-allocation");
}

/* What is live of a site, in all threads: the truth, and the samples. */
struct group {
	uint64_t pc, live_count, live_bytes;
	struct gg_tally tally;
};

enum { GROUPS_MAX = 64 };

static struct group *group_of(struct group *groups, uint64_t pc)
{
	for (int i = 0; i < GROUPS_MAX; i++) {
		if (groups[i].pc == 0)
			groups[i].pc = pc;
		if (groups[i].pc == pc)
			return &groups[i];
	}
	return NULL;
}

/* Intervals that hold the truth, of those that there are; of groups with enough expected samples. */
struct coverage {
	int held, asked;
};

static void count_coverage(double interval_bytes, struct coverage *coverage)
{
	struct group groups[GROUPS_MAX] = { 0 };

	for (int i = 0; i < TWIN_SITES_MAX; i++) {
		const struct twin_site *t = &truth.sites[i];
		struct group *group = t->pc != 0 ? group_of(groups, t->pc) : NULL;

		if (group == NULL)
			continue;
		group->live_count += t->allocated_count - t->freed_count;
		group->live_bytes += t->allocated_bytes - t->freed_bytes;
	}
	for (int i = 0; i < GROUPS_MAX && groups[i].pc != 0; i++)
		gg_tally_expose(&groups[i].tally, interval_bytes);
	for (uint32_t i = 0; i < view.live_count; i++) {
		struct group *group = group_of(groups, site_of(view.live[i].stack));
		struct gg_draw draw = gg_region_sample_draw(&view.live[i]);

		if (CHECK(group != NULL && gg_draw_is_valid(&draw)))
			gg_tally_add(&group->tally, &draw, view.live[i].size_bytes);
	}
	for (int i = 0; i < GROUPS_MAX && groups[i].pc != 0; i++) {
		struct gg_interval bytes = gg_interval_of(&groups[i].tally, GG_BYTES, 0.95, false);
		double live = (double)groups[i].live_bytes;

		/* Of groups that are there at all, with 10 expected samples or more. */
		if (live < 10 * interval_bytes)
			continue;
		coverage->asked++;
		coverage->held += bytes.low <= live && live <= bytes.high;
	}
}

TEST(intervals_hold_the_truth_as_often_as_they_say)
{
	struct coverage coverage = { 0, 0 };
	int runs = getenv("TWIN_RUNS") != NULL ? atoi(getenv("TWIN_RUNS")) : 60;
	double share, sigma;

	for (int seed = 1; seed <= runs && run("8k", seed, "poisson"); seed++) {
		count_coverage(8192, &coverage);
		gg_region_view_done(&view);
	}
	share = (double)coverage.held / coverage.asked;
	/* Groups and runs are independent: 4 sigma around the band of 94.5 to 98.5 %. */
	sigma = sqrt(0.945 * 0.055 / coverage.asked);
	printf("%d of %d intervals hold the truth: %.2f %%\n", coverage.held, coverage.asked,
	       100 * share);
	CHECK(coverage.asked >= 4 * runs);
	CHECK(share > 0.945 - 4 * sigma && share < 0.985 + 4 * sigma);
}

TEST(the_same_seed_gives_the_same_samples)
{
	uint64_t first = 0, samples;

	/* One thread's stream; with more, which thread is first decides which stream it has. */
	for (int i = 0; i < 2 && run("64k", 7, "poisson"); i++) {
		samples = 0;
		for (uint32_t j = 0; j < view.row_count; j++)
			if (view.threads[view.rows[j].thread].tid == view.header.pid)
				samples = samples * 31 + view.rows[j].allocated.sample_count;
		CHECK(i == 0 || samples == first);
		first = samples;
		gg_region_view_done(&view);
	}
	CHECK(first != 0);
}
