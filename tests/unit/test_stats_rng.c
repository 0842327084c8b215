/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_rng - tests the generator and its three laws.
 *
 * Limits of Kolmogorov-Smirnov tests have alpha 1e-6, so a right law fails for one seed in a
 * million.  Other tolerances are 5 sigma.
 */
#include "stats/sampling/rng.h"

#include <math.h>

#include "stat.h"
#include "stats/sampling/ziggurat.h"
#include "test.h"

enum { DRAWS = 1000 * 1000 };

static double values[DRAWS];

static struct gg_rng seeded(uint64_t seed)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, seed, 0);
	return rng;
}

TEST(the_generator_is_xoroshiro128_plus_plus)
{
	/* Worked by hand from the published definition, from state 1, 2: rotl(1+2, 17) + 1, then
	 * from rotl(1, 49) ^ 3 ^ 3 << 21 = 0x2000000600003, rotl(3, 28) = 0x30000000. */
	struct gg_rng rng = { { 1, 2 } };
	uint64_t a = UINT64_C(0x2000000600003), b = UINT64_C(0x30000000), sum = a + b;

	CHECK_EQ_U64(gg_rng_next(&rng), (UINT64_C(3) << 17) + 1);
	CHECK(rng.state[0] == a && rng.state[1] == b);
	CHECK_EQ_U64(gg_rng_next(&rng), (sum << 17 | sum >> 47) + a);
}

TEST(every_output_bit_is_a_fair_coin)
{
	struct gg_rng rng = seeded(1);
	uint64_t ones[64] = { 0 };

	for (int i = 0; i < DRAWS; i++) {
		uint64_t word = gg_rng_next(&rng);

		for (int bit = 0; bit < 64; bit++)
			ones[bit] += word >> bit & 1;
	}
	for (int bit = 0; bit < 64; bit++)
		CHECK_MSG(stat_within((double)ones[bit], DRAWS / 2., sqrt(DRAWS) / 2, 5),
		          "bit %d: %g", bit, (double)ones[bit]);
}

TEST(seeds_and_streams_differ_and_repeat)
{
	struct gg_rng a, b;

	for (uint64_t seed = 0; seed < 50; seed++) {
		for (uint64_t stream = 0; stream < 50; stream++) {
			gg_rng_seed(&a, seed, stream);
			gg_rng_seed(&b, seed, stream);
			CHECK(gg_rng_is_seeded(&a));
			CHECK(a.state[0] == b.state[0] && a.state[1] == b.state[1]);
			gg_rng_seed(&b, stream, seed);
			CHECK_EQ_I64(a.state[0] == b.state[0] && a.state[1] == b.state[1],
			             seed == stream);
			gg_rng_seed(&b, seed, stream + 1);
			CHECK(a.state[0] != b.state[0]);
			gg_rng_seed(&b, seed + 1, stream);
			CHECK(a.state[0] != b.state[0]);
		}
	}
}

TEST(the_system_seeds_differently_each_time)
{
	struct gg_rng a = { { 0 } }, b = { { 0 } };

	CHECK(!gg_rng_is_seeded(&a));
	gg_rng_seed_from_system(&a);
	gg_rng_seed_from_system(&b);
	CHECK(gg_rng_is_seeded(&a));
	CHECK(a.state[0] != b.state[0] || a.state[1] != b.state[1]);
}

/* First numbers of 1000 streams and of 1000 seeds in a row: neighbours must not look alike. */
TEST(streams_and_seeds_are_independent)
{
	for (int by_stream = 0; by_stream < 2; by_stream++) {
		struct stat_moments product = { 0 };
		double last = 0.5;

		for (uint64_t i = 0; i < 1000; i++) {
			struct gg_rng rng;
			double u;

			gg_rng_seed(&rng, by_stream ? 7 : i, by_stream ? i : 7);
			u = gg_rng_uniform(&rng);
			stat_add(&product, (u - 0.5) * (last - 0.5));
			last = u;
		}
		/* Variance of the product of two centred uniforms: 1/144. */
		CHECK(stat_within(product.mean, 0, 1 / 12. / sqrt(1000), 5));
	}
}

