/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_extend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fleet/fleet_model.h"
#include "stats/estimate/two_stage.h"

bool gg_fleet_is_drawn(const struct gg_fleet_scope *scope)
{
	return scope->is_redrawn || scope->selected_sender_count < scope->sender_count;
}

uint64_t gg_fleet_groups_for(const struct gg_fleet_scope *scope)
{
	/* Each hour has units of its own if hosts are drawn anew. */
	if (!gg_fleet_is_drawn(scope) || scope->is_redrawn)
		return GG_FLEET_NO_GROUPS;
	if (scope->certain_sender_count > 0)
		return GG_FLEET_CERTAIN_APART;
	/* Rollups keep random groups alone. */
	if (gg_fleet_is_beyond_raw(scope) && scope->sender_count <= scope->host_count)
		return GG_FLEET_RANDOM_GROUPS;
	/* Senders of a host stay in one unit, because their memory may be alike. */
	if (scope->selected_count <= GG_FLEET_UNITS_MAX || scope->sender_count > scope->host_count)
		return GG_FLEET_EACH_HOST;
	return GG_FLEET_RANDOM_GROUPS;
}

/*
 * The units with their known sizes: group g has the pid g + 1 in the model.  Senders whose stacks
 * are always sent stand for themselves alone, so they are no unit of the draw: their sum is added
 * to the estimate for the others.
 */
struct units {
	double *known, *values;
	size_t count;
	double known_total;
	uint32_t certain; /* the pid of all certain senders; 0: no sender is certain */
};

static void units_done(struct units *units)
{
	free(units->known);
	free(units->values);
}

/* One share is that of all drawn hosts, apart from those that are certain. */
static int check_shares(const struct gg_fleet_scope *scope, struct gg_error *error)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < scope->members.count; i++) {
		const struct gg_fleet_member *member = &scope->members.items[i];

		if (!member->is_selected || member->is_certain)
			continue;
		least = fmin(least, member->selected_share);
		most = fmax(most, member->selected_share);
	}
	if (!(most > GG_FLEET_SHARES_RATIO_MAX * least) &&
	    scope->selected_sender_count > scope->certain_sender_count)
		return 0;
	if (scope->selected_sender_count <= scope->certain_sender_count)
		return gg_error_set(error, -ENODATA, "fleet",
		                    "Ask for another hour, which draws others, or by host.",
		                    "of the %zu processes' senders that are drawn none was, and "
		                    "the %zu that are always sent do not stand for them",
		                    scope->sender_count - scope->certain_sender_count,
		                    scope->certain_sender_count);
	return gg_error_set(error, -ENOTSUP, "fleet",
	                    "Ask for a moment or an hour with one share, or by host.",
	                    "hosts were drawn with different shares, from %.3g %% to %.3g %%, so "
	                    "they are not one draw",
	                    100 * least, 100 * most);
}

/* Resident memory helps only if every host reports it. */
static bool has_rss(const struct gg_fleet_scope *scope)
{
	for (size_t i = 0; i < scope->members.count; i++)
		if (!(scope->members.items[i].rss_bytes > 0))
			return false;
	return true;
}

static int make_units(const struct gg_fleet_scope *scope, uint64_t groups, struct units *units,
                      struct gg_error *error)
{
	bool by_rss = has_rss(scope);
	uint64_t last_sender = 0;
	uint32_t *pids;
	int status = check_shares(scope, error);

	*units = (struct units){ .known_total = by_rss ? scope->rss_bytes
		                                       : (double)scope->sender_count };
	if (status < 0)
		return status;
	units->known = calloc(scope->members.count + 1, sizeof(*units->known));
	units->values = calloc(scope->members.count + 1, sizeof(*units->values));
	pids = calloc(scope->members.count + 1, sizeof(*pids));
	if (units->known == NULL || units->values == NULL || pids == NULL ||
	    gg_fleet_number_groups(scope, groups, pids) < 0) {
		free(pids);
		units_done(units);
		return gg_error_memory(error, "fleet");
	}
	for (size_t i = 0; i < scope->members.count; i++) {
		const struct gg_fleet_member *member = &scope->members.items[i];

		if (pids[i] == 0)
			continue;
		double known = by_rss ? member->rss_bytes : member->sender != last_sender;

		if (pids[i] > units->count)
			units->count = pids[i];
		last_sender = member->sender;
		if (member->is_certain) {
			units->certain = pids[i];
			units->known_total -= known;
			continue;
		}
		units->known[pids[i] - 1] += known;
	}
	free(pids);
	return 0;
}

