/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_glibc_free - looks at free chunks that look in use: in fast bins and in caches.
 */
#include <pthread.h>

#include "heap_model.h"
#include "random.h"
#include "record/look/glibc_fast_bins.h"

enum {
	THREADS = 4,
	CACHED = 7,       /* blocks of a list of a thread's cache */
	LISTS = 64,       /* of a cache */
	FAST_BYTES = 112, /* blocks of more have larger chunks than fast bins hold */
	BLOCKS = 40000,   /* of a thread */
	DRAINED = 400,    /* blocks of each size that a thread takes so that its cache is empty */
};

/* --- heaps ---------------------------------------------------------------------------------- */

static size_t list_of(void *block)
{
	return (malloc_usable_size(block) + 8) / 16 - 2;
}

/* Empties the cache of this thread: takes so many blocks that the last ones are new. */
static void drain_cache(void)
{
	for (size_t i = 0; i < (size_t)LISTS * DRAINED; i++) {
		void *block = malloc(24 + i / DRAINED * 16);

		if (block == NULL)
			_exit(8);
	}
}

/* Frees a block, and lists where it goes: the first ones go to the cache of this thread. */
static void free_listed(struct heap_list *list, void *block, size_t *cached)
{
	size_t at = list_of(block);

	if (cached[at] < CACHED) {
		cached[at]++;
		__atomic_fetch_add(&list->cached_bytes, malloc_usable_size(block) + 8,
		                   __ATOMIC_RELAXED);
	} else {
		heap_list_add_fast(list, block);
	}
	free(block);
}

/*
 * Fills the heap of this thread's arena with small blocks, among them some larger ones, whose free
 * chunks lie beside those of fast bins; and frees the given share of them.
 */
static void fill_small(struct heap_list *list, uint64_t state, unsigned keep_percent)
{
	static __thread void *blocks[BLOCKS];
	static __thread size_t sizes[BLOCKS], cached[LISTS];

	drain_cache();
	for (size_t i = 0; i < BLOCKS; i++) {
		uint64_t draw = random_next(&state);

		sizes[i] = draw % 16 == 0 ? 1100 + draw / 16 % 6000 : 1 + draw / 16 % FAST_BYTES;
		blocks[i] = malloc(sizes[i]);
		if (blocks[i] == NULL)
			_exit(8);
		memset(blocks[i], (int)draw, sizes[i]);
	}
	/* First the larger ones: to free them may empty fast bins. */
	for (size_t i = 0; i < BLOCKS; i++) {
		if (random_next(&state) % 100 < keep_percent)
			heap_list_add(list, blocks[i], sizes[i]);
		else if (sizes[i] > FAST_BYTES)
			free(blocks[i]);
		else
			continue;
		blocks[i] = NULL;
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t at = random_next(&state) % 3 == 0 ? BLOCKS - 1 - i : i;

		if (blocks[at] == NULL)
			continue;
		free_listed(list, blocks[at], cached);
		blocks[at] = NULL;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i] != NULL)
			free_listed(list, blocks[i], cached);
}

static uint64_t seed = 88172645463325252;

/* In every second page or so, one block is left. */
static void fill_main(struct heap_list *list)
{
	fill_small(list, seed, 3);
}

/* Long rows of free chunks, up to the top of the heap. */
static void fill_hardly(struct heap_list *list)
{
	heap_list_add(list, malloc(1 << 16), 1 << 16);
	fill_small(list, seed, 0);
}

/* Beside a block whose bytes look like the table of a thread's cache. */
static void fill_beside_pattern(struct heap_list *list)
{
	enum { TABLE_BYTES = 0x280 };
	void *block = malloc(TABLE_BYTES);

	memset(block, 0x20, TABLE_BYTES);
	heap_list_add(list, block, TABLE_BYTES);
	fill_main(list);
}

static pthread_barrier_t filled;

static void *run_thread(void *list)
{
	fill_small(list, (uint64_t)(uintptr_t)&list | 1, 10);
	pthread_barrier_wait(&filled);
	for (;;)
		pause();
	return NULL;
}

static void fill_arenas(struct heap_list *list)
{
	pthread_t thread;

	pthread_barrier_init(&filled, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, run_thread, list) != 0)
			_exit(8);
	fill_small(list, seed, 10);
	pthread_barrier_wait(&filled);
}

/* The link of a free block leads to itself. */
static void fill_circle(struct heap_list *list)
{
	uint64_t *block;

	fill_main(list);
	block = (uint64_t *)(uintptr_t)list->fast[list->fast_count / 2];
	block[0] = ((uintptr_t)block - 16) ^ (uintptr_t)block >> 12;
}

