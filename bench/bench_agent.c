/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_agent - measures what the agent costs a program.
 *
 * It does the same work without the agent, with an agent that never samples, and with one that
 * samples.  Every figure that has a bar stands beside it.
 *
 *   bench_agent [TABLE...]           all tables, or some of: hooks instructions samples whole
 *                                    beside start region; GEIGER_AGENT is the path of the agent
 *   bench_agent work NAME COUNT [WARM]
 *                                    one workload, as the children run it: wall and processor's ns
 *   bench_agent slices NAME LIBRARY  the hooked and the direct functions in turns (agent_run.h)
 *
 * Instructions are counted by callgrind, if that is installed: of a longer run less those of a
 * shorter one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_run.h"
#include "agent_work.h"
#include "base/clock.h"
#include "base/compiler.h"

#define LIBC "libc.so.6"

static const char *self, *agent;

/* --- the path of allocations that are no samples --- */

enum { SLICE_PROCESSES = 5 };

static void tell_slices_of(const char *work, const char *interval, const char *bar)
{
	const struct way way = { .preload = agent, .interval = interval };
	static struct figures wall, cpu;
	double low, high;

	wall.count = cpu.count = 0;
	run_slices(&way, self, work, LIBC, SLICE_PROCESSES, &wall, &cpu);
	printf("  %-8s %-8s", work, strcmp(interval, "256T") == 0 ? "never" : interval);
	figures_interval(&wall, &low, &high);
	printf("  %.3f [%.3f, %.3f]", figures_median(&wall), low, high);
	figures_interval(&cpu, &low, &high);
	printf("   %.3f [%.3f, %.3f]   %s\n", figures_median(&cpu), low, high, bar);
}

static void tell_slices(void)
{
	static const struct {
		const char *work, *bar;
	} rows[] = { { "pair", "<= 1.30" },
		     { "mix10k", "<= 1.04" },
		     { "mix1M", "<= 1.02" },
		     { "threads", "<= 1.04" } };

	printf("hooked against direct functions of glibc, in one process, in turns\n"
	       "  median ratio of neighbouring slices, and the 99 %% confidence interval of it\n"
	       "  %-8s %-8s  %-22s   %-22s   bar\n",
	       "work", "interval", "wall", "processor");
	for (size_t i = 0; i < GG_COUNT(rows); i++) {
		tell_slices_of(rows[i].work, "256T", rows[i].bar);
		tell_slices_of(rows[i].work, "512k", rows[i].bar);
	}
	putchar('\n');
}

static double count_instructions(const struct way *way, const char *work, uint64_t count)
{
	char command[1024], text[64] = "";
	const char *const argv[] = { "sh", "-c", command, NULL };

	/* Valgrind passes LD_PRELOAD on to the program, and has no use for it itself. */
	snprintf(command, sizeof(command),
	         "valgrind --tool=callgrind --callgrind-out-file=/dev/null '%s' work %s %llu 2>&1 |"
	         " sed -n 's/.*Collected : //p'",
	         self, work, (unsigned long long)count);
	return run_way(way, argv, text, sizeof(text)) ? strtod(text, NULL) : 0;
}

static void tell_instructions(void)
{
	static const struct {
		const char *work, *bar;
		uint64_t count;
	} rows[] = { { "pair", "<= +16", 500000 }, { "mix10k", "", 200000 } };
	const struct way ways[] = { { .name = "without" },
		                    { .name = "never", .preload = agent, .interval = "256T" },
		                    { .name = "512k", .preload = agent, .interval = "512k" } };

	if (system("command -v valgrind >/dev/null") != 0) {
		printf("instructions: valgrind is not installed\n\n");
		return;
	}
	printf("instructions an operation (callgrind)\n");
	for (size_t i = 0; i < GG_COUNT(rows); i++) {
		double first = 0;

		for (size_t w = 0; w < GG_COUNT(ways); w++) {
			double each = (count_instructions(&ways[w], rows[i].work,
			                                  2 * rows[i].count) -
			               count_instructions(&ways[w], rows[i].work, rows[i].count)) /
			              (double)rows[i].count;

			first = w == 0 ? each : first;
			printf("  %-8s %-8s  %8.2f   %+6.2f   %.3f   %s\n", rows[i].work,
			       ways[w].name, each, each - first, each / first,
			       w > 0 ? rows[i].bar : "");
		}
	}
	putchar('\n');
}

