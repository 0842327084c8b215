/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip - compresses bytes in memory to one gzip member.
 *
 *   if (gg_gzip(&out, bytes, length) < 0)             -ENOMEM; appends to `out`
 *
 * Threads  one owner of the buffer at a time.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Returns 0, or -ENOMEM, also for 4 GiB or more. */
GG_MUST_CHECK int gg_gzip(struct gg_buf *out, const void *bytes, size_t length);
