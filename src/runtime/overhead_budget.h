/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead_budget - measures what sampling costs this process, and sets the sampling interval so
 * that sampling takes a given share of the processor time (GEIGER_OVERHEAD).
 *
 * The control itself is pure: stats/sampling/overhead_control.h.  This module measures the windows
 * that it works on.  A window ends with a sample, after WINDOW_SAMPLES samples or WINDOW_NS.
 *
 * Measured   The program's time is the processor time of the process, read once in a window.  The
 *            sample path times one sample and one free in 16 (gg_overhead_budget_sampled).  A time
 *            many times longer than usual comes from a thread that was preempted, and counts as
 *            LONGEST_FACTOR usual ones.
 * Constants  What the program pays and no clock on the sample path sees: UNTIMED_NS for each sample
 *            and its free, HOOKS_NS for each allocation and its free; and RECORDER_NS that a
 *            recorder takes for a sample.  `make bench BENCH=overhead` measures them.
 * Published  The region's control word has the current interval; counters have the sums.
 * Sandbox    The processor time of a process costs a system call.  A program that has entered a
 *            sandbox is taken to use one processor.
 * Fork       A child continues with what its parent knew, and counts its own costs.
 * Threads    any, on the sample path.  One at a time takes a step; the others do not wait.
 * Cost       some 10 ns for a sample, and 1 us for a window.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

extern uint32_t gg_overhead_budget_ppm __attribute__((visibility("hidden")));

/* True if the interval follows the overhead. */
static inline bool gg_overhead_budget_is_on(void)
{
	return gg_load_relaxed(&gg_overhead_budget_ppm) != 0;
}

/*
 * Sets the share of the program's own processor time, in millionths; 0: the interval stays as it
 * is.  At the start, and when the control word changes.
 */
void gg_overhead_budget_set(uint32_t ppm);

/* In a forked child, when it has its region. */
void gg_overhead_budget_forked(void);

/*
 * Adds a sample, which stands for that many allocations.  took_ns: its time on the sample path; 0:
 * it was not timed.  May change the interval of the process.
 */
void gg_overhead_budget_sampled(double stands_for, uint64_t took_ns, uint64_t now_ns);

/* Adds the free of a sample. */
void gg_overhead_budget_freed(uint64_t took_ns);

/* A thread checks the settings and has no sample: a window may end. */
void gg_overhead_budget_visited(void);
