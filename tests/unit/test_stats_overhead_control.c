/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control of the overhead, on programs that exist as rates alone: so many allocations of one
 * size in a second of the program's own time, and known costs of a sample and of a hook.
 */
#include "stats/sampling/overhead_control.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"

#include <math.h>

#include "test.h"

#define SAMPLE_NS 400.0
#define HOOK_NS   2.0
#define WINDOW_NS 100e6 /* the longest window of program time */

struct simulation {
	struct gg_overhead_control control;
	struct gg_rng rng;
	double rate, size_bytes; /* allocations in a second of program time */
	double program_ns, cost_ns;
};

/* A Poisson number; for large means by the normal law. */
static double poisson(struct gg_rng *rng, double mean)
{
	double sum = 0, count = -1;

	if (mean > 500) {
		for (int i = 0; i < 12; i++)
			sum += gg_rng_uniform(rng);
		return floor(fmax(mean + sqrt(mean) * (sum - 6) + 0.5, 0));
	}
	for (; sum < mean; count++)
		sum -= log(1 - gg_rng_uniform(rng));
	return count;
}

/* One window: it ends after 64 samples or WINDOW_NS, as the agent's do. */
static void step(struct simulation *s)
{
	double p = -expm1(-s->size_bytes / (double)s->control.interval);
	double samples_per_ns = s->rate * p / 1e9, ns = WINDOW_NS, count;
	struct gg_overhead_window window;

	if (samples_per_ns * ns > 64)
		ns = fmax(64 / samples_per_ns, 1);
	count = poisson(&s->rng, samples_per_ns * ns);
	window = (struct gg_overhead_window){
		.sampling_ns = count * SAMPLE_NS,
		/* The agent estimates the number of allocations by the weights of its samples. */
		.hooks_ns = count / p * HOOK_NS,
		.sample_count = (uint64_t)count,
	};
	window.cpu_ns = ns + window.sampling_ns + s->rate * ns / 1e9 * HOOK_NS;
	gg_overhead_control_step(&s->control, &window);
	s->program_ns += ns;
	s->cost_ns += window.sampling_ns + s->rate * ns / 1e9 * HOOK_NS;
}

static void begin(struct simulation *s, double share)
{
	const struct gg_overhead_options options = {
		.share = share,
		.first_interval = 512 << 10,
		.finest_interval = 1024,
		.coarsest_interval = UINT64_C(1) << 36,
	};

	memset(s, 0, sizeof(*s));
	gg_overhead_control_init(&s->control, &options);
	gg_rng_seed(&s->rng, 7, 1);
}

/* Returns the overhead during that time. */
static double run(struct simulation *s, double rate, double size_bytes, double seconds)
{
	double end_ns = s->program_ns + seconds * 1e9, program_ns = s->program_ns;
	double cost_ns = s->cost_ns;

	s->rate = rate;
	s->size_bytes = size_bytes;
	while (s->program_ns < end_ns)
		step(s);
	return (s->cost_ns - cost_ns) / (s->program_ns - program_ns);
}

static const double shares[] = { 0.001, 0.005, 0.01, 0.05, 0.25 };
static const double rates[] = { 1e3, 1e4, 1e5, 1e6, 1e7 };
static const double sizes[] = { 48, 1000, 100000 };

TEST(a_steady_program_has_the_overhead_that_was_asked_for)
{
	struct simulation s;

	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++)
			for (size_t k = 0; k < 3; k++) {
				double hooks = rates[j] * HOOK_NS / 1e9, overhead;
				/* The most that samples can cost, at the finest interval. */
				double most = rates[j] * -expm1(-sizes[k] / 1024) * SAMPLE_NS / 1e9;

				begin(&s, shares[i]);
				overhead = run(&s, rates[j], sizes[k], 20);
				if (hooks < shares[i] * 0.9)
					CHECK(overhead <= 1.2 * shares[i]);
				else
					CHECK(overhead <= hooks + 0.2 * shares[i]);
				/* The first interval is too coarse; what that saves is not spent
				 * later beyond a second's share. */
				if (hooks + most > shares[i] * 1.05)
					CHECK(overhead >= 0.8 * shares[i]);
				else
					CHECK_EQ_U64(s.control.interval, 1024);
			}
}

/* The overhead that this program can have at the finest interval, or the share. */
static double possible(double share, double rate, double size_bytes)
{
	double most = rate * (HOOK_NS - expm1(-size_bytes / 1024) * SAMPLE_NS) / 1e9;

	return fmin(share, most);
}

