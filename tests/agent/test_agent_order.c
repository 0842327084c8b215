/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_order - checks each row of src/preload/order.h over an allocator that tests control.
 *
 * Every allocation is a sample (interval 1), so anything that is missing from the region was not
 * recorded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/inside.h"
#include "agent/script_allocator.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

/* Calls that the compiler must not drop or merge. */
static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void *(*volatile call_reallocarray)(void *, size_t, size_t) = reallocarray;
static void *(*volatile call_aligned)(size_t, size_t) = aligned_alloc;
static void (*volatile call_free)(void *) = free;

static struct script_allocator *script(void)
{
	static struct script_allocator *found;

	if (found == NULL)
		found = dlsym(RTLD_DEFAULT, "script_allocator");
	return found;
}

/* Blocks that only the script hands out. */
static _Alignas(16) char arena[4][256];

static bool seen_live;     /* what a look during the real call found */
static const void *looked; /* at what */
static int during_count;

static void look(void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
	during_count++;
	seen_live = inside_is_live(looked);
}

static void look_during_next_call(const void *p)
{
	script();
	looked = p;
	during_count = 0;
	script()->during = look;
}

static void pretend_free(void *p)
{
	script()->result = (void *)1;
	call_free(p);
}

TEST(row_1_a_block_is_recorded_after_the_allocator_gave_it)
{
	void *p;

	for (int how = 0; how < 3; how++) {
		look_during_next_call(arena[0]);
		script()->result = arena[0];
		p = how == 0   ? call_malloc(100)
		    : how == 1 ? call_calloc(10, 10)
		               : call_aligned(64, 100);
		CHECK_EQ_PTR(p, arena[0]);
		CHECK_EQ_I64(during_count, 1);
		CHECK(!seen_live);
		CHECK_EQ_U64(inside_live(p).size_bytes, 100);
		pretend_free(p);
	}
}

TEST(row_2_an_allocation_that_fails_is_not_recorded_and_keeps_its_errno)
{
	uint64_t before = inside_counter(GG_COUNT_SAMPLES), after;

	errno = 0;
	script()->fails = true;
	CHECK(call_malloc(64) == NULL);
	CHECK_EQ_I64(errno, ENOMEM);
	after = inside_counter(GG_COUNT_SAMPLES);
	script()->fails = true;
	CHECK(call_malloc(64) == NULL);
	/* Reading the region allocates the same each time, so equal differences mean no record. */
	CHECK_EQ_U64(inside_counter(GG_COUNT_SAMPLES) - after, after - before);
}

TEST(row_3_sizes_that_nobody_can_have_leave_the_countdown_as_it_was)
{
	static const size_t sizes[] = { SIZE_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		void *p;

		errno = 0;
		CHECK(call_malloc(sizes[i]) == NULL && errno == ENOMEM);
		errno = 0;
		CHECK(call_calloc(sizes[i], 2) == NULL && errno == ENOMEM);
		p = call_malloc(16);
		CHECK(inside_is_live(p));
		errno = 0;
		CHECK(call_realloc(p, sizes[i]) == NULL && errno == ENOMEM);
		CHECK(inside_is_live(p));
		call_free(p);
	}
}

TEST(row_4_a_free_is_recorded_before_the_allocator_has_the_block)
{
	void *p = call_malloc(100);

	CHECK(inside_is_live(p));
	look_during_next_call(p);
	call_free(p);
	CHECK_EQ_I64(during_count, 1);
	CHECK(!seen_live);
}

TEST(row_5_a_block_that_is_no_sample_is_freed_and_nothing_else)
{
	uint64_t frees, after;
	void *p;

	inside_control(false, 0);
	/* The sampler looks when it is due: with the first of these. */
	p = call_malloc(10);
	CHECK(!inside_is_live(p));
	frees = inside_counter(GG_COUNT_FREES);
	script()->last_freed = NULL;
	call_free(p);
	CHECK_EQ_PTR(script()->last_freed, p);
	after = inside_counter(GG_COUNT_FREES);
	CHECK_MSG(after == frees, "%lu frees more", (unsigned long)(after - frees));
	inside_control(true, 0);
	/* While it is off it looks once in 8 MiB. */
	p = call_malloc(9 << 20);
	CHECK(inside_is_live(p));
	call_free(p);
}

