/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every order in which threads can reach the atomic operations of remote frees, of orphans and of
 * trims, for small scenarios.
 *
 * The allocator is built so that each atomic operation first calls gg_chaos() (base/chaos.h).  Here
 * that function decides which thread goes on.  All others wait, so one thread runs at a time, and a
 * list of decisions describes a run completely.  A depth-first search visits all lists that change
 * the thread at most PREEMPTIONS times where the thread could have gone on.
 *
 * Each run is a forked process, so all runs begin with the same state, and a run that crashes or
 * hangs names its list.  `GG_TEST_PREEMPTIONS` is the bound, and `GG_TEST_ORDER` repeats one list.
 *
 * Not here  Orders that only a weak memory model allows: one operation follows the other.  The
 *           holder of the arena's lock is not stopped, because others would only wait.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "base/chaos.h"
#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/malloc_check.h"
#include "malloc/purge.h"
#include "malloc/remote_frees.h"
#include "malloc/thread_heap.h"
#include "test.h"

enum {
	PREEMPTIONS = 1,
	DECISIONS_MAX = 4096,
	WORKERS_MAX = 3,
	BLOCKS = 8,
	SECONDS_MOST = 30, /* of one run */
	END_ROUNDS = 3, /* of destructors, in the last of which the allocator's own ends the heap */
};

/* One run.  The parent, which searches, and the child share it. */
struct order {
	uint32_t given;                 /* decisions that the parent has made */
	uint32_t count;                 /* decisions of the run */
	uint8_t chosen[DECISIONS_MAX];  /* which of the threads that could go on */
	uint8_t options[DECISIONS_MAX]; /* how many could */
	bool can_stay[DECISIONS_MAX];   /* the first option is to go on with the same thread */
	char wrong[200];
};
static struct order *order;

struct scenario;

struct worker {
	uint32_t is_next; /* a futex: 1: the thread goes on */
	bool is_there, is_over;
	pthread_t thread;
	const struct scenario *scenario;
	unsigned number;
};

/* The work of thread `number` before the run, and in it. */
struct scenario {
	unsigned workers;
	void (*before)(unsigned number);
	void (*act)(unsigned number);
	void (*check)(void); /* at the end, besides check_heaps(); NULL: nothing */
};

static struct worker workers[WORKERS_MAX];
static unsigned worker_count;
static _Thread_local struct worker *me; /* NULL: the thread does not take part now */
static pthread_key_t end_key;
static uint32_t arrived;
static size_t bytes_before;
static pid_t run_pid; /* a child of the run has one thread, and nothing to decide */

/* Blocks that scenarios pass between their threads. */
static void *blocks[WORKERS_MAX][BLOCKS];

