/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_looks_hostile - looks at made-up heaps: sound, spoilt, absent, foreign, changing. */
#include "heap_image.h"
#include "random.h"
#include "record/look/block_looks.h"
#include "record/look/glibc_fast_bins.h"
#include "test.h"

enum { RECIPE_BYTES = 400 };

struct made {
	struct heap_image image;
	struct gg_block_looks looks;
	uint64_t seed;
};

static void made_setup(struct made *made)
{
	made->seed = 88172645463325252;
}

static void made_teardown(struct made *made)
{
	gg_block_looks_done(&made->looks);
}
FIXTURE(made)

/* Fills the heaps with chunks of sizes below `bits`; 256: all sizes. */
static void fill_below(struct made *made, unsigned bits)
{
	uint8_t recipe[RECIPE_BYTES];

	for (size_t i = 0; i < RECIPE_BYTES; i++)
		recipe[i] = (uint8_t)((random_next(&made->seed) >> 20) % bits);
	heap_image_fill(&made->image, recipe, RECIPE_BYTES);
}

static void fill(struct made *made)
{
	fill_below(made, 256);
}

static void look(struct made *made)
{
	const struct gg_memory_source source = heap_image_source(&made->image);
	const struct gg_block_looks_options options = { .map = heap_image_map() };

	gg_block_looks_done(&made->looks);
	REQUIRE(gg_block_looks_from(&made->looks, &source, made->image.places,
	                            made->image.place_count, &options) == 0);
	CHECK(!made->image.is_faulted);
}

static int64_t total(const struct made *made, const char *name)
{
	for (size_t i = 0; i < made->looks.totals.count; i++)
		if (strcmp(made->looks.totals.items[i].name, name) == 0)
			return made->looks.totals.items[i].bytes;
	return -1;
}

static bool adds_up(const struct made *made)
{
	return total(made, "glibc.in-use") + total(made, "glibc.pinned") +
	               total(made, "glibc.returnable") + total(made, "glibc.metadata") +
	               total(made, "glibc.unread") ==
	       total(made, "glibc.resident");
}

TEST_WITH(made, sound_heaps_are_seen_whole)
{
	for (int round = 0; round < 50; round++) {
		fill(made);
		look(made);
		CHECK_EQ_STR(made->looks.reason, NULL);
		CHECK_EQ_STR(made->looks.allocator, "glibc");
		CHECK_EQ_U64(made->looks.blocks.count, made->image.place_count);
		for (size_t i = 0; i < made->looks.blocks.count; i++)
			CHECK(made->looks.blocks.items[i].pinned_bytes >= 0);
		CHECK(total(made, "glibc.pinned") > 0 && adds_up(made));
		CHECK_EQ_I64(total(made, "glibc.unread"), 0);
		CHECK_EQ_I64(total(made, "glibc.resident"), (int64_t)sizeof(made->image.words));
	}
}

/* Hidden chunks: every second small chunk, half of them in fast bins. */
static void fill_hidden(struct made *made)
{
	fill_below(made, 32);
	heap_image_hide(&made->image);
}

TEST_WITH(made, free_chunks_in_lists_are_known)
{
	for (int round = 0; round < 50; round++) {
		int64_t in_use;

		fill_below(made, 32);
		look(made);
		CHECK_EQ_I64(total(made, "glibc.fast"), 0);
		CHECK_EQ_I64(total(made, "glibc.cached"), 0);
		in_use = total(made, "glibc.in-use");
		heap_image_hide(&made->image);
		look(made);
		CHECK(total(made, "glibc.fast") > 1000 && total(made, "glibc.cached") > 1000);
		CHECK(total(made, "glibc.in-use") == in_use - total(made, "glibc.fast"));
		CHECK(adds_up(made));
	}
}