/* --- samples --- */

enum { ROUNDS = 9 };

/* Costs of ways in turns; the ratios and differences are those to the first way of a round. */
static void tell_sample(const char *work, const char *interval, double share, const char *bar)
{
	const struct way never = { .preload = agent, .interval = "256T" };
	const struct way often = { .preload = agent, .interval = interval };
	static struct figures wall, cpu;

	wall.count = cpu.count = 0;
	for (int r = 0; r < ROUNDS; r++) {
		struct cost without = run_work(&never, self, work, 0);
		struct cost with = run_work(&often, self, work, 0);

		figures_add(&wall, (with.wall_ns - without.wall_ns) / share);
		figures_add(&cpu, (with.cpu_ns - without.cpu_ns) / share);
	}
	printf("  %-8s %-8s  %6.0f %6.0f   %6.0f %6.0f   %s\n", work, interval,
	       figures_median(&wall), figures_least(&wall), figures_median(&cpu),
	       figures_least(&cpu), bar);
}

static void tell_samples(void)
{
	printf("one sample, allocation and free, 47 frames (ns): medians and least of %d rounds\n"
	       "  %-8s %-8s  %6s %6s   %6s %6s   bar\n",
	       ROUNDS, "work", "interval", "wall", "least", "proc.", "least");
	tell_sample("deep", "4k", 1 - exp(-1.0 / 4), "<=  700");
	tell_sample("deep32k", "512k", 1 - exp(-1.0 / 16), "<= 1000");
	tell_sample("stacks", "4k", 1 - exp(-1.0 / 4), "<= 1500");
	putchar('\n');
}

static void tell_whole(void)
{
	const struct way ways[] = { { .preload = agent, .interval = "256T" },
		                    { .preload = agent, .interval = "512k" },
		                    { .preload = agent, .interval = "32k" },
		                    { .preload = agent, .interval = "4k" } };
	static const char *const bars[] = { "", "", "<= 1.08", "<= 1.30" };
	static struct figures wall[GG_COUNT(ways)], cpu[GG_COUNT(ways)];
	double never_ns = 0;

	for (int r = 0; r < 3 * ROUNDS; r++) {
		struct cost first = { 0 };

		for (size_t w = 0; w < GG_COUNT(ways); w++) {
			struct cost cost = run_work(&ways[w], self, "whole", 0);

			first = w == 0 ? cost : first;
			figures_add(&wall[w], w == 0 ? cost.wall_ns : cost.wall_ns / first.wall_ns);
			figures_add(&cpu[w], w == 0 ? cost.cpu_ns : cost.cpu_ns / first.cpu_ns);
		}
	}
	never_ns = figures_median(&cpu[0]);
	printf("a program that works at depth 40 (47 frames), sampling against never sampling\n"
	       "  medians of %d ratios and their 99 %% confidence intervals; never: %.0f ns an"
	       " operation\n  %-8s  %-22s   %-22s   bar\n",
	       3 * ROUNDS, never_ns, "interval", "wall", "processor");
	for (size_t w = 1; w < GG_COUNT(ways); w++) {
		double low, high;

		figures_interval(&wall[w], &low, &high);
		printf("  %-8s  %.3f [%.3f, %.3f]", ways[w].interval, figures_median(&wall[w]), low,
		       high);
		figures_interval(&cpu[w], &low, &high);
		printf("   %.3f [%.3f, %.3f]   %s\n", figures_median(&cpu[w]), low, high, bars[w]);
	}
	putchar('\n');
}

