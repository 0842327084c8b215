/* SPDX-License-Identifier: Apache-2.0 */
/* thread_heap - gives threads their heaps, and keeps those of ended threads. */
#include "malloc/thread_heap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/stream_list.h"
#include "malloc/arena.h"
#include "malloc/huge_blocks.h"
#include "malloc/kernel_memory.h"
#include "malloc/purge.h"
#include "malloc/sampled_slots.h"

enum { NO_CLIENT_BYTES = 1 << 20 }; /* until a heap without a client looks for one again */
enum { STACK_BYTES = 8 << 20 };     /* frames that are farther apart may be on two stacks */
enum { END_ROUNDS = 2 }; /* of destructors that still find the thread's heap; libc runs four */

__thread struct gg_malloc_heap *gg_malloc_thread_heap
	__attribute__((tls_model("initial-exec"))) = &gg_malloc_empty_heap;

struct gg_malloc_heap gg_malloc_empty_heap;

__thread uint32_t gg_malloc_inside __attribute__((tls_model("initial-exec")));
__thread uintptr_t gg_malloc_section_sp __attribute__((tls_model("initial-exec")));

static __thread bool has_ended __attribute__((tls_model("initial-exec")));
/* The value of gg_malloc_thread_heap outside of sections; NULL: no heap. */
static __thread struct gg_malloc_heap *own_heap __attribute__((tls_model("initial-exec")));
__thread uint32_t gg_malloc_thread_number __attribute__((tls_model("initial-exec")));

/*
 * The work of before_fork() on the two locks: bits of enum gg_malloc_part for those that it took,
 * and the same bits, shifted by 2, for those that the thread waited for.  A handler may fork during
 * a fork, so each fork shifts the bits of the outer ones to the left.
 */
enum { WAITED_SHIFT = 2, FORK_SHIFT = 4 };
static __thread uint64_t fork_locks __attribute__((tls_model("initial-exec")));
/* How often before_fork() has taken the lock of stream_list.h; in the child it is open. */
static __thread uint32_t stream_list_count __attribute__((tls_model("initial-exec")));

static struct gg_malloc_heap *first_heap; /* of all; pushed to, never taken from */
static uint64_t heap_count;
static uint32_t thread_count; /* that have a number */
static int64_t orphan_count;
/* The orphan whose thread ended last, if it still has the blocks that it was handed; NULL: none. */
static struct gg_malloc_heap *untrimmed;
static uint64_t child_number; /* differs for a child and its siblings: the pid; 0: no child */
static uint32_t fork_count;   /* forks that led from the first process to this one */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

void gg_malloc_thread_set_number(void)
{
	uint32_t number;

	do
		number = gg_add_relaxed(&thread_count, 1) & UINT32_MAX >> 1;
	while (number == 0);
	gg_malloc_thread_number = number;
}

struct gg_malloc_heap *gg_malloc_first_heap(void)
{
	/* Acquire: pairs with the push in new_heap(). */
	return gg_load_acquire(&first_heap);
}

/* In a section. */
static void apply_plan(struct gg_malloc_heap *heap, const struct gg_malloc_plan *plan)
{
	struct gg_sampler_options options = { .scheme = GG_SCHEME_POISSON };

	heap->plan = plan;
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++) {
		heap->supplies[i].has_gap = false;
		heap->supplies[i].gap = 0;
	}
	if (plan == NULL)
		return;
	/* A child has another seed than its parent, if that was not chosen by the system. */
	if (!gg_rng_is_seeded(&heap->rng) || heap->seed != plan->seed) {
		heap->seed = plan->seed;
		heap->sampler = (struct gg_sampler){ 0 };
		if (plan->seed != 0)
			gg_rng_seed(&heap->rng, plan->seed, child_number << 32 | 2 * heap->number);
		else
			gg_rng_seed_from_system(&heap->rng);
	}
	options.sampling_interval = plan->interval_bytes;
	options.seed = plan->seed;
	options.stream = child_number << 32 | (2 * heap->number + 1);
	if (plan->rates != NULL) {
		options.scheme = GG_SCHEME_OPTIMAL;
		options.rates = plan->rates;
	}
	if (!gg_sampler_is_started(&heap->sampler))
		gg_sampler_init(&heap->sampler, &options);
	else
		gg_sampler_change(&heap->sampler, &options);
}

