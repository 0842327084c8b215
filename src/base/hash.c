/* SPDX-License-Identifier: Apache-2.0 */
/* hash - hashes byte strings, and draws random seeds. */
#include "base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Multiplies 64 x 64 to 128 bits and folds: each bit of the result depends on all bits of both
 * factors.
 */
static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t gg_hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
	/* Odd constants with random-looking bits: the fractions of sqrt(2) and sqrt(3). */
	const uint64_t odd1 = UINT64_C(0x6a09e667f3bcc909), odd2 = UINT64_C(0xbb67ae8584caa73b);
	const unsigned char *p = bytes;
	uint64_t hash = seed ^ multiply_fold(length ^ odd1, odd2);
	uint64_t word;

	/* The first line takes the seed in by xor, and the last would take it out again. */
	if (length == 0)
		return gg_hash_integer(odd2, gg_hash_integer(seed, odd1));
	/*
	 * Adding the word after the product keeps its bits even if the product is 0 for one unlucky
	 * word.
	 */
	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&word, p, 8);
		hash = multiply_fold(hash ^ word ^ odd1, odd2) + word;
	}
	if (length > 0) {
		word = 0;
		memcpy(&word, p, length);
		hash = multiply_fold(hash ^ word ^ odd1, odd2) + word;
	}
	return gg_hash_integer(hash, seed);
}

uint64_t gg_hash_random_seed(void)
{
	int saved_errno = errno;
	uint64_t seed;

	/*
	 * libc's getrandom() is a cancellation point, and malloc(), which may call this, must not
	 * be one.
	 */
	if (syscall(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = gg_hash_integer(gg_clock_monotonic_ns(), (uintptr_t)&seed);
	errno = saved_errno;
	return seed;
}
