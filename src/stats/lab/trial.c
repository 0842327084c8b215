/* SPDX-License-Identifier: Apache-2.0 */
/* trial - runs a scheme over a trace many times, and adds up its errors. */
#include "stats/lab/trial.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/binary_search.h"
#include "base/compiler.h"
#include "stats/sampling/weight.h"

static const char *const quantity_names[GG_TRIAL_QUANTITY_COUNT] = {
	[GG_TRIAL_LIVE_BYTES] = "live bytes",
	[GG_TRIAL_ALLOCATED_BYTES] = "allocated bytes",
	[GG_TRIAL_LIVE_COUNT] = "live allocations",
	[GG_TRIAL_ALLOCATED_COUNT] = "allocations",
};

const char *gg_trial_quantity_name(enum gg_trial_quantity quantity)
{
	return quantity_names[quantity];
}

static bool is_of_live(enum gg_trial_quantity quantity)
{
	return quantity == GG_TRIAL_LIVE_BYTES || quantity == GG_TRIAL_LIVE_COUNT;
}

static enum gg_quantity unit_of(enum gg_trial_quantity quantity)
{
	return quantity == GG_TRIAL_LIVE_BYTES || quantity == GG_TRIAL_ALLOCATED_BYTES
	               ? GG_BYTES
	               : GG_ALLOCATIONS;
}

/* --- the truth ------------------------------------------------------------------------------ */

/* The number of a group's allocations with at least a certain size. */
struct level {
	uint32_t group;
	uint64_t size_bytes;
	/* All, and the live ones: first of this size, then also of all larger sizes. */
	double count[2];
};

struct truth {
	struct level *levels; /* sorted by group, then by size */
	size_t level_count;
	size_t *first; /* the first level of each group; one more at the end */
	double *sums;  /* [group][quantity] */
};

static int compare_levels(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

static void truth_done(struct truth *truth)
{
	free(truth->levels);
	free(truth->first);
	free(truth->sums);
}

static int truth_init(struct truth *truth, const struct gg_trace *trace)
{
	size_t groups = trace->group_count, at = 0;

	truth->levels = calloc(trace->parts.count + 1, sizeof(*truth->levels));
	truth->first = calloc(groups + 1, sizeof(*truth->first));
	truth->sums = calloc(groups * GG_TRIAL_QUANTITY_COUNT + 1, sizeof(*truth->sums));
	if (truth->levels == NULL || truth->first == NULL || truth->sums == NULL)
		return -ENOMEM;
	truth->level_count = trace->parts.count;
	for (size_t i = 0; i < trace->parts.count; i++) {
		const struct gg_trace_part *part = &trace->parts.items[i];
		double *sums = &truth->sums[part->group * (size_t)GG_TRIAL_QUANTITY_COUNT];

		truth->levels[i] = (struct level){
			part->group,
			part->size_bytes,
			{ (double)part->count, part->is_live ? (double)part->count : 0 },
		};
		for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++)
			if (part->is_live || !is_of_live((enum gg_trial_quantity)q))
				sums[q] += (double)part->count *
				           (unit_of((enum gg_trial_quantity)q) == GG_BYTES
				                    ? (double)part->size_bytes
				                    : 1);
	}
	qsort(truth->levels, truth->level_count, sizeof(*truth->levels), compare_levels);
	for (size_t group = 0; group <= groups; group++) {
		while (at < truth->level_count && truth->levels[at].group < group)
			at++;
		truth->first[group] = at;
	}
	/*
	 * Sum up each group from its largest size down: a level then has all allocations of at
	 * least its size.
	 */
	for (size_t i = truth->level_count; i-- > 1;)
		if (truth->levels[i - 1].group == truth->levels[i].group)
			for (int j = 0; j < 2; j++)
				truth->levels[i - 1].count[j] += truth->levels[i].count[j];
	return 0;
}

/* Returns how many allocations of the group have at least that size. */
static double count_from(const struct truth *truth, uint32_t group, uint64_t size_bytes, bool live)
{
	size_t end = truth->first[group + 1];
	size_t at = gg_lower_bound(truth->first[group], end, i,
	                           truth->levels[i].size_bytes < size_bytes);

	return at < end ? truth->levels[at].count[live] : 0;
}