void gg_malloc_heap_apply_plan(struct gg_malloc_heap *heap, const struct gg_malloc_plan *plan)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();

	apply_plan(heap, plan);
	gg_malloc_section_end(outer);
}

/* False: it has draws of a parent of this process. */
static bool is_of_process(const struct gg_malloc_heap *heap)
{
	return heap->fork_count == gg_load_relaxed(&fork_count);
}

/* The list that was handed before the fork has the draws of the parent. */
static GG_COLD void draw_in_child(struct gg_malloc_heap *heap)
{
	const struct gg_malloc_plan *plan = gg_malloc_plan();

	heap->fork_count = gg_load_relaxed(&fork_count);
	heap->rng = (struct gg_rng){ { 0 } };
	gg_malloc_heap_apply_plan(heap, plan);
	if (plan != NULL)
		gg_malloc_heap_redraw(heap);
}

void gg_malloc_heap_visit(struct gg_malloc_heap *heap)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (gg_unlikely(!is_of_process(heap)))
		draw_in_child(heap);
	heap->visit_left_bytes = NO_CLIENT_BYTES;
	if (client == NULL || client->visit == NULL)
		return;
	heap->visit_left_bytes = (int64_t)client->visit_bytes;
	client->visit();
}

/*
 * The wish comes first.  If another thread has claimed the heap to collect its remote frees, that
 * thread sees the wish when it abandons the heap.  A thread that has adopted it forgets the wish.
 */
static void trim_orphan(struct gg_malloc_heap *heap)
{
	if (heap == NULL)
		return;
	/* Sequentially consistent: pairs with gg_malloc_heap_abandon(). */
	gg_exchange_seq_cst(&heap->trim_wanted, 1);
	if (gg_malloc_heap_claim(heap))
		gg_malloc_heap_abandon(heap);
}

void gg_malloc_heap_trim_orphan(void)
{
	/* Sequentially consistent, as claims are: the heap's thread has abandoned it. */
	trim_orphan(gg_exchange_seq_cst(&untrimmed, NULL));
}

void gg_malloc_heap_purge(struct gg_malloc_heap *heap)
{
	struct gg_malloc_heap *orphan;

	uint32_t now_ms;

	/* First: a clock that another library replaces may allocate. */
	heap->purge_countdown = GG_MALLOC_PURGE_VISITS;
	if (gg_load_relaxed(&gg_malloc_purge_delay_ms) == GG_MALLOC_PURGE_NEVER)
		return;
	now_ms = gg_malloc_purge_clock_ms();
	if (now_ms - heap->retire_ms >= gg_load_relaxed(&gg_malloc_purge_delay_ms)) {
		heap->retire_ms = now_ms;
		gg_malloc_heap_retire(heap);
		orphan = gg_load_relaxed(&untrimmed);
		if (orphan != NULL && now_ms - gg_load_relaxed(&orphan->end_ms) >=
		                              gg_load_relaxed(&gg_malloc_purge_delay_ms))
			gg_malloc_heap_trim_orphan();
	}
	gg_malloc_arena_purge_aged(now_ms);
	gg_malloc_slots_purge_aged(now_ms);
}

bool gg_malloc_heap_claim(struct gg_malloc_heap *heap)
{
	uint32_t orphan = GG_MALLOC_HEAP_ORPHAN;

	/* Acquire: pairs with gg_malloc_heap_abandon(). */
	if (!gg_cas_seq_cst(&heap->state, &orphan, GG_MALLOC_HEAP_OWNED))
		return false;
	gg_add_relaxed(&orphan_count, -1);
	return true;
}

static bool has_work(struct gg_malloc_heap *heap)
{
	return gg_load_seq_cst(&heap->remote_slabs) != NULL ||
	       gg_load_seq_cst(&heap->trim_wanted) != 0;
}

