/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size - numbers of bytes as people write and read them.
 *
 * Written   a number, whole or with a decimal point, and a unit, in any case:
 *             512  512B           bytes
 *             64k  64KiB  1M  2G  powers of 1024 (K, M, G, T, P, E)
 *             64kB  1MB           powers of 1000, as the SI and coreutils have them
 * Printed   four significant digits at most and a binary unit: "312.4 MiB".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* What a message says when gg_size_parse() refused a text. */
#define GG_SIZE_ADVICE "Give a size such as 4096, 64k, 512KiB, 1.5M or 2GB."

/*
 * Parses the whole text.  A fraction of a byte is rounded to the nearest byte, halves up.
 * 0, or -EINVAL (not a size) or -ERANGE (over 2^64 - 1); *ret_bytes is untouched then.
 */
GG_MUST_CHECK int gg_size_parse(const char *text, uint64_t *ret_bytes);

/* Long enough for any size: "1023.9 MiB" and its 0 byte. */
enum { GG_SIZE_TEXT_MAX = 16 };

/* Writes the size into `text` and returns `text`.  Values may be estimates, so it takes a double;
 * negative ones get their sign, and one that is not finite reads "inf EiB" or "nan B". */
const char *gg_size_format(double bytes, char text[GG_SIZE_TEXT_MAX]);

/* The same without zeros at its end, for sizes that are round: "512 KiB", "1.5 MiB". */
const char *gg_size_format_short(double bytes, char text[GG_SIZE_TEXT_MAX]);
