/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocators with and without geiger, from the same source: embed_paths.c, compiled twice,
 * PATHS_NAME(x) is plain_x with GEIGER_DISABLED defined, and sampled_x without.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "geiger/bump.h"

enum { EMBED_BLOCK = 1 << 16, EMBED_SIZES = 256 };

extern uint16_t embed_sizes[EMBED_SIZES]; /* of objects, 16 to 256 bytes */

/* A bump pointer: count objects, in the same block again and again. */
void plain_bump(struct geiger_bump *bump, char *block, size_t block_bytes, uint64_t count);
void sampled_bump(struct geiger_bump *bump, char *block, size_t block_bytes, uint64_t count);

/* A pool of free lists, one a size: count objects taken, each given back at once. */
void plain_pool(uint32_t heap, uint64_t count);
void sampled_pool(uint32_t heap, uint64_t count);

/* The same without the pool: a loop over sizes, and geiger_due() of each. */
void plain_due(uint32_t heap, uint64_t count);
void sampled_due(uint32_t heap, uint64_t count);
