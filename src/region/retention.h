/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention - lists an executable's regions in a directory, so that old ones can be removed
 * (runtime/region_retention.h).
 *
 * The list is a file in the same directory, accessible only to its owner: a head and entries,
 * oldest first.  The processes of the first dead_count entries are known to have ended.  Changes
 * happen under a lock on the file (flock).
 *
 * A process that cannot take the lock at once appends its entry to a second file, LIST.new, under a
 * shared lock.  The next process that has the list's lock takes these entries over, from
 * waiting_done on.
 *
 * Nothing relies on either file: an occasional search of the directory finds regions that are in
 * neither.
 */
#pragma once

#include <stdint.h>

#define GG_RETENTION_MAGIC   UINT64_C(0x3250454b52474747) /* "GGGRKEP2" in the file */
#define GG_RETENTION_PREFIX  ".geiger-kept-" /* followed by UID-HASH, in decimal digits */
#define GG_RETENTION_WAITING ".new"          /* follows the name of the list */

/* In a full list, the oldest entry whose process is not known to have ended is forgotten. */
enum { GG_RETENTION_MAX = 1024 };

struct gg_retention_entry {
	uint32_t pid;       /* geiger-PID-MADE.region */
	uint32_t is_locked; /* 1: gg_region_file_is_used() tells whether the region is in use */
	uint64_t made_ns;
};

struct gg_retention {
	uint64_t magic;
	uint32_t count, dead_count;
	uint32_t next;         /* the next entry to check, counted from dead_count on */
	uint32_t waiting_done; /* entries of LIST.new that were taken over into this list */
	uint32_t search_count; /* regions added since the last search of the directory */
	uint32_t reserved;
	struct gg_retention_entry entries[GG_RETENTION_MAX];
};
