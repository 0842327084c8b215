/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stable_hash - hashes texts by FNV-1a, equally in every version and on every machine.
 *
 *   uint64_t hash = GG_STABLE_HASH_START;
 *
 *   hash = gg_stable_hash_text(hash, "main");
 *   address = gg_stable_hash_address(hash);
 *
 * The importer and the merge use such a hash in place of the address of a frame that only its names
 * identify.  So equal names make equal frames, whatever file they come from.
 *
 * Threads  any; pure functions.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"

#define GG_STABLE_HASH_START UINT64_C(0xcbf29ce484222325)

/* Adds a text and its end, so that "ab", "c" differs from "a", "bc".  NULL is "". */
static inline uint64_t gg_stable_hash_text(uint64_t hash, const char *text)
{
	for (const char *at = text != NULL ? text : "";; at++) {
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
		if (*at == '\0')
			return hash;
	}
}

/* Marks a hash by the highest bit, which no address in user space has. */
static inline uint64_t gg_stable_hash_address(uint64_t hash)
{
	return hash | UINT64_C(1) << 63;
}
