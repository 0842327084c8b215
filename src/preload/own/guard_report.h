/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_report - reports memory errors that guarded blocks have shown.
 *
 * A report goes to two places: as text to standard error, in the form of GWP-ASan's reports, which
 * crash pipelines understand; and as a record of the region, which the profile gets.  It has the
 * stacks and threads of the access, of the allocation and of the free.
 *
 *   fault in the pool    the report, then the page is opened and the access is repeated
 *   any other fault      the program's handler, or the default action, as without this module
 *
 * Handlers  The program's handlers of SIGSEGV stay what they are for it (signal_chain.h).
 * Never     allocates.  A thread on its sample path, or without memory for its block, reports
 *           without its stack.
 * Not so    The kernel does not raise a signal for its own accesses: a system call that gets a
 *           pointer into a closed page fails with EFAULT.  A thread that blocks SIGSEGV ends the
 *           process by its fault, without a report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_malloc_fault;

/* Guards one sample in `share`.  ends: an error ends the program, after its report. */
void gg_guard_report_start(uint64_t share, uint64_t seed, bool ends);

/* For the allocator's client. */
void gg_guard_report_guarded(uint32_t number, bool is_free);
void gg_guard_report_fault(const struct gg_malloc_fault *fault);