/* A damaged word of the lists leaves sums that add up, and never fast bins of another size. */
TEST_WITH(made, spoilt_lists_are_unknown_or_right)
{
	size_t unknown_count = 0;

	for (int round = 0; round < 300; round++) {
		size_t place;
		int64_t fast;

		fill_hidden(made);
		look(made);
		fast = total(made, "glibc.fast");
		place = random_next(&made->seed) % made->image.place_count / 4 * 4;
		*heap_image_word(&made->image, made->image.places[place].address) ^=
			UINT64_C(1) << random_next(&made->seed) % 64;
		look(made);
		unknown_count += total(made, "glibc.fast") < 0;
		CHECK(total(made, "glibc.fast") < 0 || total(made, "glibc.fast") <= fast);
		CHECK(adds_up(made));
	}
	CHECK(unknown_count > 100);
}

TEST_WITH(made, an_arena_without_its_bins_is_unknown)
{
	fill_hidden(made);
	made->image.libc_words[HEAP_IMAGE_STATE_WORD + 100] += 16;
	look(made);
	CHECK_EQ_I64(total(made, "glibc.fast"), -1);
	CHECK(total(made, "glibc.cached") > 0 && adds_up(made));
}

TEST_WITH(made, a_table_whose_counts_are_wrong_is_unknown_or_unsure)
{
	fill_hidden(made);
	((uint8_t *)&made->image.words[0][2])[6]++;
	look(made);
	CHECK(total(made, "glibc.cached") < 0 || total(made, "glibc.changed") > 0);
	CHECK(total(made, "glibc.fast") > 0 && adds_up(made));
}

TEST_WITH(made, blocks_on_absent_pages_are_unknown_and_stay_absent)
{
	size_t unknown_count = 0;

	fill(made);
	made->image.is_absent[0][3] = true;
	look(made);
	CHECK_EQ_STR(made->looks.reason, NULL);
	CHECK_EQ_U64(made->looks.blocks.count, made->image.place_count);
	for (size_t i = 0; i < made->looks.blocks.count; i++)
		unknown_count += made->looks.blocks.items[i].pinned_bytes < 0;
	CHECK(unknown_count > 0 && unknown_count < made->image.place_count / 4);
}

TEST_WITH(made, a_foreign_layout_has_a_reason_and_no_numbers)
{
	fill(made);
	for (size_t i = 0; i < HEAP_IMAGE_WORDS; i++) {
		made->image.words[0][i] = random_next(&made->seed);
		made->image.words[1][i] = random_next(&made->seed);
	}
	look(made);
	CHECK(made->looks.reason != NULL && made->looks.allocator == NULL);
	CHECK_EQ_U64(made->looks.totals.count, 0);
	CHECK_EQ_U64(made->looks.blocks.count, made->image.place_count);
	for (size_t i = 0; i < made->looks.blocks.count; i++) {
		CHECK(made->looks.blocks.items[i].pinned_bytes == -1);
		CHECK(made->looks.blocks.items[i].returnable_bytes == -1);
		CHECK(made->looks.blocks.items[i].resident_bytes > 0);
	}
}

TEST_WITH(made, memory_that_may_not_be_read_leaves_residency)
{
	fill(made);
	made->image.read_error = EPERM;
	look(made);
	CHECK_CONTAINS(made->looks.reason, "may not be read");
	CHECK_EQ_U64(made->looks.blocks.count, made->image.place_count);
	CHECK(made->looks.blocks.items[0].pinned_bytes == -1);
	CHECK(made->looks.blocks.items[0].resident_bytes > 0);
}

/* A few blocks of another allocator, such as a program's own, are unknown; the others are seen. */
TEST_WITH(made, one_foreign_block_among_many_is_unknown)
{
	fill_below(made, 8);
	REQUIRE(made->image.place_count > 110);
	*heap_image_word(&made->image, made->image.places[40].address - 8) = 7;
	look(made);
	CHECK_EQ_STR(made->looks.reason, NULL);
	CHECK(made->looks.blocks.items[40].pinned_bytes == -1);
	CHECK(made->looks.blocks.items[50].pinned_bytes >= 0);
	/* The walk goes on behind it. */
	CHECK(total(made, "glibc.unread") > 0 && total(made, "glibc.unread") < 1000);
	CHECK(adds_up(made));
}

/* --- a heap that changes during the walk --- */

