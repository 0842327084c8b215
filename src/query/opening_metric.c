/* SPDX-License-Identifier: Apache-2.0 */
/* opening_metric - chooses the metric with which a report or a page opens. */
#include "query/query.h"

static int sum_bytes(const struct gg_model *model, const struct gg_query *query, double *ret_bytes,
                     struct gg_error *error)
{
	struct gg_sum_up sum;
	int status = gg_query_sum(model, query, &sum, error);

	if (status == 0)
		*ret_bytes = gg_tally_estimate(&sum.total, GG_BYTES).value;
	return status;
}

int gg_query_is_given_back(const struct gg_model *model, uint32_t pid, bool *ret_is,
                           struct gg_error *error)
{
	struct gg_query query;
	struct gg_peak peak = { 0 };
	double live = 0, allocated = 0;
	int status;

	*ret_is = false;
	if (!gg_model_has_history(model))
		return 0;
	gg_query_init(&query);
	query.pid = pid;
	status = sum_bytes(model, &query, &live, error);
	query.metric = GG_METRIC_ALLOCATED;
	if (status == 0)
		status = sum_bytes(model, &query, &allocated, error);
	/*
	 * Without inherited blocks the allocated bytes bound the peak.  If enough of them are live,
	 * the costly search for the peak is not needed.
	 */
	if (status < 0 || live >= GG_QUERY_LIVE_SHARE * allocated)
		return status;
	query.metric = GG_METRIC_LIVE;
	status = gg_query_peak(model, &query, &peak, error);
	*ret_is = status == 0 && live < GG_QUERY_LIVE_SHARE * peak.bytes;
	return status;
}
