/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling - checks the sampling options, and translates them for the agent.
 *
 * The agent has defaults of its own.  An option that the user does not give stays out of the
 * agent's environment, so that a setting which the user exported (GEIGER_INTERVAL) still works.
 */
#include "cli/sampling.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/percent.h"
#include "cli/sampling_plan.h"
#include "record/session/launch.h"
#include "record/session/session.h"
#include "region/control.h"
#include "stats/estimate/special.h"
#include "stats/sampling/error_control.h"
#include "stats/sampling/rate_learning.h"
#include "stats/sampling/scheme.h"

/* One sample in so many; it costs a program that only allocates 0.1 % (docs/MALLOC.md). */
enum { GUARD_STANDARD = 500 };

#define AT(field) offsetof(struct gg_cli_sampling, field)

const struct gg_option gg_cli_sampling_options[] = {
	{ "interval", 'i', GG_OPTION_SIZE, AT(sampling_interval), "SIZE",
	  "sampling interval: bytes (512KiB), or allocations" },
	{ "overhead", 0, GG_OPTION_TEXT, AT(overhead), "PERCENT",
	  "hold this share of processor time instead: 0.5%" },
	{ "scheme", 0, GG_OPTION_CHOICE, AT(scheme),
	  "poisson|bernoulli|poisson-count|stride|per-allocation|optimal",
	  "how samples are drawn (default: poisson)" },
	{ "error", 0, GG_OPTION_TEXT, AT(error), "PERCENT",
	  "hold this error of live bytes instead: 5%" },
	{ "like", 0, GG_OPTION_TEXT, AT(like), "PROFILE",
	  "with --error: begin as a former run has needed it" },
	{ "focus", 0, GG_OPTION_TEXT, AT(focus_text), "live|allocated|function=REGEX",
	  "estimate this best: for --scheme optimal, or --error" },
	{ "seed", 0, GG_OPTION_COUNT, AT(seed), "N",
	  "seed of the sample points, from 1 (default: random)" },
	{ "free-stacks", 0, GG_OPTION_FLAG, AT(free_stacks), NULL,
	  "also record where samples are freed" },
	{ "mmap", 0, GG_OPTION_FLAG, AT(mappings), NULL, "also record anonymous mappings" },
	{ "no-allocator-calls", 0, GG_OPTION_FLAG, AT(no_allocator_calls), NULL,
	  "never ask the allocator about its heap" },
	{ "exact", 0, GG_OPTION_FLAG, AT(exact), NULL,
	  "count every allocation instead of sampling" },
	{ "malloc", 0, GG_OPTION_FLAG, AT(own_allocator), NULL,
	  "replace the allocator by libgeiger-malloc" },
	{ "guard", 0, GG_OPTION_COUNT_IF, AT(guard), NULL,
	  "with --malloc: guard one sample in 500, or in =N" },
	{ "compat", 0, GG_OPTION_FLAG, AT(compat), NULL,
	  "also serve options and calls of jemalloc, gperftools" },
	GG_OPTIONS_END,
};

int gg_cli_parse_overhead(const char *text, const char *place, uint32_t *ret_ppm,
                          struct gg_error *error)
{
	uint32_t ppm;

	if (gg_percent_parse(text, &ppm) < 0 || ppm < GG_REGION_OVERHEAD_LEAST_PPM)
		return gg_error_set(error, -EINVAL, place, "Give 0.01% to 100%, such as 0.5%.",
		                    "'%s' is not a share", text);
	*ret_ppm = ppm;
	return 0;
}

int gg_cli_parse_error(const char *text, const char *place, uint32_t *ret_ppm,
                       struct gg_error *error)
{
	uint32_t ppm;

	if (gg_percent_parse(text, &ppm) < 0 || ppm < GG_REGION_ERROR_LEAST_PPM)
		return gg_error_set(error, -EINVAL, place, "Give 0.1% to 100%, such as 5%.",
		                    "'%s' is not an error", text);
	*ret_ppm = ppm;
	return 0;
}

/* The error of an option: "record: --overhead". */
static int refuse(const char *command, const char *option, const char *advice, const char *message,
                  struct gg_error *error)
{
	char place[32];

	snprintf(place, sizeof(place), "%s: %s", command, option);
	return gg_error_set(error, -EINVAL, place, advice, "%s", message);
}

static int check_overhead(const struct gg_cli_sampling *sampling, const char *command,
                          struct gg_error *error)
{
	char place[32];
	uint32_t ppm;

	snprintf(place, sizeof(place), "%s: --overhead", command);
	if (sampling->focus >= 0 || sampling->scheme == GG_SCHEME_OPTIMAL ||
	    sampling->scheme == GG_SCHEME_PER_ALLOCATION)
		return gg_error_set(error, -EINVAL, place, "Leave out --scheme and --focus.",
		                    "the schemes optimal and per-allocation cannot follow it");
	return gg_cli_parse_overhead(sampling->overhead, place, &ppm, error);
}

