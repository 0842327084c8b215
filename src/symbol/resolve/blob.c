/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob - checks, searches, builds and writes blobs.
 *
 * The reader trusts nothing, because a worker that a hostile file has taken over can write
 * anything.  It checks in this order, so that each step may rely on the steps before it:
 *
 * 1. The header is complete, has our magic and version, and states the length of the block.
 * 2. The counts in the header add up to that length, so every array lies inside the block.
 * 3. The checksum is right.  It only finds damage by disks; an attacker can compute it.
 * 4. Every offset refers to a string, and every list of frames lies inside the array of frames.
 */
#include "symbol/resolve/blob.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/binary_search.h"
#include "base/hash.h"
#include "symbol/symbol.h"

static const char MAGIC[8] = { 'g', 'g', 's', 'y', 'm', 'b', 'o', 'l' };

/* --- reading ------------------------------------------------------------------------------ */

/*
 * True if every frame refers to strings inside the blob.  The last byte of the strings is 0, so
 * each of them ends inside the blob.
 */
static bool frames_are_sound(const struct gg_blob *blob)
{
	const struct gg_blob_header *header = blob->header;

	for (uint32_t i = 0; i < header->frame_count; i++) {
		const struct gg_blob_frame *frame = &blob->frames[i];

		if (frame->function >= header->string_bytes ||
		    frame->full_name >= header->string_bytes ||
		    frame->linkage_name >= header->string_bytes ||
		    frame->file >= header->string_bytes || frame->inlined > 1 ||
		    frame->is_unnamed > 1)
			return false;
	}
	return true;
}

/*
 * True if the addresses ascend and their frames follow one another without gaps up to the last
 * frame.
 */
static bool addresses_are_sound(const struct gg_blob *blob)
{
	uint32_t count = blob->header->address_count, last_end = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && blob->addresses[i] <= blob->addresses[i - 1])
			return false;
		if (blob->frame_ends[i] < last_end)
			return false;
		last_end = blob->frame_ends[i];
	}
	return last_end == blob->header->frame_count;
}

int gg_blob_read(struct gg_blob *ret_blob, const void *bytes, size_t length)
{
	const struct gg_blob_header *header = bytes;
	const size_t crc_from = offsetof(struct gg_blob_header, blob_bytes);
	struct gg_blob blob = { .header = header };
	uint64_t want;

	if (length < sizeof(*header) || memcmp(header->magic, MAGIC, sizeof(MAGIC)) != 0 ||
	    header->version != GG_BLOB_VERSION || header->blob_bytes != length)
		return -EBADMSG;
	/* The sum cannot overflow: its four terms are below 2^38. */
	want = sizeof(*header) + (uint64_t)header->address_count * (8 + 4) +
	       (uint64_t)header->frame_count * sizeof(struct gg_blob_frame) + header->string_bytes;
	if (want != length || header->string_bytes == 0 || header->text >= header->string_bytes ||
	    header->status > GG_SYMBOL_UNREADABLE || header->from_cache > 1)
		return -EBADMSG;
	if (crc32_z(0, (const Bytef *)bytes + crc_from, length - crc_from) != header->crc32)
		return -EBADMSG;
	blob.addresses = (const uint64_t *)(header + 1);
	blob.frame_ends = (const uint32_t *)(blob.addresses + header->address_count);
	blob.frames = (const struct gg_blob_frame *)(blob.frame_ends + header->address_count);
	blob.strings = (const char *)(blob.frames + header->frame_count);
	if (blob.strings[0] != '\0' || blob.strings[header->string_bytes - 1] != '\0' ||
	    !frames_are_sound(&blob) || !addresses_are_sound(&blob))
		return -EBADMSG;
	*ret_blob = blob;
	return 0;
}

uint64_t gg_blob_find(const struct gg_blob *blob, uint64_t address)
{
	size_t count = blob->header->address_count;
	size_t at = gg_lower_bound(0, count, i, blob->addresses[i] < address);

	return at < count && blob->addresses[at] == address ? at : GG_MAP_NONE;
}

/* --- building ----------------------------------------------------------------------------- */

void gg_blob_builder_done(struct gg_blob_builder *builder)
{
	gg_buf_done(&builder->addresses);
	gg_buf_done(&builder->frame_ends);
	gg_buf_done(&builder->frames);
	gg_buf_done(&builder->strings);
	gg_map_done(&builder->string_map);
	*builder = (struct gg_blob_builder){ 0 };
}

struct wanted_string {
	const struct gg_buf *strings;
	const char *text;
};

static bool is_wanted_string(uint64_t offset, const void *context)
{
	const struct wanted_string *wanted = context;

	return strcmp(wanted->strings->data + offset, wanted->text) == 0;
}

/*
 * Offsets are 32 bits, so strings may take 4 GiB.  The map finds equal strings, which most names
 * are: many addresses share a function, and many functions share a file.
 */
