/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers that allocate while they interrupt the allocator on their own thread.
 *
 * The allocator is built with a call of gg_chaos() before each atomic operation.  Here that call is
 * the handler: it allocates, resizes and frees, so it interrupts every lock, every refill and every
 * slab event at each place between two atomic operations.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/chaos.h"
#include "emulated.h"
#include "malloc/arena.h"
#include "malloc/emergency.h"
#include "malloc/huge_blocks.h"
#include "malloc/malloc_check.h"
#include "malloc_trace.h"
#include "test.h"

enum { HANDLER_BLOCKS = 100, GIFTS = 16 };

static struct {
	bool is_on;        /* handlers run */
	bool is_inside;    /* one runs now: none interrupts it */
	bool is_child;     /* a handler forked, and this is the child */
	unsigned fork_one; /* of so many handlers one forks; 0: none */
	uint64_t random, calls, emergencies, wrong, forks, failed_children;
	struct trace_block blocks[HANDLER_BLOCKS];
	void *gifts[GIFTS]; /* blocks of the interrupted code, for a handler to free */
} handler;

/* Handlers do nothing but fork, at each atomic operation. */
static bool only_forks;

static bool sends_inside_huge;
static volatile sig_atomic_t handled_signals, handled_inside_huge;

/* The next handler inside a heap leaves it by a jump; NULL: it does not. */
static jmp_buf *leaves;

static void fork_and_check(void);

static void wait_for_child(pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	handler.failed_children += status != 0;
}

static void handler_frees(struct trace_block *block)
{
	handler.wrong += block->p != NULL && !trace_is_filled(block, block->bytes);
	geiger_free(block->p);
	block->p = NULL;
}

static void handler_allocates(struct trace_block *block, uint64_t r)
{
	static const size_t sizes[] = { 24, 24, 200, 200, 1000, 5000, 20000, 100000 };
	size_t bytes = sizes[r % GG_COUNT(sizes)];

	if (r % 512 == 7)
		bytes = GG_MALLOC_RUN_BYTES_MAX + 1;
	switch (r / 512 % 4) {
	case 0:
		block->p = geiger_calloc(1, bytes);
		handler.wrong += block->p != NULL && (block->p[0] != 0 || block->p[bytes - 1] != 0);
		break;
	case 1:
		block->p = geiger_aligned_alloc(64, bytes);
		handler.wrong += (uintptr_t)block->p % 64 != 0;
		break;
	case 2:
		block->p = geiger_realloc(geiger_malloc(bytes / 2), bytes);
		break;
	default:
		block->p = geiger_malloc(bytes);
	}
	/* Huge blocks fail while the handler's thread has the lock of their table. */
	handler.wrong += block->p == NULL && bytes <= GG_MALLOC_RUN_BYTES_MAX;
	if (block->p == NULL)
		return;
	handler.emergencies += gg_malloc_emergency_size(block->p) != 0;
	block->bytes = bytes < 300 ? bytes : 300;
	block->fill = (unsigned char)(r >> 20);
	memset(block->p, block->fill, block->bytes);
}

void gg_chaos(void)
{
	/* The kernel puts the registers of the interrupted code there. */
	char signal_frame[2 * GG_MALLOC_SIGNAL_FRAME_BYTES];
	uint64_t r;
	struct trace_block *block;

	__asm__ volatile("" : : "r"(signal_frame) : "memory");
	/* Not by gg_load_relaxed(), which gets here again. */
	if (sends_inside_huge && gg_malloc_huge_lock.state >> 1 == gg_malloc_thread_number) {
		int before = handled_signals;

		raise(SIGUSR2);
		handled_inside_huge += handled_signals != before;
	}
	if (leaves != NULL && (gg_malloc_inside & GG_MALLOC_PART_HEAP) != 0) {
		jmp_buf *where = leaves;

		leaves = NULL;
		longjmp(*where, 1);
	}

	if (only_forks && !handler.is_inside) {
		handler.is_inside = true;
		fork_and_check();
		handler.is_inside = false;
	}
	if (!handler.is_on || handler.is_inside)
		return;
	handler.is_inside = true;
	handler.calls++;
	r = random_next(&handler.random) >> 8;
	block = &handler.blocks[r / 4096 % HANDLER_BLOCKS];
	/* Now and then it has nothing, so that the emergency blocks begin again. */
	for (int i = 0; i < HANDLER_BLOCKS && handler.calls % 64 == 0; i++)
		handler_frees(&handler.blocks[i]);
	if (r % 4 == 0) {
		geiger_free(handler.gifts[r / 4 % GIFTS]);
		handler.gifts[r / 4 % GIFTS] = NULL;
	}
	handler_frees(block);
	handler_allocates(block, r >> 24);
	if (handler.fork_one != 0 && r % handler.fork_one == 0 && !handler.is_child) {
		pid_t child = fork();

		handler.forks++;
		if (child == 0) {
			alarm(60);
			handler.is_child = true;
		} else {
			wait_for_child(child);
		}
	}
	handler.is_inside = false;
}

