/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_fast_clock - the clock that counts ticks agrees with the real one. */
#include "base/fast_clock.h"

#include <pthread.h>

#include "base/clock.h"
#include "test.h"

/* A kernel that does not trust the counter knows that processors differ, or that it changes. */
static bool has_counter(void)
{
	char name[8] = "";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");

	if (file == NULL)
		return false;
	if (fgets(name, sizeof(name), file) == NULL)
		name[0] = '\0';
	fclose(file);
	return strcmp(name, "tsc\n") == 0;
}

/*
 * How far a reading is outside of two real ones around it.  While the kernel preempts the thread
 * between them, they are far apart, and the reading is still between them.
 */
static uint64_t error_ns(struct gg_fast_clock *clock)
{
	uint64_t before = gg_clock_monotonic_ns(), ns = gg_fast_clock_ns(clock);
	uint64_t after = gg_clock_monotonic_ns();

	return ns < before ? before - ns : ns > after ? ns - after : 0;
}

/* A second has some ten renewals. */
TEST(readings_are_those_of_the_real_clock)
{
	struct gg_fast_clock clock = { 0 };
	uint64_t begin = gg_clock_monotonic_ns(), worst = 0, counted = 0;

	gg_fast_clock_use_counter(has_counter());
	while (gg_clock_monotonic_ns() < begin + 1000000000) {
		uint64_t error = error_ns(&clock);

		worst = error > worst ? error : worst;
		counted += clock.limit != 0;
	}
	printf("worst %llu ns, %llu readings by the counter\n", (unsigned long long)worst,
	       (unsigned long long)counted);
	/* Both ends of a measurement are off by 2 us at most, of 20 ms at least. */
	CHECK_MSG(worst < 100000, "%llu ns", (unsigned long long)worst);
	CHECK(has_counter() ? counted > 0 : counted == 0);
}

static void *read_in_thread(void *unused)
{
	struct gg_fast_clock clock = { 0 };

	(void)unused;
	CHECK(error_ns(&clock) == 0); /* a new clock begins with a real reading */
	CHECK(!has_counter() || clock.limit != 0);
	CHECK(error_ns(&clock) < 100000);
	return NULL;
}

TEST(a_new_thread_takes_the_rate_that_is_known)
{
	struct gg_fast_clock clock = { 0 };
	uint64_t begin = gg_clock_monotonic_ns();
	pthread_t thread;

	gg_fast_clock_use_counter(has_counter());
	while (gg_clock_monotonic_ns() < begin + 3 * GG_FAST_CLOCK_MEASURED_NS)
		gg_fast_clock_ns(&clock);
	REQUIRE(pthread_create(&thread, NULL, read_in_thread, NULL) == 0);
	pthread_join(thread, NULL);
}

/* As after a sleep of the machine, in which ticks went on and the clock did not. */
static struct gg_fast_clock doubtful_clock(void)
{
	struct gg_fast_clock clock = { 0 };
	uint64_t begin = gg_clock_monotonic_ns();

	gg_fast_clock_use_counter(has_counter());
	while (clock.limit == 0 && has_counter() && gg_clock_monotonic_ns() < begin + 1000000000)
		gg_fast_clock_ns(&clock);
	clock.limit = 0;
	clock.ticks -= 10000000000;
	clock.ns -= 100000000;
	return clock;
}

TEST(a_rate_that_changed_is_not_used)
{
	struct gg_fast_clock clock = doubtful_clock();
	uint64_t begin;

	CHECK(error_ns(&clock) == 0);
	CHECK(clock.limit == 0);
	/* Ticks that begin anew. */
	clock = (struct gg_fast_clock){ .ticks = UINT64_MAX / 2, .ns = 1, .limit = 1 };
	CHECK(error_ns(&clock) == 0);
	for (begin = gg_clock_monotonic_ns(); gg_clock_monotonic_ns() < begin + 500000000;)
		CHECK(error_ns(&clock) < 100000);
	CHECK(!has_counter() || clock.limit != 0);
}

/* A thread that begins after a wrong measurement takes the rate from before. */
TEST(a_new_thread_takes_no_rate_that_is_doubtful)
{
	struct gg_fast_clock clock = doubtful_clock(), fresh = { 0 };
	uint64_t begin;

	CHECK(error_ns(&clock) == 0 && clock.limit == 0);
	CHECK(error_ns(&fresh) == 0);
	CHECK(!has_counter() || fresh.limit != 0);
	/* The wrong rate would be wrong by most of this. */
	for (begin = gg_clock_monotonic_ns(); gg_clock_monotonic_ns() < begin + 10000000;)
		CHECK(error_ns(&fresh) < 100000);
}

TEST(without_the_counter_each_reading_is_a_real_one)
{
	struct gg_fast_clock clock = { 0 };
	uint64_t begin = gg_clock_monotonic_ns();

	gg_fast_clock_use_counter(false);
	while (gg_clock_monotonic_ns() < begin + 2 * GG_FAST_CLOCK_MEASURED_NS)
		CHECK(error_ns(&clock) == 0 && clock.limit == 0);
}
