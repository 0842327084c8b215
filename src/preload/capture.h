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

/* True if the pc is in code of this library. */
bool gg_capture_is_our_code(uint64_t pc);
