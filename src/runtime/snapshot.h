/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot - copies this process's region at one instant into a file.
 *
 * Threads continue to record.  A copy is of one instant if no thread announced an operation while
 * it was made; otherwise the copy is made again (region/reader/view.h reads in the same way).  The
 * file appears under its name when it is complete.  It has no history: its ring is empty.
 *
 * Threads  any may record meanwhile; if they do so all the time, no attempt succeeds.
 * Cost     reads and writes all used records: tens of milliseconds for a large program.
 */
#pragma once

#include "region/writer/region.h"

/* Replaces a file that exists.  0 or -Exxx; -EBUSY: threads recorded during all attempts. */
int gg_snapshot_write(const struct gg_region *region, const char *path);
