/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric - which memory a report is about if nobody says.
 *
 * The rule is gg_query_is_given_back(), which the page follows as well.  It is for people: what scripts
 * read (--json, --fail-on-growth) is live memory whatever there is of it.
 *
 * Threads   any; the model is only read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/profiles.h"

/* Whether neither a metric nor a moment or window was asked for, by a person. */
static inline bool gg_cli_metric_is_open(const struct gg_report_options *options)
{
	return options->metric < 0 && options->at == NULL && options->between == NULL &&
	       !options->json;
}

/* query->metric of a report on one profile, where it is open. */
GG_MUST_CHECK int gg_cli_choose_metric(const struct gg_model *model,
                                       const struct gg_report_options *options,
                                       struct gg_query *query, struct gg_error *error);
