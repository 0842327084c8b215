/* SPDX-License-Identifier: Apache-2.0 */
/* test_fleet_outliers - hosts that deviate are found, and hosts that do not are left alone. */
#include <math.h>
#include <stdlib.h>

#include "fleet/fleet_compare.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { HOSTS_MOST = 400 };

static double normal_of(struct gg_rng *rng)
{
	double u = (double)(gg_rng_next(rng) >> 11) * 0x1p-53 + 0x1p-54;
	double v = (double)(gg_rng_next(rng) >> 11) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Hosts that differ by chance, with a sampling error of 5 %. */
static void make_hosts(struct gg_fleet_outlier *hosts, int count, double spread, struct gg_rng *rng)
{
	double sigma = sqrt(log1p(spread * spread));

	for (int i = 0; i < count; i++) {
		double truth = 1e8 * exp(sigma * normal_of(rng));

		hosts[i] = (struct gg_fleet_outlier){
			.value = truth * (1 + 0.05 * normal_of(rng)),
			.variance = truth * truth * 0.0025,
		};
	}
}

static int found_count(const struct gg_fleet_outlier *hosts, int count)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		found += hosts[i].q_value <= 0.05;
	return found;
}

/* If no host deviates, any discovery is false: that happens in at most 5 % of fleets. */
static void check_null(int count, double spread, uint64_t seed)
{
	enum { RUNS = 2000 };
	struct gg_fleet_outlier hosts[HOSTS_MOST];
	double false_share = 0;
	struct gg_rng rng;

	gg_rng_seed(&rng, seed, 0);
	for (int run = 0; run < RUNS; run++) {
		make_hosts(hosts, count, spread, &rng);
		REQUIRE(gg_fleet_find_outliers(hosts, (size_t)count) == 0);
		false_share += (found_count(hosts, count) > 0) / (double)RUNS;
	}
	printf("%d hosts, spread %g: a false discovery in %.1f %%\n", count, spread,
	       100 * false_share);
	CHECK_MSG(false_share <= 0.05 + 3 * sqrt(0.05 * 0.95 / RUNS), "%.3f", false_share);
}

TEST(equal_hosts_do_not_deviate)
{
	check_null(8, 0.3, 1);
	check_null(20, 0.3, 2);
	check_null(100, 0.3, 3);
	check_null(400, 1, 4);
}

TEST(a_host_with_three_times_as_much_is_found)
{
	enum { RUNS = 200 };
	struct gg_fleet_outlier hosts[HOSTS_MOST];
	double found = 0, others = 0;
	struct gg_rng rng;

	gg_rng_seed(&rng, 7, 0);
	for (int run = 0; run < RUNS; run++) {
		make_hosts(hosts, 100, 0.15, &rng);
		hosts[42].value = 3e8;
		hosts[42].variance = 9e16 * 0.0025;
		REQUIRE(gg_fleet_find_outliers(hosts, 100) == 0);
		found += (hosts[42].q_value <= 0.05) / (double)RUNS;
		others += (found_count(hosts, 100) - (hosts[42].q_value <= 0.05)) / (double)RUNS;
		CHECK(hosts[42].ratio > 2 && hosts[42].ratio < 4);
	}
	CHECK_MSG(found > 0.99, "%.3f", found);
	CHECK_MSG(others < 0.2, "%.3f", others);
}

TEST(few_hosts_are_not_tested)
{
	struct gg_fleet_outlier hosts[7];
	struct gg_rng rng;

	gg_rng_seed(&rng, 9, 0);
	make_hosts(hosts, 7, 0.3, &rng);
	hosts[0].value *= 1000;
	REQUIRE(gg_fleet_find_outliers(hosts, 7) == 0);
	for (int i = 0; i < 7; i++)
		CHECK(isnan(hosts[i].q_value));
	CHECK(gg_fleet_find_outliers(hosts, 0) == 0);
}