TEST(row_6_free_of_null_reaches_the_allocator)
{
	size_t before = script()->free_count;

	errno = 17;
	call_free(NULL);
	CHECK_EQ_I64(errno, 17);
	CHECK(script()->free_count == before + 1 && script()->last_freed == NULL);
}

TEST(row_7_a_block_that_moves_is_closed_and_recorded_anew)
{
	void *p, *moved;
	uint64_t id;

	script()->result = arena[0];
	p = call_malloc(100);
	id = inside_live(p).id;
	look_during_next_call(p);
	script()->result = arena[1];
	moved = call_realloc(p, 200);
	CHECK_EQ_PTR(moved, arena[1]);
	CHECK(during_count == 1 && seen_live);
	CHECK(!inside_is_live(p));
	CHECK(inside_live(moved).size_bytes == 200 && inside_live(moved).id > id);
	/* And one that stays. */
	script()->result = arena[1];
	CHECK_EQ_PTR(call_realloc(moved, 150), moved);
	CHECK_EQ_U64(inside_live(moved).size_bytes, 150);
	pretend_free(moved);
	CHECK(!inside_is_live(moved));
}

/* Gives the old address to another owner while the real realloc() runs. */
static void take_old_address(void *p, size_t bytes)
{
	(void)bytes;
	script()->result = p;
	CHECK_EQ_PTR(call_malloc(24), p);
}

static void take_and_free_old_address(void *p, size_t bytes)
{
	take_old_address(p, bytes);
	pretend_free(p);
}

TEST(row_7_a_new_owner_of_the_old_address_keeps_its_record)
{
	void *p;

	script()->result = arena[0];
	p = call_malloc(100);
	script()->during = take_old_address;
	script()->result = arena[1];
	CHECK_EQ_PTR(call_realloc(p, 200), arena[1]);
	CHECK_EQ_U64(inside_live(arena[0]).size_bytes, 24);
	CHECK_EQ_U64(inside_live(arena[1]).size_bytes, 200);
	pretend_free(arena[0]);
	script()->result = arena[0];
	p = call_malloc(100);
	script()->during = take_and_free_old_address;
	script()->result = arena[2];
	CHECK_EQ_PTR(call_realloc(p, 300), arena[2]);
	CHECK(!inside_is_live(arena[0]));
	CHECK_EQ_U64(inside_live(arena[2]).size_bytes, 300);
	pretend_free(arena[1]);
	pretend_free(arena[2]);
}

TEST(row_8_a_realloc_that_fails_leaves_the_block_on_record)
{
	void *p = call_malloc(100);
	uint64_t id = inside_live(p).id;

	errno = 0;
	script()->fails = true;
	CHECK(call_realloc(p, 200) == NULL && errno == ENOMEM);
	CHECK_EQ_U64(inside_live(p).id, id);
	/* Also to size 0: only errno tells this from a free. */
	script()->fails = true;
	CHECK(call_realloc(p, 0) == NULL && errno == ENOMEM);
	CHECK_EQ_U64(inside_live(p).id, id);
	call_free(p);
}

TEST(row_9_a_realloc_to_nothing_is_a_free)
{
	void *p = call_malloc(100);

	errno = 17;
	CHECK(call_realloc(p, 0) == NULL);
	CHECK_EQ_I64(errno, 17);
	CHECK(!inside_is_live(p));
}

TEST(row_10_a_realloc_to_a_block_of_nothing_is_a_new_block)
{
	void *p = call_malloc(100), *kept;

	errno = 17;
	script()->zero_is_kept = true;
	kept = call_realloc(p, 0);
	CHECK(kept != NULL && errno == 17);
	CHECK(inside_is_live(kept) && inside_live(kept).size_bytes == 0);
	call_free(kept);
}

