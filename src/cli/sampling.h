/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling - the options for sampling that `geiger record` and `geiger env` share.
 *
 * A command's struct contains a struct gg_cli_sampling.  Its table contains GG_CLI_SAMPLING_OPTIONS
 * with the offset of that struct, and its defaults contain GG_CLI_SAMPLING_DEFAULTS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"

struct gg_cli_sampling {
	uint64_t interval; /* UINT64_MAX: not given */
	uint64_t seed;     /* 0: not given */
	int scheme, focus; /* enum gg_scheme, enum gg_focus; -1: not given */
	bool free_stacks, mappings, compat;
};

#define GG_CLI_SAMPLING_DEFAULTS                                   \
	{                                                          \
		.interval = UINT64_MAX, .scheme = -1, .focus = -1, \
	}

#define GG_CLI_SAMPLING_ROW(name, letter, kind, start, field, value, help)                         \
	{                                                                                          \
		name, letter, kind, (start) + offsetof(struct gg_cli_sampling, field), value, help \
	}
#define GG_CLI_SAMPLING_OPTIONS(start)                                                            \
	GG_CLI_SAMPLING_ROW("interval", 'i', GG_OPTION_SIZE, start, interval, "SIZE",             \
	                    "mean interval: bytes (default 512KiB) or allocations"),              \
		GG_CLI_SAMPLING_ROW(                                                              \
			"scheme", 0, GG_OPTION_CHOICE, start, scheme,                             \
			"poisson|bernoulli|poisson-count|stride|per-allocation|optimal",          \
			"how samples are drawn (default: poisson)"),                              \
		GG_CLI_SAMPLING_ROW("focus", 0, GG_OPTION_CHOICE, start, focus, "live|allocated", \
	                            "what scheme optimal, then implied, knows best"),             \
		GG_CLI_SAMPLING_ROW("seed", 0, GG_OPTION_COUNT, start, seed, "N",                 \
	                            "of the random marks, from 1 on (default: random)"),          \
		GG_CLI_SAMPLING_ROW("free-stacks", 0, GG_OPTION_FLAG, start, free_stacks, NULL,   \
	                            "record where samples are freed, too"),                       \
		GG_CLI_SAMPLING_ROW("mmap", 0, GG_OPTION_FLAG, start, mappings, NULL,             \
	                            "record anonymous mappings, too"),                            \
		GG_CLI_SAMPLING_ROW("compat", 0, GG_OPTION_FLAG, start, compat, NULL,             \
	                            "jemalloc's and gperftools' options and calls, too")

/* Checks the options.  Returns 0, or -EINVAL with an error that names the command's option. */
GG_MUST_CHECK int gg_cli_check_sampling(const struct gg_cli_sampling *sampling, const char *command,
                                        struct gg_error *error);

/* Returns the interval in bytes or allocations; 0: the agent's default. */
uint64_t gg_cli_sampling_interval(const struct gg_cli_sampling *sampling);

/*
 * Return the name of the scheme or focus; NULL: the agent's default.  A focus implies the optimal
 * scheme.
 */
const char *gg_cli_sampling_scheme(const struct gg_cli_sampling *sampling);
const char *gg_cli_sampling_focus(const struct gg_cli_sampling *sampling);