/* Two neighbours that the program frees while the walk stands between them. */
struct merging {
	struct heap_image *image;
	uint64_t first, second, third; /* indexes of the heads' first words in [heap] */
	bool is_walking;
	int read_count;
};

static uint64_t size_at(const struct heap_image *image, uint64_t at)
{
	return image->words[0][at + 1] & ~UINT64_C(7);
}

static bool is_used_at(const struct heap_image *image, uint64_t at)
{
	const uint64_t next = at + size_at(image, at) / 8 + 1;

	return next < HEAP_IMAGE_WORDS && (image->words[0][next] & 1) != 0;
}

/* Finds the neighbours: the first copy of the walk ends inside of the second one. */
static bool find_neighbours(struct merging *merging)
{
	const struct heap_image *image = merging->image;
	const uint64_t edge = UINT64_C(4) * HEAP_IMAGE_PAGE_BYTES / 8;

	merging->first = 0;
	merging->second = size_at(image, 0) / 8;
	merging->third = merging->second + size_at(image, merging->second) / 8;
	while (merging->third <= edge) {
		merging->first = merging->second;
		merging->second = merging->third;
		merging->third += size_at(image, merging->third) / 8;
	}
	return merging->second + 2 <= edge && (image->words[0][merging->first + 1] & 1) != 0 &&
	       is_used_at(image, merging->first) && is_used_at(image, merging->second) &&
	       is_used_at(image, merging->third);
}

static void merge(struct merging *merging)
{
	uint64_t *words = merging->image->words[0];
	uint64_t bytes = (merging->third - merging->first) * 8;

	words[merging->first + 1] = bytes | 1;
	words[merging->third] = bytes;
	words[merging->third + 1] &= ~UINT64_C(1);
}

static ssize_t read_and_merge(void *context, const struct gg_memory_range *ranges, size_t count)
{
	struct merging *merging = context;
	ssize_t got = heap_image_read_ranges(merging->image, ranges, count);

	if (merging->is_walking && merging->read_count++ == 0)
		merge(merging);
	return got;
}

static int read_pages(void *context, uint64_t first, size_t count, uint64_t *ret_words)
{
	const struct merging *merging = context;

	return heap_image_read_pages(merging->image, first, count, ret_words);
}

static void begin_walk(void *context, bool *is_gone)
{
	struct merging *merging = context;

	(void)is_gone;
	merging->is_walking = true;
}

static void free_all(void *context, bool *is_gone)
{
	const struct heap_image *image = context;

	for (size_t i = 0; i < image->place_count; i++)
		is_gone[i] = true;
}

TEST_WITH(made, a_heap_whose_chosen_blocks_are_all_gone_is_walked_through)
{
	const struct gg_look_moments moments = { .context = &made->image, .blocks_read = free_all };
	const struct gg_memory_source source = heap_image_source(&made->image);
	const struct gg_block_looks_options options = { .map = heap_image_map(),
		                                        .moments = &moments };

	fill(made);
	REQUIRE(gg_block_looks_from(&made->looks, &source, made->image.places,
	                            made->image.place_count, &options) == 0);
	CHECK_EQ_STR(made->looks.reason, NULL);
	CHECK_EQ_U64(made->looks.blocks.count, 0);
	CHECK_EQ_I64(made->looks.gone_count, (int64_t)made->image.place_count);
	CHECK(adds_up(made));
	CHECK_EQ_I64(total(made, "glibc.resident"), (int64_t)sizeof(made->image.words));
}

static void free_from_50(void *context, bool *is_gone)
{
	const struct heap_image *image = context;

	for (size_t i = 50; i < image->place_count; i++)
		is_gone[i] = true;
}

/* A block is freed a moment before its sample goes: where many are gone, a few look foreign. */
TEST_WITH(made, a_foreign_block_beside_many_gone_ones_proves_nothing)
{
	const struct gg_look_moments moments = { .context = &made->image,
		                                 .blocks_read = free_from_50 };
	const struct gg_memory_source source = heap_image_source(&made->image);
	const struct gg_block_looks_options options = { .map = heap_image_map(),
		                                        .moments = &moments };

	fill_below(made, 8);
	REQUIRE(made->image.place_count > 110);
	*heap_image_word(&made->image, made->image.places[40].address - 8) = 7;
	REQUIRE(gg_block_looks_from(&made->looks, &source, made->image.places,
	                            made->image.place_count, &options) == 0);
	CHECK_EQ_STR(made->looks.reason, NULL);
	CHECK(made->looks.blocks.items[40].pinned_bytes == -1);
}

