/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_compare_null - counts false alarms when nothing changed.
 *
 * Each program of the coverage table is sampled twice, and the two profiles are compared.  However
 * its sizes and intervals are mixed, p <= a may come at most as often as a, plus 3 sigma of the
 * number of runs.
 */
#include <math.h>

#include "stats/estimate/compare.h"
#include "stats/lab/simulate.h"
#include "stats/sampling/rng.h"
#include "test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { RUNS = 300 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { RUNS = 300 };
#else
enum { RUNS = 1500 };
#endif
#else
enum { RUNS = 1500 };
#endif

static const double levels[] = { 0.05, 0.01, 0.001 };
enum { LEVELS = 3 };

static void check_program(const struct gg_program *program, enum gg_quantity quantity,
                          uint64_t stream)
{
	uint64_t alarms[LEVELS] = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 77, stream);
	for (int run = 0; run < RUNS; run++) {
		struct gg_interval_method_sums before, after;
		double p;

		gg_simulate_once(program, &rng, &before);
		gg_simulate_once(program, &rng, &after);
		p = gg_difference_of(&before.tally, &after.tally, quantity, 1, 0.95).p_value;
		for (int i = 0; i < LEVELS; i++)
			alarms[i] += p <= levels[i];
	}
	for (int i = 0; i < LEVELS; i++) {
		double sigma = sqrt(levels[i] * (1 - levels[i]) * RUNS);

		CHECK_MSG((double)alarms[i] <= levels[i] * RUNS + 3 * sigma + 1,
		          "%s: %g: %ju of %d", program->name, levels[i], (uintmax_t)alarms[i],
		          RUNS);
	}
}

TEST(no_program_raises_more_false_alarms_than_promised_by_bytes)
{
	for (size_t i = 0; i < gg_simulate_program_count(); i++)
		check_program(gg_simulate_program(i), GG_BYTES, 2 * i);
}

TEST(nor_by_the_number_of_allocations)
{
	for (size_t i = 0; i < gg_simulate_program_count(); i++)
		check_program(gg_simulate_program(i), GG_ALLOCATIONS, 2 * i + 1);
}