static void begin(unsigned fork_one)
{
	memset(&handler, 0, sizeof(handler));
	handler.random = 99;
	handler.fork_one = fork_one;
	handler.is_on = true;
}

static void end(void)
{
	handler.is_on = false;
	for (int i = 0; i < GIFTS; i++)
		geiger_free(handler.gifts[i]);
	for (int i = 0; i < HANDLER_BLOCKS; i++)
		handler_frees(&handler.blocks[i]);
	geiger_malloc_trim();
}

static void run_trace(struct trace *trace, unsigned steps)
{
	for (unsigned i = 0; i < steps && !handler.is_child; i++) {
		uint64_t r = random_next(&trace->random) >> 8;
		void **gift = &handler.gifts[r % GIFTS];

		trace_step(trace);
		/* Some with the size of a run, and a few huge ones. */
		if (*gift == NULL)
			*gift = geiger_malloc(r % 1024 == 0 ? GG_MALLOC_RUN_BYTES_MAX + 1
			                      : r % 8 == 0  ? 50000
			                                    : r / 8 % 3000);
		if (i % 1000 == 999)
			geiger_malloc_trim();
	}
}

static void check_trace(double interval_bytes)
{
	static struct trace trace;

	gg_malloc_set_interval(interval_bytes, 5);
	trace = (struct trace){ .random = 17 };
	begin(0);
	run_trace(&trace, unless_emulated(20000));
	trace_end(&trace);
	end();
	CHECK_EQ_U64(trace.wrong, 0);
	CHECK_EQ_U64(handler.wrong, 0);
	CHECK_MSG(handler.calls > unless_emulated(10000), "%llu handlers",
	          (unsigned long long)handler.calls);
	CHECK_MSG(handler.emergencies > unless_emulated(100),
	          "%llu emergency blocks of %llu handlers", (unsigned long long)handler.emergencies,
	          (unsigned long long)handler.calls);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	gg_malloc_set_interval(0, 0);
}

TEST(handlers_that_interrupt_locks_and_refills_allocate_and_free)
{
	check_trace(0);
}

TEST(handlers_do_so_too_while_most_blocks_are_samples)
{
	check_trace(300);
}