/* --- formulas ------------------------------------------------------------------------------- */

/* Returns the draw that an allocation of that size would get. */
static struct gg_draw draw_of(const struct gg_trial_plan *plan, uint64_t size_bytes)
{
	const struct gg_sampler_options *options = &plan->options;
	struct gg_draw draw = { .sampling_interval = options->sampling_interval,
		                .sample_point_count = 1,
		                .scheme = options->scheme };

	if (options->scheme == GG_SCHEME_OPTIMAL && options->rates != NULL)
		draw.sampling_interval = options->rates->intervals[gg_size_class(size_bytes)];
	return draw;
}

/*
 * Returns the variance of the estimated number of one allocation: p times a sample's contribution
 * to the estimated variance.
 */
static double count_variance(const struct gg_trial_plan *plan, uint64_t size_bytes)
{
	struct gg_draw draw = draw_of(plan, size_bytes);
	struct gg_weight weight = gg_weight_of(&draw, size_bytes);
	double x = (double)gg_length_bytes(size_bytes) / draw.sampling_interval;

	/* Here the mean number of sample points counts, which is not a whole number. */
	if (draw.scheme == GG_SCHEME_POISSON_COUNT)
		return gg_length_bytes(size_bytes) >= gg_weight_cutoff_bytes(draw.sampling_interval)
		               ? 0
		               : 1 / x;
	return weight.probability * weight.count_variance;
}

double gg_trial_formula(const struct gg_trace *trace, const struct gg_trial_plan *plan,
                        enum gg_trial_quantity quantity)
{
	double sum = 0;

	if (plan->learns)
		return NAN;
	for (size_t i = 0; i < trace->parts.count; i++) {
		const struct gg_trace_part *part = &trace->parts.items[i];
		double unit = unit_of(quantity) == GG_BYTES ? (double)part->size_bytes : 1;

		if (part->is_live || !is_of_live(quantity))
			sum += (double)part->count * unit * unit *
			       count_variance(plan, part->size_bytes);
	}
	return sum;
}

void gg_trial_classes(const struct gg_trace *trace,
                      struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT])
{
	double bytes[GG_SIZE_CLASS_COUNT] = { 0 };

	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		ret_classes[i] = (struct gg_optimal_class){ 0 };
	for (size_t i = 0; i < trace->parts.count; i++) {
		const struct gg_trace_part *part = &trace->parts.items[i];
		unsigned class = gg_size_class(part->size_bytes);

		ret_classes[class].allocated += (double)part->count;
		ret_classes[class].live += part->is_live ? (double)part->count : 0;
		bytes[class] += (double)part->count * (double)part->size_bytes;
	}
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		if (ret_classes[i].allocated > 0)
			ret_classes[i].size_bytes = bytes[i] / ret_classes[i].allocated;
}

/* --- runs ------------------------------------------------------------------------------------ */

struct trial_run {
	const struct gg_trial_plan *plan;
	struct gg_sampler sampler;
	struct gg_sampler_options options;
	struct gg_interval_method_sums *sums; /* [group][2]: allocated, live */
	uint64_t sample_count;

	/* There are two plans, because the sampler may still use the previous one. */
	struct gg_rate_learning learned;
	struct gg_optimal_rates rates[2];
	uint64_t next_plan_at;
	int plan_count;
};

/* Plans new rates in the buffer that the sampler does not use, and switches the sampler over. */
static void plan_again(struct trial_run *run)
{
	struct gg_optimal_rates *rates = &run->rates[run->plan_count++ % 2];

	gg_rate_learning_plan(&run->learned, run->plan->focus, run->options.sampling_interval,
	                      rates);
	run->options.rates = rates;
	gg_sampler_change(&run->sampler, &run->options);
	run->next_plan_at = gg_rate_learning_next(run->next_plan_at);
}

