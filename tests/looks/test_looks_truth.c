/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_looks_truth - a look at all blocks of a process sees what the process itself knows.
 */
#include <math.h>

#include "keeper_child.h"
#include "record/look/block_looks.h"
#include "test.h"

static struct gg_block_looks look_at_all(const struct keeper_child *child)
{
	const struct keeper *keeper = child->keeper;
	struct gg_memory_map map = { 0 };
	const struct gg_block_looks_options options = { .map = &map };
	struct gg_block_place *places = (struct gg_block_place *)calloc(keeper->count,
	                                                                sizeof(*places));
	struct gg_block_looks looks;
	struct gg_error error;

	for (size_t i = 0; i < keeper->count; i++)
		places[i] = (struct gg_block_place){
			.sample = i,
			.address = (uintptr_t)keeper->blocks[i].address,
			.size_bytes = keeper->blocks[i].size_bytes,
			.usable_bytes = keeper->blocks[i].usable_bytes,
		};
	REQUIRE(gg_memory_map_parse(&map, gg_buf_text(&child->smaps)) == 0);
	REQUIRE(gg_block_looks_take(&looks, child->pid, places, keeper->count, &options, &error) ==
	        0);
	gg_memory_map_done(&map);
	free(places);
	return looks;
}

static int64_t total_of(const struct gg_block_looks *looks, const char *name)
{
	for (size_t i = 0; i < looks->totals.count; i++)
		if (strcmp(looks->totals.items[i].name, name) == 0)
			return looks->totals.items[i].bytes;
	return -1;
}

static void check_blocks(const char *shape, const struct keeper *keeper,
                         const struct gg_block_looks *looks)
{
	size_t wrong = 0;
	double sum = 0, truth = 0;

	for (size_t i = 0; i < looks->blocks.count; i++) {
		const struct gg_profile_look_block *seen = &looks->blocks.items[i];
		const struct keeper_block *block = &keeper->blocks[seen->sample];

		sum += seen->pinned_bytes;
		truth += block->pinned_bytes;
		if (fabs(seen->pinned_bytes - block->pinned_bytes) <= 1e-6)
			continue;
		if (wrong++ == 0)
			printf("%s: block %zu of %zu bytes pins %.3f, the look has %.3f\n", shape,
			       (size_t)seen->sample, block->size_bytes, block->pinned_bytes,
			       seen->pinned_bytes);
	}
	CHECK_MSG(wrong == 0, "%s: %zu of %zu blocks are wrong", shape, wrong, looks->blocks.count);
	CHECK_MSG(fabs(sum - truth) < 1, "%s: all pin %.1f, the look has %.1f", shape, truth, sum);
}

static void check_total(const char *shape, const struct gg_block_looks *looks, const char *name,
                        double truth)
{
	double seen = (double)total_of(looks, name);

	CHECK_MSG(fabs(seen - truth) <= 1, "%s: %s is %.0f, the look has %.0f", shape, name, truth,
	          seen);
}

/* Without a limit of time, the look walks the whole heap. */
static void check_shape(const char *shape, uint64_t seed)
{
	struct keeper_child child = keeper_child_start(shape, seed);
	const struct keeper_truth *truth = &child.keeper->truth;
	struct gg_block_looks looks = look_at_all(&child);

	if (truth->walked_bytes > 0) {
		CHECK_EQ_STR(looks.allocator, "glibc");
		CHECK_EQ_STR(looks.reason, NULL);
	}
	CHECK_EQ_I64(looks.torn_count, 0);
	CHECK_EQ_U64(looks.blocks.count, child.keeper->count);
	check_blocks(shape, child.keeper, &looks);
	if (truth->walked_bytes > 0) {
		check_total(shape, &looks, "glibc.walked", (double)truth->walked_bytes);
		check_total(shape, &looks, "glibc.in-use", (double)truth->used_bytes);
		check_total(shape, &looks, "glibc.free", (double)truth->free_bytes);
		check_total(shape, &looks, "glibc.returnable", (double)truth->returnable_bytes);
		check_total(shape, &looks, "glibc.pinned", (double)truth->pinned_bytes);
	}
	gg_block_looks_done(&looks);
	keeper_child_done(&child);
}

TEST(each_block_of_each_shape_pins_what_a_walk_of_its_own_process_says)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		for (size_t i = 0; keeper_shapes[i] != NULL; i++)
			check_shape(keeper_shapes[i], seed);
}
