/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of bump.h: what its slow path does with the three pointers, at every edge.  What its
 * samples add up to is tested in test_embed_bump_laws.
 */
#include "geiger/bump.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "test.h"

static const enum geiger_scheme schemes[] = { GEIGER_BERNOULLI, GEIGER_POISSON, GEIGER_STRIDE };

enum { BLOCK = 1 << 16, KEPT = 1 << 12 };

struct heard {
	struct geiger_bump_sample samples[KEPT]; /* the first ones */
	size_t count;
};

static struct heard heard;
static char block[BLOCK];

static void hear(void *user, const struct geiger_bump_sample *sample)
{
	struct heard *h = user;

	if (h->count < KEPT)
		h->samples[h->count] = *sample;
	h->count++;
}

static void begin(struct geiger_bump *bump, enum geiger_scheme scheme, uint64_t interval,
                  size_t bytes)
{
	struct geiger_bump_config config = { .scheme = scheme,
		                             .interval_bytes = interval,
		                             .seed = 7,
		                             .on_sample = hear,
		                             .user = &heard };

	heard.count = 0;
	CHECK(geiger_bump_init(bump, &config) == 0);
	geiger_bump_refill(bump, block, block + bytes);
}

TEST(objects_lie_one_after_the_other_and_the_last_one_fits_exactly)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 64, 4096);
		for (size_t at = 0; at < 4096; at += 16)
			CHECK(geiger_bump_alloc(&bump, 16, "x") == block + at);
		CHECK(geiger_bump_alloc(&bump, 1, "x") == NULL);
		CHECK(bump.alloc_ptr == bump.alloc_limit);
		CHECK(heard.count > 20 && heard.count < 120);
		geiger_bump_done(&bump);
	}
}

TEST(off_means_that_the_two_limits_are_one)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 64, 4096);
		geiger_bump_enable(&bump, false);
		CHECK(bump.combined_limit == bump.alloc_limit);
		while (geiger_bump_alloc(&bump, 8, "x") != NULL)
			CHECK(bump.combined_limit == bump.alloc_limit);
		CHECK(heard.count == 0);
		geiger_bump_done(&bump);
	}
}

TEST(an_interval_of_1_takes_every_object_for_itself)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;
		size_t count = 0;
		double total = 0;

		begin(&bump, schemes[i], 1, 4096);
		for (size_t bytes = 1; geiger_bump_alloc(&bump, bytes, "x") != NULL; bytes++)
			count++;
		CHECK(heard.count == count);
		for (size_t at = 0; at < count; at++) {
			CHECK(heard.samples[at].bytes == at + 1);
			CHECK(heard.samples[at].offset == 0);
			total += geiger_estimate_bytes(&heard.samples[at]);
		}
		CHECK(total == (double)(bump.alloc_ptr - block));
		geiger_bump_done(&bump);
	}
}
