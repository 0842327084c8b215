/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_binary_search - shows that bounds equal those of a linear search. */
#include "base/binary_search.h"

#include "test.h"

TEST(a_bound_is_the_first_index_that_is_not_before)
{
	const int sorted[] = { 1, 3, 3, 3, 7, 9 };

	for (int wanted = 0; wanted <= 10; wanted++) {
		size_t lower = 0, upper = 0;

		while (lower < 6 && sorted[lower] < wanted)
			lower++;
		while (upper < 6 && sorted[upper] <= wanted)
			upper++;
		CHECK(gg_lower_bound(0, 6, i, sorted[i] < wanted) == lower);
		CHECK(gg_lower_bound(0, 6, i, sorted[i] <= wanted) == upper);
	}
}

TEST(an_empty_range_has_its_own_end_as_bound)
{
	int evaluated_count = 0;

	CHECK(gg_lower_bound(5, 5, i, (evaluated_count++, i < 100)) == 5);
	CHECK(evaluated_count == 0);
}

TEST(a_range_may_begin_anywhere)
{
	const int sorted[] = { 9, 1, 2, 3, 0 };

	CHECK(gg_lower_bound(1, 4, i, sorted[i] < 2) == 2);
	CHECK(gg_lower_bound(1, 4, i, sorted[i] < 100) == 4);
}
