/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_places - finds where the frames of a language runtime belong among native frames.
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
 * A runtime may call one native function, its loop, for each of its frames, without an address on
 * the stack (CPython before 3.10).  Its frames and the loop's frames are then matched by counting.
 */
#pragma once

#include <stdint.h>

#include "abi/agent_functions.h"
#include "unwind/unwind.h"

struct gg_native_stack {
	const uint64_t *pcs; /* innermost first */
	const uint64_t *sps; /* stack pointers of pcs[sp_first] and on; NULL: not known */
	uint32_t count, sp_first;
};

/*
 * Sets the stack pointers of a stack that gg_unwind_capture() just returned, from its cache.  The
 * stack lacks the innermost frames of the capture, but none of the others.
 */
void gg_frame_places_use_cache(struct gg_native_stack *stack, const struct gg_stack_cache *cache);

/*
 * Sets targets[i] to the number of the native frame that runtime frame i precedes.  natives[i] is
 * an address in the native frame that runs it; NULL: not known.
 */
void gg_frame_places_find(uint32_t *targets, const struct gg_native_stack *stack,
                          const void *const *natives, uint32_t frame_count,
                          const struct gg_runtime_loop *loop);
