/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_mapped - finds the chunks of glibc's malloc that are mappings of their own.
 *
 *   struct gg_glibc_mapped mapped;
 *
 *   status = gg_glibc_mapped_find(&mapped, &view, deadline_ns);
 *   if (status == 0 && mapped.is_known)
 *           ... mapped.resident_bytes ...
 *
 * malloc() maps large blocks one by one.  The kernel joins adjacent mappings, so one line of smaps
 * may hold such blocks beside memory that the program mapped itself, as Python's arenas.  A mapped
 * chunk begins where a page does: its first word is 0, and its second word has its size in whole
 * pages, with the flag of mapped chunks alone.
 *
 * Other memory may look so by chance.  glibc itself counts the bytes of all mapped chunks in the
 * parameters of its malloc (`mp_`).  These lie in the data of libc, in which a row of words that
 * holds the begin of [heap] shows them.  Only if both sums are equal is the result known.
 *
 * Cost     some 100 ns for each resident page of writable anonymous memory outside of chunks.
 * Hostile  no size leads out of its mapping, and the search goes forward only.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/glibc_heap.h"

struct gg_glibc_mapped {
	bool is_known;          /* false: the other members say nothing */
	int64_t mapped_bytes;   /* address space of the chunks */
	int64_t resident_bytes; /* of these */
};

/*
 * Returns 0, or a negative errno value if memory is out or the process may not be read.  The search
 * gives up when this thread's processor time passes deadline_ns; 0: it has no deadline.
 */
int gg_glibc_mapped_find(struct gg_glibc_mapped *ret, const struct gg_glibc_view *view,
                         uint64_t deadline_ns);
