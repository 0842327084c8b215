/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fleet/fleet_model.h"
#include "stats/estimate/compare.h"
#include "stats/estimate/two_stage.h"

/* A normal law's standard deviation is so many median absolute deviations. */
#define MAD_SCALE 1.482602218505602

/* The median absolute deviation has 37 % of the precision of the standard deviation. */
#define MAD_EFFICIENCY 0.37

/* --- versions -------------------------------------------------------------------------------- */

double gg_fleet_side_processes(const struct gg_fleet_scope *scope)
{
	double processes = 0;

	for (size_t i = 0; i < scope->members.count; i++)
		if (scope->members.items[i].is_selected)
			processes += scope->members.items[i].process_count;
	return processes;
}

/* The values of a side: for each row of the diff one for each host. */
struct side_values {
	const struct gg_fleet_side *side;
	size_t host_count;
	double *processes; /* by host */
	double *values;    /* row * host_count + host */
};

static void side_values_done(struct side_values *values)
{
	free(values->processes);
	free(values->values);
}

static int count_processes(struct side_values *values, struct gg_error *error)
{
	const struct gg_fleet_scope *scope = values->side->scope;
	uint32_t *pids = calloc(scope->members.count + 1, sizeof(*pids));

	values->processes = calloc(scope->members.count + 1, sizeof(*values->processes));
	if (pids == NULL || values->processes == NULL ||
	    gg_fleet_number_groups(scope, GG_FLEET_EACH_HOST, pids) < 0) {
		free(pids);
		return gg_error_memory(error, "fleet diff");
	}
	for (size_t i = 0; i < scope->members.count; i++) {
		if (pids[i] == 0)
			continue;
		if (pids[i] > values->host_count)
			values->host_count = pids[i];
		values->processes[pids[i] - 1] += scope->members.items[i].process_count;
	}
	free(pids);
	return 0;
}

static uint64_t hash_label(const char *label)
{
	return gg_fleet_service_id(label);
}

static int add_host(struct side_values *values, const struct gg_map *row_of, size_t host,
                    struct gg_error *error)
{
	struct gg_query query = values->side->result->query;
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
	struct gg_query_result *part;
	int status;

	query.pid = (uint32_t)host + 1;
	status = gg_query_rows(values->side->model, &query, &part, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < part->row_count; i++) {
		const struct gg_query_row *row = &part->rows[i];
		const struct gg_tally *tally = query.sort_by_total ? row->total : row->self;
		uint64_t index;

		gg_buf_clear(&label);
		gg_query_row_label(values->side->model, part, row, &label);
		index = gg_map_get(row_of, hash_label(gg_buf_text(&label)));
		if (index != GG_MAP_NONE)
			values->values[index * values->host_count + host] +=
				gg_tally_estimate(tally, query.unit).value;
	}
	gg_query_result_free(part);
	return label.failed ? gg_error_memory(error, "fleet diff") : 0;
}

/* The last row of values is that of all. */
static int find_values(struct side_values *values, const struct gg_diff *diff,
                       const struct gg_map *row_of, struct gg_error *error)
{
	int status = count_processes(values, error);

	if (status < 0)
		return status;
	values->values = calloc((diff->row_count + 1) * values->host_count + 1,
	                        sizeof(*values->values));
	if (values->values == NULL)
		return gg_error_memory(error, "fleet diff");
	for (size_t host = 0; host < values->host_count && status == 0; host++) {
		struct gg_query query = values->side->result->query;
		struct gg_sum_up sum;

		status = add_host(values, row_of, host, error);
		query.pid = (uint32_t)host + 1;
		if (status == 0)
			status = gg_query_sum(values->side->model, &query, &sum, error);
		if (status == 0)
			values->values[diff->row_count * values->host_count + host] =
				gg_tally_estimate(&sum.total, query.unit).value;
	}
	return status;
}

/* Bytes a process, with the error that the hosts' residuals give. */
static struct gg_unit_mean mean_of(const struct side_values *values, size_t row, double *room)
{
	const double *of = values->values + row * values->host_count;
	double sum = 0, processes = 0, ratio, mean_processes;
	struct gg_unit_mean mean;

	for (size_t i = 0; i < values->host_count; i++) {
		sum += of[i];
		processes += values->processes[i];
	}
	ratio = sum / processes;
	mean_processes = processes / (double)values->host_count;
	for (size_t i = 0; i < values->host_count; i++)
		room[i] = ratio + (of[i] - ratio * values->processes[i]) / mean_processes;
	mean = gg_unit_mean_of(room, values->host_count);
	mean.mean = ratio;
	return mean;
}

static void compare_row(struct gg_diff_row *row, const struct side_values *before,
                        const struct side_values *after, size_t index, double processes,
                        double confidence, double *room)
{
	struct gg_unit_mean means[2] = { mean_of(before, index, room),
		                         mean_of(after, index, room) };
	struct gg_unit_difference d = gg_unit_difference_of(&means[0], &means[1], confidence);

	row->difference = (struct gg_difference){ .value = processes * d.value,
		                                  .low = processes * d.low,
		                                  .high = processes * d.high,
		                                  .p_value = d.p_value };
	row->q_value = d.p_value;
	row->is_bounded = false;
}

