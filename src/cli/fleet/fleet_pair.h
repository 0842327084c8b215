/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_pair - two versions of a service, and how they differ.
 *
 *   GG_CLEANUP(gg_cli_fleet_pair_done) struct gg_fleet_pair pair = { 0 };
 *
 *   gg_cli_fleet_pair(&pair, &options, "checkout", "1.1", "1.2", 0.05, error);
 *   pair.diff->rows[0].label
 */
#pragma once

#include "cli/fleet/fleet_ask.h"
#include "query/diff.h"

/* One of the two versions. */
struct gg_fleet_version {
	struct gg_asked_fleet answer;
	struct gg_query_result *result;
	char name[200]; /* "checkout 1.1" */
};

struct gg_fleet_pair {
	struct gg_fleet_version before, after;
	struct gg_diff *diff; /* hosts are the units of its test */
};

/* `rate`: share of false ones among the significant rows. */
GG_MUST_CHECK int gg_cli_fleet_pair(struct gg_fleet_pair *pair,
                                    const struct gg_fleet_ask_options *options, const char *service,
                                    const char *before, const char *after, double rate,
                                    struct gg_error *error);
void gg_cli_fleet_pair_done(struct gg_fleet_pair *pair);