/* --- beside other allocators' own profilers --- */

enum { BESIDE_MAX = 3, BESIDE_ROUNDS = 7 };

struct beside {
	const char *name, *library;
	/* Its own profiler; NULL: the distribution builds it without one. */
	const char *variable, *value, *often;
};

static bool is_there(const char *library)
{
	const struct way way = { .preload = library };
	const char *const argv[] = { self, "has", library, NULL };
	char text[8];

	return run_way(&way, argv, text, sizeof(text));
}

static void tell_beside_one(const struct beside *beside)
{
	static const char *const workloads[] = { "pair", "mix10k", "threads", "whole" };
	static struct figures ratios[BESIDE_MAX][GG_COUNT(workloads)], samples[BESIDE_MAX];
	char over[4096];
	struct way ways[BESIDE_MAX] = { { "alone", beside->library, NULL, NULL, NULL },
		                        { "geiger", over, "512k", NULL, NULL },
		                        { "its own", beside->library, NULL, beside->variable,
		                          beside->value } };
	struct way often[BESIDE_MAX] = { ways[0], ways[1], ways[2] };
	size_t way_count = beside->variable != NULL ? BESIDE_MAX : BESIDE_MAX - 1;

	snprintf(over, sizeof(over), "%s%s%s", agent, beside->library != NULL ? ":" : "",
	         beside->library != NULL ? beside->library : "");
	often[1].interval = "4k";
	often[2].value = beside->often;
	memset(ratios, 0, sizeof(ratios));
	memset(samples, 0, sizeof(samples));
	for (int r = 0; r < BESIDE_ROUNDS; r++) {
		for (size_t i = 0; i < GG_COUNT(workloads); i++) {
			struct cost first = { 0 };

			for (size_t w = 0; w < way_count; w++) {
				struct cost cost = run_work(&ways[w], self, workloads[i], 0);

				first = w == 0 ? cost : first;
				figures_add(&ratios[w][i],
				            w == 0 ? cost.cpu_ns : cost.cpu_ns / first.cpu_ns);
			}
		}
		for (size_t w = 1; w < way_count; w++)
			figures_add(&samples[w], (run_work(&often[w], self, "deep", 100000).cpu_ns -
			                          run_work(&ways[0], self, "deep", 100000).cpu_ns) /
			                                 (1 - exp(-1.0 / 4)));
	}
	for (size_t w = 0; w < way_count; w++) {
		printf("  %-10s %-8s", w == 0 ? beside->name : "", ways[w].name);
		for (size_t i = 0; i < GG_COUNT(workloads); i++)
			printf(w == 0 ? " %7.1f ns" : " %10.3f", figures_median(&ratios[w][i]));
		if (w > 0)
			printf(" %10.0f", figures_median(&samples[w]));
		putchar('\n');
	}
	if (beside->variable == NULL && beside->library != NULL)
		printf("  %-10s no profiler of its own in the distribution's build\n", "");
}

static void tell_beside(void)
{
	static const struct beside allocators[] = {
		{ .name = "glibc" },
		{ "jemalloc", "libjemalloc.so.2", "MALLOC_CONF",
		  "prof:true,prof_active:true,lg_prof_sample:19",
		  "prof:true,prof_active:true,lg_prof_sample:12" },
		{ "tcmalloc", "libtcmalloc.so.4", "TCMALLOC_SAMPLE_PARAMETER", "524288", "4096" },
		{ .name = "mimalloc", .library = "libmimalloc.so.2" },
	};

	printf("over other allocators, and beside their own profilers, at 512 KiB (processor's time)\n"
	       "  first rows: ns an operation; others: median ratio to that; last column: one sample"
	       " of\n  47 frames at 4 KiB, allocation and free, ns\n"
	       "  %-10s %-8s %10s %10s %10s %10s %10s\n",
	       "", "", "pair", "mix10k", "threads", "whole", "a sample");
	for (size_t i = 0; i < GG_COUNT(allocators); i++) {
		if (allocators[i].library == NULL || is_there(allocators[i].library))
			tell_beside_one(&allocators[i]);
		else
			printf("  %-10s not installed\n", allocators[i].name);
	}
	putchar('\n');
}

