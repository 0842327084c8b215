/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_glibc_looks - looks at the whole heap of a child against a plain model of that heap.
 */
#include <pthread.h>

#include "heap_model.h"
#include "random.h"

/* --- heaps ---------------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252;

static void *touched(size_t bytes)
{
	char *block = malloc(bytes);

	if (block != NULL)
		memset(block, 1, bytes);
	return block;
}

static void fill_every_64th(struct heap_list *list)
{
	enum { BLOCKS = 200000 };
	char **blocks = touched(BLOCKS * sizeof(*blocks));

	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = touched(200 + i % 50);
	for (size_t i = 0; i < BLOCKS; i++)
		if (i % 64 == 0)
			heap_list_add(list, blocks[i], 200 + i % 50);
		else
			free(blocks[i]);
	heap_list_add(list, blocks, BLOCKS * sizeof(*blocks));
}

/* A peak of nodes with a lasting block among them now and then; all nodes go. */
static void fill_peak_and_trough(struct heap_list *list)
{
	enum { NODES = 300000 };
	void **nodes = malloc(NODES * sizeof(*nodes));

	for (size_t i = 0; i < NODES; i++) {
		size_t bytes = 150 + random_next(&seed) % 300;

		nodes[i] = touched(bytes);
		if (random_next(&seed) % 500 == 0)
			heap_list_add(list, touched(40), 40);
	}
	for (size_t i = 0; i < NODES; i++)
		free(nodes[i]);
	free(nodes);
}

static void *grown(size_t bytes)
{
	char *block = realloc(touched(bytes), 3 * bytes);

	if (block != NULL)
		memset(block, 2, 3 * bytes);
	return realloc(block, bytes + bytes / 2);
}

/* A block of one of many kinds, of which some have a mapping of their own. */
static void *any_block(uint64_t *state, size_t *ret_bytes)
{
	uint64_t draw = random_next(state);
	size_t bytes = 1 + (draw >> 8) % (draw % 16 == 0 ? 100000 : 2000);

	*ret_bytes = bytes;
	switch (draw % 64) {
	case 1:
		return grown(bytes);
	case 2:
		return memalign((size_t)64 << (draw >> 40) % 9, bytes);
	case 3:
		return calloc(1, bytes);
	case 4:
		return malloc(bytes * 100);
	default:
		return touched(bytes);
	}
}

static void churn(struct heap_list *list, uint64_t state)
{
	enum { SLOTS = 4000, ROUNDS = 40000 };
	static __thread struct {
		void *block;
		size_t bytes;
	} slots[SLOTS];

	for (size_t i = 0; i < ROUNDS; i++) {
		size_t at = random_next(&state) % SLOTS;

		free(slots[at].block);
		slots[at].block = NULL;
		if (i < ROUNDS / 2 || random_next(&state) % 3 == 0)
			slots[at].block = any_block(&state, &slots[at].bytes);
	}
	for (size_t i = 0; i < SLOTS; i++)
		if (slots[i].block != NULL)
			heap_list_add(list, slots[i].block, slots[i].bytes);
}

static pthread_barrier_t churned;

static void *run_thread(void *list)
{
	churn(list, (uint64_t)(uintptr_t)&list | 1);
	pthread_barrier_wait(&churned);
	for (;;)
		pause();
	return NULL;
}

/* Without fast bins, because nobody lists what is in them. */
static void fill_arenas(struct heap_list *list)
{
	enum { THREADS = 5 };
	pthread_t thread;

	mallopt(M_MXFAST, 0);
	pthread_barrier_init(&churned, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, run_thread, list) != 0)
			_exit(8);
	churn(list, seed);
	pthread_barrier_wait(&churned);
}

/* More than one heap of an arena: 64 MiB are not enough. */
static void *run_big_thread(void *list)
{
	for (size_t i = 0; i < 2500; i++) {
		char *block = touched(60000);

		if (i % 3 == 0)
			free(block);
		else
			heap_list_add(list, block, 60000);
	}
	pthread_barrier_wait(&churned);
	for (;;)
		pause();
	return NULL;
}

static void fill_second_heaps(struct heap_list *list)
{
	pthread_t thread;

	pthread_barrier_init(&churned, NULL, 2);
	if (pthread_create(&thread, NULL, run_big_thread, list) != 0)
		_exit(8);
	pthread_barrier_wait(&churned);
}