struct gg_two_stage gg_fleet_sampling_of(const struct gg_tally *tally, enum gg_quantity unit)
{
	struct gg_estimate estimate = gg_tally_estimate(tally, unit);
	double skew = gg_sum_value(&tally->usual[unit].skew) +
	              gg_sum_value(&tally->sure[unit].skew) +
	              gg_sum_value(&tally->skew_slack[unit]);

	return (struct gg_two_stage){ .scale = 1,
		                      .value = estimate.value,
		                      .variance = estimate.variance,
		                      .skew = skew,
		                      .sampling_variance = estimate.variance,
		                      .sampling_skew = skew,
		                      .degrees = INFINITY };
}

/*
 * Extends the part of the drawn senders, and adds `certain`, the part of the tally that certain
 * senders have.  It is 0 without such senders.
 */
static struct gg_two_stage two_stage_of(const struct gg_fleet_scope *scope,
                                        const struct units *units, const double *values,
                                        enum gg_quantity unit, const struct gg_tally *tally,
                                        const struct gg_two_stage *certain)
{
	struct gg_two_stage all = gg_fleet_sampling_of(tally, unit), parts[2];
	size_t place = units->certain > 0 ? units->certain - 1 : units->count;
	size_t count = units->count - (units->certain > 0);
	double *known = calloc(2 * count + 1, sizeof(*known));
	struct gg_drawn_units drawn = {
		.known = known,
		.unit_count = count,
		.drawn_count = (double)(scope->selected_sender_count - scope->certain_sender_count),
		.all_count = (double)(scope->sender_count - scope->certain_sender_count),
		.known_total = units->known_total,
		.sampling_variance = fmax(0, all.variance - certain->variance),
		.sampling_skew = all.skew - certain->skew,
	};

	/* Without memory the interval has no upper end. */
	if (known == NULL)
		return (struct gg_two_stage){ .scale = 1, .value = all.value };
	for (size_t i = 0, to = 0; i < units->count; i++) {
		if (i == place)
			continue;
		known[to] = units->known[i];
		known[count + to++] = values[i];
	}
	drawn.values = known + count;
	parts[0] = gg_two_stage_of(&drawn);
	free(known);
	if (units->certain == 0)
		return parts[0];
	parts[1] = *certain;
	return gg_two_stage_join(parts, NULL, 2, false);
}

static int sum_two_stage(const struct gg_fleet_scope *scope, const struct gg_model *model,
                         const struct gg_query *query, struct units *units,
                         const struct gg_tally *tally, struct gg_two_stage *ret_sum,
                         struct gg_error *error)
{
	struct gg_two_stage certain = { .scale = 1, .degrees = INFINITY };
	int status = 0;

	for (size_t i = 0; i < units->count && status == 0; i++) {
		struct gg_query one = *query;
		struct gg_sum_up sum;

		one.pid = (uint32_t)i + 1;
		status = gg_query_sum(model, &one, &sum, error);
		if (status == 0)
			units->values[i] = gg_tally_estimate(&sum.total, query->unit).value;
		if (status == 0 && one.pid == units->certain)
			certain = gg_fleet_sampling_of(&sum.total, query->unit);
	}
	if (status == 0)
		*ret_sum = two_stage_of(scope, units, units->values, query->unit, tally, &certain);
	return status;
}

int gg_fleet_extend_sum(const struct gg_fleet_scope *scope, uint64_t groups,
                        const struct gg_model *model, const struct gg_query *query,
                        struct gg_tally *tally, double confidence, struct gg_error *error)
{
	struct gg_two_stage sum;
	struct units units;
	int status;

