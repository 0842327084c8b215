/* SPDX-License-Identifier: Apache-2.0 */
/* page_pinned - the functions whose live blocks keep free memory. */
#include "page/page_pinned.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "page/page_names.h"
#include "page/page_run.h"
#include "query/pinned_comparison.h"
#include "query/pinned_neighbors.h"
#include "query/query.h"
#include "report/figure.h"
#include "report/report.h"

/* Nobody reads more rows here; the command has all of them. */
enum { PINNED_ROWS_MAX = 200, NEIGHBOR_ROWS_MAX = 50 };

static void write_bytes(const struct gg_page_run *run, const char *name,
                        const struct gg_tally *tally, bool discovered, struct gg_json *json)
{
	struct gg_figure figure = gg_figure_of(tally, GG_BYTES, run->options->confidence,
	                                       discovered);
	const struct gg_figure shown = gg_figure_shown(&figure);

	gg_report_json_figure(json, name, &shown);
}

static void write_neighbors(struct gg_page_run *run, const struct gg_pinned_neighbors *row,
                            struct gg_json *json)
{
	gg_json_open(json, "allocated_among", '[');
	for (size_t i = 0; i < row->count; i++) {
		const struct gg_pinned_neighbor *of = &row->functions[i];

		gg_json_open(json, NULL, '{');
		gg_json_integer(json, "frame", gg_page_frame_of(&run->names, of->function));
		gg_json_number(json, "share", of->share);
		gg_json_number(json, "median_lifetime_ns", of->median_lifetime_ns);
		gg_json_close(json);
	}
	gg_json_close(json);
}

/* Remarks on the rows of a result, an item for each. */
struct pinned_remarks {
	struct gg_pinned_comparison *comparisons;
	struct gg_pinned_neighbors *neighbors;
};

/* Writes the rows with memory of their own; the result has the heaviest first. */
static void write_rows(struct gg_page_run *run, const struct gg_query_result *result,
                       const struct pinned_remarks *remarks, struct gg_json *json)
{
	size_t limit = run->rows < PINNED_ROWS_MAX ? run->rows : PINNED_ROWS_MAX, written = 0;

	gg_json_open(json, "rows", '[');
	for (size_t i = 0; i < result->row_count && written < limit; i++) {
		const struct gg_query_row *row = &result->rows[i];

		if (row->self->sample_count == 0)
			continue;
		written++;
		gg_json_open(json, NULL, '{');
		gg_json_integer(json, "frame", gg_page_frame_of(&run->names, row->key));
		gg_json_integer(json, "samples", row->self->sample_count);
		write_bytes(run, "bytes", row->self, gg_report_is_discovered(result, row), json);
		gg_report_json_comparison(&remarks->comparisons[i], json);
		write_neighbors(run, &remarks->neighbors[i], json);
		gg_json_close(json);
	}
	gg_json_close(json);
}

int gg_page_pinned_write(struct gg_page_run *run, struct gg_json *json)
{
	struct pinned_remarks remarks = { 0 };
	struct gg_query_result *result;
	struct gg_query query;
	int status;

	gg_query_init(&query);
	query.metric = GG_METRIC_PINNED;
	query.by = GG_BY_FUNCTION;
	status = gg_query_rows(run->model, &query, &result, run->error);
	if (status == -ENODATA) {
		gg_json_text(json, "pinned", NULL);
		return 0;
	}
	if (status < 0)
		return status;
	status = gg_pinned_compare(run->model, result, &remarks.comparisons, run->error);
	if (status == 0)
		status = gg_pinned_find_neighbors(run->model, result, NEIGHBOR_ROWS_MAX,
		                                  &remarks.neighbors, run->error);
	if (status == 0) {
		gg_json_open(json, "pinned", '{');
		gg_json_integer(json, "row_count", result->row_count);
		write_bytes(run, "total", &result->total, false, json);
		write_rows(run, result, &remarks, json);
		gg_json_close(json);
	}
	free(remarks.comparisons);
	free(remarks.neighbors);
	gg_query_result_free(result);
	return status;
}
