/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_looks_hostile - looks at made-up heaps: sound, spoilt, absent, foreign, changing. */
#include "heap_image.h"
#include "random.h"
#include "record/look/block_looks.h"
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
	const struct gg_block_looks_options options = { .smaps = HEAP_IMAGE_MAPS };

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
	*heap_image_word(&made->image, made->image.places[5].address - 8) = 7;
	look(made);
	CHECK_EQ_STR(made->looks.reason, NULL);
	CHECK(made->looks.blocks.items[5].pinned_bytes == -1);
	CHECK(made->looks.blocks.items[50].pinned_bytes >= 0);
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
