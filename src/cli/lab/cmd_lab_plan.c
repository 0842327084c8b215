/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_plan - `geiger lab plan`: the sampling interval for a wanted error, and its cost.
 *
 * The plan works on a list of entries, each of which stands for some allocations of one size.  The
 * entries come from a heap of equal blocks (--heap) or from the samples of a profile (--profile).
 * The error depends only on the wanted entries.  The cost depends on all allocations of the stream,
 * because every sample costs time.
 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "cli/lab/lab_cost.h"
#include "cli/metric.h"
#include "cli/profiles.h"
#include "region/control.h"
#include "stats/estimate/special.h"
#include "stats/estimate/wanted_error.h"
#include "stats/sampling/weight.h"

struct plan_options {
	uint64_t heap_bytes, size_bytes, rate_bytes;
	const char *profile, *function, *error;
	double confidence;
	bool allocated, no_cost, json;
};

/* `count` allocations of one size. */
struct entry {
	double size_bytes, count;
	bool is_wanted;    /* the plan estimates it; otherwise it only belongs to the stream */
	bool is_allocated; /* part of the stream of allocations, which costs samples */
};

/* The memory that the plan estimates, and the stream of allocations around it. */
struct target {
	GG_ARRAY(struct entry) entries;
	double seconds; /* length of the stream; 0: unknown */
	char what[160];
};

struct outcome {
	double interval_bytes, error, wanted_bytes, wanted_samples;
	double samples_per_second; /* NAN: the rate is unknown */
	double samples_per_gib;
	double cost_ns; /* NAN: not measured */
};

static int add_entry(struct target *target, struct entry entry)
{
	return gg_array_push(&target->entries, entry) ? 0 : -ENOMEM;
}

static double length_of(const struct entry *entry)
{
	return fmax(entry->size_bytes, 1);
}

/*
 * Returns z times the standard deviation as a share of the value: half the width of the interval.
 */
static double error_at(const struct target *target, double interval, double z)
{
	double bytes = 0, variance = 0;

	for (size_t i = 0; i < target->entries.count; i++) {
		const struct entry *entry = &target->entries.items[i];
		double odds = 1 / expm1(length_of(entry) / interval); /* (1-p)/p */

		if (!entry->is_wanted)
			continue;
		bytes += entry->count * entry->size_bytes;
		variance += entry->count * entry->size_bytes * entry->size_bytes * odds;
	}
	return bytes > 0 ? z * sqrt(variance) / bytes : 0;
}

static double samples_at(const struct target *target, double interval, bool wanted)
{
	double samples = 0;

	for (size_t i = 0; i < target->entries.count; i++) {
		const struct entry *entry = &target->entries.items[i];

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
static double solve(const struct target *target, double wanted, double z)
{
	double low = 0, high = log((double)GG_REGION_INTERVAL_MAX);

	if (error_at(target, exp(high), z) <= wanted)
		return exp(high);
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (error_at(target, exp(middle), z) <= wanted)
			low = middle;
		else
			high = middle;
	}
	return exp(low);
}

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
static int aim_at_heap(struct target *target, const struct plan_options *o)
{
	double count = (double)o->heap_bytes / (double)o->size_bytes;
	char heap[GG_SIZE_TEXT_MAX], size[GG_SIZE_TEXT_MAX];

	snprintf(target->what, sizeof(target->what), "%s in blocks of %s",
	         gg_size_format_short((double)o->heap_bytes, heap),
	         gg_size_format_short((double)o->size_bytes, size));
	if (add_entry(target, (struct entry){ (double)o->size_bytes, count, true, false }) < 0)
		return -ENOMEM;
	if (o->rate_bytes == 0)
		return 0;
	target->seconds = 1;
	return add_entry(target, (struct entry){ (double)o->size_bytes,
	                                         (double)o->rate_bytes / (double)o->size_bytes,
	                                         false, true });
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
static int aim_at_samples(struct target *target, const struct gg_model *model,
                          const struct plan_options *o, const regex_t *function, int64_t moment_ns)
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
		struct entry entry = {
			.size_bytes = (double)sample->size_bytes,
			.count = weight.count,
			.is_wanted = is_wanted && (function == NULL ||
			                           is_on_stack(model, sample->stack, function)),
			.is_allocated = !is_inherited,
		};

		if (add_entry(target, entry) < 0)
			return -ENOMEM;
	}
	target->seconds = (double)model->end_ns / 1e9;
	return 0;
}

static int aim_at_profile(struct target *target, const struct plan_options *o,
                          struct gg_error *error)
{
	struct gg_model *model;
	int64_t moment_ns = 0;
	const char *what;
	regex_t function;
	int status;