static int64_t report_change(void *context)
{
	const struct merging *merging = context;

	return merging->read_count > 1 ? 4711 : 0;
}

TEST_WITH(made, a_walk_goes_back_when_the_chunk_it_stands_on_was_merged)
{
	static const char *const names[] = { "glibc.in-use", "glibc.pinned", "glibc.returnable",
		                             "glibc.free",   "glibc.top",    "glibc.headers" };
	struct merging merging = { .image = &made->image };
	const struct gg_memory_source source = { &merging, read_pages, read_and_merge };
	const struct gg_look_moments moments = { .context = &merging,
		                                 .blocks_read = begin_walk,
		                                 .heap_walked = report_change };
	const struct gg_block_looks_options options = { .map = heap_image_map(),
		                                        .moments = &moments };
	int64_t totals[sizeof(names) / sizeof(names[0])];

	do
		fill_below(made, 8);
	while (!find_neighbours(&merging));
	REQUIRE(gg_block_looks_from(&made->looks, &source, made->image.places,
	                            made->image.place_count, &options) == 0);
	CHECK(merging.read_count > 1 && adds_up(made));
	CHECK_EQ_I64(total(made, "glibc.unread"), 0);
	CHECK_EQ_I64(total(made, "glibc.changed"), 4711);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		totals[i] = total(made, names[i]);
	look(made);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_EQ_I64(total(made, names[i]), totals[i]);
}

static void spoil(struct made *made)
{
	uint64_t draw = random_next(&made->seed);
	uint64_t *word = &made->image.words[draw & 1][(draw >> 1) % HEAP_IMAGE_WORDS];
	static const uint64_t values[] = { 0,
		                           1,
		                           16,
		                           17,
		                           32,
		                           0x21,
		                           0x291,
		                           UINT64_MAX,
		                           1 << 20,
		                           UINT64_C(1) << 63,
		                           HEAP_IMAGE_ARENA + 0x31 };

	/* Heads are what hurts most. */
	if (draw >> 60 != 0 && made->image.place_count > 0)
		word = heap_image_word(
			&made->image,
			made->image.places[(draw >> 8) % made->image.place_count].address -
				((draw >> 40) & 1 ? 8 : 16));
	if (draw >> 32 & 1)
		*word = values[(draw >> 33) % (sizeof(values) / sizeof(values[0]))];
	else
		*word ^= UINT64_C(1) << (draw >> 34) % 64;
}

TEST_WITH(made, spoilt_heaps_end_the_look_and_add_up)
{
	for (int round = 0; round < 3000; round++) {
		const struct gg_block_looks *looks = &made->looks;

		if (round % 20 == 0)
			fill(made);
		spoil(made);
		made->image.change_after = round % 3 == 0 ? (uint64_t)(round % 100 + 1) : 0;
		look(made);
		CHECK(looks->totals.count == 0 || adds_up(made));
		CHECK_EQ_U64(looks->blocks.count + (size_t)looks->torn_count,
		             made->image.place_count);
		for (size_t i = 0; i < looks->blocks.count; i++) {
			const struct gg_profile_look_block *block = &looks->blocks.items[i];

			CHECK(block->pinned_bytes == -1 ||
			      (block->pinned_bytes >= 0 &&
			       block->pinned_bytes <= 2 * HEAP_IMAGE_PAGE_BYTES));
			CHECK(block->returnable_bytes >= -1 &&
			      block->returnable_bytes <= (int64_t)sizeof(made->image.words[0]));
		}
	}
}

/* --- lists that change after the walk --- */

enum { LISTED = 40, LISTED_BYTES = 64, CACHED = 7 };