/* Reads --focus: of the optimal scheme, or a function. */
static int read_focus(struct gg_cli_sampling *sampling, const char *command, bool has_recorder,
                      struct gg_error *error)
{
	static const char function[] = "function=";
	const char *text = sampling->focus_text;

	if (text == NULL)
		return 0;
	if (strcmp(text, "live") == 0 || strcmp(text, "allocated") == 0) {
		sampling->focus = text[0] == 'l' ? GG_FOCUS_LIVE : GG_FOCUS_ALLOCATED;
		return 0;
	}
	if (strncmp(text, function, sizeof(function) - 1) != 0 ||
	    text[sizeof(function) - 1] == '\0')
		return refuse(command, "--focus", "Give live, allocated or function=REGEX.",
		              "that is no focus", error);
	sampling->focus_function = text + sizeof(function) - 1;
	if (sampling->error == NULL)
		return refuse(command, "--focus", "Add --error 5%.",
		              "a function is what an error is of", error);
	if (!has_recorder)
		return refuse(command, "--focus", "Use geiger record, or attach -o FILE.",
		              "only a recorder knows functions", error);
	if (sampling->overhead != NULL)
		return refuse(command, "--focus", "Leave out one of the two.",
		              "a function's error and an overhead cannot be held together", error);
	return 0;
}

/* The confidence of the intervals whose width is held, and by how much a plan is finer. */
#define PLAN_CONFIDENCE 0.95
#define PLAN_MARGIN     1.1

static int read_plan(struct gg_cli_sampling *sampling, const char *command, struct gg_error *error)
{
	struct gg_sampling_plan plan = { 0 };
	char place[32];
	const struct gg_sampling_plan_request request = {
		.profile = sampling->like,
		.function = sampling->focus_function,
		.command = place,
	};
	double z = sqrt(gg_chi_square_upper_inverse(1, 1 - PLAN_CONFIDENCE)), interval;
	int status;

	snprintf(place, sizeof(place), "%s: --focus", command);
	status = gg_sampling_plan_read(&plan, &request, error);
	if (status == 0) {
		interval = gg_sampling_plan_interval(
			&plan, (double)sampling->error_ppm / GG_PPM / PLAN_MARGIN, z);
		/*
		 * The former run's large blocks would allow a longer interval, but this run may
		 * have small ones.  The agent leaves the plan at half of the interval times the
		 * needed samples, so this product may not exceed the planned bytes.
		 */
		interval = fmin(interval, gg_sampling_plan_bytes(&plan) /
		                                  gg_error_control_needed(
							  (double)sampling->error_ppm / GG_PPM));
		sampling->planned_interval = interval < 1 ? 1 : (uint64_t)interval;
	}
	gg_sampling_plan_done(&plan);
	return status;
}

static int check_error(struct gg_cli_sampling *sampling, const char *command,
                       struct gg_error *error)
{
	char place[32];
	int status;

	if (sampling->error == NULL)
		return sampling->like != NULL ? refuse(command, "--like", "Add --error 5%.",
		                                       "it is for an error", error)
		                              : 0;
	if (sampling->focus >= 0 || sampling->scheme == GG_SCHEME_OPTIMAL ||
	    sampling->scheme == GG_SCHEME_PER_ALLOCATION)
		return refuse(command, "--error", "Leave out --scheme and --focus.",
		              "the schemes optimal and per-allocation cannot follow it", error);
	if (sampling->sampling_interval != UINT64_MAX)
		return refuse(command, sampling->like != NULL ? "--like" : "--error",
		              "Leave out --interval.", "the error chooses the interval", error);
	snprintf(place, sizeof(place), "%s: --error", command);
	status = gg_cli_parse_error(sampling->error, place, &sampling->error_ppm, error);
	return status == 0 && sampling->like != NULL ? read_plan(sampling, command, error) : status;
}

static int check_exact(const struct gg_cli_sampling *sampling, const char *command,
                       struct gg_error *error)
{
	char place[32];

	if (!sampling->exact)
		return 0;
	snprintf(place, sizeof(place), "%s: --exact", command);
	if (strcmp(command, "attach") == 0)
		return gg_error_set(error, -EINVAL, place,
		                    "Start the program by 'geiger record --exact'.",
		                    "what a process allocated before an attach cannot be counted");
	if (sampling->sampling_interval != UINT64_MAX || sampling->scheme >= 0 ||
	    sampling->focus_text != NULL || sampling->seed != 0 || sampling->overhead != NULL ||
	    sampling->error != NULL)
		return gg_error_set(error, -EINVAL, place, "Leave out the other option.",
		                    "nothing is sampled, so there is no interval, scheme, focus, "
		                    "seed, overhead or error");
	if (sampling->free_stacks || sampling->mappings || sampling->compat)
		return gg_error_set(error, -EINVAL, place, "Leave out the other option.",
		                    "it does not go with --free-stacks, --mmap or --compat");
	return 0;
}

/* From here on, gg_launch_find_agent() finds libgeiger-malloc. */
static int choose_allocator(const struct gg_cli_sampling *sampling, const char *command,
                            struct gg_error *error)
{
	char place[32];

