/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_retention - of an executable's regions the last ones stay.
 *
 * A program that is started again and again, or forks again and again, leaves a region each time, and
 * /dev/shm is memory.  So who makes one removes what is too old: of the processes that have ended
 * the last GEIGER_KEEP regions stay, for each executable, user and directory.
 *
 * Never      one whose process lives, in whatever pid namespace: it holds a lock through its mapping; nor
 *            one that has a second name, another owner, or not a region's first bytes; nor any of a
 *            session: its recorder sees to them.
 * Bounded    a list beside the regions names them (region/retention.h).  While it has no more than GEIGER_KEEP
 *            nothing is looked at, else LOOKS of those that may live, and at most as many are removed.
 *            Where the list is locked, the region is left to the next process that has the lock.
 * Lost       each SEARCH_EVERY entries the directory is searched for regions that no list has.  Where
 *            somebody else's file has the list's name, it is searched each time.
 * Cost       eleven system calls where a region is made, five for each look.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "region/region_file.h"

enum { GG_REGION_RETENTION_DEFAULT = 64, GG_REGION_RETENTION_MAX = 512 };

/* Enters the region, which was just made, and removes old ones so that `most` stay; 0: all do. */
GG_COLD void gg_region_retention_note(const struct gg_region_file *map, const char *exe,
                                      uint64_t most);
