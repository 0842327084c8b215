/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric - chooses the metric of a report if the user names none.
 *
 * The rule is gg_query_is_given_back(), which the page follows as well.  It applies only to output
 * for people.  Output for scripts (--json, --fail-on-growth) always shows live memory, even if
 * little is live.
 *
 * Threads   Any; the functions only read the model.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/query_options.h"

/* True if a person asked for a report without a metric, a moment or a window. */
static inline bool gg_cli_metric_is_open(const struct gg_report_options *options)
{
	return options->metric < 0 && options->at == NULL && options->between == NULL &&
	       !options->json;
}

/* Sets query->metric for a report on one profile if gg_cli_metric_is_open(). */
GG_MUST_CHECK int gg_cli_choose_metric(const struct gg_model *model,
                                       const struct gg_report_options *options,
                                       struct gg_query *query, struct gg_error *error);