/* glibc never serves blocks of more than 32 MiB from its heaps, unless they have room by chance. */
static void fill_large(struct heap_list *list)
{
	for (size_t i = 0; i < 20; i++) {
		size_t bytes = 50 * MIB + i * 1000;
		char *block = malloc(bytes);

		heap_list_add(list, block, bytes);
		for (size_t at = 0; at < bytes; at += 65536)
			block[at] = 1;
	}
}

/* --- the tests ------------------------------------------------------------------------------ */

struct whole {
	struct heap_child child;
	struct model model;
	struct gg_block_looks looks;
};

static void whole_setup(struct whole *whole)
{
	whole->model.memory = whole->model.pages = -1;
}

static void whole_teardown(struct whole *whole)
{
	gg_block_looks_done(&whole->looks);
	model_close(&whole->model);
	heap_child_stop(&whole->child);
}
FIXTURE(whole)

/* Every block's gaps against the model, and the sums to the byte. */
static double check_blocks(struct whole *whole, const struct shares *shares)
{
	const struct gg_block_looks *looks = &whole->looks;
	size_t wrong_count = 0;
	double sum = 0;

	CHECK_EQ_STR(looks->reason, NULL);
	CHECK_EQ_STR(looks->allocator, "glibc");
	CHECK_EQ_I64(looks->torn_count, 0);
	REQUIRE(looks->blocks.count == whole->child.list->count);
	for (size_t i = 0; i < looks->blocks.count; i++) {
		const struct gg_block_place *place = &whole->child.list->places[i];
		const struct gg_profile_look_block *block = &looks->blocks.items[i];
		const struct extent *extent = find_extent(&whole->model, place->address);
		struct shares expected = { 0 };

		if (extent != NULL)
			expected = shares[extent - whole->model.extents.items];
		sum += expected.pinned_bytes;
		if (block->pinned_bytes == expected.pinned_bytes &&
		    block->returnable_bytes == expected.returnable_bytes &&
		    block->sample == place->sample)
			continue;
		wrong_count++;
		CHECK_MSG(wrong_count > 5,
		          "%" PRIx64 ": pinned %f, not %f; returnable %" PRId64 ", not %" PRId64,
		          place->address, block->pinned_bytes, expected.pinned_bytes,
		          block->returnable_bytes, expected.returnable_bytes);
	}
	CHECK_EQ_U64(wrong_count, 0);
	return sum;
}

static void check_totals(const struct whole *whole)
{
	const struct gg_block_looks *looks = &whole->looks;

	CHECK_EQ_I64(total_of(looks, "glibc.unread"), 0);
	CHECK_EQ_I64(total_of(looks, "glibc.resident"), resident_in_model(&whole->model));
	CHECK_EQ_DOUBLE((double)total_of(looks, "glibc.pinned"), whole->model.pinned_bytes);
	CHECK_EQ_I64(total_of(looks, "glibc.returnable"), whole->model.returnable_bytes);
	CHECK_EQ_I64(total_of(looks, "glibc.in-use") + total_of(looks, "glibc.pinned") +
	                     total_of(looks, "glibc.returnable") +
	                     total_of(looks, "glibc.metadata"),
	             total_of(looks, "glibc.resident"));
}

/* Takes a look at all blocks, and checks it; returns the pinned bytes of all of them. */
static double check_whole(struct whole *whole, void (*fill)(struct heap_list *list))
{
	struct shares *shares;
	double sum, others = 0;

	heap_child_start(&whole->child, fill);
	model_open(&whole->model, &whole->child);
	shares = share_all(&whole->model);
	take_looks(&whole->looks, whole->child.pid, whole->child.list->places,
	           whole->child.list->count);
	sum = check_blocks(whole, shares);
	check_totals(whole);
	for (size_t i = 0; i < whole->model.extents.count; i++)
		others += shares[i].pinned_bytes;
	CHECK_EQ_DOUBLE(others, (double)total_of(&whole->looks, "glibc.pinned"));
	free(shares);
	return sum;
}

TEST_WITH(whole, every_64th_block_keeps_all_that_is_free_on_its_pages)
{
	double sum = check_whole(whole, fill_every_64th);

	CHECK(sum > 0.9 * (double)total_of(&whole->looks, "glibc.pinned"));
	CHECK(sum > (double)(5 * MIB));
}

TEST_WITH(whole, a_peak_leaves_pages_that_lasting_blocks_keep)
{
	double sum = check_whole(whole, fill_peak_and_trough);

	CHECK(sum > (double)MIB);
	CHECK(total_of(&whole->looks, "glibc.returnable") > (int64_t)(10 * MIB));
}

