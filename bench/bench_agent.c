/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent costs a program: the same work without it, with it never sampling, and with it
 * sampling, in child processes, interleaved.  Told are medians and ratios within a round.
 *
 *   bench_agent                      all of it; GEIGER_AGENT is the path of the agent
 *   bench_agent work NAME COUNT      one workload, as the children run it: prints ns per operation
 *
 * Instructions are counted by callgrind, if that is installed: of a longer run less those of a
 * shorter one.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "bench.h"

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

static void pair(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		void *p = malloc(64);

		bench_keep(p);
		free(p);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Replaces random ones of `slots` blocks by new ones: 7 of 8 up to 128 bytes, some up to 8 KiB. */
static void mix(uint64_t slots, uint64_t count)
{
	void **blocks = calloc(slots, sizeof(*blocks));
	uint64_t random = 88172645463325252u;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = next_random(&random);
		size_t bytes = (r >> 32 & 7) != 0 ? 16 + (r >> 36 & 127) : 16 + (r >> 36 & 8191);

		free(blocks[r % slots]);
		blocks[r % slots] = malloc(bytes);
	}
	for (uint64_t i = 0; i < slots; i++)
		free(blocks[i]);
	free(blocks);
}

/* Kept from being merged into each other or turned into a loop. */
__attribute__((noinline)) static void at_depth(int depth, size_t bytes, uint64_t count)
{
	if (depth == 0) {
		for (uint64_t i = 0; i < count; i++) {
			void *p = call_malloc(bytes);

			bench_keep(p);
			call_free(p);
		}
	} else {
		at_depth(depth - 1, bytes, count);
	}
	bench_keep(depth);
}

static void *two_threads_one(void *argument)
{
	mix(10000, *(uint64_t *)argument);
	return NULL;
}

static void two_threads(uint64_t count)
{
	pthread_t thread;

	pthread_create(&thread, NULL, two_threads_one, &count);
	mix(10000, count);
	pthread_join(thread, NULL);
}

enum {
	/* Frames that the unwinder finds: at_depth, work, main and two of libc's start. */
	DEPTH_47 = 47 - 6
};

static void work(const char *name, uint64_t count)
{
	if (strcmp(name, "pair") == 0)
		pair(count);
	else if (strcmp(name, "mix10k") == 0)
		mix(10000, count);
	else if (strcmp(name, "mix1M") == 0)
		mix(1000000, count);
	else if (strcmp(name, "threads") == 0)
		two_threads(count);
	else if (strcmp(name, "deep") == 0)
		at_depth(DEPTH_47, 1024, count);
	else if (strcmp(name, "deep32k") == 0)
		at_depth(DEPTH_47, 32 << 10, count);
}

/* A way to run: what is preloaded and with which interval. */
struct way {
	const char *name, *agent, *interval;
};

static void set_way(const struct way *way)
{
	if (way->agent != NULL)
		setenv("LD_PRELOAD", way->agent, 1);
	else
		unsetenv("LD_PRELOAD");
	if (way->interval != NULL)
		setenv("GEIGER_INTERVAL", way->interval, 1);
}