TEST(a_program_with_steps_has_the_overhead_that_was_asked_for)
{
	static const struct {
		double rate, size_bytes, seconds;
	} steps[] = { { 4e5, 1000, 1 }, { 2e4, 200, 1 }, { 1e5, 64, 3 }, { 1e6, 5000, 0.2 } };
	struct simulation s;

	for (size_t i = 0; i < 5; i++) {
		double possible_ns = 0;

		begin(&s, shares[i]);
		for (int j = 0; j < 100; j++) {
			run(&s, steps[j % 4].rate, steps[j % 4].size_bytes, steps[j % 4].seconds);
			possible_ns += 1e9 * steps[j % 4].seconds *
			               possible(shares[i], steps[j % 4].rate,
			                        steps[j % 4].size_bytes);
		}
		CHECK(s.cost_ns / s.program_ns <= 1.2 * shares[i] || shares[i] == 0.001);
		CHECK(s.cost_ns >= 0.8 * possible_ns);
	}
}

TEST(a_burst_is_met_within_100_ms)
{
	struct simulation s;

	for (size_t i = 1; i < 5; i++) {
		begin(&s, shares[i]);
		run(&s, 1e3, 64, 10);
		CHECK_EQ_U64(s.control.interval, 1024);
		run(&s, 5e5, 128, 0.1);
		/* The credit's tenth, and two standard deviations of a window of 64 samples. */
		CHECK(run(&s, 5e5, 128, 0.1) <= 1.1 * 1.25 * shares[i]);
	}
}

TEST(a_quiet_program_is_sampled_finely_again)
{
	struct simulation s;

	begin(&s, 0.005);
	run(&s, 1e6, 1000, 10);
	CHECK(s.control.interval > 100 << 10);
	run(&s, 1e3, 64, 3);
	CHECK_EQ_U64(s.control.interval, 1024);
}

TEST(a_steady_program_keeps_its_interval)
{
	struct simulation s;
	uint64_t changes;

	for (size_t i = 1; i < 4; i++) {
		begin(&s, shares[i]);
		run(&s, 1e6, 300, 20);
		changes = s.control.change_count;
		run(&s, 1e6, 300, 20);
		/* Small corrections of the debt are rare. */
		CHECK(s.control.change_count - changes <= 20);
	}
}

TEST(hooks_that_cost_more_than_the_share_leave_a_tenth_of_it_to_samples)
{
	struct simulation s;
	double overhead;

	begin(&s, 0.005);
	overhead = run(&s, 1e7, 100, 20);
	CHECK(overhead >= 0.02 + 0.005 * 0.05);
	CHECK(overhead <= 0.02 + 0.005 * 0.2);
	/*
	 * The mean over 300 ms of program time, which has 0.1 * 0.005 * 300 ms / 400 ns = 375
	 * samples: a standard deviation of 5.2 %.  Five of them are 26 %.
	 */
	CHECK(fabs(s.control.hooks_share / 0.02 - 1) < 0.26);
}

TEST(calmer_times_pay_for_hooks_that_cost_more_than_the_share)
{
	struct simulation s;
	double hooks = 1e7 * HOOK_NS / 1e9, share = hooks * 0.7;

	begin(&s, share);
	for (int i = 0; i < 4; i++) {
		CHECK(run(&s, 1e7, 300, 2) > 1.3 * share);
		run(&s, 1e6, 300, 6);
	}
	/* A quarter of the time has 1.53 of the share.  1.13 if nothing paid for it. */
	CHECK(s.cost_ns / s.program_ns < 1.07 * share);
	CHECK(s.cost_ns / s.program_ns > 0.9 * share);
}

