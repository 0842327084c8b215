/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/frames.h"

enum {
	OUR_FRAMES_MAX = 16 /* between the capture and the program */
};

void gg_embed_capture(struct gg_embed_thread *t, const void *caller,
                      struct gg_embed_stack *ret_stack)
{
	const struct gg_unwind_memo *memo = &t->memo;
	struct gg_unwind_stack stack;
	uint32_t ours = 0, remembered;

	gg_unwind_capture(&t->unwind, t->native_pcs, GG_COUNT(t->native_pcs), 0, &stack);
	while (ours < stack.count && ours < OUR_FRAMES_MAX &&
	       stack.frames[ours] != (uint64_t)(uintptr_t)caller)
		ours++;
	*ret_stack = (struct gg_embed_stack){ .pcs = stack.frames + ours,
		                              .count = stack.count - ours,
		                              .sp_first = stack.count - ours };
	/* The walk ended in this library: no CFI.  The caller is known all the same. */
	if (ours == stack.count || ours == OUR_FRAMES_MAX) {
		t->native_pcs[0] = (uint64_t)(uintptr_t)caller;
		*ret_stack = (struct gg_embed_stack){ .pcs = t->native_pcs,
			                              .count = 1,
			                              .sp_first = 1 };
		return;
	}
	if (!memo->is_latest || memo->count == 0 || stack.cut_at != stack.count)
		return;
	/* The memo has the outermost frames, the outermost last. */
	remembered = memo->count < ret_stack->count ? memo->count : ret_stack->count;
	ret_stack->sp_first = ret_stack->count - remembered;
	ret_stack->sps = memo->sps + GG_MEMO_FRAMES - remembered;
}

/* The native frame whose part of the stack has the address; the innermost one where none has. */
static uint32_t find_native(const struct gg_embed_stack *stack, const void *native)
{
	uint64_t address = (uint64_t)(uintptr_t)native;
	uint32_t low = 0, high = stack->count - stack->sp_first;

	if (stack->sps == NULL || native == NULL || high == 0 || address < stack->sps[0])
		return 0;
	/* The last one that begins at or below it: they ascend. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (stack->sps[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return stack->sp_first + low;
}

/* Where each of the runtime's frames goes: that frame, or one further out than the frame before. */
static void find_targets(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                         const struct geiger_frame *frames, uint32_t frame_count)
{
	const void *native = NULL;
	uint32_t target = 0;

	for (uint32_t i = frame_count; i-- > 0;) {
		if (frames[i].native != NULL)
			native = frames[i].native;
		t->targets[i] = find_native(stack, native);
	}
	for (uint32_t i = 0; i < frame_count; i++) {
		if (t->targets[i] < target)
			t->targets[i] = target;
		target = t->targets[i];
	}
}

uint32_t gg_embed_mix(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                      const struct geiger_frame *frames, uint32_t frame_count)
{
	uint32_t count = 0, frame = 0;

	find_targets(t, stack, frames, frame_count);
	for (uint32_t i = 0; i <= stack->count && count < GG_EMBED_STACK; i++) {
		/* Without native frames, or behind the last: what is left. */
		while (frame < frame_count && count < GG_EMBED_STACK &&
		       (i == stack->count || t->targets[frame] <= i))
			t->places[count++] = (struct gg_embed_place){ .is_native = false,
				                                      .index = frame++ };
		if (i < stack->count && count < GG_EMBED_STACK)
			t->places[count++] = (struct gg_embed_place){ .is_native = true,
				                                      .index = i };
	}
	return count;
}