static double uniform_cdf(double x, const void *unused)
{
	(void)unused;
	return x;
}

TEST(uniform_draws_are_uniform)
{
	struct gg_rng rng = seeded(2);

	for (int i = 0; i < DRAWS; i++)
		values[i] = gg_rng_uniform(&rng);
	CHECK(stat_ks_distance(values, DRAWS, uniform_cdf, NULL) < stat_ks_limit(DRAWS, 1e-6));
	CHECK(values[0] >= 0 && values[DRAWS - 1] < 1);
}

TEST(integers_below_a_bound_are_equally_likely)
{
	struct gg_rng rng = seeded(3);
	uint64_t counts[12] = { 0 }, high = 0;
	double expected[12];

	for (int i = 0; i < 12; i++)
		expected[i] = DRAWS / 12.;
	for (int i = 0; i < DRAWS; i++)
		counts[gg_rng_below(&rng, 12)]++;
	CHECK(stat_chi_square(counts, expected, 12) < stat_chi_square_limit(11, 5));
	/* At 3/4 of the range a modulo would favour the lower third: 1/2 instead of 1/3 of all. */
	for (int i = 0; i < DRAWS; i++)
		high += gg_rng_below(&rng, UINT64_C(3) << 62) < UINT64_C(1) << 62;
	CHECK(stat_within((double)high, DRAWS / 3., sqrt(DRAWS * 2. / 9), 5));
	CHECK_EQ_U64(gg_rng_below(&rng, 1), 0);
}

TEST(the_ziggurat_is_the_one_that_its_recurrence_gives)
{
	/* In long double the error grows along the layers, to 1e-15 at the last. */
	long double r = GG_ZIGGURAT_TAIL, v = (r + 1) * expl(-r), x = v / expl(-r);
	double slow = 0;

	CHECK(fabsl(v - 0.0039496598225815571993L) < 1e-17L); /* Marsaglia & Tsang's area */
	for (int i = 0; i < GG_ZIGGURAT_LAYERS; i++) {
		long double next = i == 0                        ? r
		                   : i == GG_ZIGGURAT_LAYERS - 1 ? 0
		                                                 : -logl(expl(-x) + v / x);
		double accept = (double)gg_ziggurat[i].accept, coarse = 0x1p31;

		slow += (1 - accept * 0x1p-53) / GG_ZIGGURAT_LAYERS;
		CHECK_MSG(fabsl(0x1p53L * gg_ziggurat[i].width / x - 1) < 1e-12L, "layer %d", i);
		CHECK_MSG(next == 0 ? accept == 0
		                    : fabsl((accept + coarse) / (0x1p53L * next / x) - 1) < 1e-12L,
		          "layer %d", i);
		/* The part taken without a look must be under the curve, to the last bit. */
		if (i + 1 < GG_ZIGGURAT_LAYERS)
			CHECK_MSG((accept + coarse) * gg_ziggurat[i].width <=
			                  (i == 0 ? GG_ZIGGURAT_TAIL
			                          : 0x1p53 * gg_ziggurat[i + 1].width) *
			                          (1 + 0x1p-52),
			          "layer %d", i);
		x = next;
	}
	CHECK_MSG(fabs(1 / slow - 45) < 1, "one draw in %g is slow", 1 / slow);
	/* The recurrence ends where it should: exp(-x) of the last layer and its height make 1. */
	x = 0x1p53L * gg_ziggurat[GG_ZIGGURAT_LAYERS - 1].width;
	CHECK(fabsl(expl(-x) + v / x - 1) < 1e-12L);
}

static double exponential_cdf(double x, const void *unused)
{
	(void)unused;
	return -expm1(-x);
}

