/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps - adds up /proc/PID/smaps by what the mappings of a process are for.
 *
 *   struct gg_smaps sums;
 *   const struct gg_smaps_hints hints = { .private_bytes = private_bytes };
 *
 *   gg_smaps_add_up(&sums, text, &hints);
 *
 * Each mapping has one kind, and .parts has the sums of each kind, so the parts add up to the
 * process's RSS exactly.  Pages of a private file mapping that the program wrote to count as data.
 *
 * Two kinds are recognized by their shape where no name and no sample tells more.  An arena of
 * glibc is memory without reserve at a multiple of 64 MiB, and untouchable memory behind it fills
 * these 64 MiB.  A stack has a stack pointer in it; or it lies above a guard of at most 1 MiB, as
 * glibc, musl and Java make it.
 *
 * The sums count geiger's own memory apart: mappings of a region's file and of the agent's library,
 * the bss behind that library, and the anonymous mapping with the region's tables.  That mapping
 * has no name.  Its size, which follows from the region's header, and two flags that programs
 * rarely combine (no reserve, no huge pages) identify it.  The table of live blocks of exact counts
 * grows in pieces, which the kernel joins, so with exact counts the flags alone decide.  Blocks of
 * some 100 KiB that the agent maps for its threads count as the program's.
 *
 * Hostile   the kernel writes the text, but the program chooses names in it.  At worst its own
 *           files count as geiger's.
 * Threads   any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/records.h"

/* Sums over the mappings of one kind, in bytes. */
struct gg_smaps_part {
	int64_t mapping_count, size_bytes; /* address space */
	int64_t rss_bytes, pss_bytes, swap_bytes;
	int64_t lazy_free_bytes; /* resident, but free for the kernel to take (MADV_FREE) */
	int64_t huge_bytes;      /* in transparent huge pages */
};

/*
 * A mapping, or the share of it that has this kind.  `name` has `name_bytes` bytes: a file's path,
 * or what the program or the kernel called it; 0 bytes: it has no name.
 */
typedef void gg_smaps_visit(enum gg_mapping_kind kind, const char *name, size_t name_bytes,
                            const struct gg_smaps_part *part, void *context);

/* Knowledge of the process beside the kernel's text. */
struct gg_smaps_hints {
	size_t private_bytes; /* gg_region_private_bytes(); 0: it has no region */
	bool is_exact;        /* the region has exact counts, and so a table of live blocks */
	/* Addresses of live samples, ascending; NULL: none are known. */
	const uint64_t *malloc_addresses, *mmap_addresses;
	size_t malloc_count, mmap_count;
	/* Stack pointers of threads, ascending; it need not be all threads. */
	const uint64_t *stack_pointers;
	size_t stack_pointer_count;
	gg_smaps_visit *visit; /* NULL: nobody wants the single mappings */
	void *context;
};

struct gg_smaps {
	int64_t rss_bytes, pss_bytes;
	int64_t pss_file_bytes; /* files and shared memory, without geiger's */
	int64_t heap_bytes;     /* [heap], resident */
	int64_t stack_bytes, pss_stack_bytes;
	int64_t geiger_bytes, geiger_file_bytes; /* resident; the second is part of the first */
	int64_t pss_geiger_bytes;
	struct gg_smaps_part parts[GG_MAPPING_KIND_COUNT];
};

void gg_smaps_add_up(struct gg_smaps *ret_sums, const char *text,
                     const struct gg_smaps_hints *hints);
