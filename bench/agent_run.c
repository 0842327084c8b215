/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_run.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_work.h"

enum {
	TEXT_MAX = 1 << 16,
	SLICES = 60 /* of each side in one process */
};

void figures_add(struct figures *figures, double value)
{
	if (figures->count < FIGURES_MAX && value > 0)
		figures->values[figures->count++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value at a rank, which is cut to those that there are. */
static double figure_at(struct figures *figures, double rank)
{
	double last = (double)figures->count - 1;

	if (figures->count == 0)
		return NAN;
	qsort(figures->values, figures->count, sizeof(*figures->values), compare);
	return figures->values[(uint32_t)(rank < 0 ? 0 : rank > last ? last : rank)];
}

double figures_median(struct figures *figures)
{
	return figure_at(figures, figures->count / 2);
}

double figures_least(struct figures *figures)
{
	return figure_at(figures, 0);
}

void figures_interval(struct figures *figures, double *ret_low, double *ret_high)
{
	double half = 2.576 * sqrt(figures->count) / 2, middle = figures->count / 2.0;

	*ret_low = figure_at(figures, floor(middle - half));
	*ret_high = figure_at(figures, ceil(middle + half));
}

static void set_way(const struct way *way)
{
	if (way->preload != NULL)
		setenv("LD_PRELOAD", way->preload, 1);
	else
		unsetenv("LD_PRELOAD");
	if (way->interval != NULL)
		setenv("GEIGER_INTERVAL", way->interval, 1);
	if (way->variable != NULL)
		setenv(way->variable, way->value, 1);
}

bool run_way(const struct way *way, const char *const argv[], char *text, size_t size)
{
	size_t total = 0;
	ssize_t got;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) < 0)
		return false;
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		set_way(way);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	while (total < size - 1 && (got = read(ends[0], text + total, size - 1 - total)) > 0)
		total += (size_t)got;
	text[total] = '\0';
	close(ends[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static double now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

__attribute__((noinline)) static struct cost time_run(const struct work *work, void *state,
                                                      const struct work_heap *heap, uint64_t count)
{
	double wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	work->run(state, heap, count);
	return (struct cost){
		.wall_ns = (now_ns(CLOCK_MONOTONIC) - wall) / (double)count,
		.cpu_ns = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)count,
	};
}

struct cost run_work(const struct way *way, const char *self, const char *work, uint64_t count)
{
	struct cost cost = { 0 };
	char number[24], text[256];
	const char *const argv[] = { self, "work", work, number, NULL };

	snprintf(number, sizeof(number), "%llu", (unsigned long long)count);
	if (run_way(way, argv, text, sizeof(text)))
		sscanf(text, "%lf %lf", &cost.wall_ns, &cost.cpu_ns);
	return cost;
}

void do_work(const char *name, uint64_t count, uint64_t warm_count)
{
	const struct work *work = work_find(name);
	const struct work_heap heap = { malloc, free };
	uint64_t counts[] = { warm_count != 0 ? warm_count : work->warm_count,
		              count != 0 ? count : work->count };
	/*
	 * The code has one call, and the compiler does not know that it is made twice: a second
	 * call would make stacks of its own.
	 */
	volatile size_t rounds = 2;
	struct cost cost = { 0 };
	void *state = work->begin(&heap);

	for (size_t i = 0; i < rounds; i++)
		cost = time_run(work, state, &heap, counts[i]);
	printf("%.4f %.4f\n", cost.wall_ns, cost.cpu_ns);
}

void run_slices(const struct way *way, const char *self, const char *work, const char *library,
                int processes, struct figures *wall, struct figures *cpu)
{
	static char text[TEXT_MAX];
	const char *const argv[] = { self, "slices", work, library, NULL };

	for (int i = 0; i < processes; i++) {
		double wall_ratio, cpu_ratio;
		int used = 0;

		if (!run_way(way, argv, text, sizeof(text)))
			continue;
		for (const char *at = text;
		     sscanf(at, "%lf %lf%n", &wall_ratio, &cpu_ratio, &used) == 2; at += used) {
			figures_add(wall, wall_ratio);
			figures_add(cpu, cpu_ratio);
		}
	}
}

/* The allocator's own functions, which the agent's stand in front of. */
static struct work_heap direct_heap(const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	struct work_heap heap = { NULL, NULL };

	if (handle != NULL) {
		heap.malloc = (void *(*)(size_t))dlsym(handle, "malloc");
		heap.free = (void (*)(void *))dlsym(handle, "free");
	}
	if (heap.malloc == NULL || heap.free == NULL || heap.malloc == malloc)
		exit(1);
	return heap;
}

void do_slices(const char *name, const char *library)
{
	const struct work *work = work_find(name);
	const struct work_heap heaps[] = { direct_heap(library), { malloc, free } };
	void *const states[] = { work->begin(&heaps[0]), work->begin(&heaps[1]) };

	for (int i = 0; i < SLICES; i++) {
		struct cost costs[2];

		/* A B, then B A: a drift falls on both. */
		for (int turn = 0; turn < 2; turn++) {
			int side = turn ^ (i & 1);

			costs[side] = time_run(work, states[side], &heaps[side], work->slice_count);
		}
		if (i >= 2) /* the first ones warm up */
			printf("%.5f %.5f\n", costs[1].wall_ns / costs[0].wall_ns,
			       costs[1].cpu_ns / costs[0].cpu_ns);
	}
}
