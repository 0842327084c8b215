/* SPDX-License-Identifier: Apache-2.0 */
/* random - a small generator for tests and the programs that they run (xorshift). */
#pragma once

#include <stdint.h>

/* The next number; *state != 0 is the seed. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