/* The child goes on where the handler interrupted its parent. */
TEST(handlers_may_fork_there)
{
	static struct trace trace;

	trace = (struct trace){ .random = 23 };
	begin(256);
	run_trace(&trace, unless_emulated(3000));
	trace_end(&trace);
	end();
	if (handler.is_child)
		_exit(trace.wrong != 0 || handler.wrong != 0 || gg_malloc_validate() != NULL);
	CHECK_MSG(handler.forks > unless_emulated(20), "%llu forks",
	          (unsigned long long)handler.forks);
	CHECK_EQ_U64(handler.failed_children, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static void fork_and_check(void)
{
	pid_t child = fork();

	if (child == 0) {
		void *p;

		alarm(20);
		only_forks = false;
		p = geiger_malloc(100000);
		_exit(p == NULL);
	}
	handler.forks++;
	wait_for_child(child);
}

TEST(a_handler_may_fork_during_a_fork)
{
	void *huge, *run;
	pid_t child;

	geiger_free(geiger_malloc(100000));
	memset(&handler, 0, sizeof(handler));
	only_forks = true;
	child = fork();
	only_forks = false;
	alarm(20);
	huge = geiger_malloc(GG_MALLOC_RUN_BYTES_MAX + 1);
	run = geiger_malloc(200000);
	if (child == 0)
		_exit(huge == NULL || gg_malloc_slab_of(run) == NULL);
	alarm(0);
	wait_for_child(child);
	CHECK(huge != NULL);
	CHECK(gg_malloc_slab_of(run) != NULL);
	CHECK_MSG(handler.forks >= 4, "%llu forks", (unsigned long long)handler.forks);
	CHECK_EQ_U64(handler.failed_children, 0);
	geiger_free(huge);
	geiger_free(run);
}

/* As in a handler that interrupts the work on a heap. */
TEST(a_child_that_was_forked_there_keeps_its_heap_and_draws_anew)
{
	struct gg_malloc_heap *heap;
	struct gg_malloc_section outer;
	pid_t child;

	memset(&handler, 0, sizeof(handler));
	gg_malloc_set_interval(3000, 5);
	geiger_free(geiger_malloc(100000));
	heap = gg_malloc_thread_heap;
	outer = gg_malloc_section_begin();
	child = fork();
	gg_malloc_section_end(outer);
	if (child == 0) {
		struct gg_rng of_parent = heap->rng;
		bool is_kept = heap->state == GG_MALLOC_HEAP_OWNED;

		geiger_free(geiger_malloc(100000));
		_exit(!is_kept || memcmp(&of_parent, &heap->rng, sizeof(of_parent)) == 0 ||
		      gg_malloc_validate() != NULL);
	}
	wait_for_child(child);
	CHECK_EQ_U64(handler.failed_children, 0);
	gg_malloc_set_interval(0, 0);
}

static pthread_t waiting_thread;
static volatile sig_atomic_t handler_forks;

static void *hold_the_lock(void *user)
{
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	*(volatile bool *)user = true;
	usleep(20000);
	pthread_kill(waiting_thread, SIGUSR1);
	while (!handler_forks)
		usleep(100);
	usleep(20000);
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	return NULL;
}

static void fork_in_handler(int number)
{
	pid_t child;

	(void)number;
	handler_forks = 1;
	child = fork();
	if (child == 0) {
		alarm(20);
		handler.is_child = true;
	} else {
		wait_for_child(child);
	}
}

/* The child has to get the lock, which another thread of its parent held. */
TEST(a_handler_may_fork_while_its_thread_waits_for_a_lock)
{
	volatile bool is_held = false;
	pthread_t holder;
	void *run;

	memset(&handler, 0, sizeof(handler));
	waiting_thread = pthread_self();
	signal(SIGUSR1, fork_in_handler);
	REQUIRE(pthread_create(&holder, NULL, hold_the_lock, (void *)&is_held) == 0);
	while (!is_held)
		usleep(100);
	run = geiger_malloc(100000);
	if (handler.is_child)
		_exit(gg_malloc_slab_of(run) == NULL);
	pthread_join(holder, NULL);
	CHECK(gg_malloc_slab_of(run) != NULL);
	CHECK(handler_forks != 0);
	CHECK_EQ_U64(handler.failed_children, 0);
	CHECK_EQ_U64(gg_malloc_inside, 0);
	geiger_free(run);
	signal(SIGUSR1, SIG_DFL);
}

static volatile bool circle_has_begun, circle_is_left;

/* As in a handler that interrupts the holder of the arena's lock. */
static void *fork_inside_the_arena(void *user)
{
	pid_t child;

	(void)user;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	circle_has_begun = true;
	usleep(20000); /* the other thread is in fork() meanwhile, and waits for the arena */
	child = fork();
	if (child == 0)
		_exit(0);
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	wait_for_child(child);
	circle_is_left = true;
	return NULL;
}

static void fork_in_two_threads(void)
{
	pthread_t other;
	pid_t child;

	for (unsigned round = 0; round < unless_emulated(5); round++) {
		circle_has_begun = circle_is_left = false;
		if (pthread_create(&other, NULL, fork_inside_the_arena, NULL) != 0)
			_exit(2);
		while (!circle_has_begun)
			usleep(100);
		child = fork();
		if (child == 0)
			_exit(geiger_malloc(100000) == NULL);
		wait_for_child(child);
		pthread_join(other, NULL);
	}
	_exit(handler.failed_children != 0 || !circle_is_left);
}

TEST(a_handler_inside_the_arena_and_another_thread_may_fork_at_once)
{
	int status = -1;
	pid_t child;

	memset(&handler, 0, sizeof(handler));
	geiger_free(geiger_malloc(100000));
	child = fork();
	if (child == 0)
		fork_in_two_threads();
	/* fork() blocks signals while it waits, so only SIGKILL ends a circle. */
	for (int i = 0; i < 20000 && waitpid(child, &status, WNOHANG) == 0; i++)
		usleep(1000);
	if (status == -1) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	CHECK_EQ_I64(status, 0);
}

static void note_signal(int number)
{
	(void)number;
	handled_signals++;
}

/* As if a signal came while the table is locked: it is handled after the lock is given. */
TEST(no_handler_interrupts_the_holder_of_the_table_of_huge_blocks)
{
	sigset_t before, after;
	void *huge;

	memset(&handler, 0, sizeof(handler));
	handled_signals = 0;
	signal(SIGUSR2, note_signal);
	sends_inside_huge = true;
	huge = geiger_malloc(GG_MALLOC_RUN_BYTES_MAX + 1);
	sends_inside_huge = false;
	CHECK(huge != NULL);
	CHECK_EQ_I64(handled_inside_huge, 0);
	CHECK(handled_signals > 0);
	sigprocmask(SIG_BLOCK, NULL, &before);
	geiger_free(huge);
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK_EQ_I64(sigismember(&after, SIGUSR2), 0);
	CHECK_EQ_I64(sigismember(&before, SIGUSR2), 0);
	signal(SIGUSR2, SIG_DFL);
}

/* Until the thread is back at the level of the section, it cannot be known. */
/* Allocates until a handler inside a section jumps back here. */
static __attribute__((noinline)) void leave_section_by_jump(void)
{
	jmp_buf here;

	if (setjmp(here) == 0) {
		leaves = &here;
		for (;;)
			geiger_malloc(100);
	}
}

TEST(a_section_that_a_handler_left_by_a_jump_ends_at_the_next_call)
{
	struct gg_malloc_heap *left;
	void *p;

	geiger_free(geiger_malloc(100000));
	left = gg_malloc_thread_heap;
	leave_section_by_jump();
	CHECK(gg_malloc_inside != 0);
	p = geiger_malloc(100);
	CHECK_EQ_U64(gg_malloc_inside, 0);
	CHECK(gg_malloc_slab_of(p) != NULL);
	CHECK(gg_malloc_thread_heap != left && gg_malloc_thread_heap != &gg_malloc_empty_heap);
	CHECK_EQ_U64(left->state, GG_MALLOC_HEAP_LOST);
	geiger_free(p);
}

static void *end_after_a_jump(void *unused)
{
	struct gg_malloc_heap *left;

	(void)unused;
	geiger_free(geiger_malloc(100));
	left = gg_malloc_thread_heap;
	leave_section_by_jump();
	return left;
}

TEST(a_thread_that_ends_after_such_a_jump_leaves_its_heap_to_nobody)
{
	struct gg_malloc_heap *left = NULL;
	pthread_t thread;
	void *heap;

	REQUIRE(pthread_create(&thread, NULL, end_after_a_jump, NULL) == 0);
	pthread_join(thread, &heap);
	left = heap;
	CHECK_EQ_U64(left->state, GG_MALLOC_HEAP_LOST);
}

static void *allocate_once(void *unused)
{
	(void)unused;
	geiger_free(geiger_malloc(100));
	return NULL;
}

static unsigned heaps_of_other_threads(void)
{
	unsigned count = 0;

	for (struct gg_malloc_heap *heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		count += heap != gg_malloc_thread_heap && heap->state == GG_MALLOC_HEAP_OWNED;
	return count;
}

/* The handler allocates while its thread gets its heap.  All threads have ended in the end. */
TEST(a_handler_that_interrupts_the_first_allocation_of_a_thread_costs_no_heap)
{
	pthread_t thread;

	geiger_free(geiger_malloc(100));
	for (unsigned i = 0; i < 20; i++) {
		begin(0);
		handler.random = i;
		REQUIRE(pthread_create(&thread, NULL, allocate_once, NULL) == 0);
		pthread_join(thread, NULL);
		CHECK(handler.calls > 0);
		end();
		CHECK_EQ_U64(handler.wrong, 0);
	}
	CHECK_EQ_U64(heaps_of_other_threads(), 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* The emergency blocks by themselves. */
TEST(emergency_blocks_are_used_again_when_all_are_free)
{
	char *first = gg_malloc_emergency_alloc(100, 1), *p = first, *q;

	for (int round = 0; round < 3; round++) {
		CHECK(p == first && (uintptr_t)p % 16 == 0);
		CHECK(gg_malloc_emergency_size(p) >= 100);
		q = gg_malloc_emergency_alloc(0, 4096);
		CHECK(q != NULL && q != p && (uintptr_t)q % 4096 == 0);
		CHECK(gg_malloc_emergency_size(q) > 0);
		CHECK(gg_malloc_emergency_alloc((size_t)65 << 20, 1) == NULL);
		CHECK(gg_malloc_emergency_free(p));
		CHECK(gg_malloc_emergency_free(q));
		p = gg_malloc_emergency_alloc(100, 1);
	}
	CHECK(gg_malloc_emergency_free(p));
	CHECK(!gg_malloc_emergency_free(&first) && gg_malloc_emergency_size(&first) == 0);
}

/* As handlers of which each frees the block of the one before it. */
TEST(emergency_blocks_last_although_one_of_them_is_always_live)
{
	enum { BYTES = 1 << 20, ROUNDS = 1000 };
	char *live = gg_malloc_emergency_alloc(BYTES, 1), *next;

	for (int round = 0; round < ROUNDS; round++) {
		next = gg_malloc_emergency_alloc(BYTES, 1);
		REQUIRE(next != NULL);
		*next = (char)round;
		CHECK(gg_malloc_emergency_free(live));
		live = next;
	}
	CHECK(gg_malloc_emergency_size(live) >= BYTES);
	CHECK(gg_malloc_emergency_free(live));
}