TEST(row_11_a_realloc_of_what_was_no_sample_is_a_new_stretch_of_the_stream)
{
	void *p;

	inside_control(false, 0);
	p = call_malloc(10);
	inside_control(true, 0);
	call_free(call_malloc(9 << 20));
	CHECK(!inside_is_live(p));
	p = call_realloc(p, 1000);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1000);
	call_free(p);
}

TEST(row_12_a_realloc_of_null_is_a_malloc)
{
	void *p = call_realloc(NULL, 77);

	CHECK_EQ_U64(inside_live(p).size_bytes, 77);
	call_free(p);
}

TEST(row_13_reallocarray_is_a_realloc_of_the_product)
{
	void *p = call_reallocarray(NULL, 7, 11);
	uint64_t id = inside_live(p).id;

	CHECK_EQ_U64(inside_live(p).size_bytes, 77);
	errno = 0;
	CHECK(call_reallocarray(p, SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
	CHECK_EQ_U64(inside_live(p).id, id);
	p = call_reallocarray(p, 10, 100);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1000);
	call_free(p);
}

TEST(row_14_an_address_that_comes_back_closes_its_old_record)
{
	uint64_t missed = inside_counter(GG_COUNT_MISSED_FREES), id;

	script()->result = arena[3];
	call_malloc(10);
	id = inside_live(arena[3]).id;
	script()->result = arena[3];
	call_malloc(20);
	CHECK_EQ_U64(inside_counter(GG_COUNT_MISSED_FREES), missed + 1);
	CHECK(inside_live(arena[3]).size_bytes == 20 && inside_live(arena[3]).id != id);
	pretend_free(arena[3]);
}

/* Hooks that the loader gives out only over an allocator that has the functions. */
typedef void *allocate_function(size_t bytes, size_t second);
typedef void free_function(void *p, size_t bytes, int flags);
typedef void *rallocx_function(void *p, size_t bytes, int flags);
typedef size_t xallocx_function(void *p, size_t bytes, size_t extra_bytes, int flags);

#define HOOK(type, name) ((type *)dlsym(RTLD_DEFAULT, name))

TEST(row_15_operator_new_and_mallocx_are_recorded_after_the_allocator_gave_the_block)
{
	allocate_function *const functions[] = { HOOK(allocate_function, "_Znwm"),
		                                 HOOK(allocate_function, "mallocx") };

	for (size_t i = 0; i < GG_COUNT(functions); i++) {
		uint64_t before, after;
		void *p;

		look_during_next_call(arena[0]);
		script()->result = arena[0];
		p = functions[i](100, 6);
		CHECK_EQ_PTR(p, arena[0]);
		CHECK_EQ_I64(during_count, 1);
		CHECK(!seen_live);
		CHECK_EQ_U64(inside_live(p).size_bytes, 100);
		pretend_free(p);
		/* And one that fails. */
		before = inside_counter(GG_COUNT_SAMPLES);
		errno = 0;
		script()->fails = true;
		CHECK(functions[i](100, 6) == NULL && errno == ENOMEM);
		after = inside_counter(GG_COUNT_SAMPLES);
		CHECK_EQ_U64(inside_counter(GG_COUNT_SAMPLES) - after, after - before);
	}
	CHECK_EQ_I64(script()->last_flags, 6);
}

TEST(row_16_what_operator_new_gets_from_malloc_is_recorded_once)
{
	allocate_function *new_aligned = HOOK(allocate_function, "_ZnwmSt11align_val_t");
	uint64_t missed = inside_counter(GG_COUNT_MISSED_FREES);
	uint64_t before = inside_counter(GG_COUNT_SAMPLES), after, reading;
	void *p = new_aligned(100, 64);

	after = inside_counter(GG_COUNT_SAMPLES);
	reading = inside_counter(GG_COUNT_SAMPLES) - after;
	CHECK_MSG(after - before == reading + 1, "recorded %ld times",
	          (long)(after - before - reading));
	CHECK_EQ_U64(inside_live(p).size_bytes, 100);
	call_free(p);
	CHECK(!inside_is_live(p));
	CHECK_EQ_U64(inside_counter(GG_COUNT_MISSED_FREES), missed);
	/* While the program's own call is. */
	p = call_aligned(64, 100);
	CHECK_EQ_U64(inside_live(p).size_bytes, 100);
	call_free(p);
}

TEST(row_17_a_free_by_another_function_is_recorded_before_the_allocator_has_the_block)
{
	free_function *const functions[] = { HOOK(free_function, "_ZdlPv"),
		                             HOOK(free_function, "sdallocx") };

	for (size_t i = 0; i < GG_COUNT(functions); i++) {
		void *p = call_malloc(100);

		CHECK(inside_is_live(p));
		look_during_next_call(p);
		functions[i](p, 100, 9);
		CHECK_EQ_I64(during_count, 1);
		CHECK(!seen_live);
		errno = 17;
		functions[i](NULL, 0, 0);
		CHECK(errno == 17 && script()->last_freed == NULL);
	}
}

TEST(row_18_rallocx_is_a_realloc)
{
	rallocx_function *call_rallocx = HOOK(rallocx_function, "rallocx");
	void *p, *moved;
	uint64_t id;

	script()->result = arena[0];
	p = call_malloc(100);
	id = inside_live(p).id;
	script()->fails = true;
	CHECK(call_rallocx(p, 200, 0) == NULL);
	CHECK_EQ_U64(inside_live(p).id, id);
	look_during_next_call(p);
	script()->result = arena[1];
	moved = call_rallocx(p, 200, 5);
	CHECK(moved == arena[1] && script()->last_flags == 5);
	CHECK(during_count == 1 && seen_live);
	CHECK(!inside_is_live(p));
	CHECK(inside_live(moved).size_bytes == 200 && inside_live(moved).id > id);
	/* Another thread's block that came to lie at the old address is not closed. */
	script()->during = take_old_address;
	script()->result = arena[2];
	CHECK_EQ_PTR(call_rallocx(moved, 300, 0), arena[2]);
	CHECK_EQ_U64(inside_live(arena[1]).size_bytes, 24);
	CHECK_EQ_U64(inside_live(arena[2]).size_bytes, 300);
	pretend_free(arena[1]);
	pretend_free(arena[2]);
}

TEST(row_19_xallocx_changes_the_size_where_the_block_is)
{
	xallocx_function *call_xallocx = HOOK(xallocx_function, "xallocx");
	void *p = call_malloc(100);
	uint64_t id = inside_live(p).id, missed = inside_counter(GG_COUNT_MISSED_FREES);

	look_during_next_call(p);
	script()->usable_bytes = 224;
	CHECK(call_xallocx(p, 200, 0, 5) == 224 && script()->last_flags == 5);
	CHECK(during_count == 1 && seen_live);
	CHECK(inside_live(p).size_bytes == 200 && inside_live(p).id > id);
	/* As much more as there is. */
	CHECK_EQ_U64(call_xallocx(p, 200, 10, 0), 224);
	CHECK_EQ_U64(inside_live(p).size_bytes, 210);
	CHECK_EQ_U64(call_xallocx(p, 200, 100, 0), 224);
	CHECK_EQ_U64(inside_live(p).size_bytes, 224);
	CHECK_EQ_U64(call_xallocx(p, 200, SIZE_MAX - 200, 0), 224);
	CHECK_EQ_U64(inside_live(p).size_bytes, 224);
	CHECK_EQ_U64(inside_counter(GG_COUNT_MISSED_FREES), missed);
	call_free(p);
	CHECK(!inside_is_live(p));
}

TEST(row_20_xallocx_that_gives_too_little_changes_nothing)
{
	xallocx_function *call_xallocx = HOOK(xallocx_function, "xallocx");
	void *p = call_malloc(100);
	uint64_t id = inside_live(p).id;

	script()->usable_bytes = 112;
	CHECK_EQ_U64(call_xallocx(p, 200, 100, 0), 112);
	CHECK(inside_live(p).id == id && inside_live(p).size_bytes == 100);
	call_free(p);
}

TEST(totals_agree_with_the_live_samples_after_all_of_it)
{
	CHECK(inside_is_consistent());
}
