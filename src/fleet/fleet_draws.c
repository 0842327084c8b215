/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_draws.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "fleet/fleet_extend.h"
#include "fleet/fleet_ids.h"
#include "fleet/fleet_model.h"

enum { DRAW_S = 3600 };

/* The estimates of each row in each hour. */
struct draws {
	const struct gg_fleet_draws_plan *plan;
	const struct gg_fleet_scope *scope;
	struct gg_query_result *result;
	struct gg_error *error;
	struct gg_map row_of; /* hash of a label -> index of the row */
	size_t hour_count;
	double *weights;              /* by hour */
	struct gg_two_stage *of_rows; /* (2 * row + is_total) * hour_count + hour; then the sum */
};

static uint64_t label_of(const struct gg_model *model, const struct gg_query_result *result,
                         const struct gg_query_row *row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	gg_query_row_label(model, result, row, &label);
	return gg_fleet_service_id(gg_buf_text(&label));
}

static struct gg_two_stage *place_of(const struct draws *draws, size_t row, bool is_total,
                                     size_t hour)
{
	return &draws->of_rows[(2 * row + is_total) * draws->hour_count + hour];
}

/* The slots of a window that begin in the hour of slots[first]. */
static size_t count_slots(const struct gg_fleet_scope *scope, size_t first)
{
	uint32_t hour = scope->slots.items[first] / DRAW_S;
	size_t count = 0;

	while (first + count < scope->slots.count &&
	       scope->slots.items[first + count] / DRAW_S == hour)
		count++;
	return count;
}

/* A row that is missing in an hour has no sample there: its estimate is 0. */
static int add_rows(struct draws *draws, size_t hour, const struct gg_fleet_scope *scope,
                    uint64_t groups, struct gg_model *model)
{
	GG_CLEANUP(gg_fleet_all_done) struct gg_fleet_all all = { 0 };
	struct gg_query_result *result;
	int status = gg_query_rows(model, &draws->result->query, &result, draws->error);

	if (status < 0)
		return status;
	status = gg_fleet_all_of(&all, scope, groups, model, result, draws->error);
	for (size_t i = 0; i <= draws->result->row_count && status == 0; i++)
		for (int is_total = 0; is_total < 2; is_total++)
			*place_of(draws, i, is_total,
			          hour) = (struct gg_two_stage){ .scale = all.total.scale,
				                                 .degrees = all.total.degrees };
	for (size_t i = 0; i < result->row_count && status == 0; i++) {
		uint64_t row = gg_map_get(&draws->row_of,
		                          label_of(model, result, &result->rows[i]));

		if (row == GG_MAP_NONE)
			continue;
		*place_of(draws, row, false, hour) = all.rows[2 * i];
		*place_of(draws, row, true, hour) = all.rows[2 * i + 1];
	}
	if (status == 0)
		*place_of(draws, draws->result->row_count, false, hour) = all.total;
	gg_query_result_free(result);
	return status;
}

static int add_hour(struct draws *draws, size_t hour, size_t first_slot)
{
	uint32_t begin_s = draws->scope->slots.items[first_slot] / DRAW_S * DRAW_S;
	struct gg_fleet_question question = *draws->scope->question;
	struct gg_model *model = NULL;
	struct gg_fleet_scope scope;
	uint64_t groups;
	int status;

	question.when = GG_FLEET_AVERAGE;
	question.joins_draws = false;
	question.since_s = begin_s > draws->scope->from_s ? begin_s : draws->scope->from_s;
	question.until_s = draws->scope->to_s - begin_s > DRAW_S ? begin_s + DRAW_S
	                                                         : draws->scope->to_s;
	status = gg_fleet_scope_of(&scope, draws->plan->store, &question, draws->error);
	if (status < 0)
		return status;
	groups = gg_fleet_groups_for(&scope);
	status = gg_fleet_model_make(&model, draws->plan->store, &scope, groups,
	                             draws->plan->options, "", draws->error);
	if (status == 0 && draws->plan->prepare != NULL)
		status = draws->plan->prepare(model, draws->plan->context, draws->error);
	if (status == 0)
		status = add_rows(draws, hour, &scope, groups, model);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
	return status;
}

static int add_hours(struct draws *draws)
{
	const struct gg_fleet_scope *scope = draws->scope;
	size_t hour = 0, count;
	int status = 0;

	for (size_t i = 0; i < scope->slots.count && status == 0; i += count) {
		count = count_slots(scope, i);
		draws->weights[hour] = (double)count / (double)scope->slots.count;
		status = add_hour(draws, hour++, i);
	}
	return status;
}

static int begin(struct draws *draws, const struct gg_model *model)
{
	const struct gg_query_result *result = draws->result;

	for (size_t i = 0; i < draws->scope->slots.count; i += count_slots(draws->scope, i))
		draws->hour_count++;
	draws->weights = calloc(draws->hour_count + 1, sizeof(*draws->weights));
	draws->of_rows = calloc((2 * result->row_count + 2) * draws->hour_count + 1,
	                        sizeof(*draws->of_rows));
	if (draws->weights == NULL || draws->of_rows == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < result->row_count; i++)
		if (gg_map_put(&draws->row_of, label_of(model, result, &result->rows[i]), i) < 0)
			return -ENOMEM;
	return 0;
}

static struct gg_two_stage join(const struct draws *draws, size_t row, bool is_total)
{
	return gg_two_stage_join(place_of(draws, row, is_total, 0), draws->weights,
	                         draws->hour_count,
	                         draws->scope->question->metric == GG_METRIC_LIVE);
}

int gg_fleet_extend_draws(const struct gg_fleet_draws_plan *plan,
                          const struct gg_fleet_scope *scope, const struct gg_model *model,
                          struct gg_query_result *result, struct gg_error *error)
{
	struct draws draws = { .plan = plan, .scope = scope, .result = result, .error = error };
	GG_CLEANUP(gg_fleet_all_done) struct gg_fleet_all all = { 0 };
	int status = begin(&draws, model) < 0 ? gg_error_memory(error, "fleet") : 0;

	all.rows = calloc(2 * result->row_count + 1, sizeof(*all.rows));
	if (status == 0 && all.rows == NULL)
		status = gg_error_memory(error, "fleet");
	if (status == 0)
		status = add_hours(&draws);
	if (status == 0 && draws.hour_count > 0) {
		for (size_t i = 0; i < result->row_count; i++) {
			all.rows[2 * i] = join(&draws, i, false);
			all.rows[2 * i + 1] = join(&draws, i, true);
		}
		all.total = join(&draws, result->row_count, false);
		gg_fleet_apply_all(&all, result, plan->confidence);
	}
	gg_map_done(&draws.row_of);
	free(draws.weights);
	free(draws.of_rows);
	return status;
}