	if (!gg_fleet_is_drawn(scope))
		return 0;
	status = make_units(scope, groups, &units, error);
	if (status < 0)
		return status;
	status = sum_two_stage(scope, model, query, &units, tally, &sum, error);
	if (status == 0)
		gg_two_stage_extend(tally, query->unit, &sum, confidence);
	units_done(&units);
	return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The values of all rows: for each row those of self by unit, and those of total by unit. */
struct row_values {
	const struct gg_model *model;
	const struct gg_query_result *result;
	struct units units;
	struct gg_map row_of; /* hash of a row's identity -> index */
	double *values;
	struct gg_two_stage *certain; /* of each row the part that is certain: self, and total */
};

/* Numbers of labels' rows depend on the selection, so their texts identify them. */
static uint64_t identity_of(const struct row_values *rows, const struct gg_query_result *result,
                            const struct gg_query_row *row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	if (result->query.by != GG_BY_LABEL)
		return row->key;
	gg_query_row_label(rows->model, result, row, &label);
	return gg_fleet_service_id(gg_buf_text(&label));
}

static double *values_of(const struct row_values *rows, size_t row, bool is_total)
{
	return rows->values + (2 * row + is_total) * rows->units.count;
}

static int add_unit(struct row_values *rows, size_t unit, struct gg_error *error)
{
	struct gg_query query = rows->result->query;
	struct gg_query_result *part;
	int status;

	query.pid = (uint32_t)unit + 1;
	status = gg_query_rows(rows->model, &query, &part, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < part->row_count; i++) {
		uint64_t row = gg_map_get(&rows->row_of, identity_of(rows, part, &part->rows[i]));

		if (row == GG_MAP_NONE)
			continue;
		values_of(rows, row,
		          false)[unit] = gg_tally_estimate(part->rows[i].self, query.unit).value;
		values_of(rows, row,
		          true)[unit] = gg_tally_estimate(part->rows[i].total, query.unit).value;
		if (query.pid != rows->units.certain)
			continue;
		rows->certain[2 * row] = gg_fleet_sampling_of(part->rows[i].self, query.unit);
		rows->certain[2 * row + 1] = gg_fleet_sampling_of(part->rows[i].total, query.unit);
	}
	gg_query_result_free(part);
	return 0;
}

static int find_values(struct row_values *rows, struct gg_error *error)
{
	const struct gg_query_result *result = rows->result;
	int status = 0;

	rows->values = calloc(2 * result->row_count * rows->units.count + 1, sizeof(*rows->values));
	rows->certain = calloc(2 * result->row_count + 1, sizeof(*rows->certain));
	if (rows->values == NULL || rows->certain == NULL)
		return gg_error_memory(error, "fleet");
	for (size_t i = 0; i < 2 * result->row_count; i++)
		rows->certain[i] = (struct gg_two_stage){ .scale = 1, .degrees = INFINITY };
	for (size_t i = 0; i < result->row_count; i++)
		if (gg_map_put(&rows->row_of, identity_of(rows, result, &result->rows[i]), i) < 0)
			return gg_error_memory(error, "fleet");
	for (size_t i = 0; i < rows->units.count && status == 0; i++)
		status = add_unit(rows, i, error);
	return status;
}

void gg_fleet_all_done(struct gg_fleet_all *all)
{
	free(all->rows);
	*all = (struct gg_fleet_all){ 0 };
}

static int extend_drawn(const struct gg_fleet_scope *scope, uint64_t groups,
                        const struct gg_model *model, const struct gg_query_result *result,
                        struct gg_fleet_all *all, struct gg_error *error)
{
	struct row_values rows = { .model = model, .result = result };
	enum gg_quantity unit = result->query.unit;
	int status = make_units(scope, groups, &rows.units, error);

	if (status < 0)
		return status;
	status = find_values(&rows, error);
	for (size_t i = 0; i < result->row_count && status == 0; i++) {
		all->rows[2 * i] = two_stage_of(scope, &rows.units, values_of(&rows, i, false),
		                                unit, result->rows[i].self, &rows.certain[2 * i]);
		all->rows[2 * i + 1] = two_stage_of(scope, &rows.units, values_of(&rows, i, true),
		                                    unit, result->rows[i].total,
		                                    &rows.certain[2 * i + 1]);
	}
	if (status == 0)
		status = sum_two_stage(scope, model, &result->query, &rows.units, &result->total,
		                       &all->total, error);
	free(rows.values);
	free(rows.certain);
	gg_map_done(&rows.row_of);
	units_done(&rows.units);
	return status;
}

int gg_fleet_all_of(struct gg_fleet_all *all, const struct gg_fleet_scope *scope, uint64_t groups,
                    const struct gg_model *model, const struct gg_query_result *result,
                    struct gg_error *error)
{
	enum gg_quantity unit = result->query.unit;

