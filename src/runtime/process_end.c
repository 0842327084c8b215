/* SPDX-License-Identifier: Apache-2.0 */
/* process_end - writes the last dump and the time of the end. */
#include "runtime/process_end.h"

#include <stdlib.h>

#include "base/clock.h"
#include "runtime/address_limits.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/thread.h"

/* Leaves the region alone if it may be another process's: a child that was never adopted has the
 * mapping of its parent's region. */
static void end_region(void)
{
	if (gg_process_is_current())
		gg_region_end(&gg_process.region, gg_clock_monotonic_ns());
}

void gg_end_bounds(void)
{
	/* A vfork child writes into its parent's memory, so it must not come here; a seccomp filter
	 * may forbid the getpid() that would tell, so the question comes after that one. */
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && !gg_seccomp_is_entered() &&
	    !gg_process_is_vforked())
		end_region();
}

void gg_process_end_in_order(void)
{
	struct gg_thread *t = &gg_thread;
	bool is_error = false;

	if (!gg_thread_enter(t))
		return;
	if (gg_process_is_current())
		is_error = gg_dump_trigger_exit();
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && !gg_seccomp_is_entered())
		gg_address_limits_report();
	end_region();
	gg_thread_leave(t);
	/*
	 * exit() from a destructor changes the status and continues with the remaining
	 * destructors, so what the program has printed is still written.
	 */
	if (is_error)
		exit(1);
}
