/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling - the options for sampling that `geiger record` and `geiger env` share.
 *
 * A command's struct contains a struct gg_cli_sampling.  Its table includes gg_cli_sampling_options
 * with the offset of that struct, and its defaults contain GG_CLI_SAMPLING_DEFAULTS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"

struct gg_cli_sampling {
	uint64_t sampling_interval; /* UINT64_MAX: not given */
	uint64_t seed;              /* 0: not given */
	const char *overhead;       /* "0.5%"; NULL: not given */
	const char *error, *like;   /* "5%", a profile; NULL: not given */
	const char *focus_text;     /* as given; NULL: not given */
	int scheme;                 /* enum gg_scheme; -1: not given */
	/* gg_cli_check_sampling() fills these. */
	int focus;                  /* enum gg_focus; -1: not given */
	const char *focus_function; /* a regular expression; NULL: not given */
	uint32_t error_ppm;
	uint64_t planned_interval; /* for the error, by the profile `like`; 0: none */
	bool free_stacks, mappings, compat, no_allocator_calls;
	uint64_t guard;     /* one sample in so many is guarded; 0: none */
	bool own_allocator; /* programs run over libgeiger-malloc */
	bool exact;         /* counts every allocation; no other member is given then */
};

#define GG_CLI_SAMPLING_DEFAULTS                                            \
	{                                                                   \
		.sampling_interval = UINT64_MAX, .scheme = -1, .focus = -1, \
	}

extern const struct gg_option gg_cli_sampling_options[];

/*
 * Checks the options, and reads the profile of --like.  Returns 0, -EINVAL with an error that names
 * the command's option, or an error of reading the profile.  `has_recorder`: the command can follow
 * a function (--focus function=).
 */
GG_MUST_CHECK int gg_cli_check_sampling(struct gg_cli_sampling *sampling, const char *command,
                                        bool has_recorder, struct gg_error *error);

/* Parses an error.  Returns 0, or -EINVAL with an error at that place. */
GG_MUST_CHECK int gg_cli_parse_error(const char *text, const char *place, uint32_t *ret_ppm,
                                     struct gg_error *error);

/* Parses a share of processor time.  Returns 0, or -EINVAL with an error at that place. */
GG_MUST_CHECK int gg_cli_parse_overhead(const char *text, const char *place, uint32_t *ret_ppm,
                                        struct gg_error *error);

/* Returns the interval in bytes or allocations; 0: the agent's default. */
uint64_t gg_cli_sampling_interval(const struct gg_cli_sampling *sampling);

/*
 * Return the name of the scheme or focus; NULL: the agent's default.  A focus implies the optimal
 * scheme.
 */
const char *gg_cli_sampling_scheme(const struct gg_cli_sampling *sampling);
const char *gg_cli_sampling_focus(const struct gg_cli_sampling *sampling);

struct gg_launch_settings;
struct gg_session_options;

/* Fill what the options determine; --compat and other members are left to the caller. */
void gg_cli_sampling_set_launch(const struct gg_cli_sampling *sampling,
                                struct gg_launch_settings *settings);
void gg_cli_sampling_set_session(const struct gg_cli_sampling *sampling,
                                 struct gg_session_options *options);
