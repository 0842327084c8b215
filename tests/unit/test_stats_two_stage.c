/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_two_stage - a simulated fleet: intervals hold the truth when only some hosts were
 * drawn, and those of sampling alone do not.
 *
 * GG_TEST_FLEET_RUNS is the number of drawings (400): suite `proof` has ten times as many.
 */
#include "stats/estimate/two_stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { HOSTS = 2000, DRAWN = HOSTS / 40, GROUPS = 16, BLOCK = 4096, GAP = 1 << 19 };

/* Mean live memory of a host, in blocks: some 128 samples each. */
#define MEAN_BLOCKS 16384.0

struct fleet {
	double blocks[HOSTS]; /* the truth */
	double rss[HOSTS];    /* what every host reports */
	double total_bytes, total_rss;
};

static double normal_of(struct gg_rng *rng)
{
	double u = (double)(gg_rng_next(rng) >> 11) * 0x1p-53 + 0x1p-54;
	double v = (double)(gg_rng_next(rng) >> 11) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Hosts are lognormal with that coefficient of variation; RSS follows them with noise of 10 %. */
static void make_fleet(struct fleet *fleet, double spread, struct gg_rng *rng)
{
	double sigma = sqrt(log1p(spread * spread));

	fleet->total_bytes = fleet->total_rss = 0;
	for (int i = 0; i < HOSTS; i++) {
		fleet->blocks[i] = floor(MEAN_BLOCKS *
		                         exp(sigma * normal_of(rng) - sigma * sigma / 2));
		fleet->rss[i] = (fleet->blocks[i] + 0.5 * MEAN_BLOCKS) * BLOCK *
		                exp(0.1 * normal_of(rng));
		fleet->total_bytes += fleet->blocks[i] * BLOCK;
		fleet->total_rss += fleet->rss[i];
	}
}

/* The samples of a host: each block is one with the same chance, found by the gaps between them. */
static struct gg_tally sample_host(double blocks, struct gg_rng *rng)
{
	const struct gg_draw draw = { .sampling_interval = GAP,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };
	double miss = -(double)BLOCK / GAP, at = 0;
	struct gg_tally tally = { 0 };

	for (;;) {
		double u = (double)(gg_rng_next(rng) >> 11) * 0x1p-53 + 0x1p-54;

		at += 1 + floor(log(u) / miss);
		if (at > blocks)
			return tally;
		gg_tally_add(&tally, &draw, BLOCK);
	}
}

enum method { SAMPLING_ALONE, TWO_STAGE, RATIO, RANDOM_GROUPS, METHOD_COUNT };

struct run {
	struct gg_tally tally; /* of all drawn hosts */
	double values[DRAWN], known[DRAWN], ones[DRAWN];
	int hosts[DRAWN];
};

/* Draws without replacement, by the first steps of a shuffle. */
static void draw_hosts(struct run *run, const struct fleet *fleet, struct gg_rng *rng)
{
	int order[HOSTS];

	for (int i = 0; i < HOSTS; i++)
		order[i] = i;
	run->tally = (struct gg_tally){ 0 };
	for (int i = 0; i < DRAWN; i++) {
		int other = i + (int)(gg_rng_next(rng) % (uint64_t)(HOSTS - i)),
		    host = order[other];
		struct gg_tally tally = sample_host(fleet->blocks[host], rng);

		order[other] = order[i];
		run->hosts[i] = host;
		run->values[i] = gg_tally_estimate(&tally, GG_BYTES).value;
		run->known[i] = fleet->rss[host];
		run->ones[i] = 1;
		gg_tally_merge(&run->tally, &tally);
	}
	gg_tally_expose(&run->tally, GAP);
}

static struct gg_interval interval_by(enum method method, const struct run *run,
                                      const struct fleet *fleet, double *ret_value)
{
	struct gg_drawn_units drawn = {
		.values = run->values,
		.known = method == RATIO ? run->known : run->ones,
		.unit_count = DRAWN,
		.drawn_count = DRAWN,
		.all_count = HOSTS,
		.known_total = method == RATIO ? fleet->total_rss : HOSTS,
		.sampling_variance = gg_tally_estimate(&run->tally, GG_BYTES).variance,
		.sampling_skew = gg_sum_value(&run->tally.usual[GG_BYTES].skew),
	};
	double group_values[GROUPS] = { 0 }, group_known[GROUPS] = { 0 };
	struct gg_tally tally = run->tally;
	struct gg_two_stage sum;
	struct gg_interval interval;

	if (method == SAMPLING_ALONE) {
		double scale = (double)HOSTS / DRAWN;

		interval = gg_interval_of(&tally, GG_BYTES, 0.95, false);
		*ret_value = scale * gg_tally_estimate(&tally, GG_BYTES).value;
		return (struct gg_interval){ scale * interval.low, scale * interval.high,
			                     interval.method };
	}
	if (method == RANDOM_GROUPS) {
		for (int i = 0; i < DRAWN; i++) {
			/* Hosts are in random order already. */
			group_values[i % GROUPS] += run->values[i];
			group_known[i % GROUPS] += 1;
		}
		drawn.values = group_values;
		drawn.known = group_known;
		drawn.unit_count = GROUPS;
	}
	sum = gg_two_stage_of(&drawn);
	gg_two_stage_extend(&tally, GG_BYTES, &sum, 0.95);
	*ret_value = gg_tally_estimate(&tally, GG_BYTES).value;
	return gg_interval_of(&tally, GG_BYTES, 0.95, false);
}

struct coverage {
	double held[METHOD_COUNT], width[METHOD_COUNT], mean[METHOD_COUNT];
};

static struct coverage cover(double spread, int runs, uint64_t seed)
{
	struct coverage result = { 0 };
	struct fleet *fleet = malloc(sizeof(*fleet));
	struct run *run = malloc(sizeof(*run));
	struct gg_rng rng;

	REQUIRE(fleet != NULL && run != NULL);
	gg_rng_seed(&rng, seed, 0);
	make_fleet(fleet, spread, &rng);
	for (int i = 0; i < runs; i++) {
		/* Many fleets, so that the coverage does not depend on the hosts of one. */
		if (i % 20 == 0)
			make_fleet(fleet, spread, &rng);
		draw_hosts(run, fleet, &rng);
		for (int method = 0; method < METHOD_COUNT; method++) {
			double value;
			struct gg_interval interval = interval_by((enum method)method, run, fleet,
			                                          &value);

			result.held[method] += (interval.low <= fleet->total_bytes &&
			                        fleet->total_bytes <= interval.high) /
			                       (double)runs;
			result.width[method] += (interval.high - interval.low) /
			                        fleet->total_bytes / runs;
			result.mean[method] += value / fleet->total_bytes / runs;
		}
	}
	free(fleet);
	free(run);
	return result;
}

static int runs_wanted(void)
{
	const char *text = getenv("GG_TEST_FLEET_RUNS");

	return text != NULL ? atoi(text) : 400;
}

static void check_spread(double spread, uint64_t seed, double alone_most)
{
	int runs = runs_wanted();
	struct coverage coverage = cover(spread, runs, seed);
	double sigma = sqrt(0.93 * 0.07 / runs), least = 0.93 - 3 * sigma;
	static const char *const names[] = { "sampling alone", "two-stage", "ratio", "groups" };

	for (int method = 0; method < METHOD_COUNT; method++)
		printf("spread %g, %d runs, %-14s: %.1f %% held, width %.3f, mean %.4f\n", spread,
		       runs, names[method], 100 * coverage.held[method], coverage.width[method],
		       coverage.mean[method]);
	for (int method = TWO_STAGE; method < METHOD_COUNT; method++)
		CHECK_MSG(coverage.held[method] >= least, "%s holds %.3f, at least %.3f",
		          names[method], coverage.held[method], least);
	/* Nor are they wide for no reason: 2 * 1.96 CV / sqrt(n), and half as much again. */
	CHECK_MSG(coverage.width[TWO_STAGE] < 1.5 * 2 * 1.96 * hypot(spread, 0.1) / sqrt(DRAWN),
	          "width %.3f", coverage.width[TWO_STAGE]);
	CHECK(coverage.width[RATIO] < coverage.width[TWO_STAGE]);
	/* The test has power: without the error between hosts the same runs fail. */
	CHECK_MSG(coverage.held[SAMPLING_ALONE] < alone_most, "sampling alone holds %.3f",
	          coverage.held[SAMPLING_ALONE]);
}

TEST(intervals_hold_if_hosts_differ_a_little)
{
	check_spread(0.3, 11, 0.7);
}

TEST(intervals_hold_if_hosts_differ_much)
{
	check_spread(1, 12, 0.5);
}

/* --- several draws ---------------------------------------------------------------------------- */

enum { HOURS = 6 };

/*
 * Hosts hold the same blocks through all hours, and their samples with them: the errors of sampling
 * are as dependent as they can be.  Each hour draws hosts anew.
 */
static void average_draws(const struct fleet *fleet, struct gg_tally *samples, struct gg_rng *rng,
                          bool are_joined, struct gg_tally *ret_tally)
{
	struct gg_two_stage parts[HOURS], sum;
	double weights[HOURS], known[DRAWN], values[DRAWN];
	int order[HOSTS];

	*ret_tally = (struct gg_tally){ 0 };
	for (int i = 0; i < HOSTS; i++)
		order[i] = i;
	for (int hour = 0; hour < HOURS; hour++) {
		struct gg_tally drawn_tally = { 0 };
		struct gg_drawn_units drawn = { .values = values,
			                        .known = known,
			                        .unit_count = DRAWN,
			                        .drawn_count = DRAWN,
			                        .all_count = HOSTS,
			                        .known_total = HOSTS };

		for (int i = 0; i < DRAWN; i++) {
			int other = i + (int)(gg_rng_next(rng) % (uint64_t)(HOSTS - i)),
			    host = order[other];

			order[other] = order[i];
			order[i] = host;
			if (samples[host].sample_count == 0)
				samples[host] = sample_host(fleet->blocks[host], rng);
			values[i] = gg_tally_estimate(&samples[host], GG_BYTES).value;
			known[i] = 1;
			gg_tally_merge(&drawn_tally, &samples[host]);
		}
		drawn.sampling_variance = gg_tally_estimate(&drawn_tally, GG_BYTES).variance;
		drawn.sampling_skew = gg_sum_value(&drawn_tally.usual[GG_BYTES].skew);
		parts[hour] = gg_two_stage_of(&drawn);
		weights[hour] = 1.0 / HOURS;
		gg_tally_merge(ret_tally, &drawn_tally);
	}
	gg_tally_expose(ret_tally, GAP);
	sum = gg_two_stage_join(parts, weights, HOURS, true);
	/* Samples of all hours alone, as if the draws were one of all hosts. */
	if (!are_joined) {
		sum.variance = sum.sampling_variance / HOURS;
		sum.skew = 0;
	}
	gg_two_stage_extend(ret_tally, GG_BYTES, &sum, 0.95);
}

static void check_draws(double spread, uint64_t seed)
{
	int runs = runs_wanted() / 4 + 1;
	struct fleet *fleet = malloc(sizeof(*fleet));
	struct gg_tally *samples = malloc(HOSTS * sizeof(*samples));
	double held[2] = { 0 }, width = 0, mean = 0, least = 0.93 - 3 * sqrt(0.93 * 0.07 / runs);
	struct gg_rng rng;

	REQUIRE(fleet != NULL && samples != NULL);
	gg_rng_seed(&rng, seed, 0);
	for (int run = 0; run < runs; run++) {
		struct gg_tally tally;
		struct gg_interval interval;

		if (run % 20 == 0)
			make_fleet(fleet, spread, &rng);
		for (int are_joined = 0; are_joined < 2; are_joined++) {
			memset(samples, 0, HOSTS * sizeof(*samples));
			average_draws(fleet, samples, &rng, are_joined, &tally);
			interval = gg_interval_of(&tally, GG_BYTES, 0.95, false);
			held[are_joined] += (interval.low <= fleet->total_bytes &&
			                     fleet->total_bytes <= interval.high) /
			                    (double)runs;
		}
		width += (interval.high - interval.low) / fleet->total_bytes / runs;
		mean += gg_tally_estimate(&tally, GG_BYTES).value / fleet->total_bytes / runs;
	}
	printf("spread %g, %d windows of %d draws: %.1f %% held, width %.3f, mean %.4f; sampling "
	       "alone %.1f %%\n",
	       spread, runs, HOURS, 100 * held[1], width, mean, 100 * held[0]);
	CHECK_MSG(held[1] >= least, "%.3f, at least %.3f", held[1], least);
	CHECK_MSG(held[0] < 0.7, "sampling alone holds %.3f", held[0]);
	/* More draws tell more: narrower than one of them by about sqrt(HOURS). */
	CHECK_MSG(width < 1.5 * 2 * 1.96 * hypot(spread, 0.1) / sqrt(DRAWN * HOURS), "width %.3f",
	          width);
	free(fleet);
	free(samples);
}

TEST(averages_over_several_draws_hold_if_hosts_differ_a_little)
{
	check_draws(0.3, 21);
}

TEST(averages_over_several_draws_hold_if_hosts_differ_much)
{
	check_draws(1, 22);
}

/* Two draws of three hosts: variances between hosts add by w^2, and those of sampling fully. */
TEST(joined_draws_have_the_variances_of_their_parts)
{
	const struct gg_two_stage parts[2] = {
		{ .scale = 10,
		  .value = 600,
		  .variance = 27070,
		  .sampling_variance = 70,
		  .degrees = 2 },
		{ .scale = 5,
		  .value = 300,
		  .variance = 9070,
		  .sampling_variance = 70,
		  .degrees = 2 },
	};
	const double weights[2] = { 0.5, 0.5 };
	struct gg_two_stage mean = gg_two_stage_join(parts, weights, 2, true);
	struct gg_two_stage sum = gg_two_stage_join(parts, weights, 2, false);

	CHECK_EQ_DOUBLE(mean.value, 450);
	CHECK_MSG(fabs(mean.variance - (0.25 * 27000 + 0.25 * 9000 + 70)) < 1e-9, "%g",
	          mean.variance);
	CHECK_EQ_DOUBLE(mean.scale, 10);
	/* Satterthwaite: (27 + 9)^2 / (27^2 / 2 + 9^2 / 2). */
	CHECK_MSG(fabs(mean.degrees - 3.2) < 1e-9, "%g", mean.degrees);
	CHECK_EQ_DOUBLE(sum.value, 900);
	CHECK_MSG(fabs(sum.variance - (27000 + 9000 + 140)) < 1e-9, "%g", sum.variance);
}

/* Hosts with 10, 20 and 30 bytes, drawn from so many. */
static struct gg_drawn_units three_hosts(double all_count, double sampling_variance)
{
	static const double values[] = { 10, 20, 30 }, known[] = { 1, 1, 1 };

	return (struct gg_drawn_units){ .values = values,
		                        .known = known,
		                        .unit_count = 3,
		                        .drawn_count = 3,
		                        .all_count = all_count,
		                        .known_total = all_count,
		                        .sampling_variance = sampling_variance };
}

TEST(all_hosts_drawn_leave_the_error_of_sampling)
{
	const struct gg_drawn_units drawn = three_hosts(3, 7);
	struct gg_two_stage sum = gg_two_stage_of(&drawn);

	CHECK_EQ_DOUBLE(sum.scale, 1);
	CHECK_EQ_DOUBLE(sum.value, 60);
	CHECK_EQ_DOUBLE(sum.variance, 7);
}

/* Hosts that count every block are exact; a sum over some of them is not. */
TEST(exact_hosts_leave_the_error_between_hosts)
{
	const struct gg_drawn_units drawn = three_hosts(30, 0);
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	struct gg_two_stage sum = gg_two_stage_of(&drawn);
	struct gg_tally tally = { 0 };
	struct gg_interval interval;

	gg_tally_add(&tally, &draw, 60);
	gg_two_stage_extend(&tally, GG_BYTES, &sum, 0.95);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, false);
	CHECK(interval.low < 550 && interval.high > 650);
}

