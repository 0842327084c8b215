/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's blocks: sizes, alignments, contents, and the invariants of its lists. */
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "malloc/arena.h"
#include "malloc/huge_blocks.h"
#include "malloc/list_link.h"
#include "malloc/malloc_check.h"
#include "malloc_trace.h"
#include "test.h"

static void *foreign;
static size_t foreign_count;

static void free_foreign(void *p)
{
	foreign = p;
	foreign_count++;
}

static size_t foreign_size(void *p)
{
	return p == foreign ? 24 : 0;
}

static const struct gg_malloc_client client = { .free_foreign = free_foreign,
	                                        .foreign_size = foreign_size };

/* The first test of all: nothing was allocated before. */
TEST(null_and_foreign_pointers_are_freed_before_the_first_allocation)
{
	int local;

	REQUIRE(gg_malloc_map.limit == 0);
	geiger_free(NULL);
	geiger_free(&local); /* nobody has claimed foreign pointers: it is ignored */
	CHECK_EQ_U64(geiger_malloc_usable_size(NULL), 0);
	CHECK_EQ_U64(gg_malloc_map.limit, 0);
}

TEST(a_thread_may_begin_with_realloc)
{
	void *p = geiger_realloc(NULL, 100);

	REQUIRE(p != NULL);
	CHECK(geiger_malloc_usable_size(p) >= 100);
	geiger_free(p);
}

TEST(a_block_that_is_resized_to_nothing_is_freed)
{
	/* A block of a class, a run, and a huge block. */
	static const size_t sizes[] = { 8, 100, 20000, 1 << 20, 64 << 20 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		void *p = geiger_malloc(sizes[i]), *again;

		REQUIRE(p != NULL);
		CHECK(geiger_realloc(p, 0) == NULL);
		again = geiger_malloc(sizes[i]);
		REQUIRE(again != NULL);
		geiger_free(again);
	}
	CHECK(gg_malloc_validate() == NULL);
}

TEST(a_foreign_pointer_goes_to_the_client)
{
	int local[6];
	void *moved;

	gg_malloc_set_client(&client);
	geiger_free(local);
	CHECK_EQ_PTR(foreign, local);
	CHECK_EQ_U64(geiger_malloc_usable_size(local), 24);
	for (int i = 0; i < 6; i++)
		local[i] = i;
	moved = geiger_realloc(local, 200);
	REQUIRE(moved != NULL);
	CHECK_EQ_U64(foreign_count, 2);
	CHECK_EQ_I64(((int *)moved)[5], 5);
	geiger_free(moved);
	CHECK_EQ_U64(foreign_count, 2);
	geiger_free(NULL);
	CHECK_EQ_U64(foreign_count, 2);
}

TEST(each_class_is_the_smallest_that_holds_its_sizes)
{
	unsigned wrong = 0;

	for (size_t bytes = 1; bytes <= GG_MALLOC_CLASS_BYTES_MAX; bytes++) {
		unsigned class = gg_malloc_class_of(bytes);

		wrong += class >= GG_MALLOC_CLASS_COUNT || gg_malloc_class_bytes(class) < bytes ||
		         (class > 0 && gg_malloc_class_bytes(class - 1) >= bytes) ||
		         gg_malloc_class_bytes(class) % 16 != 0;
		if (bytes > 128) /* at most 12.5 % is lost */
			wrong += (gg_malloc_class_bytes(class) - bytes) * 8 > bytes;
	}
	CHECK_EQ_U64(wrong, 0);
	CHECK_EQ_U64(gg_malloc_class_of(0), 0);
	CHECK_EQ_U64(gg_malloc_class_of(GG_MALLOC_CLASS_BYTES_MAX), GG_MALLOC_CLASS_COUNT - 1);
}