/* The test's own operations must not call gg_chaos(). */
static void wait_until_next(struct worker *worker)
{
	while (__atomic_exchange_n(&worker->is_next, 0, __ATOMIC_ACQ_REL) == 0)
		syscall(SYS_futex, &worker->is_next, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void let_go_on(struct worker *worker)
{
	__atomic_store_n(&worker->is_next, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &worker->is_next, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Returns the thread that goes on; NULL: all are over.  `mine` comes first if it can go on. */
static struct worker *decide(struct worker *mine)
{
	struct worker *able[WORKERS_MAX];
	uint32_t count = 0, i = order->count;
	unsigned choice;

	if (mine != NULL && !mine->is_over)
		able[count++] = mine;
	for (unsigned k = 0; k < worker_count; k++)
		if (&workers[k] != mine && !workers[k].is_over)
			able[count++] = &workers[k];
	if (count <= 1)
		return count == 0 ? NULL : able[0];
	if (i == DECISIONS_MAX)
		_exit(3);
	choice = i < order->given ? order->chosen[i] : 0;
	if (choice >= count)
		_exit(4); /* the same decisions led to another state */
	order->chosen[i] = (uint8_t)choice;
	order->options[i] = (uint8_t)count;
	order->can_stay[i] = able[0] == mine;
	order->count++;
	return able[choice];
}

void gg_chaos(void)
{
	int saved_errno = errno;
	struct worker *mine = me, *next;

	if (mine == NULL || (gg_malloc_inside & GG_MALLOC_PART_ARENA) != 0 || getpid() != run_pid)
		return;
	next = decide(mine);
	if (next != mine) {
		let_go_on(next);
		wait_until_next(mine);
	}
	errno = saved_errno;
}

/* The last destructor of the thread: its heap has been given away by then. */
static void end(void *user)
{
	static _Thread_local unsigned rounds;
	struct worker *mine = user, *next;

	if (++rounds < END_ROUNDS) {
		pthread_setspecific(end_key, mine);
		return;
	}
	me = NULL;
	mine->is_over = true;
	next = decide(NULL);
	if (next != NULL)
		let_go_on(next);
}

static void *run_worker(void *user)
{
	struct worker *mine = user;

	mine->scenario->before(mine->number);
	__atomic_store_n(&arrived, mine->number + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &arrived, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	wait_until_next(mine);
	pthread_setspecific(end_key, mine);
	me = mine;
	mine->scenario->act(mine->number);
	return NULL;
}

static size_t bytes_in_use(void)
{
	struct gg_malloc_arena_totals totals;

	gg_malloc_arena_read_totals(&totals);
	return totals.opened_bytes - totals.free_bytes;
}

static bool has_anything(const struct gg_malloc_heap *heap)
{
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		if (heap->handed[i] != NULL || heap->supplies[i].current != NULL ||
		    heap->supplies[i].first != NULL)
			return true;
	return false;
}

static unsigned heaps_with_anything(void)
{
	unsigned count = 0;

	for (struct gg_malloc_heap *heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		count += heap != gg_malloc_thread_heap && has_anything(heap);
	return count;
}

static void expect(bool condition, const char *what)
{
	if (!condition && order->wrong[0] == '\0')
		snprintf(order->wrong, sizeof(order->wrong), "%s", what);
}

/* All blocks of all scenarios are free in the end. */
static void check_heaps(void)
{
	const struct gg_malloc_heap *heap;

	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next) {
		expect(heap == gg_malloc_thread_heap || heap->state == GG_MALLOC_HEAP_ORPHAN,
		       "a heap has a thread, and all have ended");
		expect(heap->remote_slabs == NULL, "nobody has collected a remote free");
		expect(heap->trim_wanted == 0 || heap->state != GG_MALLOC_HEAP_ORPHAN,
		       "nobody has trimmed an orphan");
	}
	expect(heaps_with_anything() <= 1, "two heaps of ended threads keep slabs");
}

static GG_COLD void run_in_child(const struct scenario *scenario)
{
	const char *wrong;

	alarm(SECONDS_MOST);
	run_pid = getpid();
	worker_count = scenario->workers;
	for (unsigned i = 0; i < worker_count; i++) {
		struct worker *worker = &workers[i];

		*worker = (struct worker){ .scenario = scenario, .number = i };
		if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
			_exit(5);
		/* One after the other, so that heaps are the same in each run. */
		while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) != i + 1)
			syscall(SYS_futex, &arrived, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
	}
	let_go_on(decide(NULL));
	for (unsigned i = 0; i < worker_count; i++)
		pthread_join(workers[i].thread, NULL);
	check_heaps();
	if (scenario->check != NULL)
		scenario->check();
	geiger_malloc_trim();
	expect(heaps_with_anything() == 0, "a heap keeps slabs after a trim");
	expect(bytes_in_use() <= bytes_before, "memory is in use after a trim");
	wrong = gg_malloc_validate();
	expect(wrong == NULL, wrong);
	_exit(order->wrong[0] != '\0');
}

static bool run(const struct scenario *scenario)
{
	int status = 0;
	pid_t child;

	order->count = 0;
	order->wrong[0] = '\0';
	child = fork();
	if (child == 0)
		run_in_child(scenario);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	if (status != 0 && order->wrong[0] == '\0')
		snprintf(order->wrong, sizeof(order->wrong), "status 0x%x", (unsigned)status);
	return status == 0;
}

/* Makes the list the next one of the search.  False: the search has visited all lists. */
static bool next_order(unsigned preemptions)
{
	unsigned before[DECISIONS_MAX] = { 0 };
	unsigned sum = 0;

	for (uint32_t i = 0; i < order->count; i++) {
		before[i] = sum;
		sum += order->can_stay[i] && order->chosen[i] != 0;
	}
	for (uint32_t i = order->count; i-- > 0;) {
		if (order->chosen[i] + 1 == order->options[i] ||
		    before[i] + order->can_stay[i] > preemptions)
			continue;
		order->chosen[i]++;
		order->given = i + 1;
		return true;
	}
	return false;
}

static void print_order(void)
{
	printf("GG_TEST_ORDER=");
	for (uint32_t i = 0; i < order->count; i++)
		putchar('0' + order->chosen[i]);
	putchar('\n');
}

static void begin(void)
{
	order = mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	REQUIRE(order != MAP_FAILED);
	/* The clock decides nothing, so that the same list leads to the same state. */
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_NEVER);
	/* The allocator's key comes first, so that its destructor runs before end(). */
	geiger_free(geiger_malloc(100));
	REQUIRE(pthread_key_create(&end_key, end) == 0);
	geiger_malloc_trim();
	bytes_before = bytes_in_use();
}

static void search(const struct scenario *scenario)
{
	const char *bound = getenv("GG_TEST_PREEMPTIONS"), *given = getenv("GG_TEST_ORDER");
	static bool has_begun;
	unsigned preemptions = bound != NULL ? (unsigned)atoi(bound) : PREEMPTIONS; /* NOLINT */
	uint64_t count = 0;
	bool is_right = true;

	begin();
	/* script/proof keeps what is printed after this word. */
	if (bound != NULL && !has_begun)
		printf("summary\n\n");
	has_begun = true;
	order->given = 0;
	for (; given != NULL && given[order->given] != '\0'; order->given++)
		order->chosen[order->given] = (uint8_t)(given[order->given] - '0');
	do {
		is_right = run(scenario);
		count++;
	} while (is_right && given == NULL && next_order(preemptions));
	CHECK_MSG(is_right, "order %" PRIu64 ": %s", count, order->wrong);
	if (!is_right)
		print_order();
	else
		printf("- %" PRIu64 " orders with at most %u preemptions\n", count, preemptions);
	munmap(order, sizeof(*order));
}

static void allocate(unsigned number, size_t bytes)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[number][i] = geiger_malloc(bytes);
}

static void free_all(unsigned number)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		geiger_free(blocks[number][i]);
}

/* Scenarios.  Blocks of 2048 bytes: a handed list has eight of them, and no free is an event. */

static void allocate_first(unsigned number)
{
	if (number == 0)
		allocate(0, 2048);
	else
		geiger_free(geiger_malloc(100)); /* a heap of its own */
}

static void free_and_end(unsigned number)
{
	if (number == 0)
		for (unsigned i = 2; i < BLOCKS; i++)
			geiger_free(blocks[0][i]);
	else
		geiger_free(blocks[0][number - 1]);
}

TEST(two_threads_free_blocks_of_a_slab_whose_thread_ends)
{
	const struct scenario scenario = { 3, allocate_first, free_and_end, NULL };

	search(&scenario);
}

/* Leaves an orphan that has blocks in use and a handed list. */
static void *leave_orphan(void *user)
{
	(void)user;
	allocate(0, 2048);
	geiger_free(geiger_malloc(100));
	return NULL;
}

static void orphan_first(unsigned number)
{
	pthread_t thread;

	if (number != 0)
		return;
	if (pthread_create(&thread, NULL, leave_orphan, NULL) != 0)
		_exit(5);
	pthread_join(thread, NULL);
}

static void free_or_trim(unsigned number)
{
	if (number == 0)
		free_all(0);
	else
		gg_malloc_heap_trim_orphan();
}

static void check_nothing_is_kept(void)
{
	expect(heaps_with_anything() == 0, "a trim was lost");
}

TEST(a_trim_meets_remote_frees_of_an_orphan)
{
	const struct scenario scenario = { 2, orphan_first, free_or_trim, check_nothing_is_kept };

	search(&scenario);
}

static void free_or_adopt(unsigned number)
{
	if (number == 0)
		free_all(0);
	else
		geiger_free(geiger_malloc(2048));
}

TEST(a_thread_adopts_an_orphan_whose_blocks_are_freed)
{
	const struct scenario scenario = { 2, orphan_first, free_or_adopt, NULL };

	search(&scenario);
}

static void two_allocate_first(unsigned number)
{
	allocate(number, 2048);
}

static void end_or_free(unsigned number)
{
	if (number < 2)
		for (unsigned i = 1; i < BLOCKS; i++)
			geiger_free(blocks[number][i]);
	else
		for (unsigned i = 0; i < 2; i++)
			geiger_free(blocks[i][0]);
	if (number == 2)
		free_all(2);
}

TEST(two_threads_end_while_a_third_one_frees_their_blocks)
{
	const struct scenario scenario = { 3, two_allocate_first, end_or_free, NULL };

	search(&scenario);
}

static void refill_or_free(unsigned number)
{
	if (number == 1) {
		for (unsigned i = 0; i < BLOCKS; i++)
			geiger_free(blocks[0][i]);
		return;
	}
	/* The next lists: they collect what was freed until then. */
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[2][i] = geiger_malloc(2048);
	for (unsigned i = 0; i < BLOCKS; i++)
		geiger_free(blocks[2][i]);
}

TEST(a_thread_refills_while_its_blocks_are_freed)
{
	const struct scenario scenario = { 2, allocate_first, refill_or_free, NULL };

	search(&scenario);
}

/* Blocks of two slabs are in the heap's list when the run begins. */
static void free_of_two_slabs_first(unsigned number)
{
	if (number == 0) {
		for (unsigned i = 0; i < BLOCKS; i++)
			blocks[0][i] = geiger_malloc(i % 2 == 0 ? 1500 : 2048);
		return;
	}
	for (unsigned i = 0; i < BLOCKS / 2; i++)
		geiger_free(blocks[0][i]);
}

static void collect_or_free(unsigned number)
{
	if (number == 0)
		gg_malloc_collect_remote(gg_malloc_thread_heap);
	else
		for (unsigned i = BLOCKS / 2; i < BLOCKS; i++)
			geiger_free(blocks[0][i]);
}

TEST(a_thread_collects_while_blocks_of_two_slabs_are_freed)
{
	const struct scenario scenario = { 2, free_of_two_slabs_first, collect_or_free, NULL };

	search(&scenario);
}

/* False: blocks of a slab wait in its list, and the slab in none. */
static bool all_is_collected(void)
{
	gg_malloc_collect_remote(gg_malloc_thread_heap);
	for (size_t i = gg_malloc_arena_first_slice(); i < gg_malloc_map.limit; i++) {
		const struct gg_malloc_slab *slab = gg_malloc_map.entries[i];
		const struct gg_malloc_heap *heap;

		if (slab == NULL || gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_SLOTS)
			continue;
		heap = (const struct gg_malloc_heap *)gg_malloc_slab_owner(slab); /* NOLINT */
		if (heap->state != GG_MALLOC_HEAP_LOST && slab->remote != NULL)
			return false;
	}
	return true;
}

/* The child does not have the thread that frees. */
static void fork_or_free(unsigned number)
{
	int status = -1;
	pid_t child;

	if (number == 1) {
		free_all(0);
		return;
	}
	child = fork();
	if (child == 0) {
		alarm(SECONDS_MOST);
		_exit(!all_is_collected());
	}
	if (waitpid(child, &status, 0) != child)
		_exit(5);
	expect(status == 0, "remote frees of the parent are lost in a child");
}

TEST(a_thread_forks_while_another_one_frees_its_blocks)
{
	const struct scenario scenario = { 2, allocate_first, fork_or_free, NULL };

	search(&scenario);
}

TEST(a_thread_forks_while_another_one_frees_blocks_of_an_orphan)
{
	const struct scenario scenario = { 2, orphan_first, fork_or_free, NULL };

	search(&scenario);
}

static void adopt_or_trim(unsigned number)
{
	if (number == 0)
		geiger_free(geiger_malloc(100));
	else if (number == 1)
		gg_malloc_heap_trim_orphan();
	else
		free_all(0);
}

TEST(one_adopts_an_orphan_one_trims_it_and_one_frees_its_blocks)
{
	const struct scenario scenario = { 3, orphan_first, adopt_or_trim, NULL };

	search(&scenario);
}
