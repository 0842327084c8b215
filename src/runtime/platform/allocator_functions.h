/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_functions - the functions by which allocators state how they use their memory.
 *
 *   jemalloc    mallctl by names; numbers of the heap, and of the slab of a block
 *   gperftools  MallocExtension_GetNumericProperty(); numbers of the heap
 *   mimalloc    mi_process_info(); committed bytes
 *   geiger      functions of libgeiger-malloc, which has this code; numbers of the heap, and of
 *               the slab of a block, which are read without locks
 *
 * They are taken from the object that has the real malloc(), so they state numbers of the memory
 * that the program uses.  With glibc underneath no function is taken.
 *
 * Threads  written once at the start, before any thread reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/layout.h"

struct gg_allocator_functions {
	enum gg_region_allocator allocator; /* UNKNOWN: none of the functions exists */
	int (*mallctlnametomib)(const char *name, size_t *ret_mib, size_t *mib_count);
	int (*mallctlbymib)(const size_t *mib, size_t mib_count, void *ret_value,
	                    size_t *ret_value_bytes, const void *value, size_t value_bytes);
	int (*get_numeric_property)(const char *name, size_t *ret_value);
	void (*mi_process_info)(size_t *ret_elapsed_ms, size_t *ret_user_ms, size_t *ret_system_ms,
	                        size_t *ret_rss_bytes, size_t *ret_peak_rss_bytes,
	                        size_t *ret_commit_bytes, size_t *ret_peak_commit_bytes,
	                        size_t *ret_fault_count);
	/* NULL except in libgeiger-malloc.  0 regions: it does not know the block. */
	void (*own_slab)(const void *block, size_t *ret_free_count, size_t *ret_region_count,
	                 size_t *ret_bytes, uint64_t *ret_address);
	void (*own_totals)(uint64_t *ret_allocated_bytes, uint64_t *ret_active_bytes);
	uintptr_t begin, end; /* addresses of the object that has them */
};

extern struct gg_allocator_functions gg_allocator_functions __attribute__((visibility("hidden")));

/* Finds the functions.  Once, after gg_real_find(). */
void gg_allocator_functions_find(void);

/* True if the pc is in the object that has the functions. */
static inline bool gg_allocator_functions_have_code(uint64_t pc)
{
	return pc - gg_allocator_functions.begin <
	       gg_allocator_functions.end - gg_allocator_functions.begin;
}
