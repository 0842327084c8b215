/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_sampler - tests what a sampler promises besides its laws (test_stats_sampler_laws).
 *
 * These are the ends of its ranges, its records, impossible sizes, pauses, and stride's arithmetic.
 * Bounds are 5 sigma of a known law.
 */
#include "stats/sampling/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "stat.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define SIGMAS 5

static struct gg_sampler started(enum gg_scheme scheme, double interval, uint64_t seed)
{
	struct gg_sampler s = { 0 };

	gg_sampler_init(&s, &(struct gg_sampler_options){ .scheme = scheme,
	                                                  .sampling_interval = interval,
	                                                  .seed = seed });
	return s;
}

static bool sample(struct gg_sampler *s, uint64_t size, struct gg_draw *ret_draw)
{
	return gg_sampler_due(s, size) && gg_sampler_take(s, size, ret_draw);
}

static const uint64_t sizes[] = {
	0, 1, 7, 4096, 1 << 20, UINT64_C(1) << 40, (UINT64_C(1) << 53) + 1, PTRDIFF_MAX
};

TEST(an_interval_of_1_takes_every_allocation_for_itself)
{
	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		struct gg_sampler s = started(scheme, 1, 1); /* optimal: without rates */

		for (int i = 0; i < 1000; i++) {
			uint64_t size = sizes[(size_t)i % GG_COUNT(sizes)];
			struct gg_draw draw;
			struct gg_weight w;

			if (!CHECK_MSG(sample(&s, size, &draw), "%s, size %g",
			               gg_scheme_name(scheme), (double)size))
				return;
			w = gg_weight_of(&draw, size);
			CHECK_MSG(w.probability == 1 && w.count == 1 && w.count_variance == 0 &&
			                  w.bytes == (double)size && gg_draw_is_valid(&draw),
			          "%s, size %g", gg_scheme_name(scheme), (double)size);
		}
	}
}

TEST(intervals_are_held_between_1_and_2_to_the_62)
{
	const double wild[] = { -1, 0.5, NAN, 0x1p63, INFINITY };
	const double held[] = { 1, 1, 1, 0x1p62, 0x1p62 };

	for (size_t i = 0; i < GG_COUNT(wild); i++) {
		struct gg_sampler s = started(GG_SCHEME_POISSON, wild[i], 1);
		struct gg_draw draw;

		while (!sample(&s, PTRDIFF_MAX, &draw))
			;
		CHECK_MSG(draw.sampling_interval == held[i], "%g: %g", wild[i],
		          draw.sampling_interval);
	}
}

/* Sizes of a quarter of the address space: p = 1 - exp(-1/2) at R = 2^62 and size 2^61. */
TEST(the_longest_interval_is_unbiased)
{
	const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
		                           GG_SCHEME_STRIDE };
	enum { COUNT = 100 * 1000 };

	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct gg_sampler s = started(schemes[i], 0x1p62, 3);
		double p = schemes[i] == GG_SCHEME_STRIDE ? 0.5 : -expm1(-0.5), sampled = 0;
		struct gg_draw draw;

		for (int j = 0; j < COUNT; j++) {
			if (!sample(&s, UINT64_C(1) << 61, &draw))
				continue;
			sampled++;
			CHECK(draw.offset_bytes < UINT64_C(1) << 61 &&
			      draw.sampling_interval == 0x1p62);
		}
		CHECK_MSG(
			stat_within(sampled, p * COUNT,
		                    schemes[i] == GG_SCHEME_STRIDE ? 1 : sqrt(p * (1 - p) * COUNT),
		                    SIGMAS),
			"%s: %g", gg_scheme_name(schemes[i]), sampled);
	}
}