TEST_WITH(whole, blocks_of_all_kinds_in_several_arenas_add_up)
{
	CHECK(check_whole(whole, fill_arenas) > 0);
	CHECK(total_of(&whole->looks, "glibc.arenas") >
	      total_of(&whole->looks, "glibc.arenas-in-use"));
	CHECK(total_of(&whole->looks, "glibc.cached") > 0);
}

TEST_WITH(whole, arenas_with_several_heaps_add_up)
{
	check_whole(whole, fill_second_heaps);
	CHECK(total_of(&whole->looks, "glibc.arenas") > (int64_t)ARENA_HEAP_BYTES);
}

TEST_WITH(whole, blocks_with_a_mapping_of_their_own_pin_nothing)
{
	CHECK_EQ_DOUBLE(check_whole(whole, fill_large), 0);
}

static void look_with(struct gg_block_looks *looks, const struct whole *whole,
                      struct gg_block_looks_options options)
{
	take_looks_with(looks, whole->child.pid, whole->child.list->places,
	                whole->child.list->count, options);
}

TEST_WITH(whole, a_heap_that_is_too_large_for_the_budget_has_its_size_instead_of_totals)
{
	struct gg_block_looks looks;
	int64_t bytes;

	check_whole(whole, fill_every_64th);
	bytes = total_of(&whole->looks, "glibc.walked");
	CHECK_EQ_U64(whole->looks.heap_walk.heap_bytes, (uint64_t)bytes);
	CHECK_EQ_U64(whole->looks.heap_walk.walked_bytes, (uint64_t)bytes);
	CHECK(whole->looks.heap_walk.cost_ns > 0);
	CHECK_EQ_I64(total_of(&whole->looks, "glibc.unwalked"), -1);

	look_with(&looks, whole, (struct gg_block_looks_options){ .budget_ns = 1 });
	CHECK_EQ_I64(total_of(&looks, "glibc.unwalked"), bytes);
	CHECK_EQ_U64(looks.totals.count, 1);
	CHECK_EQ_U64(looks.heap_walk.heap_bytes, (uint64_t)bytes);
	CHECK_EQ_U64(looks.heap_walk.walked_bytes, 0);
	gg_block_looks_done(&looks);
}

TEST_WITH(whole, a_walk_that_runs_out_of_time_is_not_complete)
{
	struct gg_block_looks looks;

	check_whole(whole, fill_every_64th);
	look_with(&looks, whole,
	          (struct gg_block_looks_options){ .budget_ns = 1, .heap_walk_budget_ns = 1 });
	CHECK_EQ_U64(looks.totals.count, 1);
	CHECK_EQ_I64(total_of(&looks, "glibc.unwalked"), total_of(&whole->looks, "glibc.walked"));
	CHECK(looks.heap_walk.walked_bytes < looks.heap_walk.heap_bytes);
	gg_block_looks_done(&looks);
}

TEST_WITH(whole, a_walk_with_a_budget_of_its_own_has_the_same_totals)
{
	struct gg_block_looks looks;

	check_whole(whole, fill_arenas);
	look_with(&looks, whole,
	          (struct gg_block_looks_options){ .budget_ns = 1,
	                                           .heap_walk_budget_ns = UINT64_C(1) << 40 });
	CHECK_EQ_I64(total_of(&looks, "glibc.pinned"), total_of(&whole->looks, "glibc.pinned"));
	CHECK_EQ_I64(total_of(&looks, "glibc.returnable"),
	             total_of(&whole->looks, "glibc.returnable"));
	CHECK_EQ_I64(total_of(&looks, "glibc.walked"), total_of(&whole->looks, "glibc.walked"));
	gg_block_looks_done(&looks);
}

TEST_WITH(whole, trimming_returns_what_is_trimmable_and_leaves_what_is_pinned)
{
	int64_t resident, trimmable, pinned;

	check_whole(whole, fill_peak_and_trough);
	resident = total_of(&whole->looks, "glibc.resident");
	trimmable = total_of(&whole->looks, "glibc.trimmable");
	pinned = total_of(&whole->looks, "glibc.pinned");
	gg_block_looks_done(&whole->looks);
	heap_child_command(&whole->child, 't');
	take_looks(&whole->looks, whole->child.pid, whole->child.list->places,
	           whole->child.list->count);
	CHECK(trimmable > (int64_t)(10 * MIB));
	CHECK_EQ_I64(resident - total_of(&whole->looks, "glibc.resident"), trimmable);
	CHECK_EQ_I64(total_of(&whole->looks, "glibc.pinned"), pinned);
}