void gg_malloc_heap_abandon(struct gg_malloc_heap *heap)
{
	do {
		if (gg_exchange_seq_cst(&heap->trim_wanted, 0) != 0) {
			heap->keeps_nothing = true;
			gg_malloc_heap_trim(heap);
		} else {
			gg_malloc_collect_remote(heap);
		}
		gg_add_relaxed(&orphan_count, 1);
		/*
		 * Sequentially consistent: pairs with the push of a slab (remote_frees.h), and with
		 * trim_orphan().
		 */
		gg_exchange_seq_cst(&heap->state, GG_MALLOC_HEAP_ORPHAN);
	} while (has_work(heap) && gg_malloc_heap_claim(heap));
}

static bool has_handed(const struct gg_malloc_heap *heap)
{
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		if (heap->handed[i] != NULL || heap->supplies[i].rest != NULL)
			return true;
	return false;
}

/*
 * The draws of an orphan are from before a fork.  The child's threads that adopt it have other
 * samples than those of its siblings.
 */
static GG_COLD void forget_draws(struct gg_malloc_heap *heap)
{
	const struct gg_malloc_plan *plan = gg_malloc_plan();

	heap->fork_count = gg_load_relaxed(&fork_count);
	heap->rng = (struct gg_rng){ { 0 } };
	heap->plan = NULL; /* so that the next thread applies the plan anew */
	if (plan == NULL || !has_handed(heap))
		return;
	gg_malloc_heap_apply_plan(heap, plan);
	gg_malloc_heap_redraw(heap);
}

/* Claims an orphan and returns it.  NULL: there is no orphan. */
static struct gg_malloc_heap *find_orphan(void)
{
	struct gg_malloc_heap *heap;

	if (gg_load_relaxed(&orphan_count) <= 0)
		return NULL;
	heap = gg_load_relaxed(&untrimmed);
	if (heap != NULL && gg_malloc_heap_claim(heap))
		return heap;
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		if (gg_load_relaxed(&heap->state) == GG_MALLOC_HEAP_ORPHAN &&
		    gg_malloc_heap_claim(heap))
			return heap;
	return NULL;
}

static struct gg_malloc_heap *adopt(void)
{
	struct gg_malloc_heap *heap = find_orphan();

	if (heap == NULL)
		return NULL;
	/* Relaxed: a wish that comes later is forgotten when this thread ends. */
	gg_store_relaxed(&heap->trim_wanted, 0);
	heap->keeps_nothing = false;
	if (gg_unlikely(!is_of_process(heap)))
		forget_draws(heap);
	return heap;
}

static struct gg_malloc_heap *new_heap(void)
{
	struct gg_malloc_heap *heap, *first;

	heap = gg_malloc_map_memory(sizeof(*heap), PROT_READ | PROT_WRITE, 0);
	if (heap == NULL)
		return NULL;
	heap->number = gg_add_relaxed(&heap_count, 1);
	heap->fork_count = gg_load_relaxed(&fork_count);
	heap->purge_countdown = GG_MALLOC_PURGE_VISITS;
	for (unsigned i = 0; i < GG_COUNT(heap->class_of_words); i++)
		heap->class_of_words[i] = (uint8_t)gg_malloc_class_of((size_t)i * 16);
	first = gg_load_relaxed(&first_heap);
	/* Release: pairs with gg_malloc_first_heap(). */
	do
		heap->next = first;
	while (!gg_cas_acq_rel(&first_heap, &first, heap));
	return heap;
}

/* The heap may be half changed, so its memory is never used again. */
static void leave_section(void)
{
	if (own_heap != NULL)
		gg_store_relaxed(&own_heap->state, GG_MALLOC_HEAP_LOST);
	own_heap = NULL;
	gg_malloc_part_leave(GG_MALLOC_PART_HEAP);
}

/*
 * A thread that comes next adopts the heap and goes on with the blocks that it was handed.  So they
 * stay until another thread ends, or for as long as free memory waits (purge.h).
 */
