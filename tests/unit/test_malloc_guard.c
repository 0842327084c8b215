/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded blocks: where they lie, what is reported, and when slots are used again. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geiger/malloc.h"
#include "malloc/class_sampling.h"
#include "malloc/guarded_blocks.h"
#include "malloc/kernel_memory.h"
#include "malloc/malloc_check.h"
#include "random.h"
#include "test.h"

static struct gg_malloc_fault last_fault; /* kind 0: none */
static uint64_t guarded_count, unguarded_count, fault_count;

static void note_guarded(uint32_t number, bool is_free)
{
	(void)number;
	if (is_free)
		gg_add_relaxed(&unguarded_count, 1);
	else
		gg_add_relaxed(&guarded_count, 1);
}

static void note_fault(const struct gg_malloc_fault *fault)
{
	last_fault = *fault;
	fault_count++;
}

static const struct gg_malloc_client client = { .guarded = note_guarded, .fault = note_fault };

static size_t page_bytes;

/* Every block is a sample, and every sample is chosen.  Once in a process. */
static void begin(void)
{
	static bool has_begun;

	last_fault = (struct gg_malloc_fault){ 0 };
	gg_malloc_set_client(&client);
	gg_malloc_set_interval(1, 7);
	geiger_free(geiger_malloc(1));
	if (!has_begun)
		REQUIRE(gg_malloc_guard_start(1, 3));
	has_begun = true;
	page_bytes = gg_malloc_page_bytes;
}

/* The compiler must not know what the pointer leads to. */
static char *hide(void *p)
{
	__asm__ volatile("" : "+r"(p));
	return p;
}

static bool is_guarded(const void *p)
{
	struct gg_malloc_guarded block;

	return gg_malloc_guard_has((uintptr_t)p) && gg_malloc_guard_find(p, &block);
}

/* A guarded block of that size; NULL: slots are resting. */
static char *allocate(size_t bytes)
{
	char *p = hide(geiger_malloc(bytes));

	if (is_guarded(p))
		return p;
	geiger_free(p);
	return NULL;
}

/* --- accesses --- */

static sigjmp_buf fault_jump;
static volatile uintptr_t fault_address;

static void on_segv(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	fault_address = (uintptr_t)info->si_addr;
	siglongjmp(fault_jump, 1);
}

/* True if the byte cannot be accessed. */
static bool faults(const char *p)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO }, before;
	volatile bool has_faulted = false;

	sigaction(SIGSEGV, &action, &before);
	if (sigsetjmp(fault_jump, 1) == 0)
		(void)*(volatile const char *)p;
	else
		has_faulted = true;
	sigaction(SIGSEGV, &before, NULL);
	return has_faulted;
}

/* Runs in a child, because each slot has one report. */
static struct gg_malloc_fault fault_of(void (*plant)(void))
{
	struct gg_malloc_fault fault = { 0 };
	int ends[2], status;
	pid_t child;

	REQUIRE(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		plant();
		if (write(ends[1], &last_fault, sizeof(last_fault)) < 0)
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &fault, sizeof(fault)) != sizeof(fault))
		fault.kind = 0;
	close(ends[0]);
	waitpid(child, &status, 0);
	CHECK_EQ_I64(status, 0);
	return fault;
}

static void explain_wild(void)
{
	uintptr_t end = gg_malloc_guard_pool.base + gg_malloc_guard_pool.bytes;

	/* No block was ever in the last slots: the pool is used from its begin. */
	if (gg_malloc_guard_explain(end - 1, &last_fault) != GG_MALLOC_GUARD_FOREIGN)
		last_fault.kind = GG_MALLOC_FAULT_OVERFLOW;
}

/* The first test: no block was ever in the last slots. */
TEST(a_wild_pointer_into_the_pool_is_no_fault_of_a_block)
{
	begin();
	CHECK_EQ_I64(fault_of(explain_wild).kind, 0);
}

