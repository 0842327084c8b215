/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks - puts sampling in front of Python's allocators (PEP 445).
 *
 *   domain   heap          the interpreter's lock      Python frames
 *   raw      python.raw    not needed                  if the caller happens to have the lock
 *   mem      python.mem    held                        yes
 *   obj      python.obj    held                        yes
 *
 * A block belongs to the domain that the program called.  For larger blocks (over 512 bytes, or
 * resized to that), an allocator of Python calls the raw domain and malloc; these calls do not
 * count again.
 *
 * Install        at any time, also while other threads run.  A thread may meanwhile read an
 *                allocator's struct that has some old and some new members.  Every such mixture
 *                works: the hooks find their data without the context argument, and pass it on
 *                unchanged to the functions underneath.
 * Older blocks   are no samples, so the hooks only pass on their frees and resizes.
 * Cost           for an allocation that is not sampled, six instructions, and the call that the
 *                interpreter's compiler had put in place; for a free, nothing, or a look-up in a
 *                table where the interpreter has other allocators than its own (domain_hooks.h).
 */
#pragma once

#include <stdbool.h>

/*
 * Installs the hooks.  Call it before Python has started, or with its lock.  native: stacks also
 * have the interpreter's own frames.  A second call changes that, and installs hooks again that
 * Python has replaced when it started (PYTHONMALLOC, -X dev).  Returns NULL, or the reason why
 * nothing was installed, which lives as long as the process.
 */
__attribute__((visibility("default"))) const char *gg_python_install(bool native);

/*
 * Takes the hooks of mem and obj away again, where they are still in front.  Call it with Python's
 * lock when the recording has ended.  Those of raw and of arenas stay: they are rarely called, and
 * they keep what a thread may still read of another one's frames.
 */
__attribute__((visibility("default"))) void gg_python_uninstall(void);

/*
 * True if the hooks are still in front.  tracemalloc removes them if it started before them and
 * stops.
 */
__attribute__((visibility("default"))) bool gg_python_installed(void);
