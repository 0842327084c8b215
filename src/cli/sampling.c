/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling - checks the sampling options, and translates them for the agent.
 *
 * The agent has defaults of its own.  An option that the user does not give stays out of the
 * agent's environment, so that a setting which the user exported (GEIGER_INTERVAL) still works.
 */
#include "cli/sampling.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/percent.h"
#include "record/session/launch.h"
#include "record/session/session.h"
#include "region/control.h"
#include "stats/sampling/rate_learning.h"
#include "stats/sampling/scheme.h"

#define AT(field) offsetof(struct gg_cli_sampling, field)

const struct gg_option gg_cli_sampling_options[] = {
	{ "interval", 'i', GG_OPTION_SIZE, AT(sampling_interval), "SIZE",
	  "sampling interval: bytes (512KiB), or allocations" },
	{ "overhead", 0, GG_OPTION_TEXT, AT(overhead), "PERCENT",
	  "hold this share of processor time instead: 0.5%" },
	{ "scheme", 0, GG_OPTION_CHOICE, AT(scheme),
	  "poisson|bernoulli|poisson-count|stride|per-allocation|optimal",
	  "how samples are drawn (default: poisson)" },
	{ "focus", 0, GG_OPTION_CHOICE, AT(focus), "live|allocated",
	  "estimate this best; implies --scheme optimal" },
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
	    sampling->focus >= 0 || sampling->seed != 0 || sampling->overhead != NULL)
		return gg_error_set(error, -EINVAL, place, "Leave the other option away.",
		                    "nothing is sampled, so there is no interval, scheme, focus, "
		                    "seed or overhead");
	if (sampling->free_stacks || sampling->mappings || sampling->compat)
		return gg_error_set(error, -EINVAL, place, "Leave the other option away.",
		                    "it does not go with --free-stacks, --mmap or --compat");
	return 0;
}

/* From here on, gg_launch_find_agent() finds libgeiger-malloc. */
static int choose_allocator(const struct gg_cli_sampling *sampling, const char *command,
                            struct gg_error *error)
{
	char place[32];

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
	gg_launch_use_own_allocator();
	return 0;
}

int gg_cli_check_sampling(const struct gg_cli_sampling *sampling, const char *command,
                          struct gg_error *error)
{
	char place[32];
	int status = check_exact(sampling, command, error);

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
	return status < 0 ? status : choose_allocator(sampling, command, error);
}

uint64_t gg_cli_sampling_interval(const struct gg_cli_sampling *sampling)
{
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
	settings->scheme = gg_cli_sampling_scheme(sampling);
	settings->focus = gg_cli_sampling_focus(sampling);
	settings->seed = sampling->seed;
	settings->free_stacks = sampling->free_stacks;
	settings->mappings = sampling->mappings;
	settings->no_allocator_calls = sampling->no_allocator_calls;
	settings->exact = sampling->exact;
}

void gg_cli_sampling_set_session(const struct gg_cli_sampling *sampling,
                                 struct gg_session_options *options)
{
	struct gg_launch_settings settings = { 0 };

	gg_cli_sampling_set_launch(sampling, &settings);
	options->sampling_interval = settings.sampling_interval;
	options->overhead = settings.overhead;
	options->scheme = settings.scheme;
	options->focus = settings.focus;
	options->seed = settings.seed;
	options->free_stacks = settings.free_stacks;
	options->mappings = settings.mappings;
	options->no_allocator_calls = settings.no_allocator_calls;
	options->exact = settings.exact;
}
