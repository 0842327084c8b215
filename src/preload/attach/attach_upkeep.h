/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_upkeep - the work that an attached agent does on cold paths: new modules, and the detach.
 *
 * Modules   A module that is loaded later calls the real functions until its slots are changed.
 *           Each cold path compares the loader's counts (unwind/walk/module_lookup.h), so modules
 *           that libc loads by itself are noticed as well.  The loader counts a module before it
 *           has filled the module's slots, so the scan is repeated after 1, 10, 100 and 1000 ms.
 * Detach    The control word of the region may request it; the thread that sees it first takes the
 *           hooks away.
 * Waits     for no lock but that of the loader's list (preload/attach/loader_lock.h).
 * Threads   any; one at a time works, and no other thread waits.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "preload/attach/slot_scan.h"
#include "runtime/process.h"

/* For a new attach: the slots were just scanned, with this result. */
void gg_attach_upkeep_begin(const struct gg_slot_scan_result *scanned);

/* Leads new slots to the hooks, or detaches.  On the sample path; the process is current. */
GG_COLD void gg_attach_upkeep_continue(void);

/*
 * Takes the hooks away.  0; -EBUSY: another thread works, try again; -EALREADY: the process was not
 * recording.  On the sample path, which the caller leaves soon: then the region ends.
 */
GG_COLD int gg_attach_upkeep_detach(struct gg_slot_scan_result *ret_result);

/* On the sample path of a current process. */
static inline void gg_attach_upkeep(void)
{
	if (gg_unlikely(gg_load_relaxed(&gg_process.counts_threads) != 0))
		gg_attach_upkeep_continue();
}
