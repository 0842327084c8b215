/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_frame - interns frames of language runtimes: function, file and line become one pc.
 *
 * A frame is found by the hash of all three, with a random seed.  Among 65 536 frames, any two have
 * the same hash with a probability of 1e-9, so the hash alone identifies a frame.  One file has
 * many functions, and one function many lines, so a frame shares its texts with frames that were
 * interned a short while ago.
 */
#include <string.h>

#include "base/hash.h"
#include "region/writer/space.h"

enum { TEXT_BYTES_MAX = 1023, TEXT_BYTES_BITS = 16 };

static bool frame_matches(uint32_t value, const void *context)
{
	const struct {
		const uint64_t *words;
		uint64_t hash;
	} *wanted = context;

	return gg_load_relaxed(&wanted->words[value]) == wanted->hash;
}

static size_t bounded(size_t bytes)
{
	return bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX;
}

/* Copies a text into the strings, or reuses a recent copy.  False: the strings are full. */
static bool put_text(struct gg_region *region, const char *text, size_t bytes, uint32_t *ret_offset)
{
	/* Private memory, so its offsets are valid without a check. */
	uint64_t *recent = &region->recent_texts[gg_hash_bytes(text, bytes, region->hash_seed) %
	                                         GG_REGION_TEXTS];
	uint64_t seen = gg_load_acquire(recent);
	uint32_t offset = (uint32_t)(seen >> TEXT_BYTES_BITS);

	*ret_offset = 0;
	if (bytes == 0)
		return true;
	if ((seen & ((1 << TEXT_BYTES_BITS) - 1)) == bytes &&
	    memcmp(gg_region_at(region, GG_TABLE_STRINGS, offset), text, bytes) == 0) {
		*ret_offset = offset;
		return true;
	}
	offset = gg_region_space_take_run(region, GG_TABLE_STRINGS, (uint32_t)bytes);
	if (offset == GG_INDEX_NONE)
		return false;
	memcpy(gg_region_at(region, GG_TABLE_STRINGS, offset), text, bytes);
	*ret_offset = offset;
	/* Release: a thread that finds this word finds the text. */
	gg_store_release(recent, (uint64_t)offset << TEXT_BYTES_BITS | bytes);
	return true;
}

static uint32_t add(struct gg_region *region, const struct gg_frame_info *info)
{
	struct gg_region_frame frame = {
		.function_bytes = (uint16_t)bounded(info->function_bytes),
		.file_bytes = (uint16_t)bounded(info->file_bytes),
		.line = info->line,
	};
	struct gg_region_frame *place;
	uint32_t id;

	if (!put_text(region, info->function, frame.function_bytes, &frame.function_offset) ||
	    !put_text(region, info->file, frame.file_bytes, &frame.file_offset))
		return GG_INDEX_NONE;
	id = gg_region_space_take(region, GG_TABLE_FRAMES);
	if (id == GG_INDEX_NONE)
		return id;
	place = gg_region_at(region, GG_TABLE_FRAMES, id);
	memcpy((uint8_t *)place + sizeof(place->ready), (uint8_t *)&frame + sizeof(frame.ready),
	       sizeof(frame) - sizeof(frame.ready));
	gg_store_release(&place->ready, 1);
	return id;
}

uint64_t gg_region_intern_frame(struct gg_region *region, const struct gg_frame_info *info)
{
	uint64_t hash = gg_hash_bytes(info->file, bounded(info->file_bytes),
	                              region->hash_seed + info->line);
	struct {
		const uint64_t *words;
		uint64_t hash;
	} wanted = { region->frame_words, 0 };
	uint32_t id;

	hash = gg_hash_bytes(info->function, bounded(info->function_bytes), hash);
	wanted.hash = hash;
	id = gg_hash_index_find(&region->frame_index, hash, false, frame_matches, &wanted, NULL);
	if (gg_unlikely(id == GG_INDEX_NONE)) {
		id = add(region, info);
		if (id != GG_INDEX_NONE) {
			gg_store_relaxed(&region->frame_words[id], hash);
			id = gg_hash_index_add(&region->frame_index, hash, id, frame_matches,
			                       &wanted);
		}
	}
	if (id == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_DROP_NAMES, 1);
		return 0;
	}
	return gg_frame_pc(id);
}
