/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_pair - two versions of a service, or two windows of time, and how they differ.
 *
 *   GG_CLEANUP(gg_cli_fleet_pair_done) struct gg_fleet_pair pair = { 0 };
 *
 *   before.version = "1.1", after.version = "1.2";
 *   gg_cli_fleet_pair(&pair, &before, &after, "checkout", 0.05, error);
 *   pair.diff->rows[0].label
 */
#pragma once

#include "cli/fleet/fleet_ask.h"
#include "query/diff.h"

/* One of the two sides. */
struct gg_fleet_pair_side {
	struct gg_asked_fleet answer;
	struct gg_query_result *result;
	char name[300]; /* "checkout 1.1", or with its time: "checkout, at 2026-11-27 02:40 UTC" */
};

struct gg_fleet_pair {
	struct gg_fleet_pair_side before, after;
	struct gg_diff *diff; /* hosts are the units of its test */
};

/*
 * Compares two sides, whose options differ in version and times alone.  `rate`: share of false ones
 * among the significant rows.  -EINVAL: what was allocated or freed in windows that are not equally
 * long, besides the errors of gg_cli_fleet_ask().
 */
GG_MUST_CHECK int gg_cli_fleet_pair(struct gg_fleet_pair *pair,
                                    const struct gg_fleet_ask_options *before,
                                    const struct gg_fleet_ask_options *after, const char *service,
                                    double rate, struct gg_error *error);
void gg_cli_fleet_pair_done(struct gg_fleet_pair *pair);