/*
 * Takes one sample.  Parts that are not live are freed at once, so that learning plans see their
 * frees as the agent would.
 */
static void take(const struct gg_trace_part *part, const struct gg_draw *draw, void *context)
{
	struct trial_run *run = context;
	double count;

	run->sample_count++;
	gg_interval_method_add(&run->sums[2 * (size_t)part->group], draw, part->size_bytes);
	if (part->is_live)
		gg_interval_method_add(&run->sums[2 * (size_t)part->group + 1], draw,
		                       part->size_bytes);
	if (!run->plan->learns)
		return;
	count = gg_weight_of(draw, part->size_bytes).count;
	gg_rate_learning_allocated(&run->learned, count, part->size_bytes);
	if (!part->is_live)
		gg_rate_learning_freed(&run->learned, count, part->size_bytes);
	if (gg_rate_learning_samples(&run->learned) >= run->next_plan_at)
		plan_again(run);
}

/*
 * Returns the largest interval, which bounds the bytes that a group without samples may hide.
 * Groups of per-allocation have no such bound.
 */
static double exposure(const struct gg_trial_plan *plan)
{
	const struct gg_sampler_options *options = &plan->options;
	double longest = options->sampling_interval;

	if (options->scheme == GG_SCHEME_PER_ALLOCATION)
		return 0;
	if (options->scheme != GG_SCHEME_OPTIMAL)
		return longest;
	if (plan->learns)
		return gg_optimal_bounds_of(longest).longest;
	for (int i = 0; options->rates != NULL && i < GG_SIZE_CLASS_COUNT; i++)
		longest = fmax(longest, options->rates->intervals[i]);
	return longest;
}

/*
 * Makes one run.  Each run has a random stream of its own, so runs are independent and can be
 * repeated.
 */
static void run_once(const struct gg_trace *trace, struct trial_run *run, uint64_t seed,
                     uint64_t stream)
{
	double exposed = exposure(run->plan);

	for (size_t i = 0; i < 2 * (size_t)trace->group_count; i++) {
		run->sums[i] = (struct gg_interval_method_sums)GG_INTERVAL_METHOD_SUMS_INIT;
		if (exposed > 0)
			gg_tally_expose(&run->sums[i].tally, exposed);
	}
	run->learned = (struct gg_rate_learning){ 0 };
	run->next_plan_at = gg_rate_learning_next(0);
	run->sample_count = 0;
	run->options = run->plan->options;
	run->options.seed = seed;
	run->options.stream = stream;
	run->sampler = (struct gg_sampler){ 0 };
	gg_sampler_init(&run->sampler, &run->options);
	gg_trace_run(trace, &run->sampler, take, run);
}

/*
 * Returns the estimate of a group by the scheme's own estimator, which the weights of the tally
 * are.
 */
static double estimate_of(const struct trial_run *run, uint32_t group,
                          enum gg_trial_quantity quantity)
{
	const struct gg_interval_method_sums *sums =
		&run->sums[2 * (size_t)group + is_of_live(quantity)];

	return gg_tally_estimate(&sums->tally, unit_of(quantity)).value;
}

/*
 * Counts the intervals of all groups in one run.  For allocations, the truth starts at the size of
 * the smallest sample (interval_methods.h).
 */
static void count_groups(const struct gg_trace *trace, const struct truth *truth,
                         const struct gg_interval_method_context *context,
                         const struct trial_run *run, struct gg_trial_result *result)
{
	for (uint32_t group = 0; group < trace->group_count; group++) {
		for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++) {
			enum gg_trial_quantity quantity = (enum gg_trial_quantity)q;
			bool live = is_of_live(quantity);
			const struct gg_interval_method_sums *sums =
				&run->sums[2 * (size_t)group + live];
			double all =
				truth->sums[group * (size_t)GG_TRIAL_QUANTITY_COUNT + (size_t)q];
			double truths[] = { all, all };

			if (all == 0)
				continue; /* the group has no truth to hold */
			if (unit_of(quantity) == GG_ALLOCATIONS && sums->tally.sample_count > 0)
				truths[0] = count_from(truth, group, sums->smallest_bytes, live);
			for (int kind = 0; kind < GG_INTERVAL_METHOD_COUNT; kind++)
				gg_interval_method_count(
					context, sums, (enum gg_interval_method)kind,
					unit_of(quantity), truths, result->cells[kind][q]);
		}
	}
}

