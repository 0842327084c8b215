/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead_budget - measures what sampling costs this process, and sets the sampling interval so
 * that sampling takes a given share of the processor time (GEIGER_OVERHEAD), or so that live bytes
 * have a given error (GEIGER_ERROR, error_target.h).  With both, the coarser interval counts: the
 * overhead is never larger than asked for, and the error is the best one for it.
 *
 * The control itself is pure: stats/sampling/overhead_control.h.  This module measures the windows
 * that it works on.  A window ends with a sample, after WINDOW_SAMPLES samples or WINDOW_NS.
 *
 * Measured   The program's time is the processor time of the process, read once in a window.  The
 *            sample path times one sample and one free in 16 (gg_overhead_budget_sampled).  A time
 *            many times longer than usual comes from a thread that was preempted, and counts as
 *            LONGEST_FACTOR usual ones.
 * Objects    Samples of heaps inside the program take many times longer than those of malloc, so
 *            they have a mean of their own.  It includes the stack and the names that libgeiger and
 *            adapters find.  A runtime that samples by itself has no hooks.
 * Constants  What the program pays and no clock on the sample path sees: UNTIMED_NS for each sample
 *            and its free, and HOOKS_NS for each allocation and its free.  `make bench
 *            BENCH=overhead` measures them.
 * Recorder   A recorder states in the region what it needs for a sample (RECORDER_NS until then),
 *            and this process's part of its other costs (record/session/recorder_costs.h).
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

extern uint32_t gg_overhead_budget_is_active __attribute__((visibility("hidden")));

/* True if the interval follows the overhead or the error. */
static inline bool gg_overhead_budget_is_on(void)
{
	return gg_load_relaxed(&gg_overhead_budget_is_active) != 0;
}

/*
 * Sets the share of the program's own processor time and the error of live bytes, in millionths; 0:
 * any.  At the start with the interval of a plan, or 0; and when the control word changes.
 */
void gg_overhead_budget_set(uint32_t overhead_ppm, uint32_t error_ppm, uint64_t planned_interval);

/* The overhead and the error that the interval follows now, in millionths; 0: any. */
void gg_overhead_budget_read(uint32_t *ret_overhead_ppm, uint32_t *ret_error_ppm);

/* Call it when the process has its region: it states there what the interval follows. */
void gg_overhead_budget_publish(void);

/* In a forked child, when it has its region. */
void gg_overhead_budget_forked(void);

/*
 * Adds a sample, which stands for that many allocations of that size.  took_ns: its time on the
 * sample path; 0: it was not timed.  May change the interval of the process.
 */
void gg_overhead_budget_sampled(double stands_for, uint64_t size_bytes, uint64_t took_ns,
                                uint64_t now_ns);

/*
 * Adds a sample of a heap inside the program.  `has_hooks`: the allocations that the sample stands
 * for cost hooks.
 */
void gg_overhead_budget_object_sampled(double stands_for, uint64_t size_bytes, uint64_t took_ns,
                                       uint64_t now_ns, bool has_hooks);

/* Adds the free of a sample. */
void gg_overhead_budget_freed(uint64_t took_ns);

/* A thread checks the settings and has no sample: a window may end. */
void gg_overhead_budget_visited(void);
