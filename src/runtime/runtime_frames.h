/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_frames - the frames of a language runtime in stacks of malloc's samples.
 *
 * An adapter registers a source, which reads the frames of the calling thread.  Each sample of
 * malloc asks the source, and the stack gets the runtime's frames among the native ones.  Threads
 * without such frames, and processes without a source, keep native stacks.
 *
 * Threads  any; a call uses the block of its thread, on the sample path.
 */
#pragma once

#include <stdint.h>

#include "abi/agent_functions.h"
#include "runtime/frame_places.h"
#include "runtime/thread.h"

/* NULL: no adapter registered a source.  Read it with gg_load_relaxed(). */
extern const struct gg_agent_frame_source *gg_runtime_frames_source;

/* The source is valid until the process ends. */
void gg_runtime_frames_set_source(const struct gg_agent_frame_source *source);

/* The address that stands for the frame in stacks; 0: the region has no room for its texts. */
uint64_t gg_runtime_frames_intern(struct gg_thread_block *block, const struct gg_frame_info *info);

/*
 * Lists the merged stack in block->merge.pcs, and returns the number of its frames.  0: the thread
 * has no frames of a runtime.
 */
uint32_t gg_runtime_frames_merge(struct gg_thread_block *block,
                                 const struct gg_native_stack *stack);
