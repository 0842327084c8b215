/* SPDX-License-Identifier: Apache-2.0 */
/* opening_metric - which metric a report or a page opens with. */
#include "query/query.h"

static int sum_bytes(const struct gg_model *model, const struct gg_query *query, double *ret_bytes,
                     struct gg_error *error)
{
	struct gg_sum_up sum;
	int code = gg_query_sum(model, query, &sum, error);

	if (code == 0)
		*ret_bytes = gg_tally_estimate(&sum.total, GG_BYTES).value;
	return code;
}

int gg_query_is_given_back(const struct gg_model *model, uint32_t pid, bool *ret_is,
                           struct gg_error *error)
{
	struct gg_query query;
	struct gg_peak peak = { 0 };
	double live = 0, allocated = 0;
	int code;

	*ret_is = false;
	if (!gg_model_has_history(model))
		return 0;
	gg_query_init(&query);
	query.pid = pid;
	code = sum_bytes(model, &query, &live, error);
	query.metric = GG_METRIC_ALLOCATED;
	if (code == 0)
		code = sum_bytes(model, &query, &allocated, error);
	/* What was allocated bounds the peak, but for inherited blocks: no need to look for it then. */
	if (code < 0 || live >= GG_QUERY_LIVE_SHARE * allocated)
		return code;
	query.metric = GG_METRIC_LIVE;
	code = gg_query_peak(model, &query, &peak, error);
	*ret_is = code == 0 && live < GG_QUERY_LIVE_SHARE * peak.bytes;
	return code;
}
