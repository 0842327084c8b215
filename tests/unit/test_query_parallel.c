/* SPDX-License-Identifier: Apache-2.0 */
/* test_query_parallel - tests that ranges cover each item once, and a pair both of its things. */
#include "query/parallel.h"

#include <stdint.h>
#include <stdlib.h>

#include "test.h"

static void visit(size_t from, size_t to, void *context)
{
	uint8_t *visits = context;

	for (size_t i = from; i < to; i++)
		visits[i]++;
}

TEST(each_item_is_in_one_range)
{
	const size_t counts[] = { 0, 1, 7, 4095, 4096, 4097, 100003 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint8_t *visits = calloc(counts[i] + 1, 1);
		size_t wrong = 0;

		REQUIRE(visits != NULL);
		gg_parallel_ranges(counts[i], visit, visits);
		for (size_t k = 0; k < counts[i]; k++)
			wrong += visits[k] != 1;
		CHECK_EQ_U64(wrong, 0);
		CHECK_EQ_U64(visits[counts[i]], 0);
		free(visits);
	}
}

TEST(there_is_a_thread_for_each_processor_up_to_a_limit)
{
	CHECK(gg_parallel_width() >= 1 && gg_parallel_width() <= GG_PARALLEL_MAX);
}

struct thing {
	int64_t start, sum;
};

static void add_numbers(void *context)
{
	struct thing *thing = context;

	for (int64_t i = 0; i < 1000; i++)
		thing->sum += thing->start + i;
}

TEST(a_pair_does_its_step_once_on_each_thing)
{
	for (int i = 0; i < 100; i++) {
		struct thing first = { .start = i }, second = { .start = -i };

		gg_parallel_pair(add_numbers, &first, &second);
		CHECK_EQ_I64(first.sum, 499500 + 1000 * i);
		CHECK_EQ_I64(second.sum, 499500 - 1000 * i);
	}
}