/* --- start and memory --- */

static void tell_start(void)
{
	const struct way ways[] = { { .name = "without" },
		                    { .name = "agent", .preload = agent, .interval = "512k" } };
	static const char *const argv[] = { "true", NULL };
	static struct figures ms[2], more;
	char text[8];

	for (int r = 0; r < 101; r++) {
		double each[2];

		for (int w = 0; w < 2; w++) {
			uint64_t start = gg_clock_monotonic_ns();

			run_way(&ways[w], argv, text, sizeof(text));
			each[w] = 1e-6 * (double)(gg_clock_monotonic_ns() - start);
			figures_add(&ms[w], each[w]);
		}
		figures_add(&more, each[1] - each[0]);
	}
	printf("start and end of `true` (ms)\n  %-22s %8.3f\n  %-22s %8.3f   %+.3f   <= +1.5\n\n",
	       "without", figures_median(&ms[0]), "agent", figures_median(&ms[1]),
	       figures_median(&more));
}

/* Space of the regions in the directory, which are removed. */
static double take_regions(const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	double bytes = 0;

	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		struct stat status;

		if (fstatat(dirfd(entries), entry->d_name, &status, 0) < 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		bytes += (double)status.st_blocks * 512;
		unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries != NULL)
		closedir(entries);
	return bytes;
}

static void tell_region(const char *directory)
{
	const struct way way = { .preload = agent, .interval = "512k" };
	static const char *const nothing[] = { "true", NULL };
	char text[256];

	take_regions(directory);
	printf("space of a region at 512 KiB, default capacities (MiB)\n");
	run_way(&way, nothing, text, sizeof(text));
	printf("  %-22s %8.2f   <= 8\n", "true", take_regions(directory) / (1 << 20));
	run_work(&way, self, "mix10k", 0);
	printf("  %-22s %8.2f   <= 8\n", "mix10k", take_regions(directory) / (1 << 20));
	run_work(&way, self, "mix1M", 0);
	printf("  %-22s %8.2f\n\n", "mix1M", take_regions(directory) / (1 << 20));
}

static bool is_wanted(int argc, char **argv, const char *table)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], table) == 0)
			return true;
	return argc == 1;
}

static void tell_all(int argc, char **argv, const char *directory)
{
	if (is_wanted(argc, argv, "hooks"))
		tell_slices();
	if (is_wanted(argc, argv, "instructions"))
		tell_instructions();
	if (is_wanted(argc, argv, "samples"))
		tell_samples();
	if (is_wanted(argc, argv, "whole"))
		tell_whole();
	if (is_wanted(argc, argv, "beside"))
		tell_beside();
	if (is_wanted(argc, argv, "start"))
		tell_start();
	if (is_wanted(argc, argv, "region"))
		tell_region(directory);
}

int main(int argc, char **argv)
{
	char directory[] = "/dev/shm/geiger-bench-XXXXXX";

	self = argv[0];
	agent = getenv("GEIGER_AGENT");
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "work") == 0) {
		do_work(argv[2], strtoull(argv[3], NULL, 10),
		        argc == 5 ? strtoull(argv[4], NULL, 10) : 0);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "slices") == 0)
		return do_slices(argv[2], argv[3]), 0;
	if (argc == 3 && strcmp(argv[1], "has") == 0)
		return dlopen(argv[2], RTLD_LAZY | RTLD_NOLOAD) != NULL ? 0 : 1;
	if (agent == NULL || mkdtemp(directory) == NULL)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("GEIGER_DIR", directory, 1);
	tell_all(argc, argv, directory);
	take_regions(directory);
	return rmdir(directory) == 0 ? 0 : 1;
}
