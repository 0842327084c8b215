/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_target - chooses the sampling interval at which the process's live bytes have a wanted
 * error (GEIGER_ERROR).
 *
 * The agent itself decides, because it has all live samples at hand and needs nobody for it: the
 * control holds in programs without a recorder as well, and from one moment to the next.  In a
 * session each process holds the error of its own live bytes; the error of their sum is smaller.
 *
 * Estimate   The sum over the private table of live samples, without mappings.  It is taken anew
 *            each time rather than kept up to date, so samples that are recorded or freed meanwhile
 *            cannot let it drift.
 * Threads    The caller has the turn of overhead_budget.c, except for gg_error_target_allocated().
 * Cost       some 30 ns for each live sample.  A sum follows a quarter as many new samples, which
 *            makes 120 ns for each of these; or a pause, so that it takes at most 2 % of the time.
 *            One step takes a slice of some 0.5 ms, because a thread of the program waits for it.
 */
#pragma once

#include <stdint.h>

/*
 * Begins to hold this error, in millionths; `first_interval` as in stats/sampling/error_control.h.
 */
void gg_error_target_begin(uint32_t ppm, uint64_t first_interval, uint64_t finest_interval,
                           uint64_t coarsest_interval);

/* In a forked child: it has its parent's live samples, and has allocated nothing. */
void gg_error_target_forked(void);

/* Adds a sample of that many estimated bytes.  Any thread. */
void gg_error_target_allocated(double bytes);

/* Returns the interval for the time from now on; *ret_took_ns: what finding it out has cost. */
uint64_t gg_error_target_step(uint64_t now_ns, uint64_t *ret_took_ns);
