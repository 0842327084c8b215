/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps - adds up /proc/PID/smaps by what the mappings of a process are for.
 *
 *   struct gg_smaps sums;
 *
 *   gg_smaps_add_up(&sums, text, private_bytes);
 *
 * The sums count geiger's own memory apart: mappings of a region's file and of the agent's library,
 * the bss behind that library, and the anonymous mapping with the region's tables.  That mapping
 * has no name.  Its size, which follows from the region's header, and two flags that programs
 * rarely combine (no reserve, no huge pages) identify it.  Blocks of some 100 KiB that the agent
 * maps for its threads count as the program's.
 *
 * Hostile   the kernel writes the text, but the program chooses names in it.  At worst its own
 *           files count as geiger's.
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gg_smaps {
	int64_t rss_bytes, pss_bytes;
	int64_t pss_file_bytes; /* files and shared memory, without geiger's */
	int64_t heap_bytes;     /* [heap], resident */
	int64_t stack_bytes, pss_stack_bytes;
	int64_t geiger_bytes, geiger_file_bytes; /* resident; the second is part of the first */
	int64_t pss_geiger_bytes;
};

/* `private_bytes`: gg_region_private_bytes() of the process; 0: it has no region. */
void gg_smaps_add_up(struct gg_smaps *ret_sums, const char *text, size_t private_bytes);
