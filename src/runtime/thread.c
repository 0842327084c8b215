/* SPDX-License-Identifier: Apache-2.0 */
/* thread - hands out blocks, and takes them back from threads that end. */
#include "runtime/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"
#include "runtime/tagged_head.h"

_Thread_local struct gg_thread gg_thread;

static struct gg_thread_block *all_blocks;

enum { WAIT_NS = 50000, RESTART_TRIES = 5 };

static uint64_t free_blocks; /* head of the list of free blocks: tagged_head.h */

static pthread_key_t ending_key;
static bool has_ending_key;

static void push_free(struct gg_thread_block *block)
{
	uint64_t head = gg_load_relaxed(&free_blocks);

	gg_assert(((uintptr_t)block & 4095) == 0); /* the head stores page numbers */
	gg_store_relaxed(&block->in_use, 0);
	do {
		gg_store_relaxed(&block->next_free, gg_tagged_head_address(head));
		/* Release: the thread that pops the block sees its contents. */
	} while (!gg_cas_acq_rel(&free_blocks, &head, gg_tagged_head_next(head, block)));
}

static struct gg_thread_block *pop_free(void)
{
	uint64_t head = gg_load_acquire(&free_blocks);
	struct gg_thread_block *block;

	do {
		block = gg_tagged_head_address(head);
		if (block == NULL)
			return NULL;
		/*
		 * Another thread may have popped the block, but blocks are never unmapped, so the
		 * read below is safe.  Then the count has changed and the exchange fails.
		 */
	} while (!gg_cas_acq_rel(&free_blocks, &head,
	                         gg_tagged_head_next(head, gg_load_relaxed(&block->next_free))));
	gg_store_relaxed(&block->in_use, 1);
	return block;
}

static struct gg_thread_block *map_block(void)
{
	struct gg_thread_block *block = gg_syscall_map(sizeof(*block));

	if (block == NULL)
		return NULL;
	block->in_use = 1;
	block->next = gg_load_relaxed(&all_blocks);
	/* Release: gg_thread_forked() walks the list. */
	while (!gg_cas_acq_rel(&all_blocks, &block->next, block))
		;
	return block;
}

/* Keeps only the counters of the thread that had the block: they are sums over all threads. */
static void clean(struct gg_thread_block *block)
{
	struct gg_unwind_stats stats = block->unwind.stats;

	gg_store_release(&block->owner, 0);
	block->record = (struct gg_region_thread){ 0 };
	block->unwind = (struct gg_unwind_thread){ .stats = stats,
		                                   .stack_cache = &block->stack_cache };
	block->stack_cache.count = 0;
	block->stack_cache.tag = 0;
	block->stack_cache.is_latest = false;
}

static void give_back(struct gg_thread_block *block)
{
	gg_assert(gg_load_relaxed(&block->in_use) == 1);
	gg_region_thread_end(&gg_process.region, &block->record, gg_clock_monotonic_ns());
	clean(block);
	push_free(block);
}

/*
 * False for a block from before a fork: gg_thread_forked() freed it, and another thread may have
 * it.
 */
static bool has_block(const struct gg_thread *t)
{
	/* Relaxed: on the sample path, gg_process_ensure_current() has acquired the generation. */
	return t->block != NULL && t->block_generation == gg_load_relaxed(&gg_process.generation);
}

/*
 * No attach uses this thread's sampler from now on, because its memory may go.  An attach that is
 * using it right now ends within some instructions; the wait is a sleep, so that an attach of a
 * lower priority can go on.  In a forked child that attach does not exist.
 */
static void disown_block(struct gg_thread *t)
{
	uint64_t owner = (uintptr_t)t;

	if (t->block == NULL || gg_cas_acq_rel(&t->block->owner, &owner, 0))
		return;
	while ((owner & 1) != 0 && owner >> 1 == (uint64_t)getpid()) {
		gg_syscall_sleep(WAIT_NS);
		owner = gg_load_acquire(&t->block->owner);
	}
}

static void end_thread(void *value)
{
	struct gg_thread *t = &gg_thread;

	(void)value;
	t->ending = true; /* from now on a handler borrows a block, and owns none */
	disown_block(t);
	if (!gg_thread_enter(t))
		return;
	if (gg_process_ensure_current() && has_block(t)) {
		t->has_thread_index = true;
		t->thread_index = t->block->record.thread;
		give_back(t->block);
	}
	t->block = NULL;
	gg_thread_leave(t);
}

void gg_thread_init(void)
{
	has_ending_key = pthread_key_create(&ending_key, end_thread) == 0;
}

/* Avoids gettid() if it can: a seccomp filter that was installed unnoticed may forbid the call. */
static uint32_t tid(void)
{
	uint32_t known = gg_syscall_known_tid();
	/* libc's value is wrong after a bare clone(), and only a forked child can be one. */
	bool is_sure = gg_load_relaxed(&gg_process.generation) == 1 || gg_seccomp_is_entered();

	return known != 0 && is_sure ? known : gg_syscall_tid();
}

static void begin(struct gg_thread *t, struct gg_thread_block *block)
{
	char name[16] = "";

	gg_assert(gg_load_relaxed(&t->inside) != 0);
	block->unwind.stack_cache = &block->stack_cache;
	if (t->has_thread_index) {
		gg_region_thread_resume(&gg_process.region, &block->record, t->thread_index);
		return;
	}
	if (!gg_seccomp_is_entered())
		gg_syscall_thread_name(name);
	gg_region_thread_begin(&gg_process.region, &block->record, tid(), name,
	                       gg_clock_monotonic_ns());
}

static struct gg_thread_block *take(struct gg_thread *t)
{
	struct gg_thread_block *block;

