/* SPDX-License-Identifier: Apache-2.0 */
/* frame_places - compares addresses with stack pointers, or counts frames of the loop. */
#include "runtime/frame_places.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

enum { NEAR_FRAMES = 8 /* frames that find_native() tries one by one before it bisects */ };

void gg_frame_places_use_cache(struct gg_native_stack *stack, const struct gg_stack_cache *cache)
{
	uint32_t remembered = cache->count < stack->count ? cache->count : stack->count;

	stack->sp_first = stack->count;
	stack->sps = NULL;
	if (!cache->is_latest || remembered == 0)
		return;
	/* The cache has the stack pointers of the outermost frames, and the outermost one is last.
	 */
	stack->sp_first = stack->count - remembered;
	stack->sps = cache->sps + GG_STACK_CACHE_FRAMES - remembered;
}

/*
 * Finds the native frame whose part of the stack has the address, and returns its index in sps.
 * That is the last frame whose stack pointer is at or below the address, because stack pointers
 * ascend from the innermost frame on.  `near` is the result for the runtime's next frame further
 * out.  The new one is mostly a few frames further in, so these are tried first.
 */
static uint32_t find_native(const struct gg_native_stack *stack, uint64_t address, uint32_t near)
{
	uint32_t low = 0, high = stack->count - stack->sp_first;

	for (int i = 0; i < NEAR_FRAMES && near > 0 && stack->sps[near] > address; i++)
		near--;
	if (stack->sps[near] > address)
		high = near;
	else if (near + 1 == high || stack->sps[near + 1] > address)
		return near;
	else
		low = near + 1;
	/* Invariant: the result is in [low, high). */
	gg_assert(low < high && high <= stack->count - stack->sp_first);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (stack->sps[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Places frames by their addresses:
 *
 *   1. From the outermost frame on, each frame with an address gets the native frame of that
 *      address, or 0, the innermost one, if no native frame has it.  A frame without an address, or
 *      with the same one, gets the target of the next frame further out.
 *   2. From the innermost frame on, a target never moves inwards, because runtime frames keep their
 *      own order.
 */
static void place_by_address(uint32_t *targets, const struct gg_native_stack *stack,
                             const void *const *natives, uint32_t frame_count)
{
	const void *native = NULL;
	uint32_t near = stack->count - stack->sp_first, target = 0;
	bool has_sps = stack->sps != NULL && near > 0;

	near = has_sps ? near - 1 : 0;
	for (uint32_t i = frame_count; i-- > 0;) {
		if (natives[i] != NULL && natives[i] != native) {
			native = natives[i];
			target = 0;
			if (has_sps && (uint64_t)(uintptr_t)native >= stack->sps[0]) {
				near = find_native(stack, (uint64_t)(uintptr_t)native, near);
				target = stack->sp_first + near;
			}
		}
		targets[i] = target;
	}
	target = 0;
	for (uint32_t i = 0; i < frame_count; i++) {
		if (targets[i] < target)
			targets[i] = target;
		target = targets[i];
		gg_assert(target <= stack->count);
	}
}

/*
 * Gives each frame the next native frame of the loop further out.  If the loop has fewer frames
 * than the runtime, the remaining ones share the last place.
 */
static void place_by_loop(uint32_t *targets, const struct gg_native_stack *stack,
                          uint32_t frame_count, const struct gg_runtime_loop *loop)
{
	uint32_t native = 0, target = 0;

	for (uint32_t i = 0; i < frame_count; i++) {
		/* A pc is a return address, so the call before it is in the loop. */
		while (native < stack->count &&
		       stack->pcs[native] - 1 - loop->begin >= loop->end - loop->begin)
			native++;
		if (native < stack->count)
			target = native++;
		targets[i] = target;
	}
}

void gg_frame_places_find(uint32_t *targets, const struct gg_native_stack *stack,
                          const void *const *natives, uint32_t frame_count,
                          const struct gg_runtime_loop *loop)
{
	if (loop->end != 0)
		place_by_loop(targets, stack, frame_count, loop);
	else
		place_by_address(targets, stack, natives, frame_count);
}
