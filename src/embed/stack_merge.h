/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_merge - merges native frames with the frames that a language runtime knows.
 *
 * frame_places.h tells where a frame of the runtime belongs.
 *
 * Threads  each its own struct gg_embed_thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/embed_thread.h"
#include "runtime/frame_places.h"

/* Captures the native stack from the return address `caller` on. */
void gg_embed_stack_capture(struct gg_embed_thread *t, const void *caller,
                            struct gg_native_stack *ret_stack);

/*
 * Places at most GG_EMBED_FRAMES_MAX frames of the runtime: t->targets[i] is the number of the
 * native frame that frame i precedes, counted from the innermost one.
 */
void gg_embed_stack_place(struct gg_embed_thread *t, const struct gg_native_stack *stack,
                          const struct geiger_frame *frames, uint32_t frame_count);

/*
 * Merges both kinds of frames into t->merged_frames after gg_embed_stack_place(); returns their
 * number.
 */
uint32_t gg_embed_stack_merge(struct gg_embed_thread *t, const struct gg_native_stack *stack,
                              uint32_t frame_count);