/* N^2 (1-f) s^2 / n + (N/n) V with N = 30, n = 3, s^2 = 100, V = 7. */
TEST(the_variance_is_that_of_the_textbook)
{
	const struct gg_drawn_units drawn = three_hosts(30, 7);
	struct gg_two_stage sum = gg_two_stage_of(&drawn);

	CHECK_EQ_DOUBLE(sum.value, 600);
	CHECK_MSG(fabs(sum.variance - (900 * 0.9 * 100 / 3 + 10 * 7)) < 1e-6, "%g", sum.variance);
	CHECK_EQ_DOUBLE(sum.degrees, 2);
}

/* If memory is proportional to what is known of every host, the hosts add no error. */
TEST(a_known_total_takes_the_error_between_hosts_away)
{
	const double values[] = { 10, 20, 30 }, known[] = { 1, 2, 3 };
	const struct gg_drawn_units drawn = { .values = values,
		                              .known = known,
		                              .unit_count = 3,
		                              .drawn_count = 3,
		                              .all_count = 30,
		                              .known_total = 66 };
	struct gg_two_stage sum = gg_two_stage_of(&drawn);

	CHECK_EQ_DOUBLE(sum.value, 660);
	CHECK(sum.variance < 1e-9);
}

TEST(one_drawn_host_gives_no_upper_end)
{
	const double values[] = { 10 }, known[] = { 1 };
	const struct gg_drawn_units drawn = { .values = values,
		                              .known = known,
		                              .unit_count = 1,
		                              .drawn_count = 1,
		                              .all_count = 40,
		                              .known_total = 40 };
	const struct gg_draw draw = { .sampling_interval = GAP, .sample_point_count = 1 };
	struct gg_two_stage sum = gg_two_stage_of(&drawn);
	struct gg_tally tally = { 0 };

	gg_tally_add(&tally, &draw, 10);
	gg_two_stage_extend(&tally, GG_BYTES, &sum, 0.95);
	CHECK(isinf(gg_interval_of(&tally, GG_BYTES, 0.95, false).high));
}

