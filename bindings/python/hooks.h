/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks - Python's allocators, with sampling in front (PEP 445).
 *
 *   domain   heap          the interpreter's lock      Python frames
 *   raw      python.raw    not needed                  if the caller happens to have the lock
 *   mem      python.mem    held                        yes
 *   obj      python.obj    held                        yes
 *
 * A block belongs to the domain that was asked for it: what an allocator of Python takes from the
 * raw domain and from malloc for it (more than 512 bytes, and what becomes so) is not counted there
 * again.
 *
 * Installing     once, at any time, also while other threads run: the functions ignore the context
 *                that they are given in favour of what is known here, and leave it as it was for
 *                the functions underneath, so every mixture of old and new words is a working
 *                allocator.  They stay until the process ends.
 * Older blocks   are no samples, so freeing and resizing them only passes through.
 * Cost           not sampled: two calls through pointers and a subtraction; a free looks at
 *                geiger's filter.
 */
#pragma once

#include "python.h"

/* native: stacks have the interpreter's own frames, too.  Again: changes that. */
void gg_python_install(bool native);

/*
 * Are they in front still?  tracemalloc, when it was started before and is stopped, removes them.
 */
bool gg_python_installed(void);