TEST(samples_pay_for_what_is_charged)
{
	struct simulation s;
	struct gg_overhead_window bill = { .cpu_ns = 1, .charged_ns = 40e6 };
	double overhead;

	/* At a share of 25 % this program is sampled as finely as possible, and takes less. */
	for (size_t i = 1; i < 4; i++) {
		begin(&s, shares[i]);
		run(&s, 1e6, 300, 1);
		gg_overhead_control_step(&s.control, &bill);
		s.cost_ns += bill.charged_ns;
		overhead = run(&s, 1e6, 300, 1);
		/* A bill of more than a second's share leaves samples three tenths. */
		CHECK(overhead < 0.6 * shares[i] || shares[i] * 1e9 > 40e6);
		run(&s, 1e6, 300, 20);
		CHECK(s.cost_ns / s.program_ns <= 1.1 * shares[i]);
		CHECK(s.cost_ns / s.program_ns >= 0.8 * shares[i]);
		/* The control spends a refund on samples. */
		bill.charged_ns = -40e6;
		gg_overhead_control_step(&s.control, &bill);
		s.cost_ns += bill.charged_ns;
		run(&s, 1e6, 300, 60);
		CHECK(s.cost_ns / s.program_ns >= 0.8 * shares[i]);
		bill.charged_ns = 40e6;
	}
}

TEST(a_child_has_the_share_whatever_its_parent_owes)
{
	const struct gg_overhead_window debt = { .cpu_ns = 1e6, .charged_ns = 60e9 };
	struct simulation s;

	begin(&s, 0.05);
	run(&s, 1e6, 1000, 2);
	gg_overhead_control_step(&s.control, &debt);
	/* The debt of a minute leaves samples 30 % of what hooks leave. */
	CHECK(run(&s, 1e6, 1000, 2) < 0.05 * 0.5);
	gg_overhead_control_forget_debt(&s.control);
	CHECK(run(&s, 1e6, 1000, 2) > 0.05 * 0.8);
}

TEST(no_window_changes_nothing)
{
	const struct gg_overhead_window nothing = { .cpu_ns = 0 };
	struct simulation s;

	begin(&s, 0.01);
	CHECK_EQ_U64(gg_overhead_control_step(&s.control, &nothing), 512 << 10);
	CHECK(gg_overhead_control_measured(&s.control) == 0);
}

/*
 * A program of a hundred sizes, whose interval may change at each sample.  Returns its estimated
 * bytes; *ret_count are the estimated allocations.
 */
static double run_sampled(uint64_t seed, double *ret_count, uint64_t *ret_changes)
{
	struct gg_sampler_options options = { .seed = seed, .visit_bytes = 1 << 20 };
	struct gg_overhead_window window = { .cpu_ns = 0 };
	struct gg_sampler sampler;
	struct simulation s;
	struct gg_draw draw;
	double bytes = 0;

	begin(&s, 0.02);
	options.sampling_interval = (double)s.control.interval;
	gg_sampler_init(&sampler, &options);
	*ret_count = 0;
	for (int i = 0; i < 20000; i++) {
		/* Phases of small and of large blocks, so that the interval goes up and down. */
		uint64_t size = i % 4000 < 2000 ? 16 + i % 100 : 20000 + 500 * (i % 100);

		window.cpu_ns += i % 4000 < 2000 ? 2000 : 500;
		if (!gg_sampler_due(&sampler, size) || !gg_sampler_take(&sampler, size, &draw))
			continue;
		bytes += gg_weight_of(&draw, size).bytes;
		*ret_count += gg_weight_of(&draw, size).count;
		window.cpu_ns += SAMPLE_NS;
		window.sampling_ns = SAMPLE_NS;
		window.sample_count = 1;
		options.sampling_interval = (double)gg_overhead_control_step(&s.control, &window);
		gg_sampler_change(&sampler, &options);
		window = (struct gg_overhead_window){ .cpu_ns = 0 };
	}
	*ret_changes += s.control.change_count;
	return bytes;
}

TEST(estimates_are_unbiased_while_the_interval_changes_with_the_samples)
{
	enum { SEEDS = 2000 };
	double sum = 0, squares = 0, counts = 0, count_squares = 0, truth = 0, count;
	uint64_t changes = 0;

	for (int i = 0; i < 20000; i++)
		truth += i % 4000 < 2000 ? 16 + i % 100 : 20000 + 500 * (i % 100);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double bytes = run_sampled(seed, &count, &changes);

		sum += bytes;
		squares += bytes * bytes;
		counts += count;
		count_squares += count * count;
	}
	CHECK(changes > 20 * SEEDS);
	/* 3.5 standard errors of the mean, from the runs themselves. */
	CHECK(fabs(sum / SEEDS - truth) <
	      3.5 * sqrt((squares / SEEDS - sum / SEEDS * sum / SEEDS) / SEEDS));
	CHECK(fabs(counts / SEEDS - 20000) <
	      3.5 * sqrt((count_squares / SEEDS - counts / SEEDS * counts / SEEDS) / SEEDS));
}