	*all = (struct gg_fleet_all){ .rows = calloc(2 * result->row_count + 1,
		                                     sizeof(*all->rows)) };
	if (all->rows == NULL)
		return gg_error_memory(error, "fleet");
	if (gg_fleet_is_drawn(scope))
		return extend_drawn(scope, groups, model, result, all, error);
	for (size_t i = 0; i < result->row_count; i++) {
		all->rows[2 * i] = gg_fleet_sampling_of(result->rows[i].self, unit);
		all->rows[2 * i + 1] = gg_fleet_sampling_of(result->rows[i].total, unit);
	}
	all->total = gg_fleet_sampling_of(&result->total, unit);
	return 0;
}

void gg_fleet_apply_all(const struct gg_fleet_all *all, struct gg_query_result *result,
                        double confidence)
{
	enum gg_quantity unit = result->query.unit;

	for (size_t i = 0; i < result->row_count; i++) {
		/* The result owns the tallies, and rows of some groupings have one for both. */
		struct gg_tally *self = &result->tallies[result->rows[i].self - result->tallies];
		struct gg_tally *total = &result->tallies[result->rows[i].total - result->tallies];

		gg_two_stage_extend(self, unit, &all->rows[2 * i], confidence);
		if (total != self)
			gg_two_stage_extend(total, unit, &all->rows[2 * i + 1], confidence);
	}
	gg_two_stage_extend(&result->total, unit, &all->total, confidence);
}

int gg_fleet_extend_rows(const struct gg_fleet_scope *scope, uint64_t groups,
                         const struct gg_model *model, struct gg_query_result *result,
                         double confidence, struct gg_error *error)
{
	GG_CLEANUP(gg_fleet_all_done) struct gg_fleet_all all = { 0 };
	int status;

	if (!gg_fleet_is_drawn(scope))
		return 0;
	status = gg_fleet_all_of(&all, scope, groups, model, result, error);
	if (status == 0)
		gg_fleet_apply_all(&all, result, confidence);
	return status;
}

/* --- trees ----------------------------------------------------------------------------------- */

/* The values of all nodes: for each node those of self by unit, and those of total by unit. */
struct node_values {
	const struct gg_tree *tree;
	struct units units;
	struct gg_map child_of; /* a node and a function -> the child, as an index */
	double *values;
	struct gg_two_stage *certain; /* of each node the part that is certain: self, and total */
};

#define NODE_NONE UINT32_MAX

/* The key of a child.  A folded child has function 0. */
static uint64_t child_key(uint32_t parent, uint32_t function)
{
	return (uint64_t)parent << 32 | function;
}

static double *node_values_of(const struct node_values *nodes, size_t node, bool is_total)
{
	return nodes->values + (2 * node + is_total) * nodes->units.count;
}

/* The node that a child of a node counts for, which may be the folded one; NODE_NONE: none. */
static uint32_t find_child(const struct node_values *nodes, uint32_t parent, uint32_t function)
{
	uint64_t child;

	/* A folded child has counted all that is below it. */
	if (parent == NODE_NONE || nodes->tree->nodes[parent].folded_count > 0)
		return NODE_NONE;
	child = gg_map_get(&nodes->child_of, child_key(parent, function));
	if (child == GG_MAP_NONE)
		child = gg_map_get(&nodes->child_of, child_key(parent, 0));
	return child == GG_MAP_NONE ? NODE_NONE : (uint32_t)child;
}

static void add_certain(struct gg_two_stage *sum, const struct gg_tally *tally,
                        enum gg_quantity unit)
{
	struct gg_two_stage part = gg_fleet_sampling_of(tally, unit);