TEST(lengths_of_nothing_are_due_like_single_bytes)
{
	for (unsigned scheme = 0; scheme <= GG_SCHEME_PER_ALLOCATION; scheme++) {
		struct gg_sampler zero = started(scheme, 100, 5), one = zero;
		int sampled = 0;

		for (int i = 0; i < 100 * 1000; i++) {
			struct gg_draw a, b;
			bool is_sample = sample(&zero, 0, &a);

			CHECK_EQ_I64(is_sample, sample(&one, 1, &b));
			CHECK(!is_sample || gg_weight_of(&a, 0).bytes == 0);
			sampled += is_sample;
		}
		/* Binomial with p of about 1/100, sigma 32. */
		CHECK_MSG(abs(sampled - 1000) < 160, "%s: %d", gg_scheme_name(scheme), sampled);
	}
}

static bool states_are_equal(const struct gg_sampler *a, const struct gg_sampler *b)
{
	return a->left_bytes == b->left_bytes && a->left_count == b->left_count &&
	       a->point_is_pending == b->point_is_pending && a->rng.state[0] == b->rng.state[0] &&
	       a->rng.state[1] == b->rng.state[1];
}

TEST(sizes_that_no_allocator_serves_are_due_and_put_back)
{
	const uint64_t huge[] = { (uint64_t)PTRDIFF_MAX + 1, (uint64_t)PTRDIFF_MAX + 2,
		                  UINT64_MAX - 1, UINT64_MAX };

	for (unsigned scheme = 0; scheme <= GG_SCHEME_STRIDE; scheme++) {
		struct gg_sampler s = started(scheme, 0x1p62, 6), before;
		struct gg_draw draw;

		for (int i = 0; i < 2000; i++) {
			uint64_t size = huge[(size_t)i % GG_COUNT(huge)];

			before = s;
			CHECK(gg_sampler_due(&s, size));
			gg_sampler_put_back(&s, size);
			CHECK(states_are_equal(&s, &before));
			(void)sample(&s, UINT64_C(1) << 60, &draw);
		}
	}
}

TEST(an_allocation_put_back_was_never_there)
{
	static struct gg_optimal_rates rates;
	double intervals[GG_SIZE_CLASS_COUNT];

	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = 50 + i % 3 * 100;
	gg_optimal_rates_set(&rates, intervals);
	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		struct gg_sampler s = { 0 }, without;

		gg_sampler_init(&s, &(struct gg_sampler_options){ .scheme = scheme,
		                                                  .sampling_interval = 50,
		                                                  .rates = &rates,
		                                                  .seed = 8 });
		without = s;
		for (int i = 0; i < 10000; i++) {
			uint64_t size = i % 2 ? 40 : 0;
			struct gg_draw a, b;
			bool is_sample;

			/* At once if it is due, or else when it has failed. */
			(void)gg_sampler_due(&s, size);
			gg_sampler_put_back(&s, size);
			is_sample = sample(&s, 16, &a);
			CHECK_EQ_I64(is_sample, sample(&without, 16, &b));
			CHECK(!is_sample || (a.offset_bytes == b.offset_bytes &&
			                     a.sample_point_count == b.sample_point_count));
		}
	}
}

TEST(an_all_zero_sampler_seeds_itself_and_takes_the_defaults)
{
	struct gg_sampler a = { 0 }, b = { 0 };
	struct gg_draw draw = { 0 };

	CHECK(!gg_sampler_is_started(&a));
	CHECK(gg_sampler_due(&a, 16)); /* so that its owner can start it */
	(void)gg_sampler_take(&a, 16, &draw);
	CHECK(gg_sampler_is_started(&a));
	/* 2^30 bytes are 2048 intervals: not a sample once in e^2048. */
	CHECK(sample(&a, 1 << 30, &draw));
	CHECK_EQ_DOUBLE(draw.sampling_interval, GG_SAMPLER_DEFAULT_INTERVAL);
	CHECK_EQ_DOUBLE(draw.sampling_interval, 524288);
	CHECK_EQ_U64(draw.scheme, GG_SCHEME_POISSON);
	CHECK_EQ_U64(draw.sample_point_count, 1);
	CHECK(sample(&b, 1 << 30, &draw));
	CHECK(a.rng.state[0] != b.rng.state[0] || a.rng.state[1] != b.rng.state[1]);
}

