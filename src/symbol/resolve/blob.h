/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob - the frames of a module's addresses as one block of bytes.
 *
 * A worker sends a blob to its parent, and each file of the cache is a blob:
 *
 *   struct gg_blob_header
 *   uint64_t addresses[address_count]      ascending, each once
 *   uint32_t frame_ends[address_count]     of address i: frames[frame_ends[i-1] .. frame_ends[i])
 *   struct gg_blob_frame frames[frame_count]
 *   char strings[string_bytes]             each ends in a 0 byte; offset 0 is "", unknown
 *
 * Numbers have the machine's byte order.  A worker that read a hostile file may write nonsense, and
 * a disk may damage a file.  So gg_blob_read() checks everything once; after it, no offset needs a
 * check.
 *
 * Full     more than 4 GiB of strings or 2^32 frames: the builder fails, the module has no names.
 * Threads  one owner at a time; any number of readers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/map.h"

enum {
	/* Changes with the layout of blobs and the form of names; other cache files are ignored. */
	GG_BLOB_VERSION = 4,
};

struct gg_blob_header {
	char magic[8]; /* "ggsymbol" */
	uint32_t version;
	uint32_t crc32;      /* of all bytes behind this field */
	uint64_t blob_bytes; /* of the whole blob, with this header */
	uint32_t address_count, frame_count, string_bytes;
	uint32_t status; /* enum gg_symbol_status */
	uint32_t text;   /* string: gg_symbol_outcome.text */
	uint32_t from_cache;
};

struct gg_blob_frame {
	uint32_t function, full_name, linkage_name, file; /* strings */
	uint32_t line;
	uint32_t inlined;    /* 0 or 1 */
	uint32_t is_unnamed; /* 0 or 1: the function was named by its address */
};

/* A checked view of a block that its caller owns.  Aligned to 8 bytes. */
struct gg_blob {
	const struct gg_blob_header *header;
	const uint64_t *addresses;
	const uint32_t *frame_ends;
	const struct gg_blob_frame *frames;
	const char *strings;
};

/* Checks a block, which must be aligned to 8 bytes.  -EBADMSG: it is not a blob, or damaged. */
GG_MUST_CHECK int gg_blob_read(struct gg_blob *ret_blob, const void *bytes, size_t length);

/* Returns the position of an address, or GG_MAP_NONE. */
uint64_t gg_blob_find(const struct gg_blob *blob, uint64_t address);

/* Returns the number of frames of the address at a position. */
static inline size_t gg_blob_frames(const struct gg_blob *blob, size_t position,
                                    const struct gg_blob_frame **ret_frames)
{
	uint32_t begin = position > 0 ? blob->frame_ends[position - 1] : 0;

	gg_assert(position < blob->header->address_count);
	gg_assert(begin <= blob->frame_ends[position]);
	*ret_frames = blob->frames + begin;
	return blob->frame_ends[position] - begin;
}

/* Returns a string by its offset; NULL for "". */
static inline const char *gg_blob_string(const struct gg_blob *blob, uint32_t offset)
{
	gg_assert(offset < blob->header->string_bytes);
	return offset != 0 ? blob->strings + offset : NULL;
}

/*
 * Builds a blob.  All-zero is a valid empty builder.  For each address, in ascending order, add its
 * frames and then the address with gg_blob_add_address().
 */
struct gg_blob_builder {
	struct gg_buf addresses, frame_ends, frames, strings;
	struct gg_map string_map; /* hash of a string -> its offset */
	uint32_t address_count, frame_count;
	bool failed; /* out of memory, or full */
};

void gg_blob_builder_done(struct gg_blob_builder *builder);

/* Returns the offset of a string, which is added if it is new; NULL is "". */
uint32_t gg_blob_intern(struct gg_blob_builder *builder, const char *text);
/* Returns an interned string; valid until the next gg_blob_intern().  "" after a failure. */
const char *gg_blob_interned(const struct gg_blob_builder *builder, uint32_t offset);
void gg_blob_add_frame(struct gg_blob_builder *builder, const struct gg_blob_frame *frame);
void gg_blob_add_address(struct gg_blob_builder *builder, uint64_t address);

/* Copies an address of another blob with its frames. */
void gg_blob_copy_address(struct gg_blob_builder *builder, const struct gg_blob *from,
                          size_t position);

/* Appends the whole blob to `out`, which must be empty.  0 or -ENOMEM. */
GG_MUST_CHECK int gg_blob_write(struct gg_blob_builder *builder, uint32_t status, const char *text,
                                bool from_cache, struct gg_buf *out);

/* Appends a copy of a blob to `out`, which must be empty.  0 or -ENOMEM. */
GG_MUST_CHECK int gg_blob_copy(const struct gg_blob *blob, bool from_cache, struct gg_buf *out);
