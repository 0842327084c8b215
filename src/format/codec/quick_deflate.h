/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quick_deflate - compresses bytes to deflate (RFC 1951) with few instructions.
 *
 *   if (gg_quick_deflate(&out, bytes, length) < 0)    -ENOMEM; appends to `out`
 *
 * The output is a block with fixed codes and an empty stored block.  So it ends at a byte, and more
 * blocks may follow.  A position is compared with the last one whose four bytes have the same hash,
 * and with no other.  That finds what repeats often, such as the fields around the numbers of a
 * profile.  Incompressible bytes grow by an eighth at most.
 *
 * Threads  one owner of the buffer at a time.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Returns 0, or -ENOMEM, also for 2 GiB or more. */
GG_MUST_CHECK int gg_quick_deflate(struct gg_buf *out, const void *bytes, size_t length);