void gg_malloc_heap_return(struct gg_malloc_heap *heap)
{
	struct gg_malloc_heap *last;

	/* Relaxed: a wish from before was for the end of an earlier thread. */
	gg_store_relaxed(&heap->trim_wanted, 0);
	gg_store_relaxed(&heap->end_ms, gg_malloc_purge_clock_ms());
	gg_malloc_heap_abandon(heap);
	/* Sequentially consistent: see gg_malloc_heap_trim_orphan(). */
	last = gg_exchange_seq_cst(&untrimmed, heap);
	if (last != heap)
		trim_orphan(last);
}

/* Runs when a thread ends: its destructors may still allocate, in this round and the next ones. */
static void end_thread(void *user)
{
	struct gg_malloc_heap *heap = user;

	if (heap != own_heap) /* it was left, and the thread could not get another one */
		return;
	if (++heap->end_rounds <= END_ROUNDS && pthread_setspecific(key, heap) == 0)
		return;
	has_ended = true;
	gg_malloc_thread_heap = &gg_malloc_empty_heap;
	/* A handler left a section, and the thread has not allocated since. */
	if (gg_unlikely((gg_malloc_inside & GG_MALLOC_PART_HEAP) != 0)) {
		leave_section();
		return;
	}
	own_heap = NULL;
	gg_malloc_heap_return(heap);
}

void gg_malloc_forked(void)
{
	struct gg_malloc_heap *heap = own_heap;

	child_number = (uint64_t)getpid();
	gg_add_relaxed(&fork_count, 1); /* a thread that adopts an orphan draws again */
	if (heap == NULL)
		return;
	/* The client of a child may want other settings, and sets them before the next list. */
	heap->visit_left_bytes = 0;
	/* A handler that forks may have interrupted work on the heap: then the next visit draws. */
	if ((gg_malloc_inside & GG_MALLOC_PART_HEAP) == 0)
		draw_in_child(heap);
}

/* In a forked child, where only the calling thread goes on. */
static void leave_heaps_of_parent(void)
{
	bool was_pushed = gg_malloc_forget_pushes(own_heap);
	struct gg_malloc_heap *heap;

	gg_malloc_forked();
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next) {
		/* Orphans are consistent, because a thread that works on a heap owns it. */
		if (heap != own_heap && gg_load_relaxed(&heap->state) == GG_MALLOC_HEAP_OWNED)
			gg_store_relaxed(&heap->state, GG_MALLOC_HEAP_LOST);
	}
	/* A handler that forked inside the heap may have interrupted the work on these lists. */
	if ((gg_malloc_inside & GG_MALLOC_PART_HEAP) == 0)
		gg_malloc_collect_for_parent(was_pushed);
}

/*
 * A handler may fork while its thread holds a lock, which that thread then gives in both processes.
 * If the thread only waits for the lock, or has just given it, another thread may hold it.
 *
 * wait: false: takes the lock only if it is free.
 */
static bool take_for_fork(struct gg_malloc_lock *lock, bool wait)
{
	uint64_t bits = (uint64_t)lock->part;
	bool was_waited_for = gg_malloc_lock_is_mine(lock);

	if (gg_malloc_lock_is_held(lock))
		return true;
	if (was_waited_for)
		bits |= (uint64_t)lock->part << WAITED_SHIFT;
	if (wait) {
		gg_malloc_lock_take(lock);
	} else if (!gg_malloc_lock_try(lock)) {
		if (was_waited_for)
			gg_malloc_part_enter(lock->part);
		return false;
	}
	fork_locks |= bits;
	return true;
}

static void give_after_fork(struct gg_malloc_lock *lock)
{
	uint64_t taken = (uint64_t)lock->part, waited = taken << WAITED_SHIFT;

	if ((fork_locks & taken) == 0)
		return;
	gg_malloc_lock_give(lock);
	if ((fork_locks & waited) != 0)
		gg_malloc_part_enter(lock->part);
	fork_locks &= ~(taken | waited);
}

/*
 * No lock is held by a thread that the child does not have.  Another thread's handler may fork at
 * the same time, while its thread holds one of the locks, and it will want the list of streams.  So
 * this one waits for each lock, and for that list, only while it holds nothing that it could give
 * (futex_lock.h).
 */
