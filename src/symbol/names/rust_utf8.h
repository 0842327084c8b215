/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rust_utf8 - one character of Rust's names, which may be any of Unicode.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends a character; false for what no text holds: surrogates, controls, beyond U+10FFFF. */
static inline bool gg_utf8_append(struct gg_buf *out, uint32_t code)
{
	unsigned char bytes[4];
	size_t length;

	if (code < 0x20 || code == 0x7f || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
		return false;
	if (code < 0x80) {
		bytes[0] = (unsigned char)code;
		length = 1;
	} else if (code < 0x800) {
		bytes[0] = (unsigned char)(0xc0 | code >> 6);
		bytes[1] = (unsigned char)(0x80 | (code & 63));
		length = 2;
	} else if (code < 0x10000) {
		bytes[0] = (unsigned char)(0xe0 | code >> 12);
		bytes[1] = (unsigned char)(0x80 | (code >> 6 & 63));
		bytes[2] = (unsigned char)(0x80 | (code & 63));
		length = 3;
	} else {
		bytes[0] = (unsigned char)(0xf0 | code >> 18);
		bytes[1] = (unsigned char)(0x80 | (code >> 12 & 63));
		bytes[2] = (unsigned char)(0x80 | (code >> 6 & 63));
		bytes[3] = (unsigned char)(0x80 | (code & 63));
		length = 4;
	}
	gg_buf_append(out, bytes, length);
	return true;
}
