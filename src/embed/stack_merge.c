/* SPDX-License-Identifier: Apache-2.0 */
/* stack_merge - captures the native stack, and lists merged frames for listeners. */
#include "embed/stack_merge.h"

#include "base/assert.h"

enum {
	OUR_FRAMES_MAX = 16 /* between the capture and the program */
};

void gg_embed_stack_capture(struct gg_embed_thread *t, const void *caller,
                            struct gg_native_stack *ret_stack)
{
	struct gg_unwind_stack stack;
	uint32_t ours = 0;

	/* The stack begins with frames of this library.  The program's begin at the caller. */
	gg_unwind_capture(&t->unwind, t->native_pcs, GG_COUNT(t->native_pcs), 0, &stack);
	while (ours < stack.count && ours < OUR_FRAMES_MAX &&
	       stack.frames[ours] != (uint64_t)(uintptr_t)caller)
		ours++;
	*ret_stack = (struct gg_native_stack){ .pcs = stack.frames + ours,
		                               .count = stack.count - ours,
		                               .sp_first = stack.count - ours };
	/*
	 * The walk did not reach the caller, as happens if this library has no CFI.  The caller's
	 * address is known in any case, so it becomes the whole stack.
	 */
	if (ours == stack.count || ours == OUR_FRAMES_MAX) {
		t->native_pcs[0] = (uint64_t)(uintptr_t)caller;
		*ret_stack = (struct gg_native_stack){ .pcs = t->native_pcs,
			                               .count = 1,
			                               .sp_first = 1 };
		return;
	}
	if (stack.cut_at == stack.count)
		gg_frame_places_use_cache(ret_stack, &t->stack_cache);
}

void gg_embed_stack_place(struct gg_embed_thread *t, const struct gg_native_stack *stack,
                          const struct geiger_frame *frames, uint32_t frame_count)
{
	static const struct gg_runtime_loop none;

	for (uint32_t i = 0; i < frame_count; i++)
		t->natives[i] = frames[i].native;
	gg_frame_places_find(t->targets, stack, t->natives, frame_count, &none);
}

/* t->merged_frames has room for all native frames and all runtime frames that are kept. */
_Static_assert(GG_EMBED_STACK_FRAMES_MAX == GG_UNWIND_KEEP + GG_EMBED_FRAMES_MAX,
               "merged_frames has room for all");

uint32_t gg_embed_stack_merge(struct gg_embed_thread *t, const struct gg_native_stack *stack,
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
