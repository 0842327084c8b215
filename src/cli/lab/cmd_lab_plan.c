/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_plan - `geiger lab plan`: the sampling interval for a wanted error, and its cost.
 *
 * The entries of the plan (cli/sampling_plan.h) come from a heap of equal blocks (--heap) or from
 * the samples of a profile (--profile).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "cli/lab/lab_cost.h"
#include "cli/sampling_plan.h"
#include "stats/estimate/special.h"
#include "stats/estimate/wanted_error.h"

struct plan_options {
	uint64_t heap_bytes, size_bytes, rate_bytes;
	const char *profile, *function, *error;
	double confidence;
	bool allocated, no_cost, json;
};

struct outcome {
	double interval_bytes, error, wanted_bytes, wanted_samples;
	double samples_per_second; /* NAN: the rate is unknown */
	double samples_per_gib;
	double cost_ns; /* NAN: not measured */
};

/* Parses a share, "5%" or "0.05". */
static int parse_error(const char *text, double *ret_share, struct gg_error *error)
{
	char *end;
	double value = strtod(text, &end);

	if (*end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end != '\0' || !(value > 0 && value <= 10))
		return gg_error_set(error, -EINVAL, "lab plan: --error", "Give a share, as 5%.",
		                    "'%s' is no error", text);
	*ret_share = value;
	return 0;
}

/* Aims at a heap of equal blocks.  As long as blocks are small, their size hardly matters. */
static int aim_at_heap(struct gg_sampling_plan *plan, const struct plan_options *o)
{
	double count = (double)o->heap_bytes / (double)o->size_bytes;
	char heap[GG_SIZE_TEXT_MAX], size[GG_SIZE_TEXT_MAX];

	snprintf(plan->what, sizeof(plan->what), "%s in blocks of %s",
	         gg_size_format_short((double)o->heap_bytes, heap),
	         gg_size_format_short((double)o->size_bytes, size));
	if (gg_sampling_plan_add(plan, (struct gg_sampling_plan_entry){ (double)o->size_bytes,
	                                                                count, true, false }) < 0)
		return -ENOMEM;
	if (o->rate_bytes == 0)
		return 0;
	plan->seconds = 1;
	return gg_sampling_plan_add(plan, (struct gg_sampling_plan_entry){
						  (double)o->size_bytes,
						  (double)o->rate_bytes / (double)o->size_bytes,
						  false, true });
}

/*
 * Chooses the interval and computes what it means: the error, and the samples in the stream.
 * Without a stream (--heap without --rate), the samples of a GiB are those of the heap's own
 * blocks.
 */
static struct outcome settle(const struct gg_sampling_plan *plan, double wanted, double z)
{
	struct outcome outcome = { .interval_bytes = gg_wanted_error_round(
					   gg_sampling_plan_interval(plan, wanted, z)),
		                   .samples_per_second = NAN,
		                   .cost_ns = NAN };
	double bytes = 0;

	outcome.error = gg_sampling_plan_error(plan, outcome.interval_bytes, z);
	outcome.wanted_samples = gg_sampling_plan_samples(plan, outcome.interval_bytes, true);
	for (size_t i = 0; i < plan->entries.count; i++) {
		const struct gg_sampling_plan_entry *entry = &plan->entries.items[i];

		outcome.wanted_bytes += entry->is_wanted ? entry->count * entry->size_bytes : 0;
		bytes += entry->is_allocated ? entry->count * entry->size_bytes : 0;
	}
	if (bytes > 0) {
		double samples = gg_sampling_plan_samples(plan, outcome.interval_bytes, false);

		outcome.samples_per_gib = samples / bytes * 0x1p30;
		if (plan->seconds > 0)
			outcome.samples_per_second = samples / plan->seconds;
	} else {
		outcome.samples_per_gib = outcome.wanted_samples / outcome.wanted_bytes * 0x1p30;
	}
	return outcome;
}

static void print_text(const struct gg_sampling_plan *plan, const struct outcome *outcome,
                       double wanted, double confidence)
{
	char interval[GG_SIZE_TEXT_MAX], bytes[GG_SIZE_TEXT_MAX], number[GG_LAB_NUMBER_MAX];

	printf("To estimate %s\n(%s) to within %.3g %%, %g %% of the time:\n\n", plan->what,
	       gg_size_format_short(outcome->wanted_bytes, bytes), 100 * wanted, 100 * confidence);
	printf("  sampling interval   %s\n",
	       gg_size_format_short(outcome->interval_bytes, interval));
	printf("  expected error      %.3g %%, from %s samples\n", 100 * outcome->error,
	       gg_lab_number(outcome->wanted_samples, number));
	printf("  samples             %s for each GiB allocated",
	       gg_lab_number(outcome->samples_per_gib, number));
	if (!isnan(outcome->samples_per_second))
		printf(", %s a second", gg_lab_number(outcome->samples_per_second, number));
	putchar('\n');
	if (!isnan(outcome->cost_ns)) {
		printf("  cost                %.0f ns a sample on this machine", outcome->cost_ns);
		if (!isnan(outcome->samples_per_second))
			printf(": %.2g %% of one core",
			       100e-9 * outcome->cost_ns * outcome->samples_per_second);
		else
			printf(": %s ms for each GiB allocated",
			       gg_lab_number(1e-6 * outcome->cost_ns * outcome->samples_per_gib,
			                     number));
		putchar('\n');
	}
	printf("\n  geiger record --interval %.0f -- COMMAND\n", outcome->interval_bytes);
}

