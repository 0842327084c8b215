/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_tag - the JVMTI tag of a sampled object: its number, and about when it was born.
 *
 *   bits 0 to 47    the number, which counts up: the object's key in the region
 *   bits 48 to 63   the time of its birth since the adapter joined: a floating-point number of
 *                   milliseconds with 11 bits of mantissa and 5 of exponent, rounded down
 *
 * A time is early by 1/2048 of itself at most: 1 s after an hour, 40 s after a day.
 *
 * Threads  any; pure.
 */
#pragma once

#include <stdint.h>

enum { GG_JVM_TAG_NUMBER_BITS = 48, GG_JVM_TAG_MANTISSA_BITS = 11 };

#define GG_JVM_TAG_NUMBER_MASK ((UINT64_C(1) << GG_JVM_TAG_NUMBER_BITS) - 1)
#define GG_JVM_TAG_TIME_MAX_MS ((UINT64_C(1) << 42) - 1) /* 139 years */

/* The number is not 0 and has at most 48 bits. */
static inline int64_t gg_jvm_tag(uint64_t number, uint64_t born_ms)
{
	uint64_t code = born_ms < GG_JVM_TAG_TIME_MAX_MS ? born_ms : GG_JVM_TAG_TIME_MAX_MS;
	uint64_t shift = 0;

	while (code >> (GG_JVM_TAG_MANTISSA_BITS + 1) != 0) {
		code >>= 1;
		shift++;
	}
	/* The highest bit of a long mantissa is 1, and becomes the lowest one of the exponent. */
	code += shift << GG_JVM_TAG_MANTISSA_BITS;
	return (int64_t)(code << GG_JVM_TAG_NUMBER_BITS | (number & GG_JVM_TAG_NUMBER_MASK));
}

static inline uint64_t gg_jvm_tag_number(int64_t tag)
{
	return (uint64_t)tag & GG_JVM_TAG_NUMBER_MASK;
}

/* At most the time of the birth, in milliseconds. */
static inline uint64_t gg_jvm_tag_born_ms(int64_t tag)
{
	uint64_t code = (uint64_t)tag >> GG_JVM_TAG_NUMBER_BITS;
	uint64_t exponent = code >> GG_JVM_TAG_MANTISSA_BITS, one = 1 << GG_JVM_TAG_MANTISSA_BITS;

	return exponent == 0 ? code : ((code & (one - 1)) | one) << (exponent - 1);
}
