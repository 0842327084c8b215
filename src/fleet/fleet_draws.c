/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_draws.h"

#include <errno.h>
#include <math.h>
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
	struct gg_map row_of; /* identity -> index of the row */
	size_t hour_count;
	double *weights;              /* by hour */
	struct gg_two_stage *of_rows; /* (2 * row + is_total) * hour_count + hour; then the sum */
};

/* A model with the source file of each function; NULL: it is not known. */
struct named_model {
	const struct gg_model *model;
	const char **files;
};

static void named_model_done(struct named_model *named)
{
	free(named->files);
}

static int name_model(struct named_model *named, const struct gg_model *model)
{
	*named = (struct named_model){ model,
		                       calloc(model->function_count + 1, sizeof(*named->files)) };
	if (named->files == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->line_count; i++)
		if (named->files[model->lines[i].function] == NULL)
			named->files[model->lines[i].function] = model->lines[i].file;
	return 0;
}

static void append_text(const char *text, struct gg_buf *out)
{
	gg_buf_append_text(out, "\n");
	gg_buf_append_text(out, text != NULL ? text : "");
}

static void append_module(const struct gg_model *model, uint32_t number, struct gg_buf *out)
{
	append_text(model->modules[number].path, out);
	append_text(model->modules[number].build_id, out);
}

/* The short name depends on the other functions of a model, so the full one counts. */
static void append_function(const struct named_model *named, uint32_t number, struct gg_buf *out)
{
	const struct gg_model_function *function = &named->model->functions[number];

	append_text(function->full_name != NULL ? function->full_name : function->name, out);
	append_text(named->files[number], out);
	append_module(named->model, function->module, out);
}

static int append_stack(const struct named_model *named, uint32_t stack, struct gg_buf *out)
{
	size_t count = gg_model_path(named->model, stack, NULL, 0);
	struct gg_code_location *locations = calloc(count + 1, sizeof(*locations));

	if (locations == NULL)
		return -ENOMEM;
	gg_model_path(named->model, stack, locations, count);
	for (size_t i = 0; i < count; i++)
		append_function(named, locations[i].function, out);
	free(locations);
	return 0;
}

/*
 * A hash of what a row is in every hour's model.  The label does not suffice: two builds of one
 * program have functions, lines, stacks and modules with equal labels.  -ENOMEM.
 */
static int identity_of(const struct named_model *named, const struct gg_query_result *result,
                       const struct gg_query_row *row, uint64_t *ret_identity)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const struct gg_model *model = named->model;
	int status = 0;

	if (result->query.by == GG_BY_FUNCTION) {
		append_function(named, row->key, &text);
	} else if (result->query.by == GG_BY_LINE) {
		append_function(named, model->lines[row->key].function, &text);
		gg_buf_printf(&text, "\n%u", model->lines[row->key].line);
	} else if (result->query.by == GG_BY_MODULE) {
		append_module(model, row->key, &text);
	} else if (result->query.by == GG_BY_STACK) {
		status = append_stack(named, row->key, &text);
	} else {
		gg_query_row_label(model, result, row, &text);
	}
	*ret_identity = gg_fleet_service_id(gg_buf_text(&text));
	return text.failed ? -ENOMEM : status;
}

/* Maps the identities of the rows of a result.  Rows that nothing tells apart cannot be joined. */
static int map_rows(const struct gg_model *model, const struct gg_query_result *result,
                    struct gg_map *row_of, struct gg_error *error)
{
	GG_CLEANUP(named_model_done) struct named_model named = { 0 };