/* All zero but for a seed, to be repeatable; half of all sizes R ln 2 hold a sample point. */
TEST(the_first_allocation_is_as_likely_as_any_other)
{
	enum { COUNT = 100 * 1000 };
	const uint64_t size = (uint64_t)(GG_SAMPLER_DEFAULT_INTERVAL * M_LN2);
	double sampled = 0, inited = 0;

	for (uint64_t i = 0; i < COUNT; i++) {
		struct gg_sampler s = { 0 }, t = { 0 };
		struct gg_sampler_options options = { .seed = i + 1 };
		struct gg_draw draw;

		gg_rng_seed(&s.rng, i, 1);
		sampled += sample(&s, size, &draw);
		/* Its owner may also start it between due and take. */
		CHECK(gg_sampler_due(&t, size));
		gg_sampler_init(&t, &options);
		inited += gg_sampler_take(&t, size, &draw);
	}
	CHECK_MSG(stat_within(sampled, COUNT / 2., sqrt(COUNT) / 2, SIGMAS), "%g", sampled);
	CHECK_MSG(stat_within(inited, COUNT / 2., sqrt(COUNT) / 2, SIGMAS), "%g", inited);
}

TEST(the_same_seed_and_stream_choose_the_same_allocations)
{
	for (uint64_t stream = 0; stream < 2; stream++) {
		struct gg_sampler_options options = { .sampling_interval = 100, .seed = 9 };
		struct gg_sampler a = { 0 }, b = { 0 };
		int differ = 0;

		gg_sampler_init(&a, &options);
		options.stream = stream;
		gg_sampler_init(&b, &options);
		for (int i = 0; i < 10000; i++) {
			struct gg_draw draw;

			differ += sample(&a, 32, &draw) != sample(&b, 32, &draw);
		}
		CHECK(stream == 0 ? differ == 0 : differ > 1000);
	}
}

TEST(nothing_is_due_in_a_pause_and_all_is_as_new_after_it)
{
	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		struct gg_sampler s = started(scheme, 10, 11);
		struct gg_draw draw;

		(void)sample(&s, 100, &draw);
		gg_sampler_pause(&s, 1000);
		for (int i = 0; i < 10; i++)
			CHECK(!gg_sampler_due(&s, 100));
		CHECK(gg_sampler_due(&s, 1));
		gg_sampler_pause(&s, 50); /* instead of taking */
		CHECK(!gg_sampler_due(&s, 50) && gg_sampler_due(&s, 0));
		gg_sampler_pause(&s, UINT64_MAX);
		CHECK(!gg_sampler_due(&s, UINT64_C(1) << 60));
	}
}

/* The allocation at which a pause ends, and the one after it, have the usual p. */
TEST(what_follows_a_pause_is_unbiased)
{
	enum { COUNT = 50 * 1000 };

	for (unsigned scheme = 0; scheme <= GG_SCHEME_PER_ALLOCATION; scheme++) {
		struct gg_sampler s = started(scheme, 3, 12);
		double p, first = 0, second = 0;
		struct gg_draw draw = { .scheme = scheme,
			                .sampling_interval = 3,
			                .sample_point_count = 1 };

		p = gg_weight_of(&draw, 2).probability;
		for (int i = 0; i < COUNT; i++) {
			gg_sampler_pause(&s, 7);
			for (int j = 0; j < 3; j++)
				CHECK(!gg_sampler_due(&s, 2));
			first += sample(&s, 2, &draw); /* reaches one byte into the pause */
			second += sample(&s, 2, &draw);
		}
		CHECK_MSG(stat_within(first, p * COUNT, sqrt(p * (1 - p) * COUNT), SIGMAS) &&
		                  stat_within(second, p * COUNT, sqrt(p * (1 - p) * COUNT), SIGMAS),
		          "%s: %g and %g of %g", gg_scheme_name(scheme), first, second, p * COUNT);
	}
}

