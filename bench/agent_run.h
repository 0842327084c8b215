/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_run - runs this program again as a child, under a way to run, and puts the figures
 * together.
 *
 * Machines are shared and drift, so ways take turns, and a ratio is one of neighbours in time.  Two
 * kinds of evidence:
 *
 *   slices      one process under the agent, which calls the hooked functions and the
 *               allocator's own in turns of some milliseconds, on the same blocks.  Nothing
 *               differs but the hook.
 *   processes   a process for each way, as programs are run.  Layouts of memory differ, so single
 *               ratios scatter by percents.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A way to run: the preloaded library and the variables; each may be NULL. */
struct way {
	const char *name;
	const char *preload;
	const char *interval; /* GEIGER_INTERVAL */
	const char *variable, *value;
};

/* Many observations of one figure; a ratio is printed with the interval that holds its median. */
enum { FIGURES_MAX = 2048 };
struct figures {
	double values[FIGURES_MAX];
	uint32_t count;
};

void figures_add(struct figures *figures, double value);
double figures_median(struct figures *figures);
double figures_least(struct figures *figures);

/*
 * 99 % of the time it holds the median of what was drawn from (order statistics); few: least, most.
 */
void figures_interval(struct figures *figures, double *ret_low, double *ret_high);

/* The time of one operation. */
struct cost {
	double wall_ns, cpu_ns;
};

/* Runs argv under the way; its output is read to `text`.  False: it failed. */
bool run_way(const struct way *way, const char *const argv[], char *text, size_t size);

/* One child that does the work; of the processor's time all threads count. */
struct cost run_work(const struct way *way, const char *self, const char *work, uint64_t count);

/* The child's side: prints what run_work() reads.  A count of 0 is the work's own. */
void do_work(const char *work, uint64_t count, uint64_t warm_count);

/*
 * Slices: adds the ratios hooked to direct of `processes` children to *wall and *cpu.  library: the
 * one whose malloc() and free() the agent calls.  Each side has blocks of its own: samples that
 * were freed past the agent would stay in its filter, where other addresses meet them, as in no
 * program.
 */
void run_slices(const struct way *way, const char *self, const char *work, const char *library,
                int processes, struct figures *wall, struct figures *cpu);
void do_slices(const char *work, const char *library);
