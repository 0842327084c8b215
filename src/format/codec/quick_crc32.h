/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quick_crc32 - the check sum of gzip, by the processor's carry-less multiplication.
 *
 *   sum = gg_quick_crc32(bytes, length);              equals crc32_z(0, bytes, length)
 *
 * zlib takes some 3 instructions a byte; this takes 0.3 where the processor has PCLMULQDQ, and
 * asks zlib elsewhere.
 *
 * Threads  any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t gg_quick_crc32(const void *bytes, size_t length);
