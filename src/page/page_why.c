/* SPDX-License-Identifier: Apache-2.0 */
/* page_why - the rows that add up to the RSS of each process, like `geiger why`. */
#include "page/page_why.h"

#include <string.h>

#include "base/json.h"
#include "page/page.h"
#include "page/page_run.h"
#include "query/why_profile.h"
#include "report/report_why.h"

/* Processes are limited, because a page shows one at a time, and a session may have thousands. */
enum { PROCESS_COUNT_MAX = 40 };

int gg_page_why_read(struct gg_page_why *ret_why, struct gg_profile *profile, double confidence,
                     struct gg_error *error)
{
	struct gg_why_options options = { .moment = GG_WHY_LAST, .confidence = confidence };
	struct gg_page_why why = { 0 };
	struct gg_model *model;
	int status = gg_model_load(&model, &profile, 1, NULL, error);

	if (status < 0)
		return status;
	status = gg_why_of(&why.last, model, &options, error);
	options.moment = GG_WHY_PEAK;
	if (status == 0)
		status = gg_why_of(&why.peak, model, &options, error);
	gg_model_free(model);
	if (status < 0)
		gg_page_why_done(&why);
	else
		*ret_why = why;
	return status;
}

void gg_page_why_done(struct gg_page_why *why)
{
	gg_why_list_done(&why->last);
	gg_why_list_done(&why->peak);
	*why = (struct gg_page_why){ 0 };
}

static const struct gg_why_table *find_process(const struct gg_why_list *list, uint32_t process)
{
	for (size_t i = 0; i < list->table_count; i++)
		if (list->tables[i].process == process)
			return &list->tables[i];
	return NULL;
}

/* Writes a table, and for which moments it is. */
static void write_table(struct gg_json *json, const struct gg_why_table *table, bool is_last,
                        bool is_peak)
{
	gg_json_open(json, NULL, '{');
	gg_json_open(json, "moments", '[');
	if (is_last)
		gg_json_text(json, NULL, "last");
	if (is_peak)
		gg_json_text(json, NULL, "peak");
	gg_json_close(json);
	gg_report_why_json_table(json, table);
	gg_json_close(json);
}

void gg_page_why_write(const struct gg_page_run *run, struct gg_json *json)
{
	const struct gg_page_why *why = run->options->why;

	gg_json_open(json, "why", '[');
	for (size_t i = 0; why != NULL && i < why->peak.table_count && i < PROCESS_COUNT_MAX; i++) {
		const struct gg_why_table *peak = &why->peak.tables[i];
		const struct gg_why_table *last = find_process(&why->last, peak->process);
		bool is_same = last != NULL && last->why.time_ns == peak->why.time_ns;

		if (last != NULL && !is_same)
			write_table(json, last, true, false);
		write_table(json, peak, is_same, true);
	}
	gg_json_close(json);
}