/* As a handler does that allocates between the two: it counts down, and takes nothing. */
TEST(a_signal_handler_between_due_and_take_leaves_the_mark_on_its_allocation)
{
	enum { COUNT = 100 * 1000 };

	for (unsigned scheme = 0; scheme <= GG_SCHEME_PER_ALLOCATION; scheme++) {
		struct gg_sampler s = started(scheme, 100, 14);
		struct gg_draw draw = { .scheme = scheme,
			                .sampling_interval = 100,
			                .sample_point_count = 1 };
		double p = gg_weight_of(&draw, 50).probability, sampled = 0;

		for (int i = 0; i < COUNT; i++) {
			if (!gg_sampler_due(&s, 50))
				continue;
			if (gg_sampler_due(&s, 30))
				gg_sampler_put_back(&s, 30);
			sampled += gg_sampler_take(&s, 50, &draw);
			CHECK(draw.offset_bytes < 50 && s.left_bytes >= 0 && s.left_count >= 0);
		}
		CHECK_MSG(stat_within(sampled, p * COUNT, sqrt(p * (1 - p) * COUNT), SIGMAS),
		          "%s: %g of %g", gg_scheme_name(scheme), sampled, p * COUNT);
	}
}

TEST(take_is_called_within_visit_bytes)
{
	struct gg_sampler s = { 0 };
	struct gg_draw draw;
	uint64_t unvisited = 0;

	gg_sampler_init(&s, &(struct gg_sampler_options){
				    .sampling_interval = 0x1p50, .visit_bytes = 1000, .seed = 1 });
	for (int i = 0; i < 100 * 1000; i++) {
		unvisited += 30;
		if (gg_sampler_due(&s, 30)) {
			(void)gg_sampler_take(&s, 30, &draw);
			unvisited = 0;
		}
		CHECK(unvisited <= 1000);
	}
}

TEST(an_allocation_from_the_cutoff_on_is_always_taken_as_it_is)
{
	const double interval = 10e3;
	uint64_t cutoff = gg_weight_cutoff_bytes(interval);
	struct gg_sampler s = started(GG_SCHEME_POISSON_COUNT, interval, 13);
	double below = 0, at_interval = 0, halves = 0;
	struct gg_draw draw;
	enum { COUNT = 100 * 1000 };

	for (int i = 0; i < COUNT; i++) {
		bool first, second;

		CHECK(sample(&s, cutoff, &draw) && gg_weight_of(&draw, cutoff).count == 1);
		CHECK(sample(&s, 8 * cutoff, &draw) && gg_weight_of(&draw, 8 * cutoff).count == 1);
		below += sample(&s, cutoff - 1, &draw);
		at_interval += sample(&s, (uint64_t)interval, &draw);
		first = sample(&s, 5000, &draw);
		second = sample(&s, 5000, &draw);
		halves += first || second; /* like the whole */
	}
	/* 99 % below the cutoff; where the old one was, at R, about 63 %. */
	CHECK(stat_within(below / COUNT, 0.99, sqrt(0.99 * 0.01 / COUNT), SIGMAS));
	CHECK(stat_within(at_interval / COUNT, 1 - exp(-1), sqrt(0.632 * 0.368 / COUNT), SIGMAS));
	CHECK(stat_within(halves / COUNT, 1 - exp(-1), sqrt(0.632 * 0.368 / COUNT), SIGMAS));
	CHECK(fabs(at_interval / COUNT - 0.63) < 0.01);
}

/* Sample points of stride on `count` allocations of a size. */
static uint64_t stride_points(double interval, uint64_t size, uint64_t count, uint64_t seed)
{
	struct gg_sampler s = started(GG_SCHEME_STRIDE, interval, seed);
	uint64_t points = 0;
	struct gg_draw draw;

	for (uint64_t i = 0; i < count; i++)
		if (sample(&s, size, &draw))
			points += draw.sample_point_count;
	return points;
}

TEST(stride_marks_every_interval_whatever_the_sizes)
{
	const uint64_t lengths[] = { 1, 3, 64, 1000, 1023, 1024, 1025, 5000, 100 * 1000 };

	for (size_t i = 0; i < GG_COUNT(lengths); i++) {
		for (uint64_t seed = 1; seed < 20; seed++) {
			uint64_t bytes = lengths[i] * 3000,
				 points = stride_points(1024, lengths[i], 3000, seed);

			CHECK(points == bytes / 1024 || points == bytes / 1024 + 1);
		}
	}
}