TEST(every_size_has_every_alignment)
{
	static const size_t sizes[] = { 0,     1,     8,      15,     16,   17,    24,
		                        64,    100,   128,    129,    1000, 1024,  1025,
		                        4000,  4096,  8192,   8193,   9000, 20000, 32768,
		                        32769, 70000, 262144, 3000000 };
	unsigned wrong = 0;

	for (size_t alignment = 1; alignment <= (size_t)4 << 20; alignment *= 2) {
		void *blocks[GG_COUNT(sizes)][3];

		for (size_t i = 0; i < GG_COUNT(sizes); i++) {
			for (size_t j = 0; j < 3; j++) {
				void *p = geiger_aligned_alloc(alignment, sizes[i]);

				wrong += p == NULL || (uintptr_t)p % alignment != 0 ||
				         geiger_malloc_usable_size(p) < sizes[i];
				memset(p, 0x5a, sizes[i]);
				blocks[i][j] = p;
			}
		}
		CHECK_EQ_PTR(gg_malloc_validate(), NULL);
		for (size_t i = 0; i < GG_COUNT(sizes); i++)
			for (size_t j = 0; j < 3; j++)
				geiger_free(blocks[i][j]);
	}
	CHECK_EQ_U64(wrong, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(impossible_requests_fail_with_an_error_number)
{
	void *p = geiger_malloc(10);

	errno = 0;
	CHECK_EQ_PTR(geiger_malloc((size_t)PTRDIFF_MAX + 1), NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	errno = 0;
	CHECK_EQ_PTR(geiger_malloc(PTRDIFF_MAX), NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	errno = 0;
	CHECK_EQ_PTR(geiger_calloc(SIZE_MAX / 2, 3), NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	errno = 0;
	CHECK_EQ_PTR(geiger_realloc(p, SIZE_MAX), NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	errno = 0;
	CHECK_EQ_PTR(geiger_aligned_alloc(24, 100), NULL);
	CHECK_EQ_I64(errno, EINVAL);
	errno = 0;
	CHECK_EQ_PTR(geiger_aligned_alloc((size_t)1 << 62, 100), NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	geiger_free(p);
}

TEST(free_keeps_errno)
{
	void *small = geiger_malloc(10), *run = geiger_malloc(100000);
	void *huge = geiger_malloc(GG_MALLOC_RUN_BYTES_MAX + 1);

	errno = 1234;
	geiger_free(small);
	geiger_free(run);
	geiger_free(huge);
	CHECK_EQ_I64(errno, 1234);
}

/* Frees and reuses dirty memory of every kind. */
TEST(calloc_returns_zeros)
{
	unsigned wrong = 0;

	for (unsigned round = 0; round < 40; round++) {
		size_t bytes = (size_t)20 << round % 21;
		unsigned char *p = geiger_calloc(bytes / 4, 4);

		REQUIRE(p != NULL);
		for (size_t i = 0; i < bytes; i++)
			wrong += p[i] != 0;
		memset(p, 0xff, bytes);
		geiger_free(p);
		if (round % 7 == 0)
			geiger_malloc_trim();
	}
	CHECK_EQ_U64(wrong, 0);
}

TEST(a_run_grows_and_shrinks_in_place)
{
	char *p = geiger_malloc(100000), *q;

	REQUIRE(p != NULL);
	memset(p, 7, 100000);
	q = geiger_realloc(p, 60000);
	CHECK_EQ_PTR(q, p);
	q = geiger_realloc(q, 100000);
	CHECK_EQ_PTR(q, p);
	CHECK_EQ_I64(q[59999], 7);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	geiger_free(q);
}

/* Each move leaves a quarter more room: 15 classes and a run need 8 moves at most. */
TEST(a_block_that_grows_in_small_steps_is_copied_a_few_times)
{
	unsigned moves = 0;
	char *p = geiger_malloc(9216);

	for (size_t bytes = 9216; bytes <= 40000; bytes += 8) {
		char *moved = geiger_realloc(p, bytes);

		REQUIRE(moved != NULL);
		moves += moved != p;
		p = moved;
		memset(p, 1, bytes);
		CHECK(geiger_malloc_usable_size(p) >= bytes);
		CHECK(geiger_malloc_usable_size(p) <= bytes + bytes / 2 + 16);
	}
	CHECK_MSG(moves <= 8, "%u moves", moves);
	geiger_free(p);
	/* So do small blocks: from 64 bytes on, there are four steps or fewer in a doubling. */
	moves = 0;
	p = geiger_malloc(64);
	for (size_t bytes = 64; bytes <= 8192; bytes += 8) {
		char *moved = geiger_realloc(p, bytes);

		REQUIRE(moved != NULL);
		moves += moved != p;
		p = moved;
		memset(p, 1, bytes);
		CHECK(geiger_malloc_usable_size(p) <= bytes + bytes / 2 + 16);
		/* Not more than a buffer that is limited to a power of two could ever use. */
		CHECK(geiger_malloc_usable_size(p) <= (size_t)1
		                                              << (64 - __builtin_clzll(bytes - 1)));
	}
	CHECK_MSG(moves <= 4 * 7, "%u moves", moves);
	geiger_free(p);
	/* One that grows by more gets what it asks for. */
	p = geiger_realloc(geiger_malloc(1024), 2048);
	CHECK_EQ_U64(geiger_malloc_usable_size(p), 2048);
	geiger_free(p);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* A list of such blocks has one of them, and the block that was freed last is the next one. */
TEST(large_blocks_that_come_and_go_are_the_same)
{
	void *blocks[10], *first, *p;

	for (unsigned i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = geiger_malloc(20000);
	for (unsigned i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(blocks[i]);
	/* The rest of a list that was handed before. */
	for (unsigned i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(geiger_malloc(20000));
	first = geiger_malloc(20000);
	for (unsigned i = 0; i < 100; i++) {
		geiger_free(first);
		p = geiger_malloc(20000);
		CHECK_EQ_PTR(p, first);
		first = p;
	}
	geiger_free(first);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(a_huge_block_is_resized_without_a_copy_and_unmapped)
{
	size_t bytes = GG_MALLOC_RUN_BYTES_MAX + 1, before = gg_malloc_huge_total_bytes();
	char *p = geiger_malloc(bytes);

	REQUIRE(p != NULL);
	CHECK(gg_malloc_huge_total_bytes() - before >= bytes);
	p[0] = 1;
	p[bytes - 1] = 2;
	p = geiger_realloc(p, 4 * bytes);
	REQUIRE(p != NULL);
	CHECK(geiger_malloc_usable_size(p) >= 4 * bytes);
	CHECK_EQ_I64(p[0], 1);
	CHECK_EQ_I64(p[bytes - 1], 2);
	p = geiger_realloc(p, 100000); /* a run again */
	REQUIRE(p != NULL);
	CHECK_EQ_I64(p[0], 1);
	CHECK_EQ_U64(gg_malloc_huge_total_bytes(), before);
	geiger_free(p);
}

static size_t size_calls;

static size_t count_size_calls(void *p)
{
	(void)p;
	size_calls++;
	return 24;
}

/* As in a signal handler that interrupted its thread there. */
TEST(a_huge_block_is_never_taken_for_a_foreign_one)
{
	static const struct gg_malloc_client counting = { .foreign_size = count_size_calls };
	void *huge = geiger_malloc(GG_MALLOC_RUN_BYTES_MAX + 1), *moved;
	size_t bytes;

	gg_malloc_set_client(&counting);
	gg_malloc_lock_take(&gg_malloc_huge_lock);
	bytes = geiger_malloc_usable_size(huge);
	moved = geiger_realloc(huge, 100);
	gg_malloc_lock_give(&gg_malloc_huge_lock);
	gg_malloc_set_client(&client);
	CHECK_EQ_U64(bytes, 0);
	CHECK_EQ_PTR(moved, NULL);
	CHECK_EQ_U64(size_calls, 0);
	geiger_free(huge);
}

TEST(many_huge_blocks_are_found_in_any_order)
{
	enum { COUNT = 300 };
	static void *blocks[COUNT];
	size_t before = gg_malloc_huge_total_bytes(), page_bytes = getauxval(AT_PAGESZ);

	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = gg_malloc_huge_alloc(4096 * (i + 1), (size_t)4096 << i % 5);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_EQ_U64(geiger_malloc_usable_size(blocks[i]),
		             (4096 * (i + 1) + page_bytes - 1) & ~(page_bytes - 1));
	for (size_t i = 0; i < COUNT; i++)
		geiger_free(blocks[i * 7 % COUNT]);
	CHECK_EQ_U64(gg_malloc_huge_total_bytes(), before);
}

static void run_trace(double interval_bytes, uint64_t steps)
{
	static struct trace trace;

	trace = (struct trace){ .random = 12345 };
	REQUIRE(gg_malloc_set_interval(interval_bytes, 99));
	for (uint64_t i = 0; i < steps; i++) {
		trace_step(&trace);
		if (i % 4096 == 0)
			REQUIRE_MSG(gg_malloc_validate() == NULL, "step %lu: %s", i,
			            gg_malloc_validate());
	}
	trace_end(&trace);
	CHECK_EQ_U64(trace.wrong, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	gg_malloc_set_interval(0, 0);
}

TEST(blocks_do_not_overlap_and_keep_their_contents)
{
	run_trace(0, 60000);
}

TEST(the_same_holds_while_blocks_are_sampled)
{
	struct gg_malloc_slots_totals totals;

	run_trace(1, 20000); /* every block */
	run_trace(4096, 60000);
	gg_malloc_slots_read_totals(&totals);
	CHECK_EQ_U64(totals.live_count, 0);
	CHECK_EQ_U64(totals.dropped_count, 0);
}

static size_t resident_bytes(void)
{
	struct gg_malloc_arena_totals totals;
	unsigned char present[64];
	size_t pages = 0;

	gg_malloc_arena_read_totals(&totals);
	for (size_t slice = 0; slice < gg_malloc_map.limit; slice++) {
		void *start = (void *)(gg_malloc_map.base + /* NOLINT */
		                       (slice << GG_MALLOC_SLICE_SHIFT));

		if (mincore(start, GG_MALLOC_SLICE_BYTES, present) != 0)
			continue; /* not open */
		for (size_t i = 0; i < GG_MALLOC_SLICE_BYTES / 4096; i++)
			pages += present[i] & 1;
	}
	return pages * 4096;
}

/* 64 MiB of small blocks come and go; 1/8 of the use, 16 MiB, and the empty slabs may stay. */
TEST(freed_memory_goes_back_to_the_kernel)
{
	enum { COUNT = 1 << 18 };
	void **blocks = geiger_malloc(COUNT * sizeof(*blocks));

	geiger_malloc_trim();
	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = memset(geiger_malloc(256), 1, 256);
	CHECK(resident_bytes() > (size_t)64 << 20);
	for (size_t i = 0; i < COUNT; i++)
		geiger_free(blocks[i]);
	CHECK_MSG(resident_bytes() < (size_t)24 << 20, "%zu bytes are resident", resident_bytes());
	geiger_free(blocks);
	geiger_malloc_trim();
	CHECK_MSG(resident_bytes() < (size_t)4 << 20, "%zu bytes are resident", resident_bytes());
}

/* As if a handler came between the countdown's end in free() and its event. */
TEST(a_handler_may_free_blocks_of_a_slab_whose_event_is_due)
{
	enum { BYTES = 4096, BLOCKS = 40 };
	struct gg_malloc_block *blocks[BLOCKS];
	struct gg_malloc_slab *slab;
	int next = 0;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = geiger_malloc(BYTES);
	/* The first slab that is full; its blocks are neighbors in the array. */
	while (gg_malloc_slab_of(blocks[next])->state != GG_MALLOC_SLAB_FULL)
		next++;
	slab = gg_malloc_slab_of(blocks[next]);
	while (slab->countdown > 1)
		geiger_free(blocks[next++]);
	CHECK_EQ_PTR(gg_malloc_slab_of(blocks[next]), slab);
	gg_malloc_link_set(blocks[next], slab->local_free);
	slab->local_free = blocks[next++];
	slab->countdown--;
	CHECK_EQ_PTR(gg_malloc_slab_of(blocks[next]), slab);
	geiger_free(blocks[next++]);
	gg_malloc_slab_event(gg_malloc_thread_heap, slab);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	while (next < BLOCKS)
		geiger_free(blocks[next++]);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

enum { DUE_BYTES = 4096, DUE_SLABS = 4, DUE_BLOCKS = 16 * DUE_SLABS };

/* Fills slabs with blocks of DUE_BYTES, which have 16 each. */
static void fill_slabs(struct gg_malloc_block *blocks[DUE_BLOCKS])
{
	geiger_malloc_trim();
	for (int i = 0; i < DUE_BLOCKS; i++)
		blocks[i] = geiger_malloc(DUE_BYTES);
	REQUIRE(gg_malloc_slab_of(blocks[0])->capacity == 16);
}

/* free() without its event, as if a handler came between them. */
static void free_before_event(struct gg_malloc_block *block)
{
	struct gg_malloc_slab *slab = gg_malloc_slab_of(block);

	gg_malloc_link_set(block, slab->local_free);
	slab->local_free = block;
	slab->countdown--;
}

/* The slab of the last block that is freed here is empty, and its event is due. */
static struct gg_malloc_slab *empty_before_event(struct gg_malloc_block *blocks[16])
{
	struct gg_malloc_slab *slab = gg_malloc_slab_of(blocks[0]);

	for (int i = 0; i < 15; i++)
		geiger_free(blocks[i]);
	free_before_event(blocks[15]);
	REQUIRE(gg_malloc_slab_owner(slab) == (uintptr_t)gg_malloc_thread_heap);
	REQUIRE(slab->countdown == 0 && slab->state == GG_MALLOC_SLAB_QUEUED);
	return slab;
}

static void free_blocks(struct gg_malloc_block *blocks[], int count)
{
	for (int i = 0; i < count; i++)
		geiger_free(blocks[i]);
}

TEST(a_handler_may_allocate_from_a_slab_whose_event_is_due)
{
	struct gg_malloc_block *blocks[DUE_BLOCKS], *more[DUE_BLOCKS];
	struct gg_malloc_slab *slab;

	fill_slabs(blocks);
	slab = empty_before_event(blocks);
	free_blocks(&blocks[16], 16); /* the empty slab that waits */
	for (int i = 0; i < 8; i++)   /* the handler, which gets the first slab */
		more[i] = geiger_malloc(DUE_BYTES);
	CHECK_EQ_PTR(gg_malloc_slab_of(more[7]), slab);
	gg_malloc_slab_event(gg_malloc_thread_heap, slab);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	free_blocks(&blocks[32], DUE_BLOCKS - 32);
	free_blocks(more, 8);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	geiger_malloc_trim();
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(a_handler_may_trim_when_the_event_of_an_empty_slab_is_due)
{
	struct gg_malloc_block *blocks[DUE_BLOCKS];
	struct gg_malloc_slab *slab;

	fill_slabs(blocks);
	slab = empty_before_event(blocks);
	geiger_malloc_trim();
	gg_malloc_slab_event(gg_malloc_thread_heap, slab);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	free_blocks(&blocks[16], DUE_BLOCKS - 16);
	geiger_malloc_trim();
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static size_t mapped_bytes(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	REQUIRE(file != NULL && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	return pages * 4096;
}

/* Memory that is not the allocator's, in the addresses that it gave back: as huge blocks are. */
static void map_and_free_foreign(void)
{
	enum { COUNT = 64 };
	void *pages[COUNT];

	gg_malloc_client = &client;
	foreign_count = 0;
	for (size_t i = 0; i < COUNT; i++) {
		pages[i] = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		                -1, 0);
		REQUIRE(pages[i] != MAP_FAILED);
		geiger_free(pages[i]);
	}
	CHECK_EQ_U64(foreign_count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		munmap(pages[i], 1 << 20);
	gg_malloc_client = NULL;
}

static void run_under_later_limits(void)
{
	enum { RUN_BYTES = 1 << 20, RUNS = 600 };
	static struct trace before, after;
	static char *runs[RUNS];
	/* An emulator has mappings of its own. */
	const size_t most = (size_t)(getenv("TEST_EMULATOR") != NULL ? 4 : 1) << 30;
	size_t all = mapped_bytes(), left;

	before = after = (struct trace){ .random = 5 };
	for (size_t i = 0; i < 20000; i++)
		trace_step(&before);
	/* Again and again, as nothing keeps a program from it. */
	for (size_t limit = (size_t)300 << 20; limit > (size_t)20 << 20; limit /= 2) {
		gg_malloc_arena_limit(limit);
		left = mapped_bytes();
		CHECK_MSG(left < most || all > (size_t)1 << 40,
		          "%zu MiB are mapped after a limit of %zu MiB, and %zu MiB before",
		          left >> 20, limit >> 20, all >> 20);
		CHECK_EQ_PTR(gg_malloc_validate(), NULL);
		map_and_free_foreign();
		for (size_t i = 0; i < 5000; i++)
			trace_step(&before);
	}
	/* More than the limit: it may have been raised since. */
	for (size_t i = 0; i < RUNS; i++) {
		runs[i] = geiger_malloc(RUN_BYTES);
		REQUIRE(gg_malloc_slab_of(runs[i]) != NULL);
		runs[i][0] = runs[i][RUN_BYTES - 1] = 1;
	}
	map_and_free_foreign();
	gg_malloc_set_interval(1000, 5);
	for (size_t i = 0; i < 20000; i++)
		trace_step(&after);
	trace_end(&after);
	trace_end(&before);
	for (size_t i = 0; i < RUNS; i++)
		geiger_free(runs[i]);
	CHECK_EQ_U64(before.wrong + after.wrong, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* In a child, because the other tests are about a reservation. */
TEST(a_later_limit_of_the_address_space_gives_the_reservation_back)
{
	pid_t child;
	int status = -1;

	geiger_free(geiger_malloc(100));
	child = fork();
	if (child == 0) {
		run_under_later_limits();
		fflush(stdout);
		_exit(test_failed);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ_I64(status, 0);
}
