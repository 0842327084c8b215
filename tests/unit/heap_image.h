/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_image - a made-up process with two heaps of glibc's layout, which tests can spoil.
 *
 *   heap_image_init(image);
 *   heap_image_fill(image, bytes, count);
 *   heap_image_put(image, word, value);
 *   source = heap_image_source(image);
 *
 * Each byte of a recipe is a chunk: its lowest bit says whether it is in use, the others its size.
 * Free chunks that follow each other become one.  A read of an absent page is an error of the
 * reader, which `is_faulted` tells.
 *
 * The data of libc has the main arena, whose bins are empty.  heap_image_hide() puts small chunks
 * in use into fast bins and into the cache of the first thread, without any change of their heads.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "record/look/block_place.h"
#include "record/look/memory_map.h"
#include "record/look/process_memory.h"

#define HEAP_IMAGE_MAIN  UINT64_C(0x555500000000)
#define HEAP_IMAGE_ARENA UINT64_C(0x7f0000000000)
#define HEAP_IMAGE_LIBC  UINT64_C(0x7f1000001000)
#define HEAP_IMAGE_MAPS                                                          \
	"555500000000-555500010000 rw-p 00000000 00:00 0  [heap]\n"              \
	"7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"                     \
	"7f0000010000-7f0004000000 ---p 00000000 00:00 0 \n"                     \
	"7f1000000000-7f1000001000 r-xp 00000000 fe:01 77  /usr/lib/libc.so.6\n" \
	"7f1000001000-7f1000002000 rw-p 00001000 fe:01 77  /usr/lib/libc.so.6\n"

enum {
	HEAP_IMAGE_PAGE_BYTES = 4096,
	HEAP_IMAGE_PAGES = 16, /* of each heap */
	HEAP_IMAGE_WORDS = HEAP_IMAGE_PAGES * HEAP_IMAGE_PAGE_BYTES / 8,
	HEAP_IMAGE_PLACES_MAX = 4096,
	HEAP_IMAGE_FIRST_WORD = 0x8d0 / 8, /* of the arena's first chunk */
	HEAP_IMAGE_CACHE_BYTES = 0x290,    /* of the first chunk of [heap] */
	HEAP_IMAGE_FAST_BYTES = 0xb0,      /* the most of a chunk in a fast bin */
	HEAP_IMAGE_STATE_WORD = 8,         /* of the main arena, in the data of libc */
	HEAP_IMAGE_BINS = 127,
};

struct heap_image {
	uint64_t words[2][HEAP_IMAGE_WORDS]; /* [0]: of [heap], [1]: of the arena */
	uint64_t libc_words[HEAP_IMAGE_PAGE_BYTES / 8];
	bool is_absent[2][HEAP_IMAGE_PAGES];
	struct gg_block_place places[HEAP_IMAGE_PLACES_MAX]; /* of chunks in use */
	size_t place_count;
	int read_error;        /* positive errno value of every read; 0: none */
	uint64_t change_after; /* reads after which a word changes; 0: never */
	uint64_t read_count;
	bool is_faulted; /* somebody read an absent page */
};

/* The mappings of every image. */
static inline const struct gg_memory_map *heap_image_map(void)
{
	static struct gg_memory_map map;

	if (map.areas.count == 0 && gg_memory_map_parse(&map, HEAP_IMAGE_MAPS) < 0)
		abort();
	return &map;
}

/* The word at an address; NULL: the address is outside of the image. */
static inline uint64_t *heap_image_word(struct heap_image *image, uint64_t address)
{
	const uint64_t bytes = sizeof(image->words[0]);

	if (address - HEAP_IMAGE_MAIN < bytes)
		return &image->words[0][(address - HEAP_IMAGE_MAIN) / 8];
	if (address - HEAP_IMAGE_ARENA < bytes)
		return &image->words[1][(address - HEAP_IMAGE_ARENA) / 8];
	if (address - HEAP_IMAGE_LIBC < sizeof(image->libc_words))
		return &image->libc_words[(address - HEAP_IMAGE_LIBC) / 8];
	return NULL;
}

static inline int heap_image_read_pages(void *context, uint64_t first, size_t count,
                                        uint64_t *ret_words)
{
	const struct heap_image *image = context;

	for (size_t i = 0; i < count; i++) {
		uint64_t main_page = first + i - HEAP_IMAGE_MAIN / HEAP_IMAGE_PAGE_BYTES;
		uint64_t arena_page = first + i - HEAP_IMAGE_ARENA / HEAP_IMAGE_PAGE_BYTES;
		bool is_present = (main_page < HEAP_IMAGE_PAGES &&
		                   !image->is_absent[0][main_page]) ||
		                  (arena_page < HEAP_IMAGE_PAGES &&
		                   !image->is_absent[1][arena_page]) ||
		                  first + i == HEAP_IMAGE_LIBC / HEAP_IMAGE_PAGE_BYTES;

		ret_words[i] = (uint64_t)is_present << 63;
	}
	return 0;
}

static inline ssize_t heap_image_read_ranges(void *context, const struct gg_memory_range *ranges,
                                             size_t count)
{
	struct heap_image *image = context;

	if (image->read_error != 0)
		return -image->read_error;
	for (size_t i = 0; i < count; i++) {
		for (uint64_t at = 0; at < ranges[i].bytes; at += 8) {
			uint64_t *word = heap_image_word(image, ranges[i].address + at), present;

			if (word == NULL)
				return (ssize_t)i;
			heap_image_read_pages(image,
			                      (ranges[i].address + at) / HEAP_IMAGE_PAGE_BYTES, 1,
			                      &present);
			image->is_faulted |= present == 0;
			memcpy((char *)ranges[i].to + at, word, sizeof(*word));
		}
		if (image->change_after != 0 && ++image->read_count % image->change_after == 0)
			image->words[0][image->read_count * 7 % HEAP_IMAGE_WORDS] ^= 0x30;
	}
	return (ssize_t)count;
}

