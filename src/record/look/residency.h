/* SPDX-License-Identifier: Apache-2.0 */
/*
 * residency - which pages of a process are resident or swapped, by /proc/PID/pagemap.
 *
 *   struct gg_residency residency;
 *
 *   gg_residency_init(&residency, &memory.source, sysconf(_SC_PAGESIZE));
 *   status = gg_residency_count(&residency, address, address + bytes, &counts);
 *
 * The reader keeps the last pages that it read, so questions in the order of addresses cost few
 * system calls.  A page counts as resident if the kernel has it mapped for this process.  Pages of
 * transparent huge pages are mapped one by one in this view.  The kernel's page of zeros, which
 * backs memory that was read and never written, looks resident here and is not in RSS.
 *
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/look/process_memory.h"

/* Words of the page table that are read at once; the last ones stay for the next question. */
enum { GG_RESIDENCY_WORDS = 512, GG_RESIDENCY_NEAR_WORDS = 64 };

struct gg_residency {
	const struct gg_memory_source *source;
	uint64_t page_bytes; /* a power of two */
	uint64_t first;      /* page number of words[0] */
	size_t count;
	uint64_t words[GG_RESIDENCY_WORDS];
};

/* Bytes of a range by the state of their pages. */
struct gg_residency_counts {
	int64_t resident_bytes, swapped_bytes;
};

void gg_residency_init(struct gg_residency *residency, const struct gg_memory_source *source,
                       uint64_t page_bytes);

/* Counts the bytes of [begin, end).  Returns 0, or a negative errno value. */
int gg_residency_count(struct gg_residency *residency, uint64_t begin, uint64_t end,
                       struct gg_residency_counts *ret_counts);

/* Returns whether the page with this address is resident; false if the page table is unreadable. */
bool gg_residency_has(struct gg_residency *residency, uint64_t address);
