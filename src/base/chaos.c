/* SPDX-License-Identifier: Apache-2.0 */
/* chaos - draws a delay for each atomic operation of a test build. */
#include "base/chaos.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/time_units.h"

enum { SPIN_MAX = 4096, SLEEP_MAX_NS = GG_NS_PER_MS };

/*
 * The counter uses the compiler's builtins, because the operations of atomic.h would call
 * gg_chaos() again.
 */
static uint64_t thread_count;

static _Thread_local uint64_t state __attribute__((tls_model("initial-exec"))); /* 0: not seeded */

static uint64_t seed(void)
{
	/* `environ` is NULL until libc has set it up, and gg_chaos() may run before that. */
	const char *text = environ != NULL ? secure_getenv("GG_CHAOS_SEED") : NULL;
	uint64_t number = __atomic_add_fetch(&thread_count, 1, __ATOMIC_RELAXED), given = 1;

	for (given = text != NULL ? 0 : 1; text != NULL && *text >= '0' && *text <= '9'; text++)
		given = given * 10 + (uint64_t)(*text - '0');
	return gg_hash_integer(number, given) | 1;
}

static void spin(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		__asm__ volatile("" ::: "memory");
}

void gg_chaos(void)
{
	int saved_errno = errno;
	uint64_t x = state != 0 ? state : seed(), drawn;

	/*
	 * xorshift64 (Marsaglia 2003): its state is never 0 once it is seeded with an odd number.
	 */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	state = x;
	drawn = x >> 32;
	/*
	 * One operation in 64 yields the processor, one in 64 spins, and one in 16384 sleeps for up
	 * to 1 ms.
	 */
	if (drawn % 64 == 0)
		syscall(SYS_sched_yield);
	else if (drawn % 64 == 1)
		spin(x % SPIN_MAX);
	else if (drawn % 16384 == 2) {
		struct timespec time = { .tv_nsec = (long)(x % SLEEP_MAX_NS) };

		syscall(SYS_nanosleep, &time, NULL);
	}
	errno = saved_errno;
}
