/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash - 64-bit hashes for tables in memory and in the shared region.
 *
 * The hashes are not cryptographic.  A table whose keys come from files or other processes takes a
 * random seed (gg_hash_random_seed), so that nobody can prepare keys that collide.  The values may
 * differ between versions, so they never go into a file that outlives the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Mixes all bits of `key` into all bits of the result, in two rounds of multiply and fold with the
 * constants of murmur3's finalizer.  For each seed this is a bijection: different keys never
 * collide, so a table of integers can compare hashes instead of keys.
 */
static inline uint64_t gg_hash_integer(uint64_t key, uint64_t seed)
{
	key ^= seed;
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

/*
 * Hashes `length` bytes (NULL is allowed if length is 0).  The hash depends on the length as well.
 */
uint64_t gg_hash_bytes(const void *bytes, size_t length, uint64_t seed);

/*
 * Returns a seed from the system's generator, or one from the clock if the generator is not ready.
 */
uint64_t gg_hash_random_seed(void);
