/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot - a copy of this process's region in a file of its own, of one instant.
 *
 * Copied between two looks at what threads announce, as readers outside do it (region/reader/view.h).  The file
 * appears under its name when it is whole.  It has no history: the ring is empty.
 *
 * Threads  any may record meanwhile; if they do so all the time, there is no instant to be had.
 * Cost     what is in use is read and written, tens of milliseconds for a large program.
 */
#pragma once

#include "region/writer/region.h"

/* 0; -EBUSY: no instant; -EEXIST is none: a file that is there is replaced; or why not. */
int gg_snapshot_write(const struct gg_region *region, const char *path);
