/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_retention - removes old regions, so that programs that start often do not fill the memory.
 *
 * A program that is started again and again leaves a region each time, and /dev/shm is memory.  So
 * each new process removes regions of processes that have ended, except for the last GEIGER_KEEP of
 * its executable, user and directory.
 *
 * Never      removes the region of a living process, in any pid namespace: the process holds a lock
 *            through its mapping.  Nor a file that has a second name, another owner, or not a
 *            region's first bytes.  Nor a region of a recorded session: its recorder removes those.
 * Bounded    A list beside the regions names them (region/retention.h).  While it has at most
 *            GEIGER_KEEP entries, no region is checked; else CHECKS_MAX entries of processes that
 *            may live, and at most as many regions are removed.  If another process has locked the
 *            list, the region waits in a second list for the next process that gets the lock.
 * Lost       After each SEARCH_EVERY entries the directory is searched for regions that are in no
 *            list.  If a file of another user has the list's name, every process searches.
 * Cost       11 system calls for a new region, 5 for each check.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "region/region_file.h"

enum { GG_REGION_RETENTION_DEFAULT = 64, GG_REGION_RETENTION_MAX = 512 };

/* Lists the new region, and removes old ones so that `most` stay; 0: all of them stay. */
GG_COLD void gg_region_retention_apply(const struct gg_region_file *map, const char *exe,
                                       uint64_t most);
