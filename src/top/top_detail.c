/* SPDX-License-Identifier: Apache-2.0 */
/* top_detail - asks a model for the pieces of a row. */
#include "top/top_detail.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "report/report.h"

static const struct gg_query_row *find_row(const struct gg_model *model,
                                           const struct gg_query_result *result, const char *label)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (size_t i = 0; i < result->row_count; i++) {
		gg_buf_clear(&text);
		gg_query_row_label(model, result, &result->rows[i], &text);
		if (!text.failed && strcmp(gg_buf_text(&text), label) == 0)
			return &result->rows[i];
	}
	return NULL;
}

static int add_piece(struct gg_top_detail *detail, const struct gg_model *model,
                     enum gg_row_part part, const struct gg_row_piece *found, double confidence)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
	struct gg_top_piece *piece = &detail->pieces[detail->piece_count];

	gg_row_piece_label(model, part, found->key, &label);
	piece->part = part;
	piece->is_row = part != GG_PART_AGES && found->key != GG_PART_SELF &&
	                found->key != GG_PART_NONE;
	piece->label = label.failed ? NULL : strdup(gg_buf_text(&label));
	piece->figure = gg_figure_of(&found->tally, GG_BYTES, confidence, true);
	detail->piece_count++;
	return piece->label != NULL ? 0 : -1;
}

static int add_pieces(struct gg_top_detail *detail, const struct gg_model *model,
                      const struct gg_row_detail *found, double confidence)
{
	size_t count = 0;

	for (int part = 0; part < GG_PART_COUNT; part++)
		count += found->parts[part].items.count;
	detail->pieces = calloc(count + 1, sizeof(*detail->pieces));
	if (detail->pieces == NULL)
		return -1;
	for (int part = 0; part < GG_PART_COUNT; part++)
		for (size_t i = 0; i < found->parts[part].items.count; i++)
			if (add_piece(detail, model, (enum gg_row_part)part,
			              &found->parts[part].items.items[i], confidence) < 0)
				return -1;
	return 0;
}

static int describe(struct gg_top_detail *detail, const struct gg_model *model,
                    const struct gg_query_result *result, int64_t now_ns, double confidence,
                    struct gg_error *error)
{
	const struct gg_query_row *row = find_row(model, result, detail->label);
	struct gg_row_detail found;
	bool discovered;
	int status;

	detail->is_there = row != NULL;
	if (row == NULL)
		return 0;
	discovered = gg_report_is_discovered(result, row);
	detail->self = gg_figure_of(row->self, GG_BYTES, confidence, discovered);
	detail->total = gg_figure_of(row->total, GG_BYTES, confidence, discovered);
	status = gg_row_detail_find(&found, model, &result->query, row->key, now_ns, error);
	if (status < 0)
		return status;
	if (add_pieces(detail, model, &found, confidence) < 0)
		status = gg_error_memory(error, "top");
	gg_row_detail_done(&found);
	return status;
}

int gg_top_detail_make(struct gg_top_detail **ret_detail, const struct gg_model *model,
                       const struct gg_query_result *result, const char *label, int64_t now_ns,
                       double confidence, struct gg_error *error)
{
	struct gg_top_detail *detail = calloc(1, sizeof(*detail));
	int status;

	if (detail == NULL)
		return gg_error_memory(error, "top");
	detail->by = result->query.by;
	detail->label = strdup(label);
	status = detail->label != NULL ? describe(detail, model, result, now_ns, confidence, error)
	                               : gg_error_memory(error, "top");
	if (status < 0) {
		gg_top_detail_free(detail);
		return status;
	}
	*ret_detail = detail;
	return 0;
}

bool gg_top_detail_is_of(const struct gg_top_detail *detail, enum gg_grouping by, const char *label)
{
	return detail != NULL && label != NULL && detail->by == by &&
	       strcmp(detail->label, label) == 0;
}

void gg_top_detail_free(struct gg_top_detail *detail)
{
	if (detail == NULL)
		return;
	for (size_t i = 0; i < detail->piece_count; i++)
		free(detail->pieces[i].label);
	free(detail->pieces);
	free(detail->label);
	free(detail);
}
