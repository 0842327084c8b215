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

struct gg_agent_functions;

/*
 * Installs the hooks.  Call it before Python has started, or with its lock.  native: stacks also
 * have the interpreter's own frames.  A second call changes that, and installs hooks again that
 * Python has replaced when it started (PYTHONMALLOC, -X dev).  Returns NULL, or the reason why
 * nothing was installed, which lives as long as the process.
 */
__attribute__((visibility("default"))) const char *gg_python_install(bool native);

/*
 * As gg_python_install(), for an attached agent, whose table of functions it takes: in any thread,
 * without Python's lock, also in the middle of an allocation.  It calls neither Python's allocators
 * nor any function that waits for the lock.  So it cannot probe whether hooks of another tool,
 * which came in front of geiger's, still call these.  It leaves such a domain as it is, and the
 * hooks look again when Python takes its next arena.
 */
__attribute__((visibility("default"))) const char *gg_python_attach(
	const struct gg_agent_functions *agent);

/*
 * The agent is detached: hooks of mem and obj take themselves away when a thread that has Python's
 * lock next comes by.  It only sets a word, so any thread may call it, anywhere.
 */
__attribute__((visibility("default"))) void gg_python_detached(void);

/*
 * Takes the hooks of mem and obj away again, where they are still in front.  Call it when the
 * recording has ended: with Python's lock, or at the safe point of a detach (abi/attach_request.h).
 * Those of raw and of arenas stay: they are rarely called, and they keep what a thread may still
 * read of another one's frames.
 */
__attribute__((visibility("default"))) void gg_python_uninstall(void);

/*
 * True if the hooks are still in front.  tracemalloc removes them if it started before them and
 * stops.
 */
__attribute__((visibility("default"))) bool gg_python_installed(void);