	if (name_model(&named, model) < 0)
		return gg_error_memory(error, "fleet");
	for (size_t i = 0; i < result->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		uint64_t identity;

		if (identity_of(&named, result, &result->rows[i], &identity) < 0)
			return gg_error_memory(error, "fleet");
		if (gg_map_get(row_of, identity) == GG_MAP_NONE) {
			if (gg_map_put(row_of, identity, i) < 0)
				return gg_error_memory(error, "fleet");
			continue;
		}
		gg_query_row_label(model, result, &result->rows[i], &label);
		return gg_error_set(error, -ENOTSUP, "fleet",
		                    "Ask for a window within one hour, or for a moment (--at).",
		                    "hours with draws of their own cannot be joined, because two "
		                    "rows are '%.200s'",
		                    gg_buf_text(&label));
	}
	return 0;
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

/* The hour's model names or hides a function otherwise than that of the window. */
static int refuse_row(const struct gg_model *model, const struct gg_query_result *result,
                      const struct gg_query_row *row, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	if (!(gg_tally_estimate(row->total, result->query.unit).value > 0))
		return 0;
	gg_query_row_label(model, result, row, &label);
	return gg_error_set(error, -ENOTSUP, "fleet",
	                    "Ask for a window within one hour, or for a moment (--at).",
	                    "hours with draws of their own cannot be joined, because the row "
	                    "'%.200s' of an hour is none of the window's",
	                    gg_buf_text(&label));
}

/* Sets all rows of an hour to 0. */
static void set_nothing(struct draws *draws, size_t hour, double scale, double degrees)
{
	for (size_t i = 0; i <= draws->result->row_count; i++)
		for (int is_total = 0; is_total < 2; is_total++)
			*place_of(draws, i, is_total,
			          hour) = (struct gg_two_stage){ .scale = scale,
				                                 .degrees = degrees };
}

/* A row that is missing in an hour has no sample there: its estimate is 0. */
static int add_rows(struct draws *draws, size_t hour, const struct gg_fleet_scope *scope,
                    uint64_t groups, struct gg_model *model)
{
	GG_CLEANUP(gg_fleet_all_done) struct gg_fleet_all all = { 0 };
	GG_CLEANUP(gg_map_done) struct gg_map row_of = { 0 };
	GG_CLEANUP(named_model_done) struct named_model named = { 0 };
	struct gg_query_result *result;
	int status = gg_query_rows(model, &draws->result->query, &result, draws->error);

	if (status < 0)
		return status;
	status = gg_fleet_all_of(&all, scope, groups, model, result, draws->error);
	if (status == 0)
		status = map_rows(model, result, &row_of, draws->error);
	if (status == 0)
		set_nothing(draws, hour, all.total.scale, all.total.degrees);
	if (status == 0 && name_model(&named, model) < 0)
		status = gg_error_memory(draws->error, "fleet");
	for (size_t i = 0; i < result->row_count && status == 0; i++) {
		uint64_t identity, row;

		if (identity_of(&named, result, &result->rows[i], &identity) < 0) {
			status = gg_error_memory(draws->error, "fleet");
			continue;
		}
		row = gg_map_get(&draws->row_of, identity);
		if (row == GG_MAP_NONE) {
			status = refuse_row(model, result, &result->rows[i], draws->error);
			continue;
		}
		*place_of(draws, row, false, hour) = all.rows[2 * i];
		*place_of(draws, row, true, hour) = all.rows[2 * i + 1];
	}
	if (status == 0)
		*place_of(draws, draws->result->row_count, false, hour) = all.total;
	gg_query_result_free(result);
	return status;
}

/* An hour in which no process ran, but ends were reported, is exactly 0. */
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
	question.is_part = true;
	question.since_s = begin_s > draws->scope->from_s ? begin_s : draws->scope->from_s;
	question.until_s = draws->scope->to_s - begin_s > DRAW_S ? begin_s + DRAW_S
	                                                         : draws->scope->to_s;
	status = gg_fleet_scope_of(&scope, draws->plan->store, &question, draws->error);
	if (status < 0)
		return status;
	if (scope.members.count == 0) {
		set_nothing(draws, hour, 1, INFINITY);
		gg_fleet_scope_done(&scope);
		return 0;
	}
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
		return gg_error_memory(draws->error, "fleet");
	return map_rows(model, result, &draws->row_of, draws->error);
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
	int status = begin(&draws, model);

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