TEST(a_block_ends_or_begins_at_a_page_that_faults)
{
	static const size_t sizes[] = { 16, 96, 100, 4096, 5000, 32768 };

	begin();
	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		size_t bytes = sizes[i], slop = (16 - bytes % 16) % 16;
		int left = 0, right = 0;

		for (int k = 0; k < 40; k++) {
			char *p = allocate(bytes);

			if (p == NULL)
				continue;
			memset(p, k, bytes);
			CHECK_EQ_U64(geiger_malloc_usable_size(p), bytes);
			if ((uintptr_t)p % page_bytes == 0) {
				CHECK(faults(p - 1));
				left++;
			}
			if (((uintptr_t)p + bytes + slop) % page_bytes == 0) {
				CHECK(faults(p + bytes + slop));
				right++;
			}
			geiger_free(p);
			CHECK(faults(p) && faults(p + bytes - 1));
		}
		/* Each side has 4 of 40 fair draws or more, but for once in 10 million times. */
		CHECK(left >= 4 && right >= 4);
	}
	CHECK_EQ_U64(fault_count, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(alignments_hold_and_blocks_keep_their_bytes)
{
	begin();
	for (size_t alignment = 16; alignment <= 16384; alignment *= 2) {
		for (size_t bytes = 0; bytes <= 32768; bytes += 1 + bytes / 2) {
			char *p = hide(geiger_aligned_alloc(alignment, bytes));

			CHECK_EQ_U64((uintptr_t)p % alignment, 0);
			memset(p, 1, bytes);
			geiger_free(p);
		}
	}
	CHECK_EQ_U64(fault_count, 0);
	CHECK(guarded_count > 0 && guarded_count == unguarded_count);
}

TEST(a_resized_block_keeps_its_bytes_and_gets_new_ends)
{
	begin();
	for (size_t bytes = 1; bytes < 20000; bytes += 1 + bytes / 4) {
		char *p = hide(geiger_malloc(bytes)), *moved;

		memset(p, 9, bytes);
		moved = hide(geiger_realloc(p, bytes + 3));
		for (size_t i = 0; i < bytes; i++)
			REQUIRE(moved[i] == 9);
		if (is_guarded(moved))
			CHECK_EQ_U64(geiger_malloc_usable_size(moved), bytes + 3);
		geiger_free(moved);
	}
	CHECK_EQ_U64(fault_count, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* --- what is found --- */

static char *any_block(size_t bytes)
{
	char *p = NULL;

	for (int i = 0; i < 1000 && p == NULL; i++)
		p = allocate(bytes);
	REQUIRE(p != NULL);
	return p;
}

static void free_twice(void)
{
	char *p = any_block(50);

	geiger_free(p);
	geiger_free(hide(p));
}

static void free_inside(void)
{
	char *p = any_block(50);

	geiger_free(hide(p + 16));
	geiger_free(p);
}

static void resize_freed(void)
{
	char *p = any_block(50);

	geiger_free(p);
	memset(geiger_realloc(hide(p), 60), 1, 60);
}

/* 50 bytes end 14 bytes before the page that faults, or at the begin of theirs. */
static void write_behind(void)
{
	char *p = any_block(50);

	p[50] = 0;
	geiger_free(p);
}

static void write_before(void)
{
	char *p;

	do
		p = any_block(50);
	while ((uintptr_t)p % page_bytes == 0);
	p[-1] = 0;
	geiger_free(p);
}

static void write_within(void)
{
	char *p = any_block(50);

	memset(p, 0, 50);
	geiger_free(p);
}

TEST(wrong_frees_and_writes_around_a_block_are_found)
{
	struct gg_malloc_fault fault;

	begin();
	fault = fault_of(free_twice);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_DOUBLE_FREE);
	CHECK(fault.is_freed && !fault.at_free && fault.bytes == 50 &&
	      fault.address == fault.block);
	fault = fault_of(free_inside);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_INVALID_FREE);
	CHECK(!fault.is_freed && fault.address == fault.block + 16);
	fault = fault_of(resize_freed);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_DOUBLE_FREE);
	fault = fault_of(write_behind);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_OVERFLOW);
	CHECK(fault.at_free && fault.address == fault.block + 50);
	fault = fault_of(write_before);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_UNDERFLOW);
	CHECK(fault.at_free && fault.address == fault.block - 1);
	fault = fault_of(write_within);
	CHECK_EQ_I64(fault.kind, 0);
}

static void explain_first(void)
{
	char *p = any_block(64);
	enum gg_malloc_guard_answer first, second;

	geiger_free(p);
	first = gg_malloc_guard_explain((uintptr_t)p + 8, &last_fault);
	second = gg_malloc_guard_explain((uintptr_t)p + 8, &last_fault);
	if (first != GG_MALLOC_GUARD_NEW || second != GG_MALLOC_GUARD_KNOWN ||
	    !gg_malloc_guard_open((uintptr_t)p + 8) || faults(p + 8))
		last_fault.kind = 0;
}

static void explain_far(void)
{
	char *p;

	do
		p = any_block(64);
	while ((uintptr_t)p % page_bytes == 0);
	gg_malloc_guard_explain((uintptr_t)p + 64 + page_bytes / 4, &last_fault);
}

TEST(accesses_are_explained_once_for_each_slot)
{
	struct gg_malloc_fault fault;

	begin();
	fault = fault_of(explain_first);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_USE_AFTER_FREE);
	CHECK(fault.is_freed && fault.bytes == 64 && fault.address == fault.block + 8);
	fault = fault_of(explain_far);
	CHECK_EQ_I64(fault.kind, GG_MALLOC_FAULT_OVERFLOW);
	CHECK(!fault.is_freed);
}

