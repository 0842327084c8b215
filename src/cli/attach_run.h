/* SPDX-License-Identifier: Apache-2.0 */
/* attach_run - attaches to one process with the options of `geiger attach`. */
#pragma once

#include <stdbool.h>

#include "attach/attachment.h"
#include "attach/survey.h"
#include "base/error.h"
#include "cli/sampling.h"
#include "record/session/launch.h"

/* The kinds of programs whose memory --only names, in the order of its placeholder. */
enum gg_attach_kind {
	GG_ATTACH_NATIVE,
	GG_ATTACH_JVM,
	GG_ATTACH_DOTNET,
	GG_ATTACH_PYTHON,
	GG_ATTACH_ANY, /* --only was not given */
};

struct gg_attach_options {
	const char *output, *directory, *all, *group;
	double max_seconds;
	int only; /* enum gg_attach_kind */
	struct gg_cli_sampling sampling;
	bool no_symbols, from_inside, dry_run, json, quiet;
};

/* An attach under way. */
struct gg_attach_run {
	const struct gg_survey *survey;
	const struct gg_attach_options *given;
	const char *agent; /* path */
	struct gg_attachment attachment;
	char directory[GG_ATTACH_DIRECTORY_MAX]; /* of the region, as the process calls it; or "" */
};

/*
 * Makes the request to the agent from its settings; without_python: it leaves Python's adapter out.
 * Returns 0 or -Exxx, if they do not fit into a request.
 */
GG_MUST_CHECK int gg_attach_run_fill(struct gg_attach_request *request,
                                     const struct gg_launch_environment *settings,
                                     bool without_python, struct gg_error *error);

/* Attaches with these settings of the agent.  Returns 0 or -Exxx, as gg_attachment_run() does. */
GG_MUST_CHECK int gg_attach_run_enter(struct gg_attach_run *run,
                                      const struct gg_launch_environment *settings,
                                      struct gg_error *error);

/* Attaches with the settings of the options, and leaves the agent alone with its region. */
GG_MUST_CHECK int gg_attach_run_alone(struct gg_attach_run *run, struct gg_error *error);
