/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_label - names metrics and groupings, and makes the labels of rows.
 */
#include <stdlib.h>

#include "base/size.h"
#include "query/query_internal.h"

static const char *const metric_names[] = {
	[GG_METRIC_LIVE] = "live",     [GG_METRIC_ALLOCATED] = "allocated",
	[GG_METRIC_PEAK] = "peak",     [GG_METRIC_TEMPORARY] = "temporary",
	[GG_METRIC_FREED] = "freed",   [GG_METRIC_LEFT] = "left",
	[GG_METRIC_PINNED] = "pinned",
};
static const char *const grouping_names[] = {
	[GG_BY_FUNCTION] = "function", [GG_BY_LINE] = "line",     [GG_BY_STACK] = "stack",
	[GG_BY_MODULE] = "module",     [GG_BY_THREAD] = "thread", [GG_BY_PROCESS] = "process",
	[GG_BY_SIZE] = "size",         [GG_BY_KIND] = "kind",     [GG_BY_HEAP] = "heap",
	[GG_BY_TYPE] = "type",         [GG_BY_LABEL] = "label",
};

const char *gg_metric_name(enum gg_metric metric)
{
	return metric_names[metric];
}

const char *gg_grouping_name(enum gg_grouping by)
{
	return grouping_names[by];
}

static void label_function(const struct gg_model *model, uint32_t number, struct gg_buf *out)
{
	struct gg_model_function function = model->functions[number];

	const char *module = model->modules[function.module].name;

	gg_buf_append_text(out, function.name);
	if (function.is_named && function.module != 0 && module[0] != '\0')
		gg_buf_printf(out, " (%s)", module);
}

static void label_line(const struct gg_model *model, uint32_t number, struct gg_buf *out)
{
	struct gg_model_line line = model->lines[number];
	const char *name = model->functions[line.function].name;

	if (line.file == NULL)
		label_function(model, line.function, out);
	else if (line.line == 0)
		gg_buf_printf(out, "%s %s", line.file, name);
	else
		gg_buf_printf(out, "%s:%u %s", line.file, line.line, name);
}

static void label_stack(const struct gg_model *model, uint32_t stack, struct gg_buf *out)
{
	size_t count = gg_model_path(model, stack, NULL, 0);
	struct gg_code_location *locations = malloc(count * sizeof(*locations));

	if (locations == NULL) {
		out->failed = true;
		return;
	}
	gg_model_path(model, stack, locations, count);
	for (size_t i = count; i-- > 0;) {
		gg_buf_append_text(out, model->functions[locations[i].function].name);
		gg_buf_append_text(out, i > 0 ? ";" : "");
	}
	free(locations);
}

static void label_process(const struct gg_model *model, uint32_t number, struct gg_buf *out)
{
	const struct gg_profile_process *process = model->processes + number;

	if (number == 0)
		gg_buf_append_text(out, "[unknown]");
	else
		gg_buf_printf(out, "%u %s", process->pid,
		              process->command != NULL ? process->command
		              : process->exe != NULL   ? process->exe
		                                       : "");
}

static void label_thread(const struct gg_model *model, uint32_t number, struct gg_buf *out)
{
	const struct gg_profile_thread *thread = model->threads + number;
	const struct gg_profile_process *processes = model->processes;

	if (number == 0)
		gg_buf_append_text(out, "[unknown]");
	else
		gg_buf_printf(out, "%u/%u %s", processes[thread->process].pid, thread->tid,
		              thread->name != NULL ? thread->name : "");
}

static void label_size(uint32_t class, struct gg_buf *out)
{
	char from[GG_SIZE_TEXT_MAX], to[GG_SIZE_TEXT_MAX];

	if (class >= 64) {
		gg_buf_append_text(out, "[mixed sizes]");
		return;
	}
	gg_size_format_short((double)(UINT64_C(1) << class), to);
	if (class < 2)
		gg_buf_printf(out, class == 0 ? "up to %s" : "%s", to);
	else if (class <= 10)
		gg_buf_printf(out, "%u B..%s", (1u << (class - 1)) + 1, to);
	else
		gg_buf_printf(out, "%s..%s",
		              gg_size_format_short((double)(UINT64_C(1) << (class - 1)), from), to);
}

/* Aggregates do not know some keys; their row has the number after the last name. */
static const char not_kept[] = "[not kept]";

void gg_query_row_label(const struct gg_model *model, const struct gg_query_result *result,
                        const struct gg_query_row *row, struct gg_buf *out)
{
	switch (result->query.by) {
	case GG_BY_FUNCTION:
		label_function(model, row->key, out);
		return;
	case GG_BY_LINE:
		label_line(model, row->key, out);
		return;
	case GG_BY_STACK:
		label_stack(model, row->key, out);
		return;
	case GG_BY_MODULE:
		gg_buf_append_text(out, model->modules[row->key].path);
		return;
	case GG_BY_LABEL:
		gg_buf_append_text(
			out, row->key != 0 ? gg_model_label(model, row->key, result->query.label)
					   : "[none]");
		return;
	case GG_BY_THREAD:
		label_thread(model, row->key, out);
		return;
	case GG_BY_PROCESS:
		label_process(model, row->key, out);
		return;
	case GG_BY_SIZE:
		label_size(row->key, out);
		return;
	case GG_BY_KIND:
		gg_buf_append_text(out, row->key < model->kind_count ? model->kinds[row->key].name
		                                                     : not_kept);
		return;
	case GG_BY_HEAP:
		gg_buf_append_text(out, row->key < model->heap_count ? model->heaps[row->key]
		                                                     : not_kept);
		return;
	case GG_BY_TYPE:
		gg_buf_append_text(out, row->key < model->type_count ? model->types[row->key]
		                                                     : not_kept);
		return;
	}
}
