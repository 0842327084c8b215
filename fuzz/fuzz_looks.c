/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile heaps under the reader of blocks: no crash, no endless loop, no read of an absent page,
 * and sums that add up whatever the words say.
 *
 * The input has 64 bytes for two heaps (tests/unit/heap_image.h), and then groups of 4 bytes: each
 * changes one word of a heap or of libc, or makes a page absent, or lets the memory change during
 * the look.
 */
#include <stdlib.h>

#include "../tests/unit/heap_image.h"
#include "record/look/block_looks.h"

enum { RECIPE_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void spoil(struct heap_image *image, const uint8_t *group)
{
	bool is_libc = (group[0] & 16) != 0;
	uint64_t *words = is_libc ? image->libc_words : image->words[group[0] & 1];
	size_t at = (group[1] | (size_t)group[2] << 8) %
	            (is_libc ? HEAP_IMAGE_PAGE_BYTES / 8 : HEAP_IMAGE_WORDS);

	switch (group[0] >> 1 & 7) {
	case 0:
		words[at] = group[3];
		break;
	case 1:
		words[at] ^= UINT64_C(1) << group[3] % 64;
		break;
	case 2:
		words[at] = HEAP_IMAGE_MAIN + group[3] * UINT64_C(16);
		break;
	case 3:
		words[at] = HEAP_IMAGE_ARENA + group[3] * UINT64_C(16);
		break;
	case 4:
		words[at] = ~(uint64_t)group[3];
		break;
	case 5:
		image->is_absent[group[0] & 1][group[1] % HEAP_IMAGE_PAGES] = true;
		break;
	case 6:
		image->change_after = group[3];
		break;
	default: /* a block where none is */
		image->places[group[3] % HEAP_IMAGE_PLACES_MAX].address += at * 8;
		break;
	}
}

static void check(const struct gg_block_looks *looks, const struct heap_image *image)
{
	int64_t sum = 0, resident = 0;

	require(!image->is_faulted);
	require(looks->blocks.count + (size_t)looks->torn_count == image->place_count);
	for (size_t i = 0; i < looks->blocks.count; i++) {
		const struct gg_profile_look_block *block = &looks->blocks.items[i];

		require(block->pinned_bytes >= -1);
		require(block->pinned_bytes <= 2 * HEAP_IMAGE_PAGE_BYTES);
		require(block->returnable_bytes >= -1);
		require(block->returnable_bytes <= (int64_t)sizeof(image->words[0]));
	}
	for (size_t i = 0; i < looks->totals.count; i++) {
		static const char *const parts[] = { "glibc.in-use", "glibc.pinned",
			                             "glibc.returnable", "glibc.metadata",
			                             "glibc.unread" };
		const struct gg_profile_look_total *total = &looks->totals.items[i];

		require(total->bytes >= 0);
		if (strcmp(total->name, "glibc.resident") == 0)
			resident = total->bytes;
		for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++)
			if (strcmp(total->name, parts[part]) == 0)
				sum += total->bytes;
	}
	require(sum == resident);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct heap_image image;
	const struct gg_memory_source source = heap_image_source(&image);
	const struct gg_block_looks_options options = { .map = heap_image_map() };
	struct gg_block_looks looks;
	size_t recipe_bytes = size < RECIPE_BYTES ? size : RECIPE_BYTES;

	heap_image_fill(&image, data, recipe_bytes);
	if (size > 0 && data[0] % 2 != 0)
		heap_image_hide(&image);
	for (size_t at = recipe_bytes; at + 4 <= size; at += 4)
		spoil(&image, data + at);
	require(gg_block_looks_from(&looks, &source, image.places, image.place_count, &options) ==
	        0);
	check(&looks, &image);
	gg_block_looks_done(&looks);
	return 0;
}
