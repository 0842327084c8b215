/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps - what the mappings of a process hold, by whose they are: /proc/PID/smaps, added up.
 *
 *   struct gg_smaps sums;
 *
 *   gg_smaps_add_up(&sums, text, private_bytes);
 *
 * Geiger's own are told apart by what they are: mappings of a region's file and of the agent's library,
 * the bss behind that library, and the anonymous mapping with the region's tables.  That one has no
 * name: it is known by its size, which follows from the region's header, and by flags that hardly
 * anything else has together (no reserve, no huge pages).  Blocks of some 100 KiB that the agent maps
 * for its threads are not told apart.
 *
 * Hostile   the text is the kernel's, but names in it are the program's: at worst its own files count
 *           as geiger's.
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gg_smaps {
	int64_t rss_bytes, pss_bytes;
	int64_t pss_file_bytes; /* of files and shared memory, without geiger's */
	int64_t heap_bytes;     /* [heap], resident */
	int64_t stack_bytes, pss_stack_bytes;
	int64_t geiger_bytes, geiger_file_bytes; /* resident; the second is part of the first */
	int64_t pss_geiger_bytes;
};

/* private_bytes: gg_region_private_bytes() of the process; 0: it has no region. */
void gg_smaps_add_up(struct gg_smaps *ret_sums, const char *text, size_t private_bytes);
