/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_extend - from the hosts whose stacks are in the store to all hosts that report.
 *
 *   uint64_t groups = gg_fleet_groups_for(&scope);
 *   gg_fleet_model_make(&model, &store, &scope, groups, ...);
 *   gg_query_rows(model, &query, &result, error);
 *   gg_fleet_extend_rows(&scope, groups, model, result, 0.95, error);
 *
 * If every host's stacks are there, nothing changes: intervals hold the error of sampling.
 * Otherwise each row becomes the estimate for all hosts, and its interval holds the error between
 * hosts too (stats/estimate/two_stage.h).  The known size of a host is its resident memory, or 1 if
 * some host does not report it.
 *
 * Threads  any; the model is only read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_question.h"
#include "model/model.h"
#include "query/query.h"
#include "query/tree.h"
#include "stats/estimate/two_stage.h"

/* Up to so many hosts each is a unit; more become random groups by their ids, which are hashes. */
enum { GG_FLEET_UNITS_MAX = 64, GG_FLEET_RANDOM_GROUPS = 16 };

/* A receiver sets the share anew as hosts come and go; so far apart, shares count as one. */
#define GG_FLEET_SHARES_RATIO_MAX 1.1

/* The sum of hosts of which all are drawn: its error is that of sampling. */
struct gg_two_stage gg_fleet_sampling_of(const struct gg_tally *tally, enum gg_quantity unit);

/* True if stacks of some hosts are not in the store. */
bool gg_fleet_is_drawn(const struct gg_fleet_scope *scope);

/* The host groups that the model of such a scope needs; GG_FLEET_NO_GROUPS if it needs none. */
uint64_t gg_fleet_groups_for(const struct gg_fleet_scope *scope);

/* The estimates for all hosts of the rows of a result. */
struct gg_fleet_all {
	struct gg_two_stage *rows; /* of each row that of self, and that of total */
	struct gg_two_stage total;
};

/* `groups`: those with which the model was made. */
GG_MUST_CHECK int gg_fleet_all_of(struct gg_fleet_all *all, const struct gg_fleet_scope *scope,
                                  uint64_t groups, const struct gg_model *model,
                                  const struct gg_query_result *result, struct gg_error *error);
void gg_fleet_all_done(struct gg_fleet_all *all);

/* Makes the rows of the result those estimates. */
void gg_fleet_apply_all(const struct gg_fleet_all *all, struct gg_query_result *result,
                        double confidence);

/* Both of the above. */
GG_MUST_CHECK int gg_fleet_extend_rows(const struct gg_fleet_scope *scope, uint64_t groups,
                                       const struct gg_model *model, struct gg_query_result *result,
                                       double confidence, struct gg_error *error);

/*
 * Extends all nodes of a tree, which was built of the model with these options.  A node is a set of
 * stacks, and its estimate is that of a row with these stacks.
 */
GG_MUST_CHECK int gg_fleet_extend_tree(const struct gg_fleet_scope *scope, uint64_t groups,
                                       const struct gg_model *model, struct gg_tree *tree,
                                       const struct gg_tree_options *options, double confidence,
                                       struct gg_error *error);

/* Extends the sum of a query, such as a total in a head. */
GG_MUST_CHECK int gg_fleet_extend_sum(const struct gg_fleet_scope *scope, uint64_t groups,
                                      const struct gg_model *model, const struct gg_query *query,
                                      struct gg_tally *tally, double confidence,
                                      struct gg_error *error);
