/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_atomic - shows that the atomic operations order and count across threads. */
#include "base/atomic.h"

#include <pthread.h>

#include "base/clock.h"
#include "test.h"

enum { ROUNDS = 100000 };

static struct {
	uint64_t turn, payload, sum, counter;
} shared;

/* Reads each payload after its turn was published; a missing order shows up as a wrong sum. */
static void *reader(void *unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		/* Pairs with the writer's release: the payload is as it was written before. */
		while (gg_load_acquire(&shared.turn) != 2 * i - 1)
			;
		shared.sum += shared.payload;
		/* Hands the payload back: the writer may change it once it sees this. */
		gg_store_release(&shared.turn, 2 * i);
	}
	return NULL;
}

TEST(a_released_record_is_whole_for_who_acquires_it)
{
	pthread_t thread;

	memset(&shared, 0, sizeof(shared));
	pthread_create(&thread, NULL, reader, NULL);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		shared.payload = i;
		gg_store_release(&shared.turn, 2 * i - 1);
		/* Pairs with the reader's release: it is done with the payload. */
		while (gg_load_acquire(&shared.turn) != 2 * i)
			;
	}
	pthread_join(thread, NULL);
	CHECK_EQ_U64(shared.sum, (uint64_t)ROUNDS * (ROUNDS + 1) / 2);
}

static void *counter(void *unused)
{
	uint64_t seen = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		gg_add_relaxed(&shared.counter, 1);
		seen = gg_load_relaxed(&shared.sum);
		while (!gg_cas_acq_rel(&shared.sum, &seen, seen + 2))
			;
	}
	return NULL;
}

TEST(no_count_is_lost_between_threads)
{
	pthread_t threads[4];

	memset(&shared, 0, sizeof(shared));
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, counter, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ_U64(shared.counter, 4 * ROUNDS);
	CHECK_EQ_U64(shared.sum, 2 * 4 * ROUNDS);
}

TEST(the_monotonic_clock_does_not_go_back)
{
	uint64_t last_ns = gg_clock_monotonic_ns();

	for (int i = 0; i < 10000; i++) {
		uint64_t now_ns = gg_clock_monotonic_ns();

		CHECK(now_ns >= last_ns);
		last_ns = now_ns;
	}
	/* After 2024-01-01: the units are right. */
	CHECK(gg_clock_wall_ns() > UINT64_C(1704067200000000000));
}
