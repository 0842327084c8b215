/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampled - compares the set of an adapter's samples with a plain list. */
#include "sampled.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "random.h"
#include "test.h"

enum { BLOCKS = 40000, STEPS = 1000000 };

static struct gg_sampled sampled;
static bool is_in[BLOCKS];

/* Addresses as allocators give them: dense, 16 bytes apart, in two places. */
static const void *block(size_t i)
{
	return (const void *)((uintptr_t)(i % 2 != 0 ? 0x7f0012340000 : 0x555500001000) + 16 * i);
}

static uint32_t next_index(void)
{
	static uint64_t state = 88172645463325252u;

	return (uint32_t)(random_next(&state) >> 32);
}

static size_t marked_count(void)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(sampled.front); i++)
		count += sampled.front[i] != 0;
	return count;
}

TEST(all_zero_knows_no_sample)
{
	CHECK(!gg_sampled_maybe(&sampled, block(1)));
	CHECK(!gg_sampled_take(&sampled, block(1)));
	CHECK(!gg_sampled_take(&sampled, NULL));
}

TEST(a_sample_is_taken_once)
{
	gg_sampled_add(&sampled, block(7));
	gg_sampled_add(&sampled, block(7));
	CHECK(gg_sampled_maybe(&sampled, block(7)));
	CHECK(!gg_sampled_take(&sampled, block(8)));
	CHECK(!gg_sampled_take(&sampled, NULL));
	CHECK(gg_sampled_take(&sampled, block(7)));
	CHECK(!gg_sampled_take(&sampled, block(7)));
	CHECK(!gg_sampled_maybe(&sampled, block(7)));
}

TEST(a_million_samples_come_and_go)
{
	size_t count = 0;

	for (int step = 0; step < STEPS; step++) {
		/* More and more of them, then fewer and fewer. */
		size_t i = next_index() % BLOCKS;
		bool add = next_index() % 100 < (step < STEPS / 2 ? 60u : 30u);

		if (add) {
			gg_sampled_add(&sampled, block(i));
		} else if (!CHECK_EQ_I64(gg_sampled_take(&sampled, block(i)), is_in[i])) {
			return;
		}
		count = count + add - is_in[i];
		is_in[i] = add;
		if (is_in[i] && !CHECK(gg_sampled_maybe(&sampled, block(i))))
			return;
	}
	CHECK_EQ_U64(sampled.count, count);
	for (size_t i = 0; i < BLOCKS; i++)
		CHECK_EQ_I64(gg_sampled_take(&sampled, block(i)), is_in[i]);
	CHECK_EQ_U64(sampled.count, 0);
	CHECK_EQ_U64(marked_count(), 0);
	gg_sampled_done(&sampled);
}

TEST(few_samples_leave_most_blocks_unasked)
{
	struct gg_sampled few = { .count = 0 };
	size_t asked = 0;

	for (size_t i = 0; i < 100; i++)
		gg_sampled_add(&few, block(300 * i));
	for (size_t i = 0; i < BLOCKS; i++)
		asked += gg_sampled_maybe(&few, block(i));
	/* 100 of 4096 counts. */
	CHECK_MSG(asked < BLOCKS / 25, "%zu of %d", asked, BLOCKS);
	gg_sampled_done(&few);
}

TEST(without_memory_every_block_may_be_one)
{
	struct gg_sampled full = { .count = 0 };
	struct rlimit before, none = { 0, 0 };

	getrlimit(RLIMIT_AS, &before);
	none.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_AS, &none);
	gg_sampled_add(&full, block(1));
	setrlimit(RLIMIT_AS, &before);
	CHECK(full.is_full);
	CHECK(gg_sampled_maybe(&full, block(2)));
	CHECK(gg_sampled_take(&full, block(2)));
	gg_sampled_add(&full, block(3));
	gg_sampled_done(&full);
}
