/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_loads - works of which each asks an allocator for something else (malloc_loads.c).
 *
 * A load does the same in each run: its random numbers have fixed seeds.  The number of threads and
 * what they do are fixed as well, only their order is the kernel's.
 */
#pragma once

#include <stdint.h>

/* Works of several threads (malloc_thread_loads.c). */
void load_larson(void);
void load_xmalloc(void);
void load_scratch(void);
void load_thrash(void);
void load_mstress(void);
void load_pareto_threads(void);
void load_rptest(void);
void load_glibc_thread(void);
void load_batches_remote(void);
void load_churn(void);

/* Replaces random ones of 20 000 blocks with sizes of a Pareto law; `seed` is not 0. */
void replace_pareto(uint64_t seed, uint64_t count);

static inline uint64_t load_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 8;
}
