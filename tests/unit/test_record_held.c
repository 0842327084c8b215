/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "record/process/live_set.h"
#include "test.h"

TEST(what_is_held_is_found_with_its_id_and_time)
{
	struct gg_live_set held;

	gg_live_set_init(&held, 100000);
	for (uint64_t i = 1; i <= 50000; i++)
		CHECK_EQ_I64(gg_live_set_add(&held, i * 7, i, i * 1000), 0);
	for (uint64_t i = 1; i <= 50000; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&held, i * 7);

		if (!CHECK(sample != NULL && sample->id == i && sample->time_ns == i * 1000) ||
		    !CHECK(gg_live_set_is_live(sample)))
			break;
	}
	CHECK(gg_live_set_find(&held, 8) == NULL && held.live_count == 50000);
	gg_live_set_done(&held);
}

TEST(what_has_ended_is_remembered_for_a_while_and_then_forgotten)
{
	struct gg_live_set held;

	gg_live_set_init(&held, 1000);
	for (uint64_t i = 1; i <= 2 * GG_LIVE_SET_ENDED_MAX; i++) {
		CHECK_EQ_I64(gg_live_set_add(&held, i, i, i), 0);
		gg_live_set_end(&held, gg_live_set_find(&held, i), i);
	}
	CHECK_EQ_U64(held.live_count, 0);
	CHECK(gg_live_set_find(&held, GG_LIVE_SET_ENDED_MAX) == NULL);
	for (uint64_t i = GG_LIVE_SET_ENDED_MAX + 1; i <= 2 * GG_LIVE_SET_ENDED_MAX; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&held, i);

		if (!CHECK(sample != NULL && !gg_live_set_is_live(sample)) ||
		    !CHECK_EQ_U64(sample->time_ns & ~GG_LIVE_SET_ENDED, i))
			break;
	}
	/* Places are used again: memory does not grow with what came and went. */
	CHECK(held.samples.count <= GG_LIVE_SET_ENDED_MAX + 2);
	gg_live_set_done(&held);
}

/* A region of a child that was made meanwhile has not been found yet. */
TEST(what_has_ended_in_the_last_two_rounds_is_remembered_however_much_it_is)
{
	enum { COUNT = 3 * GG_LIVE_SET_ENDED_MAX + 5 };
	struct gg_live_set held;

	gg_live_set_init(&held, COUNT);
	for (uint64_t i = 1; i <= COUNT; i++)
		CHECK_EQ_I64(gg_live_set_add(&held, i, i, i), 0);
	for (uint64_t i = 1; i < COUNT; i++)
		gg_live_set_end(&held, gg_live_set_find(&held, i), i <= 100 ? 7 : 8);
	CHECK(held.ended_count == COUNT - 1 && gg_live_set_find(&held, 1) != NULL);
	gg_live_set_end(&held, gg_live_set_find(&held, COUNT), 9);
	CHECK(gg_live_set_find(&held, 100) == NULL && gg_live_set_find(&held, 101) != NULL);
	for (uint64_t i = 101; i <= COUNT; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&held, i);

		if (!CHECK(sample != NULL && sample->id == i && !gg_live_set_is_live(sample)))
			break;
	}
	gg_live_set_done(&held);
}

TEST(more_than_the_limit_is_refused)
{
	struct gg_live_set held;

	gg_live_set_init(&held, 3);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK_EQ_I64(gg_live_set_add(&held, i, i, i), 0);
	CHECK_EQ_I64(gg_live_set_add(&held, 4, 4, 4), -ENOSPC);
	gg_live_set_end(&held, gg_live_set_find(&held, 1), 1);
	CHECK_EQ_I64(gg_live_set_add(&held, 4, 4, 4), 0);
	gg_live_set_done(&held);
}
