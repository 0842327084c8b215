/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_clock - shows that two clocks are read as of one moment, whatever the kernel does. */
#include "base/clock.h"

#include "base/compiler.h"
#include "test.h"

#define WALL_AHEAD_NS UINT64_C(1700000000000000000)
#define START_NS      UINT64_C(5000000)

/* Clocks that go on by a step at each reading.  The last step is that of all later readings. */
static struct {
	uint64_t now_ns, suspended_ns;
	const uint64_t *steps_ns;
	size_t step_count, read_count;
} fake;

static void begin(const uint64_t *steps_ns, size_t step_count)
{
	fake.now_ns = START_NS;
	fake.steps_ns = steps_ns;
	fake.step_count = step_count;
	fake.read_count = 0;
}

static uint64_t read_fake(clockid_t clock)
{
	size_t step = fake.read_count < fake.step_count ? fake.read_count : fake.step_count - 1;

	fake.read_count++;
	fake.now_ns += fake.steps_ns[step];
	if (clock == CLOCK_BOOTTIME)
		return fake.now_ns + fake.suspended_ns;
	return clock == CLOCK_REALTIME ? fake.now_ns + WALL_AHEAD_NS : fake.now_ns;
}

/* How far wall time is from what the monotonic clock says. */
static int64_t error_ns(const struct gg_clock_moment *moment)
{
	return (int64_t)(moment->wall_ns - moment->monotonic_ns - WALL_AHEAD_NS);
}

TEST(both_clocks_are_read_as_of_one_moment)
{
	static const uint64_t steps_ns[] = { 40 };
	struct gg_clock_moment moment;

	begin(steps_ns, GG_COUNT(steps_ns));
	moment = gg_clock_moment_by(read_fake);
	CHECK_EQ_I64(error_ns(&moment), 0);
	CHECK_EQ_U64(fake.read_count, 3);
}

TEST(readings_are_repeated_after_a_preemption_between_them)
{
	/* 20 ms before wall time in the first try, 30 ms after it in the second. */
	static const uint64_t steps_ns[] = { 40, 20000000, 40, 40, 40, 30000000, 40 };
	struct gg_clock_moment moment;

	begin(steps_ns, GG_COUNT(steps_ns));
	moment = gg_clock_moment_by(read_fake);
	CHECK_EQ_I64(error_ns(&moment), 0);
	CHECK_EQ_U64(fake.read_count, 9);
}

TEST(readings_that_are_always_far_apart_end_and_the_closest_count)
{
	static const uint64_t steps_ns[] = { 9000000, 9000000, 9000000, 40,     300000,
		                             500000,  9000000, 8000000, 9000000 };
	struct gg_clock_moment moment;

	begin(steps_ns, GG_COUNT(steps_ns));
	moment = gg_clock_moment_by(read_fake);
	/* Half of the time between the second pair of monotonic readings is the most. */
	CHECK_MSG(error_ns(&moment) >= -400000 && error_ns(&moment) <= 400000, "%jd",
	          (intmax_t)error_ns(&moment));
}

TEST(a_preemption_is_no_suspension_and_a_suspension_is_told)
{
	static const uint64_t steps_ns[] = { 40, 20000000, 40, 40, 40, 30000000, 40 };

	begin(steps_ns, GG_COUNT(steps_ns));
	fake.suspended_ns = 0;
	CHECK_EQ_U64(gg_clock_suspended_ns_by(read_fake), 0);
	begin(steps_ns, GG_COUNT(steps_ns));
	fake.suspended_ns = UINT64_C(3600000000000);
	CHECK_EQ_U64(gg_clock_suspended_ns_by(read_fake), fake.suspended_ns);
}

TEST(the_systems_clocks_agree_with_their_moment)
{
	uint64_t before_ns = gg_clock_monotonic_ns();
	struct gg_clock_moment moment = gg_clock_moment();

	CHECK(moment.monotonic_ns >= before_ns);
	CHECK(moment.monotonic_ns <= gg_clock_monotonic_ns());
}
