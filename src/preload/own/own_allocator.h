/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_allocator - libgeiger-malloc.so: the agent with an allocator of its own underneath.
 *
 * The allocator draws the samples (malloc/class_sampling.h), and calls the functions here: they
 * record samples as the agent's hooks do, and bring the settings of the region to the allocator.
 *
 * Order    A sample is recorded after it was allocated and before the program has it, and closed
 *          before it is freed, as preload/order.h says.
 * Agents   If the agent is preloaded as well, the first of the two in the loader's order records,
 *          and this library is just an allocator if it is the second one.
 * Foreign  Pointers from before this library was there, or of libc itself, go to the next free().
 * Threads  any.
 */
#pragma once

#include <stdbool.h>

/*
 * True if the program's malloc() is that of this library.  False: another allocator comes first in
 * the loader's order, or a sanitizer must serve.
 */
bool gg_own_allocator_serves(void);
