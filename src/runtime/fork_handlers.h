/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_handlers - notices forks, in the parent and in the child.
 *
 * Two means notice a child.  A page that the kernel wipes in children (MADV_WIPEONFORK) misses no
 * fork, but tells only that there was one.  Handlers of pthread_atfork() run in the child before
 * the program's code, so they can draw its sample points anew; a bare clone() does not call them.
 * The first sample point of each such child is where its parent's was, and all later ones are its
 * own: each child by itself is unbiased, but siblings have that first point in common.
 *
 * Threads  gg_fork_handlers_in_child() runs in a process that has one thread.
 */
#pragma once

#include "base/compiler.h"

/* Once, before the state is RUNNING: maps the page and registers the handlers.  0 or -ENOMEM. */
GG_COLD int gg_fork_handlers_init(void);

/*
 * Before a fork, and after it in the parent: numbers the children of this process, and notes its
 * pid and the time for the child.  It counts twice because a handler may fork in between.
 */
void gg_fork_handlers_count_fork(void);

/* In a child, before any other code of ours runs there. */
void gg_fork_handlers_in_child(void);