	if (o->function != NULL && regcomp(&function, o->function, REG_EXTENDED | REG_NOSUB) != 0)
		return gg_error_set(error, -EINVAL, "lab plan: --function",
		                    "Give a POSIX extended regular expression.", "'%s' is none",
		                    o->function);
	status = gg_cli_load(&model, o->profile, &(struct gg_frame_selection){ 0 }, error);
	if (status == 0) {
		status = find_moment(model, &moment_ns, error);
		if (status == 0 &&
		    aim_at_samples(target, model, o, o->function != NULL ? &function : NULL,
		                   moment_ns) < 0)
			status = gg_error_memory(error, "lab plan");
		gg_model_free(model);
	}
	if (o->function != NULL)
		regfree(&function);
	if (status < 0)
		return status;
	what = o->allocated ? "allocated" : moment_ns < GG_TIME_NONE - 1 ? "peak" : "live";
	snprintf(target->what, sizeof(target->what), "%s bytes of %.80s%s%.40s", what, o->profile,
	         o->function != NULL ? ", function " : "", o->function != NULL ? o->function : "");
	for (size_t i = 0; i < target->entries.count; i++)
		if (target->entries.items[i].is_wanted && target->entries.items[i].size_bytes > 0)
			return 0;
	return gg_error_set(error, -EBADMSG, o->profile,
	                    "Record it with a smaller interval, or plan by --heap SIZE.",
	                    "nothing that was sampled is %s%s%s",
	                    o->allocated                   ? "allocated"
	                    : moment_ns < GG_TIME_NONE - 1 ? "live at the peak"
	                                                   : "live at the end",
	                    o->function != NULL ? " in " : "",
	                    o->function != NULL ? o->function : "");
}

/*
 * Chooses the interval and computes what it means: the error, and the samples in the stream.
 * Without a stream (--heap without --rate), the samples of a GiB are those of the heap's own
 * blocks.
 */
static struct outcome settle(const struct target *target, double wanted, double z)
{
	struct outcome outcome = { .interval_bytes = gg_wanted_error_round(
					   solve(target, wanted, z)),
		                   .samples_per_second = NAN,
		                   .cost_ns = NAN };
	double bytes = 0;

	outcome.error = error_at(target, outcome.interval_bytes, z);
	outcome.wanted_samples = samples_at(target, outcome.interval_bytes, true);
	for (size_t i = 0; i < target->entries.count; i++) {
		const struct entry *entry = &target->entries.items[i];

		outcome.wanted_bytes += entry->is_wanted ? entry->count * entry->size_bytes : 0;
		bytes += entry->is_allocated ? entry->count * entry->size_bytes : 0;
	}
	if (bytes > 0) {
		double samples = samples_at(target, outcome.interval_bytes, false);

		outcome.samples_per_gib = samples / bytes * 0x1p30;
		if (target->seconds > 0)
			outcome.samples_per_second = samples / target->seconds;
	} else {
		outcome.samples_per_gib = outcome.wanted_samples / outcome.wanted_bytes * 0x1p30;
	}
	return outcome;
}

static void print_text(const struct target *target, const struct outcome *outcome, double wanted,
                       double confidence)
{
	char interval[GG_SIZE_TEXT_MAX], bytes[GG_SIZE_TEXT_MAX], number[GG_LAB_NUMBER_MAX];

	printf("To estimate %s\n(%s) to within %.3g %%, %g %% of the time:\n\n", target->what,
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

static int print_json(const struct target *target, const struct outcome *outcome, double wanted,
                      double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_lab_json_open(&json);
	gg_json_text(&json, "target", target->what);
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
	struct target target = { 0 };
	struct outcome outcome;
	double wanted = 0, z;
	int status = check(o, error);

	if (status == 0)
		status = parse_error(o->error, &wanted, error);
	if (status < 0)
		return status;
	if (o->profile != NULL)
		status = aim_at_profile(&target, o, error);
	else if (aim_at_heap(&target, o) < 0)
		status = gg_error_memory(error, "lab plan");
	if (status == 0) {
		/*
		 * A machine without an agent cannot measure the cost; the plan is useful without
		 * it.
		 */
		struct gg_error unknown = { 0 };

		z = sqrt(gg_chi_square_upper_inverse(1, 1 - o->confidence));
		outcome = settle(&target, wanted, z);
		if (!o->no_cost && gg_lab_sample_cost(&outcome.cost_ns, &unknown) < 0)
			/* The reports leave a cost of NaN out. */
			outcome.cost_ns = NAN;
		if (o->json)
			status = print_json(&target, &outcome, wanted, o->confidence, error);
		else
			print_text(&target, &outcome, wanted, o->confidence);
	}
	gg_array_done(&target.entries);
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
