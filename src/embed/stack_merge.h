/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_merge - merges native frames with the frames that a language runtime knows.
 *
 * A runtime's frame has an address on the native stack: it lies in the frame of the native function
 * that runs it.  The stack pointers of the unwinder's last walk tell which native frame that is.
 * Each runtime frame is placed inside that native frame, as if the native function had called it.
 * Runtime frames keep their own order, whatever their addresses say.
 *
 *   native, innermost first        runtime, innermost first      the stack
 *   alloc          sp 100          fact   native 230             alloc
 *   interpret      sp 200          main   native 230             fact, main
 *   call           sp 300                                        interpret, call ...
 *
 * Threads  each its own struct gg_embed_thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/embed_thread.h"

struct gg_embed_stack {
	const uint64_t *pcs; /* native, innermost first */
	const uint64_t *sps; /* stack pointers of pcs[sp_first] and on; NULL: not known */
	uint32_t count, sp_first;
};

/* Captures the native stack from the return address `caller` on. */
void gg_embed_stack_capture(struct gg_embed_thread *t, const void *caller,
                            struct gg_embed_stack *ret_stack);

/*
 * Places at most GG_EMBED_FRAMES_MAX frames of the runtime: t->targets[i] is the number of the
 * native frame that frame i precedes, counted from the innermost one.
 */
void gg_embed_stack_place(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                          const struct geiger_frame *frames, uint32_t frame_count);

/*
 * Merges both kinds of frames into t->merged_frames after gg_embed_stack_place(); returns their
 * number.
 */
uint32_t gg_embed_stack_merge(struct gg_embed_thread *t, const struct gg_embed_stack *stack,
                              uint32_t frame_count);