	if (has_block(t))
		return t->block;
	t->block = NULL;
	block = pop_free();
	if (block == NULL)
		block = map_block();
	if (block == NULL || t->ending)
		return block;
	t->block = block;
	t->block_generation = gg_load_relaxed(&gg_process.generation);
	/* Without the key nobody would disown the block when the thread ends. */
	gg_store_relaxed(&block->owner_tid, tid());
	if (has_ending_key && pthread_setspecific(ending_key, block) == 0)
		gg_store_release(&block->owner, (uintptr_t)t);
	return block;
}

struct gg_thread_block *gg_thread_block(struct gg_thread *t)
{
	struct gg_thread_block *block = take(t);

	if (gg_unlikely(block != NULL && !block->record.begun))
		begin(t, block);
	return block;
}

void gg_thread_take_block(struct gg_thread *t)
{
	if (!t->ending)
		take(t);
}

void gg_thread_put_block(struct gg_thread *t, struct gg_thread_block *block)
{
	if (gg_unlikely(block != NULL && t->block != block))
		give_back(block);
}

void gg_thread_count_in(struct gg_thread *t)
{
	t->is_counted = true;
	gg_add_relaxed(&gg_process.inside_count, 1);
	/*
	 * Full: either this thread sees the state of a detach that has begun, and leaves the region
	 * alone, or the detaching thread sees this count.
	 */
	gg_fence_full();
}

void gg_thread_count_out(struct gg_thread *t)
{
	t->is_counted = false;
	/* Acquire, release: the last thread sees what all others did to the region. */
	if (gg_add_acq_rel(&gg_process.inside_count, (uint32_t)-1) != 1)
		return;
	/* Full: a thread that could not take the region, because of this one, left it to this. */
	gg_fence_full();
	if (gg_load_seq_cst(&gg_process.state) == GG_PROCESS_DETACHING)
		gg_process.retire();
}

static void free_all_blocks(void)
{
	gg_store_relaxed(&free_blocks, 0);
	for (struct gg_thread_block *block = all_blocks; block != NULL; block = block->next) {
		clean(block);
		push_free(block);
	}
}

/* --- restarts --- */

void gg_thread_restart(struct gg_thread *t)
{
	gg_store_relaxed(&t->wants_restart, 0);
	/* The attach took these from left_bytes, and no allocation did. */
	t->counted_left_bytes -= gg_load_relaxed(&t->dropped_left_bytes);
	gg_thread_count(t);
	gg_sampler_pause(&t->sampler, 0);
	t->counted_left_bytes = 0;
}

/*
 * Makes the thread's next allocation due.  The thread calls no hook, unless by a pointer that it
 * copied.  If it counts down at this moment, its store may come last: then restart_lost() is true.
 */
static void want_restart(struct gg_thread *t)
{
	int64_t left = gg_load_relaxed(&t->sampler.left_bytes);

	/* An earlier attach may have failed, and the thread has not restarted since. */
	if (gg_load_relaxed(&t->wants_restart) == 0 || left > 0)
		gg_store_relaxed(&t->dropped_left_bytes, left);
	gg_store_relaxed(&t->sampler.left_bytes, 0);
	gg_store_relaxed(&t->sampler.left_count, 0);
	/* Release: pairs with gg_thread_restart_if_wanted(). */
	gg_store_release(&t->wants_restart, 1);
}

static bool restart_lost(struct gg_thread *t)
{
	return gg_load_acquire(&t->wants_restart) != 0 &&
	       (gg_load_relaxed(&t->sampler.left_bytes) > 0 ||
	        gg_load_relaxed(&t->sampler.left_count) > 0);
}

/*
 * Keeps the owner's memory from going until its block has no owner: an ending thread waits in
 * disown_block().  A thread that ended by a bare system call has not disowned its block, and its
 * memory may be gone.
 */
static void hold_owner(struct gg_thread_block *block)
{
	const uint64_t restarting = (uint64_t)getpid() << 1 | 1;
	uint64_t owner = gg_load_acquire(&block->owner);
	struct gg_thread *t = (struct gg_thread *)(uintptr_t)owner;

	block->held = NULL;
	if (owner != 0 && (owner & 1) == 0 && gg_cas_acq_rel(&block->owner, &owner, restarting) &&
	    (t == &gg_thread || gg_syscall_has_thread(gg_load_relaxed(&block->owner_tid))))
		block->held = t;
}

/* Wants all owners to restart.  True if any of them has overwritten that since the last call. */
static bool want_restarts(bool is_first)
{
	bool was_lost = false;

	for (struct gg_thread_block *block = all_blocks; block != NULL; block = block->next) {
		if (block->held == NULL || (!is_first && !restart_lost(block->held)))
			continue;
		want_restart(block->held);
		was_lost |= block->held != &gg_thread;
	}
	return was_lost;
}

void gg_thread_forget_blocks(bool is_child)
{
	for (struct gg_thread_block *block = all_blocks; block != NULL; block = block->next) {
		block->held = NULL;
		if (!is_child || gg_load_relaxed(&block->owner) == (uintptr_t)&gg_thread)
			hold_owner(block);
	}
	/* A store of an owner that has begun is over after the sleep. */
	for (int i = 0; i < RESTART_TRIES && want_restarts(i == 0); i++)
		gg_syscall_sleep(WAIT_NS);
	for (struct gg_thread_block *block = all_blocks; block != NULL; block = block->next) {
		block->held = NULL;
		gg_store_release(&block->owner, 0);
		memset(block->frames, 0, sizeof(block->frames));
	}
	free_all_blocks();
}

void gg_thread_count_forked(void)
{
	gg_store_relaxed(&gg_process.inside_count, gg_thread.is_counted ? 1 : 0);
}

void gg_thread_forked(void)
{
	free_all_blocks();
}
