/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_draws - a window in which hosts were drawn anew: each hour is extended to all hosts by its
 * own draw, and then the hours are averaged or added up (stats/estimate/two_stage.h).
 *
 *   if (scope.is_redrawn)
 *           gg_fleet_extend_draws(&plan, &scope, model, result, error);
 *
 * The result is that of a model of the whole window, without groups.  Its rows get the joined
 * estimates of the same rows of each hour, found by their labels.
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_question.h"
#include "model/model.h"
#include "query/query.h"

struct gg_fleet_draws_plan {
	struct gg_clickhouse *store;
	const struct gg_model_options *options; /* of the models */
	double confidence;
	/* Names and hides frames of an hour's model as in the model of the window. */
	int (*prepare)(struct gg_model *model, void *context, struct gg_error *error);
	void *context;
};

/* -ENODATA: there is an hour in which no host was drawn. */
GG_MUST_CHECK int gg_fleet_extend_draws(const struct gg_fleet_draws_plan *plan,
                                        const struct gg_fleet_scope *scope,
                                        const struct gg_model *model,
                                        struct gg_query_result *result, struct gg_error *error);