/* A walk through chunks of one size in [heap], all of which end in one fast bin. */
struct walked {
	struct heap_image image;
	struct gg_memory_source source;
	struct gg_residency residency;
	struct gg_glibc_heaps heaps;
	struct gg_glibc_view view;
	struct gg_glibc_fast_bins bins;
};

static void walked_setup(struct walked *walked)
{
	uint8_t recipe[2 * LISTED];

	memset(recipe, (LISTED_BYTES - 32) / 16 << 2 | 1, sizeof(recipe));
	heap_image_fill(&walked->image, recipe, sizeof(recipe));
	walked->source = heap_image_source(&walked->image);
	gg_residency_init(&walked->residency, &walked->source, HEAP_IMAGE_PAGE_BYTES);
	REQUIRE(gg_glibc_heaps_find(&walked->heaps, heap_image_map(), &walked->residency) == 0);
	walked->view = (struct gg_glibc_view){ .map = heap_image_map(),
		                               .heaps = &walked->heaps,
		                               .residency = &walked->residency };
}

static void walked_teardown(struct walked *walked)
{
	gg_glibc_fast_bins_done(&walked->bins);
	gg_glibc_heaps_done(&walked->heaps);
}
FIXTURE(walked)

static uint64_t listed_block(const struct walked *walked, size_t i)
{
	return walked->image.places[i].address;
}

/* Frees a block to the fast bin. */
static void push_fast(struct walked *walked, size_t i)
{
	uint64_t *head = heap_image_word(&walked->image,
	                                 HEAP_IMAGE_LIBC + HEAP_IMAGE_STATE_WORD * 8) +
	                 2 + LISTED_BYTES / 16 - 2;

	heap_image_put_link(&walked->image, listed_block(walked, i), *head);
	*head = listed_block(walked, i) - 16;
}

/* Tells the bins what the walk reads of some chunks. */
static void note_listed(struct walked *walked, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		uint64_t block = listed_block(walked, i);

		gg_glibc_fast_bins_note(&walked->bins, &walked->heaps.items.items[0], block - 16,
		                        LISTED_BYTES, *heap_image_word(&walked->image, block));
	}
}

/* Every chunk is in the list. */
static void check_listed(struct walked *walked)
{
	size_t member_count = 0;

	REQUIRE(gg_glibc_fast_bins_find(&walked->bins, &walked->view, 0) == 0);
	CHECK(walked->bins.is_known);
	for (size_t i = 0; i < walked->bins.marks.count; i++)
		member_count += walked->bins.marks.items[i].is_member;
	CHECK_EQ_U64(member_count, LISTED);
}

/* A thread that ends frees the blocks of its cache; the first one had a link to nothing. */
TEST_WITH(walked, a_cache_that_is_freed_after_the_walk_is_in_the_list)
{
	uint64_t next = 0;

	for (size_t i = CACHED; i < LISTED; i++)
		push_fast(walked, i);
	for (size_t i = 0; i < CACHED; i++) {
		heap_image_put_link(&walked->image, listed_block(walked, i), next);
		next = listed_block(walked, i);
	}
	REQUIRE(gg_glibc_fast_bins_begin(&walked->bins, &walked->view) == 0);
	note_listed(walked, 0, LISTED);
	for (size_t i = CACHED; i-- > 0;)
		push_fast(walked, i);
	check_listed(walked);
}

/* The walk saw some of these blocks before they were freed, and the ones in front afterwards. */
TEST_WITH(walked, a_cache_that_is_freed_during_the_walk_is_in_the_list)
{
	for (size_t i = 2 * CACHED; i < LISTED; i++)
		push_fast(walked, i);
	for (size_t i = 0; i < 2 * CACHED; i++)
		heap_image_put_link(&walked->image, listed_block(walked, i), 0);
	REQUIRE(gg_glibc_fast_bins_begin(&walked->bins, &walked->view) == 0);
	note_listed(walked, 0, CACHED);
	for (size_t i = 0; i < 2 * CACHED; i++)
		push_fast(walked, i);
	note_listed(walked, CACHED, LISTED);
	check_listed(walked);
}