static inline struct gg_memory_source heap_image_source(struct heap_image *image)
{
	return (struct gg_memory_source){ image, heap_image_read_pages, heap_image_read_ranges };
}

static inline void heap_image_add_place(struct heap_image *image, uint64_t address, uint64_t bytes)
{
	struct gg_block_place *place = &image->places[image->place_count++];

	*place = (struct gg_block_place){
		.sample = image->place_count,
		.address = address,
		.size_bytes = bytes,
		.usable_bytes = bytes,
	};
}

/* Fills one heap by a recipe, from the word `first` on; the rest is its top. */
static inline void heap_image_fill_heap(struct heap_image *image, int heap, size_t first,
                                        const uint8_t *recipe, size_t count)
{
	const uint64_t base = heap == 0 ? HEAP_IMAGE_MAIN : HEAP_IMAGE_ARENA;
	uint64_t *words = image->words[heap];
	size_t at = first;
	bool is_free = false; /* the chunk before */

	for (size_t i = 0; i < count; i++) {
		bool is_used = (recipe[i] & 1) != 0;
		uint64_t bytes = 32 +
		                 (uint64_t)(recipe[i] >> 2) * ((recipe[i] & 2) != 0 ? 256 : 16);

		if ((!is_used && (is_free || i + 1 == count)) ||
		    at + bytes / 8 + 64 > HEAP_IMAGE_WORDS)
			continue;
		words[at + 1] = bytes | !is_free | (heap == 1 && is_used ? 4 : 0);
		if (!is_used)
			words[at + bytes / 8] = bytes;
		else if (image->place_count < HEAP_IMAGE_PLACES_MAX)
			heap_image_add_place(image, base + at * 8 + 16, bytes - 8);
		is_free = !is_used;
		at += bytes / 8;
	}
	if (is_free) /* a chunk in use keeps the top from what is free before it */
		words[at + 1] = 32 | (heap == 1 ? 4 : 0), at += 4;
	words[at + 1] = (HEAP_IMAGE_WORDS - at) * 8 | 1;
}

/* Writes the state of an arena with empty bins. */
static inline void heap_image_put_state(struct heap_image *image, uint64_t state, uint64_t top,
                                        uint64_t next)
{
	uint64_t *words = heap_image_word(image, state);

	words[12] = top;
	for (size_t i = 0; i < HEAP_IMAGE_BINS; i++)
		words[14 + 2 * i] = words[15 + 2 * i] = state + (12 + 2 * i) * 8;
	words[270] = next;
}

/* Writes a link to `next` at `at`, as glibc mangles it. */
static inline void heap_image_put_link(struct heap_image *image, uint64_t at, uint64_t next)
{
	*heap_image_word(image, at) = next ^ at >> 12;
}

/* Puts every second small chunk in use into a list: of a fast bin, or of the cache. */
static inline void heap_image_hide(struct heap_image *image)
{
	const uint64_t main_state = HEAP_IMAGE_LIBC + HEAP_IMAGE_STATE_WORD * 8;
	uint8_t *table = (uint8_t *)&image->words[0][2];
	uint64_t *cached = (uint64_t *)(table + 128);

	for (size_t i = 0; i < image->place_count; i += 2) {
		uint64_t block = image->places[i].address;
		uint64_t bytes = image->places[i].size_bytes + 8, bin = bytes / 16 - 2;
		bool is_main = block < HEAP_IMAGE_ARENA;
		uint64_t *heads = heap_image_word(image,
		                                  is_main ? main_state : HEAP_IMAGE_ARENA + 0x30) +
		                  2;

		if (bytes <= HEAP_IMAGE_FAST_BYTES && i % 4 == 0) {
			heap_image_put_link(image, block, heads[bin]);
			heads[bin] = block - 16;
		} else if (is_main && bin < 64) {
			heap_image_put_link(image, block, cached[bin]);
			*heap_image_word(image, block + 8) = HEAP_IMAGE_MAIN + 0x1234567;
			cached[bin] = block;
			table[2 * bin]++;
		}
	}
}

/* Fills both heaps, each by one half of the recipe. */
static inline void heap_image_fill(struct heap_image *image, const uint8_t *recipe, size_t count)
{
	memset(image, 0, sizeof(*image));
	image->words[0][1] = HEAP_IMAGE_CACHE_BYTES | 1;
	heap_image_fill_heap(image, 0, HEAP_IMAGE_CACHE_BYTES / 8, recipe, count / 2);
	image->words[1][0] = HEAP_IMAGE_ARENA + 0x30;
	image->words[1][2] = image->words[1][3] = sizeof(image->words[1]);
	heap_image_fill_heap(image, 1, HEAP_IMAGE_FIRST_WORD, recipe + count / 2,
	                     count - count / 2);
	heap_image_put_state(image, HEAP_IMAGE_LIBC + HEAP_IMAGE_STATE_WORD * 8,
	                     HEAP_IMAGE_MAIN + HEAP_IMAGE_CACHE_BYTES, HEAP_IMAGE_ARENA + 0x30);
	heap_image_put_state(image, HEAP_IMAGE_ARENA + 0x30,
	                     HEAP_IMAGE_ARENA + HEAP_IMAGE_FIRST_WORD * 8,
	                     HEAP_IMAGE_LIBC + HEAP_IMAGE_STATE_WORD * 8);
}