/* The link of a free block leads to where no heap is. */
static void fill_outside(struct heap_list *list)
{
	uint64_t *block;

	fill_main(list);
	block = (uint64_t *)(uintptr_t)list->fast[list->fast_count / 2];
	block[0] = (uintptr_t)list ^ (uintptr_t)block >> 12;
}

/* --- the tests ------------------------------------------------------------------------------ */

struct scene {
	struct heap_child child;
	struct model model;
	struct gg_block_looks looks;
	uint64_t *fast; /* blocks in fast bins, ascending */
	size_t fast_count;
};

static void scene_setup(struct scene *scene)
{
	scene->model.memory = scene->model.pages = -1;
}

static void scene_teardown(struct scene *scene)
{
	gg_block_looks_done(&scene->looks);
	model_close(&scene->model);
	heap_child_stop(&scene->child);
}
FIXTURE(scene)

static int64_t seen(const struct scene *scene, const char *name)
{
	return total_of(&scene->looks, name);
}

static void look_at(struct scene *scene)
{
	gg_block_looks_done(&scene->looks);
	take_looks(&scene->looks, scene->child.pid, scene->child.list->places,
	           scene->child.list->count);
	CHECK_EQ_STR(scene->looks.reason, NULL);
	CHECK_EQ_I64(scene->looks.torn_count, 0);
}

/* Each block keeps what the model gives it: a gap spans all chunks in fast bins. */
static void check_shares(const struct scene *scene, const struct shares *shares)
{
	size_t wrong_count = 0;

	REQUIRE(scene->looks.blocks.count == scene->child.list->count);
	for (size_t i = 0; i < scene->looks.blocks.count; i++) {
		const struct gg_profile_look_block *block = &scene->looks.blocks.items[i];
		uint64_t address = scene->child.list->places[i].address;
		const struct extent *extent = find_extent(&scene->model, address);
		const struct shares *expected;

		if (extent == NULL)
			continue;
		expected = &shares[extent - scene->model.extents.items];
		if (block->pinned_bytes == expected->pinned_bytes &&
		    block->returnable_bytes == expected->returnable_bytes)
			continue;
		CHECK_MSG(++wrong_count > 5, "%" PRIx64 ": %f and %" PRId64 ", not %f and %" PRId64,
		          address, block->pinned_bytes, block->returnable_bytes,
		          expected->pinned_bytes, expected->returnable_bytes);
	}
	CHECK_EQ_U64(wrong_count, 0);
}

/* Takes a look, and compares its totals and blocks with the model to the byte. */
static void check_scene(struct scene *scene, void (*fill)(struct heap_list *list))
{
	struct shares *shares;

	heap_child_start(&scene->child, fill);
	model_open(&scene->model, &scene->child);
	shares = share_all(&scene->model);
	look_at(scene);
	check_shares(scene, shares);
	free(shares);
	CHECK_EQ_I64(seen(scene, "glibc.fast"), scene->model.fast_bytes);
	CHECK_EQ_I64(seen(scene, "glibc.cached"), (int64_t)scene->child.list->cached_bytes);
	CHECK_EQ_I64(seen(scene, "glibc.resident"), resident_in_model(&scene->model));
	CHECK_EQ_DOUBLE((double)seen(scene, "glibc.pinned"), scene->model.pinned_bytes);
	CHECK_EQ_I64(seen(scene, "glibc.returnable"), scene->model.returnable_bytes);
	CHECK_EQ_I64(seen(scene, "glibc.in-use") + seen(scene, "glibc.pinned") +
	                     seen(scene, "glibc.returnable") + seen(scene, "glibc.metadata"),
	             seen(scene, "glibc.resident"));
	CHECK_EQ_I64(seen(scene, "glibc.unread"), 0);
	CHECK_EQ_I64(seen(scene, "glibc.changed"), 0);
}

TEST_WITH(scene, chunks_in_fast_bins_are_free)
{
	check_scene(scene, fill_main);
	CHECK(scene->child.list->fast_count > BLOCKS / 2);
	CHECK(seen(scene, "glibc.pinned") > seen(scene, "glibc.fast") / 2);
}

TEST_WITH(scene, a_pattern_is_no_cache)
{
	check_scene(scene, fill_beside_pattern);
}

TEST_WITH(scene, chunks_in_fast_bins_join_the_top)
{
	check_scene(scene, fill_hardly);
	CHECK(seen(scene, "glibc.returnable") > seen(scene, "glibc.fast") / 2);
}