/* The program closes a page of its block: an access is its own affair. */
static void close_own_page(void)
{
	char *p = hide(geiger_aligned_alloc(page_bytes, 2 * page_bytes));
	struct gg_malloc_fault fault = { 0 };
	uint64_t life;

	while (!is_guarded(p)) {
		geiger_free(p);
		p = hide(geiger_aligned_alloc(page_bytes, 2 * page_bytes));
	}
	mprotect(p, page_bytes, PROT_READ);
	if (gg_malloc_guard_explain((uintptr_t)p + 8, &fault) != GG_MALLOC_GUARD_LIVE)
		last_fault.kind = GG_MALLOC_FAULT_OVERFLOW;
	life = fault.life;
	if (gg_malloc_guard_explain((uintptr_t)p + 8, &fault) != GG_MALLOC_GUARD_LIVE ||
	    fault.life != life)
		last_fault.kind = GG_MALLOC_FAULT_OVERFLOW;
	mprotect(p, page_bytes, PROT_READ | PROT_WRITE);
	geiger_free(p);
}

TEST(a_page_that_the_program_closes_is_no_fault_of_its_block)
{
	begin();
	CHECK_EQ_I64(fault_of(close_own_page).kind, 0);
}

/* --- slots --- */

/* As the picture in guarded_blocks.h has it. */
static size_t slot_of(const char *p)
{
	return ((uintptr_t)p - gg_malloc_guard_pool.base - page_bytes) / (32768 + page_bytes);
}

TEST(a_freed_slot_rests)
{
	char *p, *other;

	begin();
	p = any_block(64);
	/* Until the slot before it is taken, so that its own would come next. */
	do {
		other = any_block(64);
		geiger_free(other);
	} while ((slot_of(other) + 1) % gg_malloc_guard_pool.slot_count != slot_of(p));
	geiger_free(p);
	for (uint32_t i = 0; i + 1 < gg_malloc_guard_pool.slot_count / 4; i++) {
		other = allocate(64);
		CHECK(other == NULL || slot_of(other) != slot_of(p));
		geiger_free(other);
		CHECK(faults(p));
	}
}

static void use_after_double_free(void)
{
	char *p = any_block(64);

	geiger_free(p);
	geiger_free(hide(p));
	for (uint32_t i = 0; i < 4 * gg_malloc_guard_pool.slot_count; i++) {
		char *other = any_block(64);

		if (slot_of(other) == slot_of(p))
			last_fault.kind = 0;
		geiger_free(other);
	}
}

TEST(the_slot_of_a_double_free_is_never_used_again)
{
	begin();
	CHECK_EQ_I64(fault_of(use_after_double_free).kind, GG_MALLOC_FAULT_DOUBLE_FREE);
}

TEST(at_most_half_of_the_slots_are_in_use)
{
	enum { COUNT = GG_MALLOC_GUARD_SLOTS_MAX };
	static char *blocks[COUNT];
	uint32_t guarded = 0;

	begin();
	for (int i = 0; i < COUNT; i++) {
		blocks[i] = hide(geiger_malloc(200));
		guarded += is_guarded(blocks[i]);
		memset(blocks[i], i, 200);
	}
	CHECK(guarded > 0 && guarded <= gg_malloc_guard_pool.slot_count / 2);
	for (int i = 0; i < COUNT; i++) {
		CHECK_EQ_U64((unsigned char)blocks[i][199], (unsigned char)i);
		geiger_free(blocks[i]);
	}
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* Blocks that threads pass to each other. */
static void *shared[64];

static void *exchange(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	for (int i = 0; i < 3000; i++) {
		size_t bytes = random_next(&random) >> 20 & 1023;
		char *p = hide(geiger_malloc(bytes));

		memset(p, i, bytes);
		geiger_free(gg_exchange_acq_rel(&shared[random_next(&random) >> 40 & 63], p));
	}
	return NULL;
}

TEST(threads_free_each_others_guarded_blocks)
{
	uint64_t before;
	pthread_t threads[4];

	begin();
	before = guarded_count;
	for (uintptr_t i = 0; i < GG_COUNT(threads); i++)
		REQUIRE(pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)) ==
		        0); /* NOLINT */
	for (size_t i = 0; i < GG_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < GG_COUNT(shared); i++)
		geiger_free(shared[i]);
	CHECK(guarded_count > before + 1000);
	CHECK_EQ_U64(guarded_count, unguarded_count);
	CHECK_EQ_U64(fault_count, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static void without_memory(void)
{
	const struct rlimit none = { 0, 0 };
	char *p;

	/* The kernel refuses to make more private memory writable. */
	setrlimit(RLIMIT_DATA, &none);
	for (int i = 0; i < 100; i++) {
		p = hide(geiger_malloc(64));
		if (p == NULL || is_guarded(p))
			last_fault.kind = GG_MALLOC_FAULT_OVERFLOW;
		if (p != NULL)
			memset(p, 1, 64);
		geiger_free(p);
	}
}

TEST(without_memory_for_its_pages_a_sample_gets_an_ordinary_slot)
{
	begin();
	CHECK_EQ_I64(fault_of(without_memory).kind, 0);
}
