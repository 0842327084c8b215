/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_model - the memory of a scope as a model, from which every local report is computed.
 *
 *   struct gg_model *model;
 *
 *   gg_fleet_model_make(&model, &store, &scope, GG_FLEET_NO_GROUPS, &options, notes, error);
 *   gg_query_rows(model, ...), gg_report_text(...), gg_tree_build(...)
 *   gg_model_free(model);
 *
 * The store adds samples up to one tally for each series, host group and stack; the model has an
 * aggregate for each, and its tally (gg_model_set_aggregate_tallies), so intervals are those of the
 * samples themselves.  A process of the model is a series, or the part of it in a host group; its
 * labels are those of the series, and "service", "version" and, where each host is a group, "host".
 *
 * Averages  Over S slots, sums are divided by S.  The variance of an average is at most the average
 *           of the variances, so intervals are as wide as for memory that lives through the whole
 *           window, or wider; the third cumulant is between 0 and its average.
 * Cost      1 KiB for each series, group and stack.
 * Threads   any, each with a store of its own.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_question.h"
#include "model/model.h"

/* `notes` are lines that every report on the model shows, each ending in a newline; "": none. */
GG_MUST_CHECK int gg_fleet_model_make(struct gg_model **ret_model, struct gg_clickhouse *store,
                                      const struct gg_fleet_scope *scope, uint64_t groups,
                                      const struct gg_model_options *options, const char *notes,
                                      struct gg_error *error);

/*
 * Sets pids[i] to the pid that the model gives to the host group of member i: groups count from 1
 * on.  0: the member's stacks are not in the store.  -ENOMEM.
 */
GG_MUST_CHECK int gg_fleet_number_groups(const struct gg_fleet_scope *scope, uint64_t groups,
                                         uint32_t *pids);

/*
 * Reads the sums of a tally from a row of a statement of tallies, and divides them by `slots`.
 * `is_average`: they are an average over time, of which skew is only bounded.
 * `is_folded`: the row is of a statement about folded sums, which has more columns.
 */
struct gg_tally gg_fleet_read_tally(struct gg_clickhouse_rows *rows, double slots, bool is_average,
                                    bool is_folded);
