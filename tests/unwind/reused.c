/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reused - two libraries of the same layout, so that the second is loaded where the first was.
 *
 * The function that calls back has its call at the same address in both, in frames of another size
 * (FRAME_WORDS).
 */
#include <stdint.h>

__attribute__((visibility("default"))) int reused_call(int (*callback)(void));

__attribute__((visibility("default"), aligned(4096))) int reused_call(int (*callback)(void))
{
	volatile uint64_t frame[FRAME_WORDS];

	frame[0] = 1;
	return callback() + (int)frame[0];
}