TEST(exponential_draws_follow_their_law)
{
	struct gg_rng rng = seeded(4);
	struct stat_moments moments = { 0 };

	for (int i = 0; i < DRAWS; i++) {
		values[i] = gg_rng_exponential(&rng);
		stat_add(&moments, values[i]);
	}
	/* Mean 1, sigma 1; the variance 1 has a sigma of sqrt(8/n): fourth central moment 9. */
	CHECK(stat_within(moments.mean, 1, 1 / sqrt(DRAWS), 5));
	CHECK(stat_within(stat_variance(&moments), 1, sqrt(8. / DRAWS), 5));
	CHECK(stat_ks_distance(values, DRAWS, exponential_cdf, NULL) < stat_ks_limit(DRAWS, 1e-6));
	CHECK(values[0] > 0);
}

/* Cells of equal width through all layers of the ziggurat and into its tail, up to 10 means. */
TEST(exponential_draws_have_the_right_density_everywhere)
{
	enum { CELLS = 400, COUNT = 20 * 1000 * 1000 };
	static uint64_t counts[CELLS];
	static double expected[CELLS];
	struct gg_rng rng = seeded(5);

	for (int i = 0; i < CELLS; i++)
		expected[i] = COUNT * exp(-i / 40.) *
		              (i < CELLS - 1 ? -expm1(-1 / 40.) : 1); /* the last one is endless */
	for (int i = 0; i < COUNT; i++) {
		double cell = gg_rng_exponential(&rng) * 40;

		counts[cell < CELLS ? (int)cell : CELLS - 1]++;
	}
	CHECK(stat_chi_square(counts, expected, CELLS) < stat_chi_square_limit(CELLS - 1, 5));
}

/*
 * Returns a state whose next word is the given one.  In result = rotl(a + b, 17) + a, a is free and
 * b follows.  Different a give different later words.
 */
static struct gg_rng about_to_give(uint64_t word, uint64_t a)
{
	uint64_t turned = word - a;

	return (struct gg_rng){ { a, (turned << 47 | turned >> 17) - a } };
}

TEST(a_word_of_zero_is_a_tiny_draw_not_zero_or_infinite)
{
	for (uint64_t layer = 0; layer < 255; layer++) {
		struct gg_rng rng = about_to_give(layer, 99), copy = rng;
		double x;

		CHECK_EQ_U64(gg_rng_next(&copy), layer);
		x = gg_rng_exponential(&rng);
		CHECK_MSG(x > 0 && x < 1e-15, "layer %d: %g", (int)layer, x);
	}
}

TEST(small_draws_are_as_fine_as_large_ones)
{
	/* A coarse place gets a fraction: 1000 draws of the same 53 bits are 1000 numbers. */
	struct stat_moments fraction = { 0 };
	struct gg_rng source = seeded(8);
	double unit = gg_ziggurat[7].width;

	for (int i = 0; i < 1000; i++) {
		struct gg_rng rng = about_to_give(5 << 11 | 7, gg_rng_next(&source));
		double x = gg_rng_exponential(&rng) / unit;

		CHECK_MSG(x >= 5 && x <= 6, "%g", x);
		stat_add(&fraction, x - 5);
	}
	CHECK(stat_within(fraction.mean, 0.5, sqrt(1 / 12. / 1000), 5));
	CHECK(stat_within(stat_variance(&fraction), 1 / 12., sqrt(1 / 180. / 1000), 5));
}

TEST(the_tail_goes_beyond_what_53_bits_could_reach)
{
	const uint64_t tail = UINT64_MAX << 11; /* layer 0, j = 2^53 - 1: beyond r */
	struct gg_rng source = seeded(9);
	struct stat_moments excess = { 0 };

	/* The part beyond r is an exponential again: mean 1, variance 1. */
	for (int i = 0; i < 20000; i++) {
		struct gg_rng rng = about_to_give(tail, gg_rng_next(&source));

		stat_add(&excess, gg_rng_exponential(&rng) - GG_ZIGGURAT_TAIL);
	}
	CHECK(stat_within(excess.mean, 1, 1 / sqrt(20000), 5));
	CHECK(stat_within(stat_variance(&excess), 1, sqrt(8. / 20000), 5));
}

