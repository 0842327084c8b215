/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rust_punycode - identifiers of Rust's v0 names that are not plain ASCII: punycode (RFC 3492) with
 * "_" instead of "-" before the encoded part.
 *
 * Bounds  an identifier of more than GG_PUNYCODE_MAX characters is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { GG_PUNYCODE_MAX = 256 };

/* Appends text[0..length) decoded; false if it is not punycode.  What was appended then stays. */
bool gg_rust_punycode(const char *text, size_t length, struct gg_buf *out);
