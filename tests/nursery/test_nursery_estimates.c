/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of a real collector: what the samples of one run say of the bytes that each type
 * allocated, against what the interpreter counted itself; over many seeds.  NURSERY_SEEDS: how
 * many.
 */
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "test.h"
#include "vm.h"

/*
 * All types, objects from 16 bytes to some hundred times the interval, many short lives, some long.
 */
static const char program[] =
	"(define (numbers n) (if (= n 0) '() (cons (* 1.5 n) (numbers (- n 1)))))\n"
	"(define (texts n)\n"
	"  (if (= n 0) \"\" (string-append (number->string n) \", \" (texts (- n 1)))))\n"
	"(define (adders n)\n"
	"  (if (= n 0) '() (cons (lambda (x) (+ x n)) (adders (- n 1)))))\n"
	"(define (sum functions x)\n"
	"  (fold (lambda (f total) (+ total (f x))) 0 functions))\n"
	"(define kept (make-vector 40000 '()))\n"
	"(do ((i 0 (+ i 1))) ((= i 60))\n"
	"  (vector-set! kept (* i 7) (numbers 50))\n"
	"  (texts 40)\n"
	"  (make-vector (* i i) i)\n"
	"  (sum (adders 60) i))\n";

enum { INTERVAL = 2048, NURSERY_BYTES = 64 << 10 };

struct run {
	struct gg_tally tallies[TYPE_COUNT];
	uint64_t truth[TYPE_COUNT], samples;
	uint64_t minor_count;
};

static void add_sample(void *user, const struct geiger_bump_sample *sample)
{
	static const enum gg_scheme schemes[] = {
		[GEIGER_BERNOULLI] = GG_SCHEME_BERNOULLI,
		[GEIGER_POISSON] = GG_SCHEME_POISSON,
		[GEIGER_STRIDE] = GG_SCHEME_STRIDE,
	};
	const struct gg_draw draw = {
		.sampling_interval = (double)sample->interval_bytes,
		.offset_bytes = sample->offset,
		.sample_point_count = sample->sample_points,
		.scheme = schemes[sample->scheme],
	};
	struct run *run = user;

	run->samples++;
	for (int type = 0; type < TYPE_COUNT; type++)
		if (strcmp(type_names[type], sample->type) == 0)
			gg_tally_add(&run->tallies[type], &draw, sample->bytes);
}

static void run_once(struct run *run, enum geiger_scheme scheme, uint64_t seed, uint64_t interval)
{
	struct vm_options options = { 0 };
	static struct vm vm;

	memset(run, 0, sizeof(*run));
	options.heap.nursery_bytes = NURSERY_BYTES;
	options.heap.profile = (struct profile_options){
		.interval_bytes = interval,
		.scheme = scheme,
		.seed = seed,
		.on_sample = add_sample,
		.on_sample_user = run,
	};
	for (int type = 0; type < TYPE_COUNT; type++)
		gg_tally_expose(&run->tallies[type], (double)interval);
	vm_init(&vm, &options);
	vm_run(&vm, "estimates.scm", program);
	for (int type = 0; type < TYPE_COUNT; type++)
		run->truth[type] = vm.heap.allocated[type].bytes;
	run->minor_count = vm.heap.minor_count;
	vm_done(&vm);
}

static uint64_t seed_count(void)
{
	const char *text = getenv("NURSERY_SEEDS");

	return text == NULL ? 50 : strtoull(text, NULL, 10);
}

/* The mean over all seeds is the truth, within 5 standard errors. */
static void estimates_have_no_bias(enum geiger_scheme scheme, bool intervals)
{
	struct stat_moments moments[TYPE_COUNT] = { 0 };
	uint64_t held[TYPE_COUNT] = { 0 }, seeds = seed_count();
	double least = 0.95 * (double)seeds - 3 * sqrt(0.95 * 0.05 * (double)seeds);
	static struct run run;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		run_once(&run, scheme, seed, INTERVAL);
		for (int type = 0; type < TYPE_COUNT; type++) {
			struct gg_interval interval = gg_interval_of(&run.tallies[type], GG_BYTES,
			                                             0.95, false);
			double truth = (double)run.truth[type];

			stat_add(&moments[type],
			         gg_tally_estimate(&run.tallies[type], GG_BYTES).value);
			held[type] += interval.low <= truth && truth <= interval.high;
		}
	}
	CHECK(run.minor_count > 20);
	for (int type = 0; type < TYPE_COUNT; type++) {
		CHECK_MSG(run.truth[type] > 8 * INTERVAL, "%s: %llu bytes are too few",
		          type_names[type], (unsigned long long)run.truth[type]);
		CHECK_MSG(stat_within(moments[type].mean, (double)run.truth[type],
		                      stat_error_of_mean(&moments[type]), 5),
		          "%s: %g on average, %llu in truth, standard error %g", type_names[type],
		          moments[type].mean, (unsigned long long)run.truth[type],
		          stat_error_of_mean(&moments[type]));
		if (intervals)
			CHECK_MSG((double)held[type] >= least,
			          "%s: %llu of %llu intervals hold the truth", type_names[type],
			          (unsigned long long)held[type], (unsigned long long)seeds);
		if (getenv("NURSERY_SHOW") != NULL)
			printf("%-12s %9llu bytes: %.4f of the truth on average, held by %.1f %%\n",
			       type_names[type], (unsigned long long)run.truth[type],
			       moments[type].mean / (double)run.truth[type],
			       100 * (double)held[type] / (double)seeds);
	}
}

TEST(bytes_by_type_are_in_their_intervals_with_bernoulli)
{
	estimates_have_no_bias(GEIGER_BERNOULLI, true);
}

TEST(bytes_by_type_are_in_their_intervals_with_poisson)
{
	estimates_have_no_bias(GEIGER_POISSON, true);
}

/*
 * Its intervals suppose a phase of its own for each allocation; here nothing but the phase is
 * random.
 */
TEST(bytes_by_type_have_no_bias_with_stride)
{
	estimates_have_no_bias(GEIGER_STRIDE, false);
}

TEST(with_an_interval_of_one_byte_estimates_are_the_truth)
{
	static struct run run;

	for (int scheme = GEIGER_BERNOULLI; scheme <= GEIGER_STRIDE; scheme++) {
		run_once(&run, (enum geiger_scheme)scheme, 1, 1);
		for (int type = 0; type < TYPE_COUNT; type++) {
			double seen = gg_tally_seen(&run.tallies[type], GG_BYTES);

			CHECK_MSG(seen == (double)run.truth[type], "%s: %g of %llu bytes",
			          type_names[type], seen, (unsigned long long)run.truth[type]);
		}
	}
}

TEST(an_interval_larger_than_all_nurseries_has_few_samples)
{
	uint64_t samples = 0, seeds = seed_count();
	static struct run run;
	double truth = 0, interval = 1 << 20, expected;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		run_once(&run, GEIGER_POISSON, seed, 1 << 20);
		samples += run.samples;
	}
	for (int type = 0; type < TYPE_COUNT; type++)
		truth += (double)run.truth[type];
	/* At most one sample an object: an upper bound, near for objects of a few bytes. */
	expected = (double)seeds * truth / interval;
	CHECK_MSG(truth > 10 * NURSERY_BYTES &&
	                  fabs((double)samples - expected) <= 5 * sqrt(expected) + 0.1 * expected,
	          "%llu samples, %g expected", (unsigned long long)samples, expected);
}
