/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_plan - the sampling interval for a wanted error. */
#include "cli/sampling_plan.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>

#include "cli/profiles.h"
#include "region/control.h"
#include "stats/sampling/weight.h"

int gg_sampling_plan_add(struct gg_sampling_plan *plan, struct gg_sampling_plan_entry entry)
{
	return gg_array_push(&plan->entries, entry) ? 0 : -ENOMEM;
}

void gg_sampling_plan_done(struct gg_sampling_plan *plan)
{
	gg_array_done(&plan->entries);
}

static double length_of(const struct gg_sampling_plan_entry *entry)
{
	return fmax(entry->size_bytes, 1);
}

/*
 * Returns z times the standard deviation as a share of the value: half the width of the interval.
 */
double gg_sampling_plan_error(const struct gg_sampling_plan *plan, double interval, double z)
{
	double bytes = 0, variance = 0;

	for (size_t i = 0; i < plan->entries.count; i++) {
		const struct gg_sampling_plan_entry *entry = &plan->entries.items[i];
		double odds = 1 / expm1(length_of(entry) / interval); /* (1-p)/p */

		if (!entry->is_wanted)
			continue;
		bytes += entry->count * entry->size_bytes;
		variance += entry->count * entry->size_bytes * entry->size_bytes * odds;
	}
	return bytes > 0 ? z * sqrt(variance) / bytes : 0;
}

double gg_sampling_plan_bytes(const struct gg_sampling_plan *plan)
{
	double bytes = 0;

	for (size_t i = 0; i < plan->entries.count; i++) {
		const struct gg_sampling_plan_entry *entry = &plan->entries.items[i];

		bytes += entry->is_wanted ? entry->count * entry->size_bytes : 0;
	}
	return bytes;
}

double gg_sampling_plan_samples(const struct gg_sampling_plan *plan, double interval, bool wanted)
{
	double samples = 0;

	for (size_t i = 0; i < plan->entries.count; i++) {
		const struct gg_sampling_plan_entry *entry = &plan->entries.items[i];

		if (wanted ? entry->is_wanted : entry->is_allocated)
			samples += entry->count * -expm1(-length_of(entry) / interval);
	}
	return samples;
}

/*
 * Returns the longest interval whose error is at most the wanted one.  The error grows with the
 * interval, so bisection finds it.  The search runs over logarithms, because intervals span 48
 * powers of two.
 */
double gg_sampling_plan_interval(const struct gg_sampling_plan *plan, double error, double z)
{
	double low = 0, high = log((double)GG_REGION_INTERVAL_MAX);

	if (gg_sampling_plan_error(plan, exp(high), z) <= error)
		return exp(high);
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (gg_sampling_plan_error(plan, exp(middle), z) <= error)
			low = middle;
		else
			high = middle;
	}
	return exp(low);
}

/*
 * True if a function on the stack matches.  The stack's parents are its callers, and a node can
 * have several places, because calls may be inlined.
 */
static bool is_on_stack(const struct gg_model *model, uint32_t stack, const regex_t *function)
{
	for (stack = model->stacks[stack].top; stack != 0; stack = model->stacks[stack].parent) {
		size_t count;
		const struct gg_code_location *places = gg_model_stack_locations(model, stack,
		                                                                 &count);

		for (size_t i = 0; i < count; i++)
			if (regexec(function, model->functions[places[i].function].name, 0, NULL,
			            0) == 0)
				return true;
	}
	return false;
}

/*
 * Finds the moment to plan for: the end, or the peak if the program freed nearly everything before
 * its end.
 */
static int find_moment(const struct gg_model *model, int64_t *ret_ns, struct gg_error *error)
{
	struct gg_query query;
	struct gg_peak peak;
	bool is_given_back;
	int status = gg_query_is_given_back(model, 0, &is_given_back, error);

	*ret_ns = GG_TIME_NONE - 1;
	if (status < 0 || !is_given_back)
		return status;
	gg_query_init(&query);
	status = gg_query_peak(model, &query, &peak, error);
	*ret_ns = peak.time_ns;
	return status;
}

/* Aims at the samples of a profile.  Each stands for as many allocations as its draw says. */
static int aim_at_samples(struct gg_sampling_plan *plan, const struct gg_model *model,
                          const struct gg_sampling_plan_request *o, const regex_t *function,
                          int64_t moment_ns)
{
	const struct gg_model_sample *samples = model->samples;

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &samples[i];
		struct gg_weight weight = gg_weight_of(&sample->draw, sample->size_bytes);
		bool is_inherited = sample->flags & GG_MODEL_INHERITED;
		/* A block that several processes hold counts once, in its first sample. */
		bool is_wanted = o->allocated
		                         ? !is_inherited
		                         : sample->block == i && sample->alloc_ns <= moment_ns &&
		                                   sample->free_ns > moment_ns;
		struct gg_sampling_plan_entry entry = {
			.size_bytes = (double)sample->size_bytes,
			.count = weight.count,
			.is_wanted = is_wanted && (function == NULL ||
			                           is_on_stack(model, sample->stack, function)),
			.is_allocated = !is_inherited,
		};

		if (gg_sampling_plan_add(plan, entry) < 0)
			return -ENOMEM;
	}
	plan->seconds = (double)model->end_ns / 1e9;
	return 0;
}

int gg_sampling_plan_read(struct gg_sampling_plan *plan, const struct gg_sampling_plan_request *o,
                          struct gg_error *error)
{
	struct gg_model *model;
	int64_t moment_ns = 0;
	const char *what;
	regex_t function;
	int status;

	if (o->function != NULL && regcomp(&function, o->function, REG_EXTENDED | REG_NOSUB) != 0)
		return gg_error_set(error, -EINVAL, o->command,
		                    "Give a POSIX extended regular expression.", "'%s' is none",
		                    o->function);
	status = gg_cli_load(&model, o->profile, &(struct gg_frame_selection){ 0 }, error);
	if (status == 0) {
		status = find_moment(model, &moment_ns, error);
		if (status == 0 &&
		    aim_at_samples(plan, model, o, o->function != NULL ? &function : NULL,
		                   moment_ns) < 0)
			status = gg_error_memory(error, "a plan");
		gg_model_free(model);
	}
	if (o->function != NULL)
		regfree(&function);
	if (status < 0)
		return status;
	what = o->allocated ? "allocated" : moment_ns < GG_TIME_NONE - 1 ? "peak" : "live";
	snprintf(plan->what, sizeof(plan->what), "%s bytes of %.80s%s%.40s", what, o->profile,
	         o->function != NULL ? ", function " : "", o->function != NULL ? o->function : "");
	for (size_t i = 0; i < plan->entries.count; i++)
		if (plan->entries.items[i].is_wanted && plan->entries.items[i].size_bytes > 0)
			return 0;
	return gg_error_set(error, -EBADMSG, o->profile, "Record it with a smaller interval.",
	                    "nothing that was sampled is %s%s%s",
	                    o->allocated                   ? "allocated"
	                    : moment_ns < GG_TIME_NONE - 1 ? "live at the peak"
	                                                   : "live at the end",
	                    o->function != NULL ? " in " : "",
	                    o->function != NULL ? o->function : "");
}
