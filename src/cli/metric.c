/* SPDX-License-Identifier: Apache-2.0 */
/* metric - opens a report with the peak if little of the memory is live at the end. */
#include "cli/metric.h"

int gg_cli_choose_metric(const struct gg_model *model, const struct gg_report_options *options,
                         struct gg_query *query, struct gg_error *error)
{
	bool is_given_back;
	int status;

	if (!gg_cli_metric_is_open(options))
		return 0;
	status = gg_query_is_given_back(model, query->pid, &is_given_back, error);
	if (status == 0 && is_given_back)
		query->metric = GG_METRIC_PEAK;
	return status;
}