static int compare_order(const void *a, const void *b)
{
	const struct gg_diff_row *left = a, *right = b;
	double x = fabs(left->difference.value), y = fabs(right->difference.value);

	if (left->is_significant != right->is_significant)
		return left->is_significant ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(left->label, right->label);
}

static int discover(struct gg_diff *diff)
{
	double *p_values = malloc((diff->row_count + 1) * sizeof(*p_values));
	size_t *order = malloc((diff->row_count + 1) * sizeof(*order));

	if (p_values == NULL || order == NULL) {
		free(p_values);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < diff->row_count; i++)
		p_values[i] = diff->rows[i].difference.p_value;
	gg_false_discovery(p_values, diff->row_count, order);
	diff->significant_count = diff->grown_count = 0;
	for (size_t i = 0; i < diff->row_count; i++) {
		struct gg_diff_row *row = &diff->rows[i];

		row->q_value = p_values[i];
		row->is_significant = row->q_value <= diff->query.false_discovery_rate;
		diff->significant_count += row->is_significant;
		diff->grown_count += row->is_significant && row->difference.value > 0;
	}
	free(p_values);
	free(order);
	if (diff->row_count > 0)
		qsort(diff->rows, diff->row_count, sizeof(*diff->rows), compare_order);
	return 0;
}

int gg_fleet_compare(struct gg_diff *diff, const struct gg_fleet_side *before,
                     const struct gg_fleet_side *after, struct gg_error *error)
{
	struct side_values sides[2] = { { .side = before }, { .side = after } };
	double processes = gg_fleet_side_processes(after->scope), *room = NULL;
	struct gg_map row_of = { 0 };
	size_t most;
	int status = 0;

	if (!(gg_fleet_side_processes(before->scope) > 0 && processes > 0))
		return gg_error_set(error, -ENODATA, "fleet diff", NULL,
		                    "a side has no process whose stacks are in the store");

	for (size_t i = 0; i < diff->row_count && status == 0; i++)
		if (gg_map_put(&row_of, hash_label(diff->rows[i].label), i) < 0)
			status = gg_error_memory(error, "fleet diff");
	for (int i = 0; i < 2 && status == 0; i++)
		status = find_values(&sides[i], diff, &row_of, error);
	most = sides[0].host_count > sides[1].host_count ? sides[0].host_count
	                                                 : sides[1].host_count;
	if (status == 0)
		room = malloc((most + 1) * sizeof(*room));
	if (status == 0 && room == NULL)
		status = gg_error_memory(error, "fleet diff");
	if (status == 0) {
		for (size_t i = 0; i < diff->row_count; i++)
			compare_row(&diff->rows[i], &sides[0], &sides[1], i, processes,
			            diff->query.confidence, room);
		compare_row(&diff->total, &sides[0], &sides[1], diff->row_count, processes,
		            diff->query.confidence, room);
		diff->total.is_significant = diff->total.q_value <=
		                             diff->query.false_discovery_rate;
		diff->is_exact = false;
		if (discover(diff) < 0)
			status = gg_error_memory(error, "fleet diff");
	}
	free(room);
	gg_map_done(&row_of);
	side_values_done(&sides[0]);
	side_values_done(&sides[1]);
	return status;
}

/* --- hosts ----------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sorts the values. */
static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int gg_fleet_find_outliers(struct gg_fleet_outlier *hosts, size_t count)
{
	double *logs = calloc(count + 1, sizeof(*logs)),
	       *p_values = calloc(count + 1, sizeof(*logs));
	size_t *order = calloc(count + 1, sizeof(*order)), used = 0;
	double median, spread, degrees;

	if (logs == NULL || p_values == NULL || order == NULL) {
		free(logs);
		free(p_values);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (hosts[i].value > 0)
			logs[used++] = log(hosts[i].value);
	median = used > 0 ? median_of(logs, used) : NAN;
	for (size_t i = 0; i < used; i++)
		logs[i] = fabs(logs[i] - median);
	spread = used > 0 ? MAD_SCALE * median_of(logs, used) : NAN;
	degrees = fmax(1, MAD_EFFICIENCY * ((double)used - 1));
	for (size_t i = 0; i < count; i++) {
		double value = hosts[i].value;
		double error = hosts[i].variance / (value * value) + spread * spread;

		hosts[i].ratio = value / exp(median);
		p_values[i] = value > 0 && used >= GG_FLEET_OUTLIER_HOSTS_LEAST && error > 0
		                      ? gg_student_p_value((log(value) - median) / sqrt(error),
		                                           degrees)
		                      : NAN;
	}
	gg_false_discovery(p_values, count, order);
	for (size_t i = 0; i < count; i++)
		hosts[i].q_value = p_values[i];
	free(logs);
	free(p_values);
	free(order);
	return 0;
}