/* Tables of Student's law: t(0.975; 1) = 12.7062, t(0.975; 15) = 2.13145, t(0.995; 4) = 4.60409. */
TEST(students_law_is_that_of_the_tables)
{
	CHECK(fabs(gg_student_quantile(0.05, 1) - 12.7062047364) < 1e-8);
	CHECK(fabs(gg_student_quantile(0.05, 15) - 2.1314495456) < 1e-9);
	CHECK(fabs(gg_student_quantile(0.01, 4) - 4.6040948714) < 1e-9);
	CHECK(fabs(gg_student_p_value(2.1314495456, 15) - 0.05) < 1e-10);
	CHECK(isnan(gg_student_p_value(1, 0)));
}

/* By hand: means 20 and 24, variances of the means 1 and 3, 9 and 4 degrees of freedom. */
TEST(versions_differ_by_the_spread_of_their_hosts)
{
	const struct gg_unit_mean before = { 20, 1, 9 }, after = { 24, 3, 4 };
	const struct gg_unit_mean one = gg_unit_mean_of((const double[]){ 5 }, 1);
	struct gg_unit_difference d = gg_unit_difference_of(&before, &after, 0.95);
	double degrees = 16 / (1.0 / 9 + 9.0 / 4);

	CHECK_EQ_DOUBLE(d.value, 4);
	CHECK(fabs(d.high - (4 + 2 * gg_student_quantile(0.05, degrees))) < 1e-9);
	CHECK(fabs(d.p_value - gg_student_p_value(2, degrees)) < 1e-12);
	d = gg_unit_difference_of(&before, &one, 0.95);
	CHECK(isnan(d.p_value) && isinf(d.low) && isinf(d.high));
}

/* If nothing changed, p is uniform: P(p <= 0.05) is 0.05, within 4 sigma of the runs. */
TEST(equal_versions_differ_as_rarely_as_they_should)
{
	enum { RUNS = 4000, UNITS = 12 };
	double values[2][UNITS], rate = 0;
	struct gg_rng rng;

	gg_rng_seed(&rng, 5, 0);
	for (int run = 0; run < RUNS; run++) {
		struct gg_unit_mean means[2];
		struct gg_unit_difference d;

		for (int side = 0; side < 2; side++) {
			for (int i = 0; i < UNITS; i++)
				values[side][i] = 100 + (side == 0 ? 10 : 30) * normal_of(&rng);
			means[side] = gg_unit_mean_of(values[side], UNITS);
		}
		d = gg_unit_difference_of(&means[0], &means[1], 0.95);
		rate += (d.p_value <= 0.05) / (double)RUNS;
	}
	CHECK_MSG(fabs(rate - 0.05) < 4 * sqrt(0.05 * 0.95 / RUNS), "%.4f", rate);
}
