/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size - numbers of bytes as people write and read them.
 *
 * Written   A number, whole or with a decimal point, and a unit in upper or lower case:
 *             512  512B           bytes
 *             64k  64KiB  1M  2G  powers of 1024 (K, M, G, T, P, E)
 *             64kB  1MB           powers of 1000, as in the SI and coreutils
 * Printed   At most four significant digits and a binary unit: "312.4 MiB".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The advice of an error message about a text that gg_size_parse() refused. */
#define GG_SIZE_ADVICE "Give a size such as 4096, 64k, 512KiB, 1.5M or 2GB."

/*
 * Parses the whole text.  It rounds a fraction of a byte to the nearest byte, halves up.  Returns
 * 0, or -EINVAL (not a size) or -ERANGE (over 2^64 - 1), and then leaves *ret_bytes as it was.
 */
GG_MUST_CHECK int gg_size_parse(const char *text, uint64_t *ret_bytes);

/* The length of the longest size, such as "1023.9 MiB", with its 0 byte. */
enum { GG_SIZE_TEXT_MAX = 16 };

/*
 * Writes the size into `text` and returns `text`.  The argument is a double, because sizes may be
 * estimates.  A negative size gets its sign; one that is not finite reads "inf EiB" or "nan B".
 */
const char *gg_size_format(double bytes, char text[GG_SIZE_TEXT_MAX]);

/* Formats like gg_size_format() but drops final zeros, for round sizes: "512 KiB", "1.5 MiB". */
const char *gg_size_format_short(double bytes, char text[GG_SIZE_TEXT_MAX]);