TEST(stride_figures_of_vmprof)
{
	const uint64_t mib = 1 << 20;
	uint64_t points;

	/* "3 MB every 1024 bytes: ~3000 samples; 6 MB: ~6000". */
	CHECK_EQ_U64(stride_points(1024, 48, 3 * mib / 48, 1), 3072);
	CHECK_EQ_U64(stride_points(1024, 48, 6 * mib / 48, 1), 6144);
	/* "822 050 samples at 32 KB in 15.596 s: 52 709 a second". */
	points = stride_points(32768, 1 << 14, 2 * 822050, 1);
	CHECK(points == 822050 && floor((double)points / 15.596) == 52709);
	/* "As low as 64 bytes to about 4 GB"; more than fits the field of points. */
	CHECK_EQ_U64(stride_points(64, 16, 4000, 1), 1000);
	CHECK_EQ_U64(stride_points(0x1p32, UINT64_C(1) << 30, 4000, 1), 1000);
	CHECK_EQ_U64(stride_points(2, UINT64_C(1) << 40, 1, 1), UINT32_MAX);
}

/*
 * The phase is uniform: n sample points are rounded up as often as needed for their mean to be
 * bytes/R.
 */
TEST(stride_is_unbiased_over_its_phase)
{
	const uint64_t lengths[] = { 1, 300, 512, 1024, 2300, 64 * 1024 };
	enum { RUNS = 20 * 1000 };

	for (size_t i = 0; i < GG_COUNT(lengths); i++) {
		double x = (double)lengths[i] / 1024, up = x - floor(x), points = 0;

		for (uint64_t seed = 1; seed <= RUNS; seed++)
			points += (double)stride_points(1024, lengths[i], 1, seed);
		CHECK_MSG(stat_within(points / RUNS, x, sqrt(up * (1 - up) / RUNS) + 1e-12, SIGMAS),
		          "size %g: %g of %g", (double)lengths[i], points / RUNS, x);
	}
}

/* Shows why stride is not the default: of a program with the interval's period it sees one half. */
TEST(a_periodic_program_fools_stride_and_not_poisson)
{
	const enum gg_scheme schemes[] = { GG_SCHEME_STRIDE, GG_SCHEME_POISSON };

	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		for (uint64_t seed = 1; seed < 20; seed++) {
			struct gg_sampler s = started(schemes[i], 1000, seed);
			double even = 0, odd = 0;
			struct gg_draw draw;

			for (int j = 0; j < 4000; j++) {
				even += sample(&s, 500, &draw);
				odd += sample(&s, 500, &draw);
			}
			/* p = 1 - exp(-1/2) = 0.393: sigma 31 of 4000. */
			CHECK(schemes[i] == GG_SCHEME_STRIDE
			              ? even * odd == 0 && even + odd == 4000
			              : fabs(even - 1574) < 155 && fabs(odd - 1574) < 155);
		}
	}
}

TEST(any_scheme_can_follow_any_other)
{
	enum { COUNT = 20 * 1000 };

	for (unsigned from = 0; from < GG_SCHEME_COUNT; from++) {
		for (unsigned to = 0; to <= GG_SCHEME_PER_ALLOCATION; to++) {
			struct gg_sampler s = started(from, 100, 15);
			struct gg_draw draw = { .scheme = to,
				                .sampling_interval = 50,
				                .sample_point_count = 1 };
			double p = gg_weight_of(&draw, 20).probability, sampled = 0;

			for (int i = 0; i < 10; i++)
				(void)sample(&s, 20, &draw);
			gg_sampler_change(&s, &(struct gg_sampler_options){
						      .scheme = to, .sampling_interval = 50 });
			for (int i = 0; i < COUNT; i++)
				sampled += sample(&s, 20, &draw);
			CHECK_MSG(
				stat_within(sampled, p * COUNT, sqrt(p * (1 - p) * COUNT), SIGMAS),
				"%s after %s: %g of %g", gg_scheme_name(to), gg_scheme_name(from),
				sampled, p * COUNT);
		}
	}
}