TEST_WITH(scene, fast_bins_and_caches_of_several_arenas_add_up)
{
	check_scene(scene, fill_arenas);
	CHECK(scene->child.list->fast_count > (size_t)BLOCKS / 2 * (THREADS + 1));
	CHECK(scene->child.list->cached_bytes > (size_t)6 * CACHED * 32 * (THREADS + 1));
}

/* malloc_trim() joins the chunks of fast bins first. */
TEST_WITH(scene, trimming_returns_free_pages_of_fast_bins)
{
	int64_t resident, trimmable, pinned;

	check_scene(scene, fill_arenas);
	resident = seen(scene, "glibc.resident");
	trimmable = seen(scene, "glibc.trimmable");
	pinned = seen(scene, "glibc.pinned");
	heap_child_command(&scene->child, 't');
	look_at(scene);
	CHECK(trimmable > 1 << 20);
	CHECK_EQ_I64(resident - seen(scene, "glibc.resident"), trimmable);
	CHECK_EQ_I64(seen(scene, "glibc.pinned"), pinned);
	CHECK_EQ_I64(seen(scene, "glibc.fast"), 0);
}

/* Follows the fast bins of [heap] until a deadline; returns what they hold at most. */
static int64_t follow_until(const struct scene *scene, uint64_t deadline_ns, bool *ret_is_known)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_memory_map map = { 0 };
	struct gg_process_memory memory;
	struct gg_residency residency;
	struct gg_glibc_heaps heaps = { 0 };
	struct gg_glibc_fast_bins bins = { 0 };
	struct gg_glibc_view view = { .map = &map, .heaps = &heaps, .residency = &residency };
	struct gg_error error;
	int64_t bytes;

	read_smaps(scene->child.pid, &text);
	REQUIRE(gg_memory_map_parse(&map, gg_buf_text(&text)) == 0);
	REQUIRE(gg_process_memory_open(&memory, scene->child.pid, &error) == 0);
	gg_residency_init(&residency, &memory.source, scene->model.page_bytes);
	REQUIRE(gg_glibc_heaps_find(&heaps, &map, &residency) == 0);
	REQUIRE(gg_glibc_fast_bins_begin(&bins, &view) == 0);
	for (size_t i = 0; i < scene->fast_count; i++)
		gg_glibc_fast_bins_note(&bins, gg_glibc_heaps_at(&heaps, scene->fast[i]),
		                        scene->fast[i] - 16,
		                        word_at(&scene->model, scene->fast[i] - 8) & ~(uint64_t)7,
		                        word_at(&scene->model, scene->fast[i]));
	REQUIRE(gg_glibc_fast_bins_find(&bins, &view, deadline_ns) == 0);
	*ret_is_known = bins.is_known;
	bytes = bins.uncounted_bytes;
	gg_glibc_fast_bins_done(&bins);
	gg_glibc_heaps_done(&heaps);
	gg_process_memory_close(&memory);
	gg_memory_map_done(&map);
	return bytes;
}

static int compare_words(const void *left, const void *right)
{
	const uint64_t *first = left, *second = right;

	return *first < *second ? -1 : *first > *second;
}

TEST_WITH(scene, fast_bins_that_no_time_is_left_for_tell_what_they_may_hold)
{
	bool is_known;

	heap_child_start(&scene->child, fill_main);
	model_open(&scene->model, &scene->child);
	scene->fast = scene->child.list->fast;
	scene->fast_count = scene->child.list->fast_count;
	qsort(scene->fast, scene->fast_count, sizeof(*scene->fast), compare_words);
	CHECK_EQ_I64(follow_until(scene, 0, &is_known), 0);
	CHECK(is_known);
	CHECK_EQ_I64(follow_until(scene, 1, &is_known), scene->model.fast_bytes);
	CHECK(!is_known);
}

/* Nothing is known about fast bins then, rather than something wrong. */
static void check_torn(struct scene *scene, void (*fill)(struct heap_list *list))
{
	heap_child_start(&scene->child, fill);
	look_at(scene);
	CHECK_EQ_I64(seen(scene, "glibc.fast"), -1);
	CHECK_EQ_I64(seen(scene, "glibc.cached"), (int64_t)scene->child.list->cached_bytes);
	CHECK(seen(scene, "glibc.pinned") >= 0);
}

TEST_WITH(scene, a_list_in_a_circle_is_torn)
{
	check_torn(scene, fill_circle);
}

TEST_WITH(scene, a_list_that_leaves_its_arena_is_torn)
{
	check_torn(scene, fill_outside);
}
