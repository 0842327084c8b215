/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_hash - shows that hashes of similar keys spread evenly and depend on every bit. */
#include "base/hash.h"

#include "stat.h"
#include "test.h"

enum { BUCKETS = 256, KEYS = 256 * 1000 };

/*
 * A chi-square test over the low 8 bits, with 255 degrees of freedom.  The limit of 5 sigma fails
 * for 1 hash in 3.5 million.
 */
static bool is_uniform(const uint64_t *counts)
{
	double expected[BUCKETS];

	for (int i = 0; i < BUCKETS; i++)
		expected[i] = (double)KEYS / BUCKETS;
	return stat_chi_square(counts, expected, BUCKETS) <= stat_chi_square_limit(BUCKETS - 1, 5);
}

TEST(aligned_addresses_spread_over_all_buckets)
{
	uint64_t counts[BUCKETS] = { 0 };

	for (uint64_t i = 0; i < KEYS; i++)
		counts[gg_hash_integer(UINT64_C(0x7f0000000000) + 4096 * i, 1) % BUCKETS]++;
	CHECK(is_uniform(counts));
}

TEST(similar_texts_spread_over_all_buckets)
{
	uint64_t counts[BUCKETS] = { 0 };
	char text[32];

	for (int i = 0; i < KEYS; i++) {
		int length = snprintf(text, sizeof(text), "/usr/lib/lib%d.so", i);

		counts[gg_hash_bytes(text, (size_t)length, 1) % BUCKETS]++;
	}
	CHECK(is_uniform(counts));
}

TEST(every_bit_of_a_key_changes_about_half_of_the_hash)
{
	for (int bit = 0; bit < 64; bit++) {
		struct stat_moments changed = { 0 };

		for (uint64_t key = 0; key < 1000; key++) {
			uint64_t difference = gg_hash_integer(key, 0) ^
			                      gg_hash_integer(key ^ UINT64_C(1) << bit, 0);

			stat_add(&changed, __builtin_popcountll(difference));
		}
		/* 64 fair coins: mean 32, sigma 4; of the mean of 1000, 0.13. */
		CHECK_MSG(stat_within(changed.mean, 32, 0.13, 6), "bit %d: %g", bit, changed.mean);
	}
}

TEST(length_and_seed_change_the_hash)
{
	CHECK(gg_hash_bytes("\0\0", 1, 0) != gg_hash_bytes("\0\0", 2, 0));
	CHECK(gg_hash_bytes(NULL, 0, 0) != gg_hash_bytes("\0", 1, 0));
	CHECK(gg_hash_bytes("abc", 3, 0) != gg_hash_bytes("abc", 3, 1));
	CHECK_EQ_U64(gg_hash_bytes("abc", 3, 5), gg_hash_bytes("abc", 3, 5));
	CHECK(gg_hash_bytes(NULL, 0, 1) != gg_hash_bytes(NULL, 0, 2));
}

TEST(two_random_seeds_differ)
{
	CHECK(gg_hash_random_seed() != gg_hash_random_seed());
}
