/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_array - shows that arrays grow and keep their items. */
#include "base/array.h"

#include <stdint.h>

#include "test.h"

struct point {
	int x, y;
};

TEST(an_all_zero_array_is_empty_and_can_be_freed)
{
	GG_ARRAY(int) numbers = { 0 };

	gg_array_done(&numbers);
	CHECK(numbers.items == NULL && numbers.count == 0 && numbers.capacity == 0);
}

TEST(items_stay_what_they_were_while_the_array_grows)
{
	GG_ARRAY(uint32_t) numbers = { 0 };
	bool same = true;

	for (uint32_t i = 0; i < 100000; i++)
		same &= gg_array_push(&numbers, i * 7);
	CHECK(same && numbers.count == 100000 && numbers.capacity >= numbers.count);
	for (uint32_t i = 0; i < 100000; i++)
		same &= numbers.items[i] == i * 7;
	CHECK(same);
	gg_array_done(&numbers);
}

TEST(capacities_double)
{
	GG_ARRAY(char) bytes = { 0 };
	size_t moves = 0, before = 0;

	for (int i = 0; i < 1 << 20; i++) {
		if (!CHECK(gg_array_push(&bytes, 'x')))
			break;
		moves += bytes.capacity != before;
		before = bytes.capacity;
	}
	CHECK_EQ_U64(before, 1 << 20);
	CHECK_EQ_U64(moves, 1 + 16); /* 16 = 2^4 items at first, 2^20 in the end */
	gg_array_done(&bytes);
}

TEST(a_pushed_value_may_be_a_compound_literal)
{
	GG_ARRAY(struct point) points = { 0 };

	CHECK(gg_array_push(&points, (struct point){ .x = 1, .y = 2 }));
	CHECK(points.items[0].x == 1 && points.items[0].y == 2);
	gg_array_done(&points);
}

TEST(an_added_item_is_zero_even_where_another_one_was)
{
	GG_ARRAY(struct point) points = { 0 };
	struct point *added;

	CHECK(gg_array_push(&points, (struct point){ 3, 4 }));
	points.count = 0;
	added = gg_array_add(&points);
	CHECK(added == &points.items[0] && points.count == 1);
	CHECK(added != NULL && added->x == 0 && added->y == 0);
	gg_array_done(&points);
}

TEST(an_extended_array_keeps_its_items_and_has_zeroes_behind_them)
{
	GG_ARRAY(int) numbers = { 0 };
	int sum = 0;

	CHECK(gg_array_push(&numbers, 5));
	CHECK(gg_array_extend(&numbers, 1000) && numbers.count == 1000);
	for (size_t i = 0; i < numbers.count; i++)
		sum += numbers.items[i];
	CHECK(numbers.items[0] == 5 && sum == 5);
	CHECK(gg_array_extend(&numbers, 10) && numbers.count == 1000);
	gg_array_done(&numbers);
}

TEST(reserved_room_leaves_the_count_as_it_is)
{
	GG_ARRAY(int) numbers = { 0 };
	int *items;

	CHECK(gg_array_reserve(&numbers, 1000) && numbers.count == 0);
	items = numbers.items;
	for (int i = 0; i < 1000; i++)
		CHECK(gg_array_push(&numbers, i));
	CHECK_EQ_PTR(numbers.items, items);
	CHECK_EQ_U64(numbers.capacity, 1000);
	gg_array_done(&numbers);
}

TEST(sizes_that_do_not_fit_leave_the_array_as_it_was)
{
	GG_ARRAY(struct point) points = { 0 };

	CHECK(gg_array_push(&points, (struct point){ 3, 4 }));
	CHECK(!gg_array_reserve(&points, SIZE_MAX));
	CHECK(!gg_array_reserve(&points, SIZE_MAX / sizeof(struct point) + 1));
	CHECK(!gg_array_extend(&points, SIZE_MAX / 2));
	CHECK_EQ_U64(points.count, 1);
	CHECK_EQ_U64(points.capacity, GG_ARRAY_FIRST_CAPACITY);
	CHECK(points.items[0].x == 3 && points.items[0].y == 4);
	gg_array_done(&points);
}
