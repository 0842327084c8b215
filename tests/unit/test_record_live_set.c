/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_live_set - shows that samples are added to the live set, ended, and forgotten. */
#include <errno.h>

#include "record/process/live_set.h"
#include "test.h"

TEST(what_is_held_is_found_with_its_id_and_time)
{
	struct gg_live_set live_set;

	gg_live_set_init(&live_set, 100000);
	for (uint64_t i = 1; i <= 50000; i++)
		CHECK_EQ_I64(gg_live_set_add(&live_set, i * 7, i, i * 1000), 0);
	for (uint64_t i = 1; i <= 50000; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&live_set, i * 7);

		if (!CHECK(sample != NULL && sample->id == i && sample->time_ns == i * 1000) ||
		    !CHECK(gg_live_set_is_live(sample)))
			break;
	}
	CHECK(gg_live_set_find(&live_set, 8) == NULL && live_set.live_count == 50000);
	gg_live_set_validate(&live_set);
	gg_live_set_done(&live_set);
}

TEST(what_has_ended_is_remembered_for_a_while_and_then_forgotten)
{
	struct gg_live_set live_set;

	gg_live_set_init(&live_set, 1000);
	for (uint64_t i = 1; i <= 2 * GG_LIVE_SET_ENDED_MAX; i++) {
		CHECK_EQ_I64(gg_live_set_add(&live_set, i, i, i), 0);
		gg_live_set_end(&live_set, gg_live_set_find(&live_set, i), i);
	}
	CHECK_EQ_U64(live_set.live_count, 0);
	CHECK(gg_live_set_find(&live_set, GG_LIVE_SET_ENDED_MAX) == NULL);
	for (uint64_t i = GG_LIVE_SET_ENDED_MAX + 1; i <= 2 * GG_LIVE_SET_ENDED_MAX; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&live_set, i);

		if (!CHECK(sample != NULL && !gg_live_set_is_live(sample)) ||
		    !CHECK_EQ_U64(sample->time_ns & ~GG_LIVE_SET_ENDED, i))
			break;
	}
	/* Places are used again: memory does not grow with what came and went. */
	CHECK(live_set.samples.count <= GG_LIVE_SET_ENDED_MAX + 2);
	gg_live_set_validate(&live_set);
	gg_live_set_done(&live_set);
}

/* A region of a child that was made meanwhile has not been found yet. */
TEST(what_has_ended_in_the_last_two_rounds_is_remembered_however_much_it_is)
{
	enum { COUNT = 3 * GG_LIVE_SET_ENDED_MAX + 5 };
	struct gg_live_set live_set;

	gg_live_set_init(&live_set, COUNT);
	for (uint64_t i = 1; i <= COUNT; i++)
		CHECK_EQ_I64(gg_live_set_add(&live_set, i, i, i), 0);
	for (uint64_t i = 1; i < COUNT; i++)
		gg_live_set_end(&live_set, gg_live_set_find(&live_set, i), i <= 100 ? 7 : 8);
	CHECK(live_set.ended_count == COUNT - 1 && gg_live_set_find(&live_set, 1) != NULL);
	gg_live_set_end(&live_set, gg_live_set_find(&live_set, COUNT), 9);
	CHECK(gg_live_set_find(&live_set, 100) == NULL && gg_live_set_find(&live_set, 101) != NULL);
	for (uint64_t i = 101; i <= COUNT; i++) {
		const struct gg_live_set_sample *sample = gg_live_set_find(&live_set, i);

		if (!CHECK(sample != NULL && sample->id == i && !gg_live_set_is_live(sample)))
			break;
	}
	gg_live_set_validate(&live_set);
	gg_live_set_done(&live_set);
}

TEST(more_than_the_limit_is_refused)
{
	struct gg_live_set live_set;

	gg_live_set_init(&live_set, 3);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK_EQ_I64(gg_live_set_add(&live_set, i, i, i), 0);
	CHECK_EQ_I64(gg_live_set_add(&live_set, 4, 4, 4), -ENOSPC);
	gg_live_set_end(&live_set, gg_live_set_find(&live_set, 1), 1);
	CHECK_EQ_I64(gg_live_set_add(&live_set, 4, 4, 4), 0);
	gg_live_set_validate(&live_set);
	gg_live_set_done(&live_set);
}
