/* SPDX-License-Identifier: Apache-2.0 */
/* block_place - where the block of a live sample lies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The place of a live sample's block. */
struct gg_block_place {
	uint64_t sample;                   /* its id, which the result repeats */
	uint64_t address;                  /* as malloc() or mmap() returned it */
	uint64_t size_bytes, usable_bytes; /* as the program asked for, and as it got */
	bool is_mapping;                   /* memory of mmap(), not of an allocator */
};
