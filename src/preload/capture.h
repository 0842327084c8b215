/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - the stack of a call that the program made, without the frames of this library.
 *
 * Threads  A thread on its sample path, with its own block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/thread.h"

/* Unwinds and interns the stack of the caller of this library; returns its id. */
uint32_t gg_capture_stack(struct gg_thread_block *block, uint64_t now_ns);

/*
 * Unwinds and interns a stack whose frames the caller needs as well: that of the caller of this
 * library, or from_pc not 0, of the code that a signal has interrupted at that pc.  Copies the
 * innermost frames, up to `most`, and returns the stack's id.
 */
uint32_t gg_capture_frames(struct gg_thread_block *block, uint64_t now_ns, uint64_t from_pc,
                           uint64_t *ret_pcs, uint32_t most, uint32_t *ret_count);

/* True if the pc is in code of this library. */
bool gg_capture_is_our_code(uint64_t pc);