/* Computes the mean of n estimates, their variance, and the error of both. */
static void settle_figure(struct gg_trial_figure *figure, const double *estimates, size_t n)
{
	double mean = 0, second = 0, fourth = 0;

	for (size_t i = 0; i < n; i++)
		mean += estimates[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		double square = (estimates[i] - mean) * (estimates[i] - mean);

		second += square;
		fourth += square * square / (double)n;
	}
	/* The variance of a sample variance is about (fourth moment - variance^2) / n. */
	figure->mean = mean;
	figure->variance = second / (double)(n - 1);
	figure->mean_error = sqrt(figure->variance / (double)n);
	figure->variance_error = sqrt(fmax(fourth - figure->variance * figure->variance, 0) /
	                              (double)n);
}

static int run_all(const struct gg_trace *trace, const struct truth *truth, struct trial_run *run,
                   uint64_t run_count, double confidence, uint64_t seed, double *estimates,
                   struct gg_trial_result *result)
{
	enum gg_scheme scheme = run->plan->options.scheme;
	bool one = scheme == GG_SCHEME_POISSON || scheme == GG_SCHEME_BERNOULLI;
	struct gg_interval_method_context context = {
		.confidence = confidence,
		.interval_bytes = one ? run->plan->options.sampling_interval : 0,
		.cache = gg_interval_method_cache_new()
	};

	if (context.cache == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < run_count; i++) {
		run_once(trace, run, seed, i);
		result->mean_samples += (double)run->sample_count / (double)run_count;
		for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++) {
			double *estimate = &estimates[(uint64_t)q * run_count + i];

			*estimate = 0;
			for (uint32_t group = 0; group < trace->group_count; group++)
				*estimate += estimate_of(run, group, (enum gg_trial_quantity)q);
		}
		count_groups(trace, truth, &context, run, result);
	}
	gg_interval_method_cache_free(context.cache);
	return 0;
}

int gg_trial_run(const struct gg_trace *trace, const struct gg_trial_plan *plan, uint64_t run_count,
                 double confidence, uint64_t seed, struct gg_trial_result *ret_result)
{
	struct trial_run *run = calloc(1, sizeof(*run));
	double *estimates = calloc(run_count * GG_TRIAL_QUANTITY_COUNT, sizeof(*estimates));
	struct truth truth = { 0 };
	int status = truth_init(&truth, trace);

	*ret_result = (struct gg_trial_result){ 0 };
	if (run != NULL)
		run->sums = calloc(2 * (size_t)trace->group_count + 1, sizeof(*run->sums));
	if (status == 0 && (run == NULL || run->sums == NULL || estimates == NULL))
		status = -ENOMEM;
	if (status == 0) {
		run->plan = plan;
		status = run_all(trace, &truth, run, run_count, confidence, seed, estimates,
		                 ret_result);
	}
	for (int q = 0; status == 0 && q < GG_TRIAL_QUANTITY_COUNT; q++) {
		enum gg_trial_quantity quantity = (enum gg_trial_quantity)q;
		struct gg_trial_figure *figure = &ret_result->figures[q];

		figure->truth = gg_trace_sum(trace, unit_of(quantity), is_of_live(quantity),
		                             GG_TRACE_ALL);
		figure->formula = gg_trial_formula(trace, plan, quantity);
		settle_figure(figure, &estimates[(uint64_t)q * run_count], run_count);
		for (int kind = 0; kind < GG_INTERVAL_METHOD_COUNT; kind++)
			for (int p = 0; p < GG_POPULATION_COUNT; p++)
				gg_cell_finish(&ret_result->cells[kind][q][p]);
	}
	truth_done(&truth);
	if (run != NULL)
		free(run->sums);
	free(run);
	free(estimates);
	return status;
}