TEST(tail_frequencies_are_right_far_out)
{
	enum { COUNT = 20 * 1000 * 1000 };
	struct gg_rng rng = seeded(6);
	uint64_t beyond[20] = { 0 };

	for (int i = 0; i < COUNT; i++) {
		double x = gg_rng_exponential(&rng);

		for (int t = 7; t < 14 && x > t; t++)
			beyond[t]++;
	}
	for (int t = 7; t < 14; t++) {
		double expected = COUNT * exp(-t); /* 18 237 down to 45 */

		CHECK_MSG(stat_within((double)beyond[t], expected, sqrt(expected), 5), "%d: %g", t,
		          (double)beyond[t]);
	}
}

/*
 * A chi-square test over the gaps 0 to n-1 and "n or more", in cells of nearly equal probability:
 * gaps are whole numbers.
 */
static void check_geometric(double interval, double q, double scale, uint64_t seed)
{
	enum { CELLS = 50 };
	struct gg_rng rng = seeded(seed);
	uint64_t counts[CELLS] = { 0 }, width = (uint64_t)(interval / 12) + 1;
	double expected[CELLS], stay = -log1p(-q) * (double)width;
	int cell_count = CELLS;

	while (cell_count > 2 && DRAWS * exp(-stay * (cell_count - 1)) < 20)
		cell_count--;
	for (int i = 0; i < cell_count; i++)
		expected[i] = DRAWS * exp(-stay * i) * (i < cell_count - 1 ? -expm1(-stay) : 1);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t cell = gg_rng_geometric(&rng, scale) / width;

		counts[cell < (uint64_t)cell_count ? cell : (uint64_t)cell_count - 1]++;
	}
	CHECK_MSG(stat_chi_square(counts, expected, (size_t)cell_count) <
	                  stat_chi_square_limit((size_t)cell_count - 1, 5),
	          "interval %g", interval);
}

TEST(geometric_gaps_follow_the_law_of_coins)
{
	const double intervals[] = { 1.5, 2, 10, 100, 32000, 102400, 524288, 1e9 };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++)
		check_geometric(intervals[i], 1 / intervals[i],
		                gg_rng_geometric_scale(intervals[i]), 10 + i);
}

TEST(whole_gaps_of_a_poisson_process_are_geometric_too)
{
	/* floor(R E) = k has probability exp(-k/R) (1 - exp(-1/R)): coins, q = 1 - exp(-1/R). */
	const double intervals[] = { 1.5, 2, 10, 100, 32000, 524288 };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++)
		check_geometric(intervals[i], -expm1(-1 / intervals[i]), intervals[i], 30 + i);
}

TEST(geometric_gaps_at_the_ends_of_the_range)
{
	struct gg_rng rng = seeded(7);
	struct stat_moments moments = { 0 };
	uint64_t endless = 0;

	for (int i = 0; i < 100000; i++) {
		uint64_t gap = gg_rng_geometric(&rng, gg_rng_geometric_scale(0x1p62));

		CHECK_EQ_U64(gg_rng_geometric(&rng, gg_rng_geometric_scale(1)), 0);
		endless += gap == UINT64_C(1) << 63;
		stat_add(&moments, (double)gap * 0x1p-62);
	}
	/* Held at 2 means: P = exp(-2), mean 1 - exp(-2), sigma below 1. */
	CHECK(stat_within((double)endless / 1e5, exp(-2), sqrt(exp(-2) / 1e5), 5));
	CHECK(stat_within(moments.mean, 1 - exp(-2), 1 / sqrt(1e5), 5));
	CHECK_EQ_DOUBLE(gg_rng_geometric_scale(1), 0);
	CHECK_EQ_DOUBLE(gg_rng_geometric_scale(0), 0);
	CHECK_EQ_DOUBLE(gg_rng_geometric_scale(2), 1 / M_LN2);
	CHECK(fabs(gg_rng_geometric_scale(102400) / (102400 - 0.5) - 1) < 1e-10);
}
