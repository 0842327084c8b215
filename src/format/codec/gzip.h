/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip - compresses bytes in memory to one gzip member.
 *
 *   if (gg_gzip(&out, bytes, length) < 0)             -ENOMEM; appends to `out`
 *
 * A member may also be joined of parts, each of which was packed for itself.  So a part that is the
 * same in many members is packed once:
 *
 *   struct gg_gzip_part part = { 0 };
 *
 *   if (gg_gzip_pack(&part, bytes, length, level) < 0) ...     1 to 9, or one below
 *   if (gg_gzip_join(&out, (const struct gg_gzip_part *[]){ &part, &other }, 2) < 0) ...
 *   gg_gzip_part_done(&part);
 *
 * Threads  one owner of the buffer at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Returns 0, or -ENOMEM, also for 4 GiB or more. */
GG_MUST_CHECK int gg_gzip(struct gg_buf *out, const void *bytes, size_t length);

struct gg_gzip_part {
	struct gg_buf
		packed; /* blocks of deflate, which end at a byte and refer to no other part */
	size_t length;  /* of the bytes before */
	uint32_t sum;   /* their CRC-32 */
};

enum {
	GG_GZIP_STORED = 0, /* not compressed */
	/*
	 * Not zlib's: a part that many bodies have to make anew.  It takes some 15 instructions a
	 * byte, where zlib's level 1 takes 80, and leaves about half as much again.
	 */
	GG_GZIP_QUICK = -1,
};

/* Replaces a part; it keeps its memory.  -ENOMEM, also for 2 GiB or more. */
GG_MUST_CHECK int gg_gzip_pack(struct gg_gzip_part *part, const void *bytes, size_t length,
                               int level);
/* Appends a member with these parts.  -ENOMEM. */
GG_MUST_CHECK int gg_gzip_join(struct gg_buf *out, const struct gg_gzip_part *const *parts,
                               size_t count);
void gg_gzip_part_done(struct gg_gzip_part *part);
