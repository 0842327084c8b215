/* SPDX-License-Identifier: Apache-2.0 */
/* fork_handlers - the page that a fork wipes, and the handlers around fork(). */
#include "runtime/fork_handlers.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "runtime/exact_mode.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/process_region.h"
#include "runtime/process_settings.h"
#include "runtime/recorded_session.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"

enum { FORK_PAGE_BYTES = 4096 };

/* A process with a region of its own knows its pid; a filter may kill any other one for asking. */
static uint32_t own_pid(void)
{
	const uint32_t *same = gg_load_relaxed(&gg_process.same_process);

	if (same != NULL && gg_load_relaxed(same) == GG_PROCESS_SAME)
		return gg_process.pid;
	return gg_seccomp_is_entered() ? 0 : (uint32_t)getpid();
}

void gg_fork_handlers_count_fork(void)
{
	gg_thread.fork_number = gg_add_relaxed(&gg_process.fork_count, 1);
	gg_thread.fork_pid = own_pid();
	gg_thread.fork_ns = gg_clock_monotonic_ns();
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

/*
 * Tells the recorder of the child, which may never need a region of its own.  Otherwise nobody
 * would know that it holds what its parent held.
 */
static void note_child(const struct gg_thread *t)
{
	struct gg_region_header *parents = gg_process.region.header;
	struct gg_session_fork fork = { .fork_ns = t->fork_ns,
		                        .held_fork_ns = gg_process.held_fork_ns,
		                        .held_noted_ns = gg_process.held_noted_ns,
		                        .mark = GG_SESSION_FORK_MARK };

	if (!gg_recorded_session_exists() || parents == NULL ||
	    gg_load_relaxed(&gg_process.state) != GG_PROCESS_RUNNING)
		return;
	fork.ancestor_pid = parents->pid;
	fork.ancestor_start_ns = parents->start_monotonic_ns;
	fork.noted_ns = gg_clock_monotonic_ns();
	fork.pid = gg_seccomp_is_entered() ? 0 : (uint32_t)getpid();
	fork.is_elsewhere = fork.pid != 0 && gg_recorded_session_is_elsewhere();
	if (fork.pid == 0 || !gg_recorded_session_note_fork(&fork))
		gg_add_relaxed(&parents->counters[GG_COUNT_UNNOTED_CHILDREN], 1);
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
	if (gg_process.held_fork_ns == 0) {
		gg_process.held_fork_ns = t->fork_ns;
		gg_process.held_noted_ns = gg_clock_monotonic_ns();
	}
	note_child(t);
	/*
	 * A handler on the sample path forked this child, which may return there and finish what
	 * its parent finishes as well.  It must not write that into the parent's file.
	 */
	if (gg_load_relaxed(&t->inside) != 0)
		gg_process_region_detach();
	/* A thread of the child that makes its region has other values of its own. */
	gg_process.parent_pid = t->fork_pid;
	gg_process.fork_ns = t->fork_ns;
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
	gg_exact_mode_in_child();
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