/* Starts argv, its output to ours or to a pipe; waits; returns the first number that it prints. */
static double run(const struct way *way, const char *const argv[])
{
	char text[64] = "";
	int ends[2], status;
	ssize_t got;
	pid_t child;

	if (pipe(ends) < 0)
		exit(1);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		set_way(way);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	got = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(child, &status, 0);
	return got > 0 ? strtod(text, NULL) : 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

enum { ROUNDS = 9, WAYS_MAX = 4 };

/* Medians of each way's ns, and of its ratio to the first way in the same round. */
static void compare_ways(const char *self, const char *workload, const char *count,
                         const struct way *ways, int way_count, double *ret_ns)
{
	const char *const argv[] = { self, "work", workload, count, NULL };
	double ns[WAYS_MAX][ROUNDS], ratios[WAYS_MAX][ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		for (int w = 0; w < way_count; w++) {
			ns[w][r] = run(&ways[w], argv);
			ratios[w][r] = ns[w][r] / ns[0][r];
		}
	printf("\n%s (ns an operation)\n", workload);
	for (int w = 0; w < way_count; w++) {
		ret_ns[w] = median(ns[w], ROUNDS);
		printf("  %-22s %8.2f   %.3f\n", ways[w].name, ret_ns[w],
		       median(ratios[w], ROUNDS));
	}
}

static double count_instructions(const struct way *way, const char *self, const char *count)
{
	char command[1024];
	double instructions = 0;
	FILE *pipe;

	snprintf(command, sizeof(command),
	         "valgrind --tool=callgrind --callgrind-out-file=/dev/null '%s' work pair %s 2>&1 |"
	         " sed -n 's/.*Collected : //p'",
	         self, count);
	set_way(way);
	pipe = popen(command, "r");
	if (pipe != NULL && fscanf(pipe, "%lf", &instructions) != 1)
		instructions = 0;
	if (pipe != NULL)
		pclose(pipe);
	unsetenv("LD_PRELOAD");
	return instructions;
}

static void tell_instructions(const char *self, const struct way *ways, int way_count)
{
	double first = 0;

	printf("\ninstructions a pair of malloc(64) and free (callgrind)\n");
	for (int w = 0; w < way_count; w++) {
		double each = (count_instructions(&ways[w], self, "2000000") -
		               count_instructions(&ways[w], self, "1000000")) /
		              1e6;

		if (w == 0)
			first = each;
		printf("  %-22s %8.2f   %+.2f\n", ways[w].name, each, each - first);
	}
}

/*
 * What a sample adds, from runs that sample and ones that never do; by blocks that are large enough for
 * the interval to make samples a good part of the run.  share: of the allocations that are samples.
 */
static void tell_sample(const char *self, const char *workload, const char *count,
                        const struct way ways[2], double share)
{
	double ns[WAYS_MAX];

	compare_ways(self, workload, count, ways, 2, ns);
	printf("  one sample and its free, 47 frames: %.0f ns\n", (ns[1] - ns[0]) / share);
}

static void tell_samples(const char *self, const char *agent)
{
	const struct way often[] = { { "agent, never", agent, "256T" },
		                     { "agent, 4 KiB", agent, "4k" } };
	const struct way seldom[] = { { "agent, never", agent, "256T" },
		                      { "agent, 512 KiB", agent, "512k" } };

	tell_sample(self, "deep", "1000000", often, 1 - exp(-1.0 / 4));
	tell_sample(self, "deep32k", "1000000", seldom, 1 - exp(-1.0 / 16));
}

static void tell_start(const char *agent)
{
	const struct way ways[] = { { "without", NULL, NULL }, { "agent", agent, "512k" } };
	static const char *const argv[] = { "true", NULL };
	double ms[2][101];

	for (int r = 0; r < 101; r++)
		for (int w = 0; w < 2; w++) {
			uint64_t start = gg_clock_monotonic_ns();

			run(&ways[w], argv);
			ms[w][r] = 1e-6 * (double)(gg_clock_monotonic_ns() - start);
		}
	for (int w = 0; w < 2; w++)
		median(ms[w], 101);
	printf("\nstart and end of `true` (ms)\n  %-22s %8.3f\n", "without", ms[0][50]);
	printf("  %-22s %8.3f   %+.3f\n", "agent", ms[1][50], ms[1][50] - ms[0][50]);
}

int main(int argc, char **argv)
{
	const char *agent = getenv("GEIGER_AGENT");
	const struct way ways[] = { { "without", NULL, NULL },
		                    { "agent, never samples", agent, "256T" },
		                    { "agent, 512 KiB", agent, "512k" } };
	char directory[] = "/dev/shm/geiger-bench-XXXXXX", command[100];
	double ns[WAYS_MAX];

	if (argc == 4 && strcmp(argv[1], "work") == 0) {
		uint64_t count = strtoull(argv[3], NULL, 10), start = gg_clock_monotonic_ns();

		work(argv[2], count);
		printf("%.4f\n", (double)(gg_clock_monotonic_ns() - start) / (double)count);
		return 0;
	}
	if (agent == NULL || mkdtemp(directory) == NULL)
		return 1;
	setenv("GEIGER_DIR", directory, 1);
	compare_ways(argv[0], "pair", "10000000", ways, 3, ns);
	compare_ways(argv[0], "mix10k", "3000000", ways, 3, ns);
	compare_ways(argv[0], "mix1M", "2000000", ways, 3, ns);
	compare_ways(argv[0], "threads", "1500000", ways, 3, ns);
	tell_samples(argv[0], agent);
	tell_start(agent);
	if (system("command -v valgrind >/dev/null") == 0)
		tell_instructions(argv[0], ways, 3);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 ? 0 : 1;
}