static int print_json(const struct gg_sampling_plan *plan, const struct outcome *outcome,
                      double wanted, double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_lab_json_open(&json);
	gg_json_text(&json, "target", plan->what);
	gg_json_number(&json, "bytes", outcome->wanted_bytes);
	gg_json_number(&json, "wanted_error", wanted);
	gg_json_number(&json, "confidence", confidence);
	gg_json_number(&json, "interval_bytes", outcome->interval_bytes);
	gg_json_number(&json, "expected_error", outcome->error);
	gg_json_number(&json, "samples", outcome->wanted_samples);
	gg_json_number(&json, "samples_per_gib", outcome->samples_per_gib);
	gg_json_number(&json, "samples_per_second", outcome->samples_per_second); /* or null */
	gg_json_number(&json, "sample_cost_ns", outcome->cost_ns);
	gg_json_number(&json, "overhead", 1e-9 * outcome->cost_ns * outcome->samples_per_second);
	return gg_lab_json_print(&json, error);
}

static int check(const struct plan_options *o, struct gg_error *error)
{
	if ((o->heap_bytes > 0) == (o->profile != NULL))
		return gg_error_set(error, -EINVAL, "lab plan",
		                    "Try geiger lab plan --heap 4GiB --error 5%.",
		                    "give either --heap or --profile");
	if (o->error == NULL)
		return gg_error_set(error, -EINVAL, "lab plan", "Try --error 5%.",
		                    "--error is not given");
	if (o->size_bytes == 0 || (o->heap_bytes > 0 && o->size_bytes > o->heap_bytes))
		return gg_error_set(error, -EINVAL, "lab plan: --size",
		                    "Give the size of a typical block.", "out of range");
	if (o->function != NULL && o->profile == NULL)
		return gg_error_set(error, -EINVAL, "lab plan: --function",
		                    "Add --profile PROFILE.", "a heap has no functions");
	return gg_lab_check_confidence(o->confidence, "lab plan", error);
}

static int run(struct gg_invocation *invocation)
{
	const struct plan_options *o = invocation->options;
	struct gg_error *error = invocation->error;
	struct gg_sampling_plan plan = { 0 };
	struct outcome outcome;
	double wanted = 0, z;
	int status = check(o, error);

	if (status == 0)
		status = parse_error(o->error, &wanted, error);
	if (status < 0)
		return status;
	if (o->profile != NULL)
		status = gg_sampling_plan_read(
			&plan,
			&(struct gg_sampling_plan_request){ o->profile, o->function, o->allocated,
		                                            "lab plan: --function" },
			error);
	else if (aim_at_heap(&plan, o) < 0)
		status = gg_error_memory(error, "lab plan");
	if (status == 0) {
		/*
		 * A machine without an agent cannot measure the cost; the plan is useful without
		 * it.
		 */
		struct gg_error unknown = { 0 };

		z = sqrt(gg_chi_square_upper_inverse(1, 1 - o->confidence));
		outcome = settle(&plan, wanted, z);
		if (!o->no_cost && gg_lab_sample_cost(&outcome.cost_ns, &unknown) < 0)
			/* The reports leave a cost of NaN out. */
			outcome.cost_ns = NAN;
		if (o->json)
			status = print_json(&plan, &outcome, wanted, o->confidence, error);
		else
			print_text(&plan, &outcome, wanted, o->confidence);
	}
	gg_sampling_plan_done(&plan);
	return status;
}

static const struct gg_option options[] = {
	{ "heap", 0, GG_OPTION_SIZE, offsetof(struct plan_options, heap_bytes), "SIZE",
	  "estimate a heap of that size" },
	{ "size", 0, GG_OPTION_SIZE, offsetof(struct plan_options, size_bytes), "SIZE",
	  "of its blocks (256)" },
	{ "rate", 0, GG_OPTION_SIZE, offsetof(struct plan_options, rate_bytes), "SIZE",
	  "bytes that are allocated in a second" },
	{ "profile", 0, GG_OPTION_TEXT, offsetof(struct plan_options, profile), "PROFILE",
	  "estimate what was recorded there, in a run like it" },
	{ "function", 0, GG_OPTION_TEXT, offsetof(struct plan_options, function), "REGEX",
	  "... of that function and what it calls" },
	{ "allocated", 0, GG_OPTION_FLAG, offsetof(struct plan_options, allocated), NULL,
	  "... its allocated bytes, not the live or peak ones" },
	{ "error", 'e', GG_OPTION_TEXT, offsetof(struct plan_options, error), "SHARE",
	  "half width of the confidence interval, as 5%" },
	{ "confidence", 'c', GG_OPTION_NUMBER, offsetof(struct plan_options, confidence), "P",
	  "of the interval (0.95)" },
	{ "no-cost", 0, GG_OPTION_FLAG, offsetof(struct plan_options, no_cost), NULL,
	  "do not measure what a sample costs here" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct plan_options, json), NULL, "print JSON" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_plan = {
	.name = "lab plan",
	.summary = "the sampling interval for a wanted error, and what it costs",
	.usage = "--heap SIZE|--profile PROFILE --error SHARE [OPTION]...",
	.details =
		"How long may the sampling interval be so that an estimate is wrong by no more\n"
		"than that, so many samples will be taken, and what they cost: a sample's cost is\n"
		"measured here, in half a second.\n\n"
		"  geiger lab plan --heap 4GiB --rate 1GiB --error 5%\n"
		"  geiger lab plan --profile run.geiger --function parse --error 10%\n",
	.options = options,
	.options_size = sizeof(struct plan_options),
	.option_defaults = &(const struct plan_options){ .size_bytes = 256, .confidence = 0.95 },
	.run = run,
	.variables = GG_READS_PROFILE | GG_READS_AGENT,
};