	if (sampling->guard != 0 && !sampling->own_allocator) {
		snprintf(place, sizeof(place), "%s: --guard", command);
		return gg_error_set(error, -EINVAL, place, "Add --malloc.",
		                    "only libgeiger-malloc guards blocks");
	}
	if (!sampling->own_allocator)
		return 0;
	snprintf(place, sizeof(place), "%s: --malloc", command);
	if (strcmp(command, "attach") == 0)
		return gg_error_set(error, -EINVAL, place,
		                    "Start the program by 'geiger record --malloc'.",
		                    "a running process keeps its allocator");
	if (sampling->exact)
		return gg_error_set(error, -EINVAL, place, "Leave out --exact.",
		                    "libgeiger-malloc samples, and counts nothing by stack");
	if (sampling->scheme >= 0 && sampling->scheme != GG_SCHEME_POISSON &&
	    sampling->scheme != GG_SCHEME_OPTIMAL)
		return gg_error_set(error, -EINVAL, place, "Give --scheme poisson or optimal.",
		                    "libgeiger-malloc has no other schemes");
	gg_launch_use_own_allocator();
	return 0;
}

int gg_cli_check_sampling(struct gg_cli_sampling *sampling, const char *command, bool has_recorder,
                          struct gg_error *error)
{
	char place[32];
	int status = check_exact(sampling, command, error);

	if (status == 0)
		status = read_focus(sampling, command, has_recorder, error);
	if (status < 0)
		return status;
	if (sampling->sampling_interval != UINT64_MAX &&
	    (sampling->sampling_interval == 0 ||
	     sampling->sampling_interval > GG_REGION_INTERVAL_MAX)) {
		snprintf(place, sizeof(place), "%s: --interval", command);
		return gg_error_set(error, -EINVAL, place, "Give 1 to 256TiB.",
		                    "it is out of range");
	}
	if (sampling->focus >= 0 && sampling->scheme >= 0 &&
	    sampling->scheme != GG_SCHEME_OPTIMAL) {
		snprintf(place, sizeof(place), "%s: --focus", command);
		return gg_error_set(error, -EINVAL, place, "Add --scheme optimal.",
		                    "only the optimal scheme has one");
	}
	if (sampling->overhead != NULL)
		status = check_overhead(sampling, command, error);
	if (status == 0)
		status = check_error(sampling, command, error);
	return status < 0 ? status : choose_allocator(sampling, command, error);
}

uint64_t gg_cli_sampling_interval(const struct gg_cli_sampling *sampling)
{
	if (sampling->planned_interval != 0)
		return sampling->planned_interval;
	return sampling->sampling_interval != UINT64_MAX ? sampling->sampling_interval : 0;
}

const char *gg_cli_sampling_scheme(const struct gg_cli_sampling *sampling)
{
	int scheme = sampling->scheme;

	/* Only the optimal scheme has a focus, so the focus alone selects it. */
	if (scheme < 0 && sampling->focus >= 0)
		scheme = GG_SCHEME_OPTIMAL;
	return scheme >= 0 ? gg_scheme_name((enum gg_scheme)scheme) : NULL;
}

const char *gg_cli_sampling_focus(const struct gg_cli_sampling *sampling)
{
	if (sampling->focus < 0)
		return NULL;
	return sampling->focus == GG_FOCUS_LIVE ? "live" : "allocated";
}

void gg_cli_sampling_set_launch(const struct gg_cli_sampling *sampling,
                                struct gg_launch_settings *settings)
{
	settings->sampling_interval = gg_cli_sampling_interval(sampling);
	settings->overhead = sampling->overhead;
	/* The recorder holds the error of a function. */
	settings->error = sampling->focus_function == NULL ? sampling->error : NULL;
	settings->scheme = gg_cli_sampling_scheme(sampling);
	settings->focus = gg_cli_sampling_focus(sampling);
	settings->seed = sampling->seed;
	settings->free_stacks = sampling->free_stacks;
	settings->mappings = sampling->mappings;
	settings->no_allocator_calls = sampling->no_allocator_calls;
	settings->exact = sampling->exact;
	settings->guard = sampling->guard == GG_OPTION_COUNT_NONE ? GUARD_STANDARD
	                                                          : sampling->guard;
}

void gg_cli_sampling_set_session(const struct gg_cli_sampling *sampling,
                                 struct gg_session_options *options)
{
	struct gg_launch_settings settings = { 0 };

	gg_cli_sampling_set_launch(sampling, &settings);
	options->sampling_interval = settings.sampling_interval;
	options->overhead = settings.overhead;
	options->error = settings.error;
	options->focus_function = sampling->focus_function;
	options->focus_error = (double)sampling->error_ppm / GG_PPM;
	options->scheme = settings.scheme;
	options->focus = settings.focus;
	options->seed = settings.seed;
	options->free_stacks = settings.free_stacks;
	options->guard = settings.guard;
	options->mappings = settings.mappings;
	options->no_allocator_calls = settings.no_allocator_calls;
	options->exact = settings.exact;
}
