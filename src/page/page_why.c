/* SPDX-License-Identifier: Apache-2.0 */
/* page_why - the rows that add up to the RSS of each process, like `geiger why`. */
#include "page/page_why.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "query/why_profile.h"
#include "report/report_why.h"

/* Processes are limited, because a page shows one at a time, and a session may have thousands. */
enum { PROCESS_COUNT_MAX = 40 };

int gg_page_why_find(struct gg_page_run *run)
{
	struct gg_why_options options = { .moment = GG_WHY_LAST,
		                          .confidence = run->options->confidence };
	int status = gg_why_of(&run->why.last, run->model, &options, run->error);

	if (status == 0 && run->before != NULL)
		status = gg_why_of(&run->why.last_before, run->before, &options, run->error);
	options.moment = GG_WHY_PEAK;
	if (status == 0)
		status = gg_why_of(&run->why.peak, run->model, &options, run->error);
	if (status == 0 && run->before != NULL)
		status = gg_why_of(&run->why.peak_before, run->before, &options, run->error);
	return status;
}

void gg_page_why_done(struct gg_page_run *run)
{
	gg_why_list_done(&run->why.last);
	gg_why_list_done(&run->why.peak);
	gg_why_list_done(&run->why.last_before);
	gg_why_list_done(&run->why.peak_before);
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

static void write_tables(struct gg_json *json, const char *name, const struct gg_why_list *lasts,
                         const struct gg_why_list *peaks)
{
	gg_json_open(json, name, '[');
	for (size_t i = 0; i < peaks->table_count && i < PROCESS_COUNT_MAX; i++) {
		const struct gg_why_table *peak = &peaks->tables[i];
		const struct gg_why_table *last = find_process(lasts, peak->process);
		bool is_same = last != NULL && last->why.time_ns == peak->why.time_ns;

		if (last != NULL && !is_same)
			write_table(json, last, true, false);
		write_table(json, peak, is_same, true);
	}
	gg_json_close(json);
}

void gg_page_why_write(const struct gg_page_run *run, struct gg_json *json)
{
	const struct gg_page_why *why = &run->why;

	write_tables(json, "why", &why->last, &why->peak);
	if (run->before != NULL)
		write_tables(json, "why_before", &why->last_before, &why->peak_before);
	gg_json_open(json, "why_missed", '{');
	gg_json_integer(json, "process_count", why->last.unseen_count);
	gg_json_number(json, "highest_bytes",
	               why->last.highest_bytes > 0 ? why->last.highest_bytes : NAN);
	gg_json_close(json);
}
