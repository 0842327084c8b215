/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention - the list of an executable's regions in a directory, by which old ones go (runtime/region_retention.h).
 *
 * A file beside them, of their owner alone: a head and entries, oldest first.  Of the first dead_count the
 * processes are known to have ended.  Changed under a lock on the file (flock).
 *
 * A process that cannot have the lock at once appends its entry to a second file, LIST.new, under a shared
 * lock; whoever has the list's lock next takes the entries over from waiting_done on.
 *
 * Nobody relies on either: a region that is in none is found when the directory is searched now and then.
 */
#pragma once

#include <stdint.h>

#define GG_RETENTION_MAGIC   UINT64_C(0x3250454b52474747) /* "GGGRKEP2" in the file */
#define GG_RETENTION_PREFIX  ".geiger-kept-"              /* UID-HASH, in decimal digits */
#define GG_RETENTION_WAITING ".new"                       /* after the list's name */

enum {
	GG_RETENTION_MAX = 1024
}; /* full: the oldest whose process is not known to have ended is forgotten */

struct gg_retention_entry {
	uint32_t pid;       /* geiger-PID-MADE.region */
	uint32_t is_locked; /* while it is in use (gg_region_file_is_used) */
	uint64_t made_ns;
};

struct gg_retention {
	uint64_t magic;
	uint32_t count, dead_count;
	uint32_t next;         /* of the others: which is looked at next */
	uint32_t waiting_done; /* entries of LIST.new that are in this list, or were */
	uint32_t search_count; /* regions entered since the directory was searched */
	uint32_t reserved;
	struct gg_retention_entry entries[GG_RETENTION_MAX];
};
