/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varint - whole numbers in as few bytes as they need: seven bits a byte, the lowest first, and the
 * eighth bit set in all but the last one.
 *
 * Memory   a failed append sets `failed` of the buffer, and later calls change nothing.
 * Threads  one owner of the buffer at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { GG_VARINT_BYTES_MAX = 10 };

/* Writes the number to `at`, which has room for GG_VARINT_BYTES_MAX.  Returns its bytes. */
static inline size_t gg_varint_encode(uint8_t *at, uint64_t value)
{
	size_t length = 0;

	for (; value >= 128; value >>= 7)
		at[length++] = (uint8_t)(value | 128);
	at[length++] = (uint8_t)value;
	return length;
}

static inline void gg_varint_append(struct gg_buf *out, uint64_t value)
{
	if (!gg_buf_reserve(out, GG_VARINT_BYTES_MAX))
		return;
	out->length += gg_varint_encode((uint8_t *)out->data + out->length, value);
	out->data[out->length] = '\0';
}
