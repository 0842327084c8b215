/* SPDX-License-Identifier: Apache-2.0 */
/* overhead_control - chooses the interval at which sampling costs a given share of time. */
#include "stats/sampling/overhead_control.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "stats/sampling/interval_grid.h"

/* Program time after which a lower density counts fully, and in which a debt is paid back. */
#define DENSITY_NS 300e6
#define DEBT_NS    1000e6

/* Hooks that leave no room are a debt of at most the share of this much program time. */
#define HOOKS_DEBT_NS 10000e6

/* A window of so many samples knows its density to 12.5 % (a standard deviation of the count). */
enum { PRECISE_SAMPLES = 64 };

/*
 * If a precise window differs from the known density by this factor, the program has changed: half
 * the expected samples are four standard deviations too few.
 */
#define STEP_FACTOR 2

/* Samples get at least this part of the share, whatever hooks cost and debts are. */
#define LEAST_PART 0.05

/*
 * A debt leaves samples this part of what hooks leave; more in the first SHORT_RUN_NS of the
 * program's time, because a short program is worth a profile.
 */
#define DEBT_LEAST_PART  0.1
#define SHORT_LEAST_PART 0.3
#define SHORT_RUN_NS     2000e6

/* Credit raises the share by no more than this factor. */
#define MOST_PART 1.1

/* A window without a sample does not mean that none will come. */
#define LARGEST_FALL 16

static double at_least(double value, double least)
{
	return value > least ? value : least;
}

static double at_most(double value, double most)
{
	return value < most ? value : most;
}

void gg_overhead_control_init(struct gg_overhead_control *c,
                              const struct gg_overhead_options *options)
{
	gg_assert(options->share > 0 && options->finest_interval >= 1);
	gg_assert(options->coarsest_interval >= options->finest_interval);
	memset(c, 0, sizeof(*c));
	c->options = *options;
	c->interval = options->first_interval;
	if (c->interval < options->finest_interval)
		c->interval = options->finest_interval;
	if (c->interval > options->coarsest_interval)
		c->interval = options->coarsest_interval;
}

/* The mean of a quantity over the last DENSITY_NS of program time. */
static double smoothed(double old, double new, double known_ns, double window_ns)
{
	double part = window_ns / at_most(known_ns + window_ns, DENSITY_NS);

	return old + (new - old) * at_most(part, 1);
}

/* True if a window of this program would have had PRECISE_SAMPLES at the known density. */
static bool expects_precision(const struct gg_overhead_control *c, double program_ns)
{
	return c->density * program_ns / (double)c->interval >= PRECISE_SAMPLES * c->sample_ns;
}

static void learn(struct gg_overhead_control *c, const struct gg_overhead_window *w,
                  double program_ns)
{
	double density = w->sampling_ns * (double)c->interval / program_ns;
	bool is_higher = density > c->density * STEP_FACTOR && w->sample_count >= PRECISE_SAMPLES;
	bool is_lower = density < c->density / STEP_FACTOR && expects_precision(c, program_ns);

	if (w->sample_count > 0)
		c->sample_ns = w->sampling_ns / (double)w->sample_count;
	c->hooks_share = smoothed(c->hooks_share, w->hooks_ns / program_ns, c->known_ns,
	                          program_ns);
	if (is_higher || is_lower)
		c->density = at_least(density, c->density / LARGEST_FALL);
	else
		c->density = smoothed(c->density, density, c->known_ns, program_ns);
	c->known_ns = at_most(c->known_ns + program_ns, DENSITY_NS);
}

/* The part of the share that hooks leave. */
static double left_share(const struct gg_overhead_control *c)
{
	double share = c->options.share;

	return at_least(share - c->hooks_share, share * LEAST_PART);
}

/* The share that samples may take from now on. */
static double share_of_samples(const struct gg_overhead_control *c)
{
	double left = left_share(c), corrected = left - c->debt_ns / DEBT_NS;
	double part = c->program_ns < SHORT_RUN_NS ? SHORT_LEAST_PART : DEBT_LEAST_PART;
	double least = at_least(left * part, c->options.share * LEAST_PART);

	return at_most(at_least(corrected, least), left * MOST_PART);
}

static void account(struct gg_overhead_control *c, const struct gg_overhead_window *w,
                    double program_ns)
{
	double credit_ns = c->options.share * DEBT_NS;
	double hooks_debt_ns = c->options.share * HOOKS_DEBT_NS;
	double above_ns = (c->hooks_share + left_share(c) - c->options.share) * program_ns;

	c->program_ns += program_ns;
	c->sampling_ns += w->sampling_ns;
	c->hooks_ns += w->hooks_ns;
	c->charged_ns += w->charged_ns;
	c->debt_ns += w->sampling_ns + w->charged_ns - left_share(c) * program_ns;
	c->debt_ns = at_least(c->debt_ns, -credit_ns);
	/* Calmer times pay for hooks that left no room. */
	if (above_ns > 0 && c->debt_ns < hooks_debt_ns)
		c->debt_ns = at_most(c->debt_ns + above_ns, hooks_debt_ns);
}

uint64_t gg_overhead_control_step(struct gg_overhead_control *c, const struct gg_overhead_window *w)
{
	double inside_ns = w->sampling_ns - w->recorder_ns + w->hooks_ns;
	/* Clocks are coarse: the program has at least a tenth of its time. */
	double program_ns = at_least(w->cpu_ns - inside_ns, w->cpu_ns * 0.1);
	double wanted;

	if (!(program_ns > 0))
		return c->interval;
	learn(c, w, program_ns);
	account(c, w, program_ns);
	wanted = c->density / share_of_samples(c);
	if (wanted <= (double)c->options.finest_interval ||
	    wanted < (double)c->interval / GG_GRID_STEP ||
	    wanted > (double)c->interval * GG_GRID_STEP) {
		uint64_t interval = gg_interval_grid(wanted, c->options.finest_interval,
		                                     c->options.coarsest_interval);

		c->change_count += interval != c->interval;
		c->interval = interval;
	}
	return c->interval;
}

void gg_overhead_control_forget_debt(struct gg_overhead_control *c)
{
	c->debt_ns = 0;
}

double gg_overhead_control_measured(const struct gg_overhead_control *c)
{
	return c->program_ns > 0 ? (c->sampling_ns + c->hooks_ns + c->charged_ns) / c->program_ns
	                         : 0;
}
