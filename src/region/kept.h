/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept - the list of an executable's regions in a directory, by which old ones go (agent/keep.h).
 *
 * A file beside them, of their owner alone: a head and entries, oldest first.  Of the first dead_count the
 * processes are known to have ended.  Changed under a lock on the file (flock).  Nobody relies on it: a
 * region that is not in it stays until `geiger clean`.
 */
#pragma once

#include <stdint.h>

#define GG_KEPT_MAGIC  UINT64_C(0x5450454b52474747) /* "GGGRKEPT" in the file */
#define GG_KEPT_PREFIX ".geiger-kept-"              /* UID-HASH, in decimal digits */

enum {
	GG_KEPT_MAX = 1024
}; /* full: the oldest whose process is not known to have ended is forgotten */

struct gg_kept_entry {
	uint32_t pid;       /* geiger-PID-MADE.region */
	uint32_t is_locked; /* while it is in use (gg_region_map_is_used) */
	uint64_t made_ns;
};

struct gg_kept {
	uint64_t magic;
	uint32_t count, dead_count;
	uint32_t next; /* of the others: which is looked at next */
	uint32_t reserved;
	struct gg_kept_entry entries[GG_KEPT_MAX];
};
