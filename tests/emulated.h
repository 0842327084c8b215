/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated - less work for tests that an emulator runs (tests/test_aarch64.sh), at a tenth of the
 * speed of a processor.
 */
#pragma once

#include <stdlib.h>

/* The count, and a tenth of it, but at least 1, under an emulator. */
static inline unsigned unless_emulated(unsigned count)
{
	if (getenv("TEST_EMULATOR") == NULL)
		return count;
	return count / 10 > 0 ? count / 10 : 1;
}