	sum->value += part.value;
	sum->variance += part.variance;
	sum->skew += part.skew;
	sum->sampling_variance += part.sampling_variance;
	sum->sampling_skew += part.sampling_skew;
}

/* Adds the tree of a unit, which has all of its branches, to the nodes. */
static int add_unit_tree(struct node_values *nodes, const struct gg_model *model, bool inverted,
                         size_t unit, struct gg_error *error)
{
	const struct gg_tree_options options = { .inverted = inverted };
	struct gg_query query = nodes->tree->query;
	struct gg_tree *part;
	uint32_t *place;
	int status;

	query.pid = (uint32_t)unit + 1;
	status = gg_tree_build(&part, model, &query, &options, error);
	if (status < 0)
		return status;
	place = calloc(part->count, sizeof(*place));
	for (size_t i = 0; i < part->count && place != NULL; i++) {
		const struct gg_tree_node *node = &part->nodes[i];

		place[i] = i == 0 ? 0 : find_child(nodes, place[node->parent], node->function);
		if (place[i] == NODE_NONE)
			continue;
		node_values_of(nodes, place[i],
		               false)[unit] += gg_tally_estimate(node->self, query.unit).value;
		node_values_of(nodes, place[i],
		               true)[unit] += gg_tally_estimate(node->total, query.unit).value;
		if (query.pid != nodes->units.certain)
			continue;
		add_certain(&nodes->certain[2 * place[i]], node->self, query.unit);
		add_certain(&nodes->certain[2 * place[i] + 1], node->total, query.unit);
	}
	status = place != NULL ? 0 : gg_error_memory(error, "fleet");
	free(place);
	gg_tree_free(part);
	return status;
}

static int find_node_values(struct node_values *nodes, const struct gg_model *model, bool inverted,
                            struct gg_error *error)
{
	const struct gg_tree *tree = nodes->tree;
	int status = 0;

	nodes->values = calloc(2 * tree->count * nodes->units.count + 1, sizeof(*nodes->values));
	nodes->certain = calloc(2 * tree->count, sizeof(*nodes->certain));
	if (nodes->values == NULL || nodes->certain == NULL)
		return gg_error_memory(error, "fleet");
	for (size_t i = 0; i < 2 * tree->count; i++)
		nodes->certain[i] = (struct gg_two_stage){ .scale = 1, .degrees = INFINITY };
	for (size_t i = 1; i < tree->count; i++) {
		const struct gg_tree_node *node = &tree->nodes[i];

		if (!node->is_self &&
		    gg_map_put(&nodes->child_of, child_key(node->parent, node->function), i) < 0)
			return gg_error_memory(error, "fleet");
	}
	for (size_t i = 0; i < nodes->units.count && status == 0; i++)
		status = add_unit_tree(nodes, model, inverted, i, error);
	return status;
}

static void extend_nodes(const struct gg_fleet_scope *scope, const struct node_values *nodes,
                         struct gg_tree *tree, double confidence)
{
	enum gg_quantity unit = tree->query.unit;

	for (size_t i = 0; i < tree->count; i++) {
		struct gg_tree_node *node = &tree->nodes[i];
		/* A node for the parent's own memory has the values of the parent's self. */
		size_t of = node->is_self ? node->parent : i, total = node->is_self ? 0 : 1;
		struct gg_two_stage sums[2] = {
			two_stage_of(scope, &nodes->units, node_values_of(nodes, of, false), unit,
			             node->self, &nodes->certain[2 * of]),
			two_stage_of(scope, &nodes->units, node_values_of(nodes, of, total), unit,
			             node->total, &nodes->certain[2 * of + total]),
		};

		gg_two_stage_extend(node->self, unit, &sums[0], confidence);
		gg_two_stage_extend(node->total, unit, &sums[1], confidence);
	}
}

int gg_fleet_extend_tree(const struct gg_fleet_scope *scope, uint64_t groups,
                         const struct gg_model *model, struct gg_tree *tree,
                         const struct gg_tree_options *options, double confidence,
                         struct gg_error *error)
{
	struct node_values nodes = { .tree = tree };
	int status;

	if (!gg_fleet_is_drawn(scope))
		return 0;
	status = make_units(scope, groups, &nodes.units, error);
	if (status < 0)
		return status;
	status = find_node_values(&nodes, model, options->inverted, error);
	if (status == 0 && gg_tree_separate(tree) < 0)
		status = gg_error_memory(error, "fleet");
	if (status == 0)
		extend_nodes(scope, &nodes, tree, confidence);
	free(nodes.values);
	free(nodes.certain);
	gg_map_done(&nodes.child_of);
	units_done(&nodes.units);
	return status;
}