static void before_fork(void)
{
	struct gg_malloc_lock *first = &gg_malloc_huge_lock, *second = &gg_malloc_arena_lock, *busy;

	fork_locks <<= FORK_SHIFT;
	for (;;) {
		uint64_t signals;

		gg_stream_list_lock();
		signals = gg_malloc_block_signals();
		busy = !take_for_fork(first, false)    ? first
		       : !take_for_fork(second, false) ? second
		                                       : NULL;
		if (busy == NULL) {
			stream_list_count++;
			gg_malloc_restore_signals(signals);
			return;
		}
		if (busy == second)
			give_after_fork(first);
		gg_stream_list_unlock();
		take_for_fork(busy, true);
		give_after_fork(busy);
		gg_malloc_restore_signals(signals);
	}
}

static void give_all_after_fork(void)
{
	give_after_fork(&gg_malloc_arena_lock);
	give_after_fork(&gg_malloc_huge_lock);
	fork_locks >>= FORK_SHIFT;
}

static void after_fork(void)
{
	give_all_after_fork();
	if (stream_list_count == 0)
		return;
	stream_list_count--;
	gg_stream_list_unlock();
}

static void after_fork_in_child(void)
{
	give_all_after_fork();
	stream_list_count = 0;
	gg_stream_list_reset();
	leave_heaps_of_parent();
}

/* Both calls may allocate; the calling thread has its heap by then. */
static void make_key(void)
{
	gg_store_relaxed(&has_key, pthread_key_create(&key, end_thread) == 0);
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* A handler may have a stack of its own, which may be anywhere. */
static bool is_on_own_stack(void)
{
	int saved_errno = errno;
	stack_t own;
	bool is_own = syscall(SYS_sigaltstack, NULL, &own) != 0 || (own.ss_flags & SS_ONSTACK) != 0;

	errno = saved_errno;
	return is_own;
}

/* True if a handler has left the section by siglongjmp() (section.h). */
static bool section_was_left(void)
{
	uintptr_t above = gg_malloc_stack_pointer() + GG_MALLOC_SIGNAL_FRAME_BYTES -
	                  gg_malloc_section_sp;

	return above > 0 && above < STACK_BYTES && !is_on_own_stack();
}

/*
 * Finds a heap for the thread in a section.  So a handler that comes meanwhile gets emergency
 * blocks, and no second heap, of which one would be lost.  If the handler came before the section,
 * the thread has its heap by then.
 */
static struct gg_malloc_heap *find_heap(void)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();
	struct gg_malloc_heap *heap = own_heap;

	if (heap == NULL)
		heap = adopt();
	if (heap == NULL)
		heap = new_heap();
	/* In the section, because libc may allocate in the calls that follow it. */
	if (heap != NULL && !has_ended) {
		heap->end_rounds = 0;
		own_heap = heap;
		outer.heap = heap;
		/*
		 * A handler forked meanwhile: the next visit draws.  The child took the heap for
		 * one of a thread that it does not have.
		 */
		if (gg_unlikely(!is_of_process(heap))) {
			heap->visit_left_bytes = 0;
			gg_store_relaxed(&heap->state, GG_MALLOC_HEAP_OWNED);
		}
	}
	gg_malloc_section_end(outer);
	return heap;
}

struct gg_malloc_heap *gg_malloc_heap_get(void)
{
	const struct gg_malloc_client *client = gg_malloc_client;
	struct gg_malloc_heap *heap;

	if (gg_unlikely((gg_malloc_inside & GG_MALLOC_PART_HEAP) != 0)) {
		if (!section_was_left())
			return NULL;
		leave_section();
	}
	if (client != NULL && client->is_passing != NULL && client->is_passing())
		return NULL;
	heap = find_heap();
	if (heap == NULL || has_ended)
		return heap;
	pthread_once(&key_once, make_key);
	if (gg_load_relaxed(&has_key))
		pthread_setspecific(key, heap);
	return heap;
}
