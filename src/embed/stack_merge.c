/* SPDX-License-Identifier: Apache-2.0 */
/* stack_merge - finds the native frame of each runtime frame by its stack pointers. */
#include "embed/stack_merge.h"

#include "base/assert.h"

enum {
	OUR_FRAMES_MAX = 16, /* between the capture and the program */
	NEAR_FRAMES = 8      /* frames that find_native() tries one by one before it bisects */
};

void gg_embed_stack_capture(struct gg_embed_thread *t, const void *caller,
                            struct gg_embed_stack *ret_stack)
{
	const struct gg_stack_cache *stack_cache = &t->stack_cache;
	struct gg_unwind_stack stack;
	uint32_t ours = 0, remembered;

	/* The stack begins with frames of this library.  The program's begin at the caller. */
	gg_unwind_capture(&t->unwind, t->native_pcs, GG_COUNT(t->native_pcs), 0, &stack);
	while (ours < stack.count && ours < OUR_FRAMES_MAX &&
	       stack.frames[ours] != (uint64_t)(uintptr_t)caller)
		ours++;
	*ret_stack = (struct gg_embed_stack){ .pcs = stack.frames + ours,
		                              .count = stack.count - ours,
		                              .sp_first = stack.count - ours };
	/*
	 * The walk did not reach the caller, as happens if this library has no CFI.  The caller's
	 * address is known in any case, so it becomes the whole stack.
	 */
	if (ours == stack.count || ours == OUR_FRAMES_MAX) {
		t->native_pcs[0] = (uint64_t)(uintptr_t)caller;
		*ret_stack = (struct gg_embed_stack){ .pcs = t->native_pcs,
			                              .count = 1,
			                              .sp_first = 1 };
		return;
	}
	if (!stack_cache->is_latest || stack_cache->count == 0 || stack.cut_at != stack.count)
		return;
	/*
	 * The stack cache has the stack pointers of the outermost frames, and the outermost one is
	 * last.
	 */
	remembered = stack_cache->count < ret_stack->count ? stack_cache->count : ret_stack->count;
	ret_stack->sp_first = ret_stack->count - remembered;
	ret_stack->sps = stack_cache->sps + GG_STACK_CACHE_FRAMES - remembered;
}

/*
 * Finds the native frame whose part of the stack has the address, and returns its index in sps.
 * That is the last frame whose stack pointer is at or below the address, because stack pointers
 * ascend from the innermost frame on.  `near` is the result for the runtime's next frame further
 * out.  The new one is mostly a few frames further in, so these are tried first.
 */
static uint32_t find_native(const struct gg_embed_stack *stack, uint64_t address, uint32_t near)
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
 * Sets t->targets[i] to the native frame inside which runtime frame i belongs:
 *
 *   1. From the outermost frame on, each frame with an address gets the native frame of that
 *      address, or 0, the innermost one, if no native frame has it.  A frame without an address, or
 *      with the same one, gets the target of the next frame further out.
 *   2. From the innermost frame on, a target never moves inwards, because runtime frames keep their
 *      own order.
 */
void gg_embed_stack_place(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                          const struct geiger_frame *frames, uint32_t frame_count)
{
	const void *native = NULL;
	uint32_t near = stack->count - stack->sp_first, target = 0;
	bool has_sps = stack->sps != NULL && near > 0;

	near = has_sps ? near - 1 : 0;
	for (uint32_t i = frame_count; i-- > 0;) {
		if (frames[i].native != NULL && frames[i].native != native) {
			native = frames[i].native;
			target = 0;
			if (has_sps && (uint64_t)(uintptr_t)native >= stack->sps[0]) {
				near = find_native(stack, (uint64_t)(uintptr_t)native, near);
				target = stack->sp_first + near;
			}
		}
		t->targets[i] = target;
	}
	target = 0;
	for (uint32_t i = 0; i < frame_count; i++) {
		if (t->targets[i] < target)
			t->targets[i] = target;
		target = t->targets[i];
		gg_assert(target <= stack->count);
	}
}

/* t->merged_frames has room for all native frames and all runtime frames that are kept. */
_Static_assert(GG_EMBED_STACK_FRAMES_MAX == GG_UNWIND_KEEP + GG_EMBED_FRAMES_MAX,
               "merged_frames has room for all");

uint32_t gg_embed_stack_merge(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                              uint32_t frame_count)
{
	uint32_t count = 0, frame = 0;

	for (uint32_t i = 0; i < stack->count; i++) {
		while (frame < frame_count && t->targets[frame] <= i)
			t->merged_frames[count++] = (struct gg_embed_merged_frame){
				.index = frame++
			};
		t->merged_frames[count++] = (struct gg_embed_merged_frame){ .is_native = true,
			                                                    .index = i };
	}
	/* Without native frames, and after the last one, the remaining runtime frames follow. */
	while (frame < frame_count)
		t->merged_frames[count++] = (struct gg_embed_merged_frame){ .index = frame++ };
	gg_assert(count == stack->count + frame_count && count <= GG_EMBED_STACK_FRAMES_MAX);
	return count;
}