uint32_t gg_blob_intern(struct gg_blob_builder *builder, const char *text)
{
	const struct wanted_string wanted = { &builder->strings, text };
	uint64_t hash, offset;
	size_t length;

	/* Offset 0 is the empty string, which stands for "unknown". */
	if (builder->strings.length == 0)
		gg_buf_append(&builder->strings, "", 1);
	if (text == NULL || text[0] == '\0' || builder->strings.failed)
		return 0;
	length = strlen(text);
	hash = gg_hash_bytes(text, length, gg_map_seed(&builder->string_map));
	offset = gg_map_find(&builder->string_map, hash, is_wanted_string, &wanted);
	if (offset != GG_MAP_NONE)
		return (uint32_t)offset;
	offset = builder->strings.length;
	if (offset + length + 1 > UINT32_MAX) {
		builder->failed = true;
		return 0;
	}
	gg_buf_append(&builder->strings, text, length + 1);
	if (builder->strings.failed || gg_map_insert(&builder->string_map, hash, offset) < 0) {
		builder->failed = true;
		return 0;
	}
	return (uint32_t)offset;
}

/* True if an offset that the builder gave out lies in its strings. */
static bool is_own_string(const struct gg_blob_builder *builder, uint32_t offset)
{
	return offset == 0 || builder->strings.failed || offset < builder->strings.length;
}

const char *gg_blob_interned(const struct gg_blob_builder *builder, uint32_t offset)
{
	return !builder->strings.failed && offset < builder->strings.length
	               ? builder->strings.data + offset
	               : "";
}

void gg_blob_add_frame(struct gg_blob_builder *builder, const struct gg_blob_frame *frame)
{
	gg_assert(is_own_string(builder, frame->function) &&
	          is_own_string(builder, frame->full_name) &&
	          is_own_string(builder, frame->linkage_name) &&
	          is_own_string(builder, frame->file));
	if (builder->frame_count == UINT32_MAX) {
		builder->failed = true;
		return;
	}
	gg_buf_append(&builder->frames, frame, sizeof(*frame));
	builder->frame_count++;
}

/* True if the address follows all those that were added, as readers expect. */
static bool is_ascending(const struct gg_blob_builder *builder, uint64_t address)
{
	const uint64_t *addresses = (const uint64_t *)(const void *)builder->addresses.data;

	return builder->address_count == 0 || builder->addresses.failed ||
	       addresses[builder->address_count - 1] < address;
}

void gg_blob_add_address(struct gg_blob_builder *builder, uint64_t address)
{
	gg_assert(is_ascending(builder, address));
	if (builder->address_count == UINT32_MAX) {
		builder->failed = true;
		return;
	}
	gg_buf_append(&builder->addresses, &address, sizeof(address));
	gg_buf_append(&builder->frame_ends, &builder->frame_count, sizeof(builder->frame_count));
	builder->address_count++;
}

/* The strings of the two blobs have different offsets, so each string is interned again. */
void gg_blob_copy_address(struct gg_blob_builder *builder, const struct gg_blob *from,
                          size_t position)
{
	const struct gg_blob_frame *frames;
	size_t count = gg_blob_frames(from, position, &frames);

	for (size_t i = 0; i < count; i++) {
		struct gg_blob_frame frame = frames[i];

		frame.function = gg_blob_intern(builder, from->strings + frame.function);
		frame.full_name = gg_blob_intern(builder, from->strings + frame.full_name);
		frame.linkage_name = gg_blob_intern(builder, from->strings + frame.linkage_name);
		frame.file = gg_blob_intern(builder, from->strings + frame.file);
		gg_blob_add_frame(builder, &frame);
	}
	gg_blob_add_address(builder, from->addresses[position]);
}

/* Computes the checksum of the blob in `out` and stores it in the header. */
static void seal(struct gg_buf *out)
{
	const size_t crc_from = offsetof(struct gg_blob_header, blob_bytes);
	uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)out->data + crc_from,
	                                 out->length - crc_from);

	memcpy(out->data + offsetof(struct gg_blob_header, crc32), &crc, sizeof(crc));
}

int gg_blob_write(struct gg_blob_builder *builder, uint32_t status, const char *text,
                  bool from_cache, struct gg_buf *out)
{
	struct gg_blob_header header = { .version = GG_BLOB_VERSION,
		                         .status = status,
		                         .from_cache = from_cache };

	gg_assert(out->length == 0);
	header.text = gg_blob_intern(builder, text);
	header.address_count = builder->address_count;
	header.frame_count = builder->frame_count;
	header.string_bytes = (uint32_t)builder->strings.length;
	header.blob_bytes = sizeof(header) + builder->addresses.length +
	                    builder->frame_ends.length + builder->frames.length +
	                    builder->strings.length;
	memcpy(header.magic, MAGIC, sizeof(MAGIC));
	gg_buf_append(out, &header, sizeof(header));
	gg_buf_append(out, builder->addresses.data, builder->addresses.length);
	gg_buf_append(out, builder->frame_ends.data, builder->frame_ends.length);
	gg_buf_append(out, builder->frames.data, builder->frames.length);
	gg_buf_append(out, builder->strings.data, builder->strings.length);
	if (builder->failed || builder->addresses.failed || builder->frame_ends.failed ||
	    builder->frames.failed || builder->strings.failed || out->failed)
		return -ENOMEM;
	seal(out);
	return 0;
}

int gg_blob_copy(const struct gg_blob *blob, bool from_cache, struct gg_buf *out)
{
	struct gg_blob_header header = *blob->header;

	gg_assert(out->length == 0);
	header.from_cache = from_cache;
	gg_buf_append(out, &header, sizeof(header));
	gg_buf_append(out, blob->header + 1, header.blob_bytes - sizeof(header));
	if (out->failed)
		return -ENOMEM;
	seal(out);
	return 0;
}
