/* SPDX-License-Identifier: Apache-2.0 */
/* fork_handlers - the page that a fork wipes, and the handlers around fork(). */
#include "runtime/fork_handlers.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "runtime/exact_mode.h"
#include "runtime/process.h"
#include "runtime/process_region.h"
#include "runtime/process_settings.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"

enum { FORK_PAGE_BYTES = 4096 };

void gg_fork_handlers_count_fork(void)
{
	gg_thread.fork_number = gg_add_relaxed(&gg_process.fork_count, 1);
}

/*
 * Another thread was attaching or detaching at the fork, and exists in the parent alone.  Nothing
 * is recorded in this child until it is attached.  Slots that the thread had changed stay so.
 */
static void end_interrupted_attach(void)
{
	uint32_t state = gg_load_relaxed(&gg_process.state);

	if (gg_load_relaxed(&gg_process.counts_threads) == 0 ||
	    (state != GG_PROCESS_STARTING && state != GG_PROCESS_DETACHING))
		return;
	gg_process_region_detach();
	gg_store_relaxed(&gg_process.state, GG_PROCESS_DETACHED);
}

void gg_fork_handlers_in_child(void)
{
	struct gg_thread *t = &gg_thread;

	gg_thread_count_forked();
	end_interrupted_attach();
	/*
	 * Relaxed: a child has one thread, and everything that happened before the fork is visible.
	 */
	if (gg_load_relaxed(&gg_process.same_process) == NULL)
		return;
	/*
	 * A handler on the sample path forked this child, which may return there and finish what
	 * its parent finishes as well.  It must not write that into the parent's file.
	 */
	if (gg_load_relaxed(&t->inside) != 0)
		gg_process_region_detach();
	gg_process_settings_seed_child(t->fork_number);
	gg_process_settings_reseed(t);
	gg_store_relaxed(gg_process.same_process, GG_PROCESS_FORKED);
}

static void before_fork(void)
{
	gg_fork_handlers_count_fork();
	gg_exact_mode_before_fork();
}

static void in_parent(void)
{
	gg_exact_mode_after_fork();
	gg_fork_handlers_count_fork();
}

/* The locks come first: a thread that is on the sample path afterwards was there at the fork. */
static void in_child(void)
{
	gg_exact_mode_after_fork();
	gg_fork_handlers_in_child();
}

int gg_fork_handlers_init(void)
{
	uint32_t *page = gg_syscall_map(FORK_PAGE_BYTES);
	uint32_t busy_count = gg_thread.busy_count;
	int saved_errno = errno;

	gg_assert(gg_process.same_process == NULL);
	if (page == NULL)
		return -ENOMEM;
	*page = GG_PROCESS_SAME;
	gg_process.same_process = page;
	/* Both, because emulators accept the advice and do not follow it. */
	madvise(page, FORK_PAGE_BYTES, MADV_WIPEONFORK);
	pthread_atfork(before_fork, in_parent, in_child);
	/* musl allocates there, by the hook: a block of ours, and not of a handler. */
	gg_thread.busy_count = busy_count;
	errno = saved_errno;
	return 0;
}
