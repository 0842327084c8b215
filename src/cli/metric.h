/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric - which memory a report is about if nobody says.
 *
 * What was live at the end; but many programs give all back before they end, and of those it is what
 * they held at their peak.  The rule is for people: what scripts read (--json, --fail-on-growth) is
 * live memory whatever there is of it.
 *
 * Cost      two sums over the samples, where little of what was allocated is live; else one.
 * Threads   any; the model is only read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/profiles.h"

/* Of the peak, what must be live at the end for a report to be about that. */
#define GG_CLI_LIVE_SHARE 0.1

/* Whether neither a metric nor a moment or window was asked for, by a person. */
static inline bool gg_cli_metric_is_open(const struct gg_report_options *options)
{
	return options->metric < 0 && options->at == NULL && options->between == NULL &&
	       !options->json;
}

/* Less than that share of the peak is live at the end; false without history.  pid 0: of all. */
GG_MUST_CHECK int gg_cli_is_given_back(const struct gg_model *model, uint32_t pid, bool *ret_is,
                                       struct gg_error *error);

/* query->metric of a report on one profile, where it is open. */
GG_MUST_CHECK int gg_cli_choose_metric(const struct gg_model *model,
                                       const struct gg_report_options *options,
                                       struct gg_question *query, struct gg_error *error);
