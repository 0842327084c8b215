/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the allocator: frees of other threads' blocks, heaps of ended threads, forks.
 *
 * The program is built three times: plainly, with delays at every atomic operation (chaos), and by
 * `script/build tsan` with the thread sanitizer.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "emulated.h"
#include "malloc/arena.h"
#include "malloc/malloc_check.h"
#include "malloc/purge.h"
#include "malloc_trace.h"
#include "test.h"

static uint64_t sampled_count, freed_count;

static void sampled(void *p, size_t bytes, const struct gg_draw *draw)
{
	(void)p;
	(void)bytes;
	(void)draw;
	gg_add_relaxed(&sampled_count, 1);
}

static void freed(void *p)
{
	(void)p;
	gg_add_relaxed(&freed_count, 1);
}

static const struct gg_malloc_client client = { .sampled = sampled, .freed = freed };

static unsigned scale(void)
{
#if defined(GG_CHAOS) || defined(__SANITIZE_THREAD__)
	return 1;
#else
	return unless_emulated(10);
#endif
}

static pthread_t start(void *(*run)(void *), void *user)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, run, user) == 0);
	return thread;
}

static unsigned heap_count(void)
{
	unsigned count = 0;

	for (struct gg_malloc_heap *heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		count++;
	return count;
}

static size_t bytes_in_use(void)
{
	struct gg_malloc_arena_totals totals;

	gg_malloc_arena_read_totals(&totals);
	return totals.opened_bytes - totals.free_bytes;
}

/* Blocks on their way from one thread to another.  A word of each is its tag. */
struct mailbox {
	void *slots[64];
	uint32_t done;
	uint64_t wrong, passed;
	unsigned count; /* that the sender sends */
};

static void *receive(void *user)
{
	struct mailbox *box = user;

	for (;;) {
		bool is_done = gg_load_acquire(&box->done) != 0, any = false;

		for (size_t i = 0; i < GG_COUNT(box->slots); i++) {
			uint64_t *p = gg_exchange_acq_rel(&box->slots[i], NULL);

			if (p == NULL)
				continue;
			any = true;
			if (*p != (uintptr_t)p)
				gg_add_relaxed(&box->wrong, 1);
			box->passed++;
			geiger_free(p);
		}
		if (is_done && !any)
			return NULL;
		if (!any)
			sched_yield();
	}
}

static void *send_blocks(void *user)
{
	struct mailbox *box = user;
	uint64_t random = (uintptr_t)box;

	for (unsigned i = 0; i < box->count; i++) {
		uint64_t r = random_next(&random) >> 16;
		uint64_t *p = geiger_malloc(8 + r % (r % 64 == 0 ? 40000 : 500)), *old;

		*p = (uintptr_t)p;
		/* The receiver did not take this block. */
		old = gg_exchange_acq_rel(&box->slots[r / 1024 % GG_COUNT(box->slots)], p);
		if (old != NULL && *old != (uintptr_t)old)
			gg_add_relaxed(&box->wrong, 1);
		geiger_free(old);
		if (i % 256 == 0)
			sched_yield();
	}
	gg_store_release(&box->done, 1);
	return NULL;
}

static void pass_blocks(double interval_bytes)
{
	enum { PAIRS = 3 };
	static struct mailbox boxes[PAIRS];
	pthread_t threads[2 * PAIRS];

	gg_malloc_set_client(&client);
	gg_malloc_set_interval(interval_bytes, 7);
	for (int i = 0; i < PAIRS; i++) {
		boxes[i] = (struct mailbox){ .count = 10000 * scale() };
		threads[2 * i] = start(receive, &boxes[i]);
		threads[2 * i + 1] = start(send_blocks, &boxes[i]);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ_U64(boxes[i].wrong, 0);
		CHECK(boxes[i].passed > 0);
	}
	gg_malloc_set_interval(0, 0);
	CHECK_EQ_U64(sampled_count, freed_count);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(blocks_are_freed_by_other_threads)
{
	pass_blocks(0);
	CHECK_EQ_U64(sampled_count, 0);
}

TEST(samples_are_freed_by_other_threads)
{
	pass_blocks(2000);
	CHECK(sampled_count > 100);
}

static void *purge_slots(void *user)
{
	while (gg_load_acquire((uint32_t *)user) == 0)
		gg_malloc_slots_purge();
	return NULL;
}

/* Purges claim slots for a moment, and threads find others. */
TEST(slots_go_back_while_threads_use_them)
{
	struct mailbox box = { .count = 10000 * scale() };
	pthread_t threads[3];
	uint32_t done = 0;

	gg_malloc_set_client(&client);
	gg_malloc_set_interval(64, 7);
	threads[0] = start(purge_slots, &done);
	threads[1] = start(receive, &box);
	threads[2] = start(send_blocks, &box);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	gg_store_release(&done, 1);
	pthread_join(threads[0], NULL);
	gg_malloc_set_interval(0, 0);
	CHECK_EQ_U64(box.wrong, 0);
	CHECK(sampled_count > 0);
	CHECK_EQ_U64(sampled_count, freed_count);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* A thread allocates, ends, and leaves its blocks to the next one. */
static void *allocate_some(void *user)
{
	void **blocks = user;

	for (int i = 0; i < 400; i++)
		blocks[i] = geiger_malloc(100 + (size_t)i);
	return NULL;
}

TEST(blocks_outlive_their_thread_and_heaps_are_adopted)
{
	unsigned heaps = heap_count();
	void *blocks[400];

	for (unsigned round = 0; round < 50 * scale(); round++) {
		pthread_join(start(allocate_some, blocks), NULL);
		for (int i = 0; i < 400; i++)
			geiger_free(blocks[i]);
	}
	CHECK_MSG(heap_count() <= heaps + 1, "%u heaps", heap_count());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* A thread that only frees gives memory of ended threads back. */
static void *use_many_classes(void *user)
{
	(void)user;
	for (size_t bytes = 16; bytes <= 8192; bytes += bytes / 8 < 16 ? 16 : bytes / 8)
		geiger_free(memset(geiger_malloc(bytes), 1, bytes));
	return NULL;
}

static void run_threads_at_once(unsigned count)
{
	pthread_t threads[16];

	for (unsigned i = 0; i < count; i++)
		REQUIRE(pthread_create(&threads[i], NULL, use_many_classes, NULL) == 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* The thread that ended last leaves its blocks to the next one; the other ones give them back. */
TEST(one_ended_thread_keeps_what_it_was_handed_for_a_while)
{
	size_t before, one;

	/* First, because heaps of earlier tests have blocks as well. */
	run_threads_at_once(1);
	geiger_malloc_trim();
	before = bytes_in_use();
	run_threads_at_once(1);
	one = bytes_in_use() - before;
	CHECK(one > 0);
	run_threads_at_once(16);
	CHECK_MSG(bytes_in_use() - before <= one, "%zu bytes after one thread, %zu after many", one,
	          bytes_in_use() - before);
	geiger_malloc_trim();
	CHECK_MSG(bytes_in_use() <= before, "%zu bytes are left of %zu", bytes_in_use(), before);
	before = bytes_in_use();
	run_threads_at_once(1);
	CHECK(bytes_in_use() > before);
	/* As if the time was over. */
	gg_malloc_arena_set_delay(0);
	gg_malloc_heap_purge(gg_malloc_thread_heap);
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_DELAY_MS);
	CHECK_MSG(bytes_in_use() <= before, "%zu bytes are left of %zu", bytes_in_use(), before);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(memory_of_ended_threads_is_reclaimed_by_whoever_frees_it)
{
	enum { THREADS = 8, BLOCKS = 400 };
	static void *blocks[THREADS][BLOCKS];
	pthread_t threads[THREADS];
	size_t before = bytes_in_use();

	for (int i = 0; i < THREADS; i++)
		threads[i] = start(allocate_some, blocks[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < BLOCKS; j++)
			geiger_free(blocks[i][j]);
	/* The orphan whose thread ended last keeps two slabs of each of 11 classes at most. */
	CHECK_MSG(bytes_in_use() <= before + (size_t)2 * 11 * 65536, "%zu bytes more",
	          bytes_in_use() - before);
	geiger_malloc_trim();
	CHECK_MSG(bytes_in_use() <= before, "%zu bytes more", bytes_in_use() - before);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* Threads that are live at once, and use all classes. */
struct crowd {
	pthread_barrier_t barrier;
	struct member {
		struct crowd *crowd;
		struct member *frees; /* whose blocks it frees; NULL: nobody's */
		void *blocks[1000];
	} members[24];
};

static void free_blocks_of(struct member *member)
{
	for (size_t i = 0; i < GG_COUNT(member->blocks); i++)
		geiger_free(member->blocks[i]);
}

static void *join_crowd(void *user)
{
	struct member *member = user;

	for (size_t i = 0; i < GG_COUNT(member->blocks); i++)
		member->blocks[i] = geiger_malloc(16 + i * i % 32753);
	pthread_barrier_wait(&member->crowd->barrier);
	if (member->frees != NULL)
		free_blocks_of(member->frees);
	pthread_barrier_wait(&member->crowd->barrier);
	return NULL;
}

/* Member i frees the blocks of member i + shift; shift -1: all blocks are freed after the end. */
static void crowd_comes_and_goes(int shift)
{
	enum { MEMBERS = GG_COUNT(((struct crowd *)NULL)->members) };
	static struct crowd crowd;
	pthread_t threads[MEMBERS];
	size_t before;

	geiger_malloc_trim();
	before = bytes_in_use();
	pthread_barrier_init(&crowd.barrier, NULL, MEMBERS);
	for (int i = 0; i < MEMBERS; i++) {
		struct member *member = &crowd.members[i];

		member->crowd = &crowd;
		member->frees = shift < 0 ? NULL : &crowd.members[(i + shift) % MEMBERS];
		threads[i] = start(join_crowd, member);
	}
	for (int i = 0; i < MEMBERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MEMBERS && shift < 0; i++)
		free_blocks_of(&crowd.members[i]);
	/* One heap keeps what it has, which is two slabs of each class at most. */
	CHECK_MSG(bytes_in_use() <= before + ((size_t)16 << 20), "shift %d: %zu bytes more", shift,
	          bytes_in_use() - before);
	geiger_malloc_trim();
	CHECK_MSG(bytes_in_use() <= before, "shift %d: %zu bytes more after a trim", shift,
	          bytes_in_use() - before);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	pthread_barrier_destroy(&crowd.barrier);
}

TEST(threads_that_were_live_at_once_leave_the_memory_of_one)
{
	crowd_comes_and_goes(0);
	crowd_comes_and_goes(1);
	crowd_comes_and_goes(-1);
}

/* The heap of a thread that has ended, with what it was handed. */
static struct gg_malloc_heap *ended_heap(void)
{
	struct gg_malloc_heap *heap;

	geiger_malloc_trim();
	run_threads_at_once(1);
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
			if (heap != gg_malloc_thread_heap && heap->handed[i] != NULL)
				return heap;
	return NULL;
}

TEST(a_trim_waits_for_whoever_has_claimed_the_heap)
{
	struct gg_malloc_heap *heap = ended_heap();
	size_t before = bytes_in_use();

	REQUIRE(heap != NULL);
	/* As a thread does that collects what was freed there. */
	REQUIRE(gg_malloc_heap_claim(heap));
	geiger_malloc_trim();
	gg_malloc_collect_remote(heap);
	gg_malloc_heap_abandon(heap);
	CHECK_MSG(bytes_in_use() < before, "%zu bytes are in use, of %zu", bytes_in_use(), before);
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		CHECK(heap->handed[i] == NULL && heap->supplies[i].current == NULL);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

struct producer {
	void *ring[1024];
	uint64_t head, tail; /* stored by the producer and the consumer */
	uint64_t count;
};

static void *produce(void *user)
{
	struct producer *p = user;

	for (uint64_t i = 0; i < p->count; i++) {
		while (i - gg_load_acquire(&p->tail) == GG_COUNT(p->ring))
			sched_yield();
		p->ring[i % GG_COUNT(p->ring)] = geiger_malloc(128);
		gg_store_release(&p->head, i + 1);
	}
	return NULL;
}

/* All frees are remote; 1024 blocks of 128 bytes are live at most. */
TEST(a_producer_and_a_consumer_need_little_memory)
{
	static struct producer producer;
	size_t before = bytes_in_use();
	pthread_t thread;

	producer = (struct producer){ .count = 30000 * scale() };
	thread = start(produce, &producer);
	for (uint64_t i = 0; i < producer.count; i++) {
		while (gg_load_acquire(&producer.head) == i)
			sched_yield();
		geiger_free(producer.ring[i % GG_COUNT(producer.ring)]);
		gg_store_release(&producer.tail, i + 1);
	}
	CHECK_MSG(bytes_in_use() < before + (1 << 20), "%zu bytes more", bytes_in_use() - before);
	pthread_join(thread, NULL);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* Destructors of other keys allocate and free, also after that of the allocator has run. */
static pthread_key_t late_key;
static uint64_t late_count;

static void allocate_late(void *user)
{
	uint64_t rounds = (uintptr_t)user;
	void *p = geiger_malloc(200), *q = geiger_calloc(10, 100);

	memset(p, 1, 200);
	geiger_free(p);
	geiger_free(q);
	gg_add_relaxed(&late_count, 1);
	if (rounds > 1)
		pthread_setspecific(late_key, (void *)(uintptr_t)(rounds - 1)); /* NOLINT */
}

static void *end_late(void *user)
{
	(void)user;
	geiger_free(geiger_malloc(100));
	pthread_setspecific(late_key, (void *)(uintptr_t)4); /* NOLINT */
	return NULL;
}

TEST(destructors_may_allocate_to_the_last_round)
{
	unsigned heaps;

	REQUIRE(pthread_key_create(&late_key, allocate_late) == 0);
	pthread_join(start(end_late, NULL), NULL);
	heaps = heap_count();
	for (int i = 0; i < 20; i++)
		pthread_join(start(end_late, NULL), NULL);
	CHECK_EQ_U64(gg_load_relaxed(&late_count), 21 * 4);
	CHECK_MSG(heap_count() <= heaps, "%u heaps, then %u", heaps, heap_count());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static uint32_t stop;

static void *churn(void *user)
{
	static struct trace traces[4];
	struct trace *trace = &traces[(uintptr_t)user];

	*trace = (struct trace){ .random = 31 + (uintptr_t)user };
	while (gg_load_relaxed(&stop) == 0)
		trace_step(trace);
	trace_end(trace);
	return (void *)(uintptr_t)trace->wrong; /* NOLINT */
}

/* Children continue with the heap of the thread that forked, whatever the others did. */
TEST(forked_children_allocate_while_other_threads_of_the_parent_did)
{
	/* Under an emulator, a fork waits for each of the busy threads. */
	const unsigned children = getenv("TEST_EMULATOR") == NULL ? 10 * scale() : 3;
	pthread_t threads[4];
	int failures = 0;

	gg_malloc_set_interval(2000, 3);
	for (uintptr_t i = 0; i < 4; i++)
		threads[i] = start(churn, (void *)i); /* NOLINT */
	for (unsigned i = 0; i < children; i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			static struct trace trace;

			alarm(60);
			trace = (struct trace){ .random = 1 + i };
			for (int j = 0; j < 3000; j++)
				trace_step(&trace);
			trace_end(&trace);
			_exit(trace.wrong != 0);
		}
		waitpid(child, &status, 0);
		failures += status != 0;
	}
	gg_store_relaxed(&stop, 1);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		CHECK_EQ_PTR(wrong, NULL);
	}
	gg_malloc_set_interval(0, 0);
	CHECK_EQ_I64(failures, 0);
	CHECK_EQ_U64(sampled_count, freed_count);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static uint64_t *gaps_hash;

/* Notes after how many allocations each sample comes. */
static void *hash_gaps(void *user)
{
	uint64_t before = gg_load_relaxed(&sampled_count);

	for (uint64_t i = 0; i < 20000; i++) {
		geiger_free(geiger_malloc(64));
		geiger_free(geiger_malloc(40000));
		if (gg_load_relaxed(&sampled_count) != before)
			*gaps_hash = *gaps_hash * UINT64_C(0x9e3779b97f4a7c15) + i;
		before = gg_load_relaxed(&sampled_count);
	}
	return user;
}

/* A fork that calls no handlers, as _Fork() and its hook. */
static pid_t fork_without_handlers(void)
{
	long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		gg_malloc_forked();
	return (pid_t)child;
}

static uint64_t hash_of_child(pid_t (*fork_child)(void))
{
	int status = 0;
	pid_t child;

	*gaps_hash = 0;
	child = fork_child();
	if (child == 0) {
		alarm(60);
		pthread_join(start(hash_gaps, NULL), NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	CHECK_EQ_I64(status, 0);
	return *gaps_hash;
}

static void compare_siblings(pid_t (*fork_child)(void))
{
	uint64_t first, second;

	gaps_hash = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(gaps_hash != MAP_FAILED);
	gg_malloc_set_client(&client);
	gg_malloc_set_interval(100000, 3);
	pthread_join(start(hash_gaps, NULL), NULL);
	first = hash_of_child(fork_child);
	second = hash_of_child(fork_child);
	gg_malloc_set_interval(0, 0);
	CHECK(first != 0 && second != 0);
	CHECK(first != second);
	munmap(gaps_hash, 4096);
}

TEST(threads_of_siblings_that_adopt_a_heap_have_other_samples)
{
	compare_siblings(fork);
}

TEST(threads_of_siblings_without_handlers_have_other_samples)
{
	compare_siblings(fork_without_handlers);
}
