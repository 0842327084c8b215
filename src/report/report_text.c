/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text - prints rows for people: self and total with intervals and shares, and a name in the
 * rest of the line.
 *
 * A function's name has at least 40 cells of a terminal.  Columns that would take them from it are
 * left out: first samples, then the figures of the column by which rows are not sorted, whose
 * shares stay.  A longer name takes a second line.  Without a terminal, a row is one line with all
 * columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "report/report.h"
#include "report/screen_text.h"
#include "symbol/symbol.h"

enum {
	NAME_LEAST = 40,         /* cells of a name that other columns do not take */
	NAME_INDENT = 4,         /* of a name on a second line */
	STACK_FRAMES_SHOWN = 24, /* the report shows this many frames of a stack */
};

static const char failed_title[] = "failed trials";

/* One of the two numbers of a row: what it allocated itself, or with what it called. */
struct number_column {
	const char *title;
	bool has_figures; /* false: shares alone */
	struct gg_figure *figures;
	struct gg_figure_column figure_column;
	size_t share_cells, figure_cells; /* with the title */
};

struct columns {
	bool has_total; /* beside self */
	bool has_failed, has_samples, has_comparison;
	const char *samples_title; /* with exact counts, each allocation is a sample */
	struct number_column self, total;
	size_t failed_cells;
	double whole;         /* of which shares are */
	size_t name_column;   /* cells in front of the name */
	struct gg_buf labels; /* labels of shown rows, each with a 0 byte; unused for stacks */
	const char **names;   /* where each begins; NULL: out of memory */
	const char **others;  /* by row: a label that would look equal, or the name itself */
};

static size_t shown_count(const struct gg_report *report)
{
	size_t count = report->result->row_count;

	return report->limit != 0 && report->limit < count ? report->limit : count;
}

void gg_report_move_start_code(const struct gg_model *model, struct gg_query_result *result)
{
	struct gg_query_row *moved;
	size_t moved_count = 0, kept_count = 0;

	if (result->query.by != GG_BY_FUNCTION || result->query.sort_by_total)
		return;
	moved = malloc((result->row_count + 1) * sizeof(*moved));
	if (moved == NULL)
		return;
	for (size_t i = 0; i < result->row_count; i++) {
		const struct gg_query_row *row = &result->rows[i];
		const struct gg_model_function *function = &model->functions[row->key];

		if (gg_tally_is_empty(row->self) && function->is_named &&
		    gg_symbol_is_start_code(function->short_name))
			moved[moved_count++] = *row;
		else
			result->rows[kept_count++] = *row;
	}
	memcpy(result->rows + kept_count, moved, moved_count * sizeof(*moved));
	free(moved);
}

static bool has_total(const struct gg_query_result *result)
{
	return result->query.by == GG_BY_FUNCTION || result->query.by == GG_BY_LINE ||
	       result->query.by == GG_BY_MODULE;
}

static struct gg_figure figure_of(const struct gg_report *report, const struct gg_query_row *row,
                                  const struct gg_tally *tally)
{
	return gg_figure_of(tally, report->result->query.unit, report->confidence,
	                    gg_report_is_discovered(report->result, row));
}

static void append_failed_text(const struct gg_report *report, const struct gg_query_row *row,
                               struct gg_buf *text)
{
	struct gg_figure figure;

	if (gg_figure_by_failed_trials(row->self, report->confidence, &figure))
		gg_figure_append(&report->figures, &figure, text);
	else
		gg_buf_append_text(text, "-");
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* A column's share of the whole, or "-" for a row that was never sampled. */
static void append_share_text(const struct columns *columns, const struct number_column *column,
                              size_t index, struct gg_buf *text)
{
	gg_figure_append_percent(
		columns->whole > 0 ? column->figures[index].estimate / columns->whole : NAN, text);
}

/* The cells of a column: of its figures, and of its shares. */
static void measure(const struct gg_report *report, const struct columns *columns,
                    struct number_column *column)
{
	size_t count = shown_count(report);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	column->figure_column = gg_figure_column_of(&report->figures, column->figures, count);
	column->figure_column.number_cells = larger(column->figure_column.number_cells,
	                                            strlen(column->title));
	column->figure_cells = column->figure_column.number_cells +
	                       column->figure_column.error_cells;
	column->share_cells = strlen("100 %");
	for (size_t i = 0; i < count; i++) {
		gg_buf_clear(&text);
		append_share_text(columns, column, i, &text);
		column->share_cells = larger(column->share_cells, text.length);
	}
}

static const char comparison_title[] = "ratio      p         age  ";

/* The cells in front of the name, each column with the two blanks behind it. */
static size_t name_column_of(const struct columns *columns)
{
	const struct number_column *self = &columns->self, *total = &columns->total;

	return self->share_cells + 2 + (self->has_figures ? self->figure_cells + 2 : 0) +
	       (columns->has_total ? total->share_cells + 2 : 0) +
	       (columns->has_total && total->has_figures ? total->figure_cells + 2 : 0) +
	       (columns->has_failed ? columns->failed_cells + 2 : 0) +
	       (columns->has_samples ? strlen(columns->samples_title) + 2 : 0) +
	       (columns->has_comparison ? strlen(comparison_title) : 0);
}

static bool has_room(const struct gg_report *report, const struct columns *columns)
{
	return gg_report_room(report, name_column_of(columns), 0) >= NAME_LEAST;
}

/* Chooses the columns that leave room for names. */
static void choose_columns(const struct gg_report *report, struct columns *columns)
{
	struct number_column *sorted = report->result->query.sort_by_total && columns->has_total
	                                       ? &columns->total
	                                       : &columns->self;
	struct number_column *other = sorted == &columns->self ? &columns->total : &columns->self;

	sorted->has_figures = true;
	other->has_figures = columns->has_total;
	other->has_figures = columns->has_total && has_room(report, columns);
	columns->has_samples = other->has_figures || !columns->has_total;
	columns->has_samples = columns->has_samples && has_room(report, columns);
	columns->has_comparison = report->comparisons != NULL;
	columns->has_comparison = columns->has_comparison && has_room(report, columns);
	columns->name_column = name_column_of(columns);
}

/* Makes the figures of all rows that are shown; false: out of memory. */
static bool make_figures(const struct gg_report *report, struct columns *columns)
{
	const struct gg_query_result *result = report->result;
	size_t count = shown_count(report);

	columns->self.figures = calloc(2 * count + 1, sizeof(*columns->self.figures));
	if (columns->self.figures == NULL)
		return false;
	columns->total.figures = columns->self.figures + count;
	for (size_t i = 0; i < count; i++) {
		const struct gg_query_row *row = &result->rows[i];

		columns->self.figures[i] = figure_of(report, row, row->self);
		columns->total.figures[i] = figure_of(report, row, row->total);
		/* A function that only calls others allocates nothing, as far as is known. */
		if (columns->has_total && gg_tally_is_empty(row->self))
			columns->self.figures[i] = gg_figure_between(0, 0, INFINITY,
			                                             result->query.unit);
	}
	return true;
}

static void measure_failed(const struct gg_report *report, struct columns *columns)
{
	columns->failed_cells = strlen(failed_title);
	for (size_t i = 0; columns->has_failed && i < shown_count(report); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		append_failed_text(report, &report->result->rows[i], &text);
		columns->failed_cells = larger(columns->failed_cells,
		                               gg_screen_text_length(gg_buf_text(&text)));
	}
}

/* On failure, `figures` of the columns are NULL. */
static struct columns lay_out(const struct gg_report *report)
{
	const struct gg_query_result *result = report->result;
	struct columns columns = {
		.has_total = has_total(result),
		.has_failed = report->all_columns && gg_report_has_failed_trials(result),
		.samples_title = gg_model_is_exact(report->model) ? "allocations" : "samples",
		.self = { .title = "self" },
		.total = { .title = "total" },
		.whole = gg_tally_estimate(&result->total, result->query.unit).value,
	};

	if (!columns.has_total)
		columns.self.title = columns.has_failed ? "weighted" : "";
	if (!make_figures(report, &columns))
		return columns;
	measure(report, &columns, &columns.self);
	measure(report, &columns, &columns.total);
	measure_failed(report, &columns);
	choose_columns(report, &columns);
	return columns;
}

/* Appends a column's title above its figures, or above its shares if these stand alone. */
static void append_number_title(const struct number_column *column, struct gg_buf *out)
{
	if (column->has_figures) {
		gg_screen_text_append_right(out, column->title, column->figure_column.number_cells);
		gg_buf_printf(out, "%*s  ",
		              (int)(column->figure_column.error_cells + 2 + column->share_cells),
		              "");
		return;
	}
	gg_screen_text_append_right(out, column->title, column->share_cells);
	gg_buf_append_text(out, "  ");
}

static void append_titles(const struct gg_report *report, const struct columns *columns,
                          struct gg_buf *out)
{
	gg_buf_append_text(out, report->style.heading);
	append_number_title(&columns->self, out);
	if (columns->has_total)
		append_number_title(&columns->total, out);
	if (columns->has_failed)
		gg_buf_printf(out, "%*s  ", (int)columns->failed_cells, failed_title);
	if (columns->has_samples)
		gg_buf_printf(out, "%s  ", columns->samples_title);
	if (columns->has_comparison)
		gg_buf_append_text(out, comparison_title);
	gg_buf_printf(out, "%s%s\n", gg_grouping_name(report->result->query.by),
	              report->style.reset);
}

static void append_number(const struct gg_report *report, const struct columns *columns,
                          const struct number_column *column, size_t index, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf share = { 0 };

	if (column->has_figures) {
		gg_figure_column_append(&report->figures, &column->figure_column,
		                        &column->figures[index], out);
		gg_buf_append_text(out, "  ");
	}
	append_share_text(columns, column, index, &share);
	gg_screen_text_append_right(out, gg_buf_text(&share), column->share_cells);
	gg_buf_append_text(out, "  ");
}

static void append_failed(const struct gg_report *report, const struct columns *columns,
                          const struct gg_query_row *row, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	append_failed_text(report, row, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), columns->failed_cells);
	gg_buf_append_text(out, "  ");
}

size_t gg_report_room(const struct gg_report *report, size_t column, size_t least)
{
	size_t width = report->name_width > 0 ? report->name_width : report->width;

	return width > column && width - column > least ? width - column : least;
}

const char *gg_report_via_name(const struct gg_model *model, uint32_t via)
{
	return via != 0 ? model->functions[via].short_name : NULL;
}

void gg_report_append_via(const struct gg_report *report, const char *via, size_t used,
                          size_t width, struct gg_buf *out)
{
	static const char before[] = " via ";
	enum { LEAST = 12 };
	size_t length = via != NULL ? gg_screen_text_length(via) : 0;

	if (length == 0 || used + sizeof(before) - 1 + (length < LEAST ? length : LEAST) > width)
		return;
	gg_buf_append_text(out, before);
	gg_screen_text_append(out, via, width - used - (sizeof(before) - 1), report->figures.ascii);
}

void gg_report_append_place(const struct gg_report *report, const struct gg_code_location *place,
                            uint32_t via, size_t width, struct gg_buf *out)
{
	struct gg_model_line line = report->model->lines[place->line];
	GG_CLEANUP(gg_buf_done) struct gg_buf where = { 0 };
	size_t taken, least = 16;
	size_t most = width > 2 * least ? width - least : least; /* of the file and its line */

	if (line.file != NULL)
		gg_buf_printf(&where, " %s:%u", gg_path_base(line.file), line.line);
	taken = gg_screen_text_length(gg_buf_text(&where));
	taken = taken > most ? most : taken;
	gg_screen_text_append(out, report->model->functions[place->function].name,
	                      width > taken + least ? width - taken : least, report->figures.ascii);
	gg_screen_text_append(out, gg_buf_text(&where), most, report->figures.ascii);
	taken += gg_screen_text_length(report->model->functions[place->function].name);
	gg_report_append_via(report, gg_report_via_name(report->model, via), taken, width, out);
	gg_buf_append_text(out, "\n");
}

/* Prints a stack, a line for each frame: the innermost beside the figures, callers below it. */
static void append_stack(const struct gg_report *report, const struct columns *columns,
                         const struct gg_query_row *row, struct gg_buf *out)
{
	uint32_t stack = row->key;
	struct gg_code_location places[STACK_FRAMES_SHOWN];
	size_t count = gg_model_path(report->model, stack, places, STACK_FRAMES_SHOWN);
	size_t column = columns->name_column;
	size_t width = gg_report_room(report, column + 2, 18);

	for (size_t i = 0; i < count && i < STACK_FRAMES_SHOWN; i++) {
		if (i > 0)
			gg_buf_printf(out, "%*s", (int)column + 2, "");
		gg_report_append_place(report, &places[i], i == 0 ? row->via : 0,
		                       i > 0 ? width : width + 2, out);
	}
	if (count > STACK_FRAMES_SHOWN)
		gg_buf_printf(out, "%*s(%zu more callers)\n", (int)column + 2, "",
		              count - STACK_FRAMES_SHOWN);
}

/* Sorts files by their base names, then by their paths; rows without a file come first. */
static int compare_files(const void *a, const void *b)
{
	const char *left = *(const char *const *)a, *right = *(const char *const *)b;
	int order;

	if (left == NULL || right == NULL)
		return (left != NULL) - (right != NULL);
	order = strcmp(gg_path_base(left), gg_path_base(right));
	return order != 0 ? order : strcmp(left, right);
}

/* The files of all rows, sorted; NULL: out of memory, or rows have no files. */
static const char **sort_files(const struct gg_report *report)
{
	const struct gg_query_result *result = report->result;
	size_t count = shown_count(report);
	const char **files;

	if (result->query.by != GG_BY_LINE)
		return NULL;
	files = calloc(count + 1, sizeof(*files));
	for (size_t i = 0; i < count && files != NULL; i++)
		files[i] = report->model->lines[result->rows[i].key].file;
	if (files != NULL)
		qsort(files, count, sizeof(*files), compare_files);
	return files;
}

/* True if two sorted files around this one have its base name and other folders. */
static bool has_namesake(const char *const *files, size_t count, const char *file)
{
	size_t low = 0, high = count;
	const char *base = gg_path_base(file);

	while (low < high) { /* the first file that is not before this one */
		size_t middle = low + (high - low) / 2;

		if (compare_files(&files[middle], &file) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && files[low - 1] != NULL && strcmp(gg_path_base(files[low - 1]), base) == 0)
		return true;
	while (low < count && strcmp(files[low], file) == 0)
		low++;
	return low < count && strcmp(gg_path_base(files[low]), base) == 0;
}

/* Appends "unique_ptr.h:1065 make_unique"; the whole path if the base name is ambiguous. */
static void append_line_name(const struct gg_report *report, const char *const *files, uint32_t key,
                             struct gg_buf *out)
{
	const struct gg_model_line *line = &report->model->lines[key];
	bool is_ambiguous = files != NULL && has_namesake(files, shown_count(report), line->file);

	gg_buf_append_text(out, is_ambiguous ? line->file : gg_path_base(line->file));
	if (line->line != 0)
		gg_buf_printf(out, ":%u", line->line);
	gg_buf_printf(out, " %s", report->model->functions[line->function].name);
}

/* True if the row's name begins with a file. */
static bool has_file(const struct gg_report *report, const struct gg_query_row *row)
{
	return report->result->query.by == GG_BY_LINE &&
	       report->model->lines[row->key].file != NULL;
}

/* The width of a name on a line of its own. */
static size_t second_line_width(const struct gg_report *report)
{
	return gg_report_room(report, NAME_INDENT, 16);
}

/* Makes the names of all rows, and finds names that would look equal when shortened. */
static void find_names(const struct gg_report *report, struct columns *columns)
{
	const struct gg_query_result *result = report->result;
	size_t count = shown_count(report), at = 0;
	const char **files;

	if (result->query.by == GG_BY_STACK)
		return;
	columns->names = calloc(2 * count + 1, sizeof(*columns->names));
	if (columns->names == NULL)
		return;
	columns->others = columns->names + count;
	files = sort_files(report);
	for (size_t i = 0; i < count; i++) {
		const struct gg_query_row *row = &result->rows[i];

		if (has_file(report, row))
			append_line_name(report, files, row->key, &columns->labels);
		else
			gg_query_row_label(report->model, result, row, &columns->labels);
		gg_buf_append(&columns->labels, "", 1);
	}
	free(files);
	for (size_t i = 0; i < count && !columns->labels.failed; i++) {
		columns->names[i] = columns->labels.data + at;
		at += strlen(columns->names[i]) + 1;
	}
	if (!columns->labels.failed)
		gg_screen_text_find_alike(columns->names, count, second_line_width(report),
		                          report->figures.ascii, columns->others);
}

/* True if one row must be one line, which may have any length. */
static bool is_for_a_pipe(const struct gg_report *report)
{
	return report->name_width == SIZE_MAX;
}

/* Appends among whose freed blocks the row's blocks were allocated, in at most `width` cells. */
static void append_neighbors(const struct gg_report *report, size_t index, const char *before,
                             size_t width, struct gg_buf *out)
{
	enum { LEAST = 16 };

	const struct gg_pinned_neighbors *row = &report->neighbors[index];
	const struct gg_pinned_neighbor *largest = &row->functions[0];
	GG_CLEANUP(gg_buf_done) struct gg_buf start = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf end = { 0 };
	size_t used;

	gg_buf_printf(&start, "%sallocated among blocks of ", before);
	gg_buf_printf(&end, " (%.0f %%), which live ", 100 * largest->share);
	gg_report_append_time((int64_t)largest->median_lifetime_ns, &end);
	used = gg_screen_text_length(gg_buf_text(&start)) +
	       gg_screen_text_length(gg_buf_text(&end));
	gg_buf_append_text(out, gg_buf_text(&start));
	gg_screen_text_append(out, report->model->functions[largest->function].name,
	                      width > used + LEAST ? width - used : LEAST, report->figures.ascii);
	gg_buf_append_text(out, gg_buf_text(&end));
}

static bool has_neighbors(const struct gg_report *report, size_t index)
{
	return report->neighbors != NULL && report->neighbors[index].count > 0;
}

/* Appends the row's name behind its numbers, or on the next line if it needs more room. */
static void append_name(const struct gg_report *report, const struct columns *columns, size_t index,
                        struct gg_buf *out)
{
	const struct gg_query_row *row = &report->result->rows[index];
	const char *name = columns->names[index];
	size_t width = gg_report_room(report, columns->name_column, 16);
	size_t used = gg_screen_text_length(name), file;

	if (used > width) {
		gg_screen_text_break(out, NAME_INDENT);
		width = second_line_width(report);
	}
	/* --by line shows the file and the line in any case, so only the function is cut. */
	file = has_file(report, row) && used > width ? strcspn(name, " ") + 1 : 0;
	gg_buf_append(out, name, file);
	gg_screen_text_append_apart(out, name + file, columns->others[index] + file,
	                            width > file + 16 ? width - file : 16, report->figures.ascii);
	gg_report_append_via(report, gg_report_via_name(report->model, row->via), used, width, out);
	if (is_for_a_pipe(report) && has_neighbors(report, index))
		append_neighbors(report, index, ", ", SIZE_MAX, out);
	gg_buf_append_text(out, "\n");
}

/* Appends how a row compares with blocks of its sizes, in the cells of comparison_title. */
static void append_comparison(const struct gg_pinned_comparison *row, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf age = { 0 };

	if (isfinite(row->ratio))
		gg_buf_printf(out, "%5.1f  %5.3f  ", row->ratio, row->p_value);
	else
		gg_buf_printf(out, "%5s  %5s  ", "-", "-");
	if (isfinite(row->age_ns))
		gg_report_append_time((int64_t)row->age_ns, &age);
	gg_screen_text_append_right(out, age.length > 0 ? gg_buf_text(&age) : "-", 10);
	gg_buf_append_text(out, "  ");
}

/* Appends the same as a sentence, where the columns have no room. */
static void append_comparison_line(const struct gg_report *report,
                                   const struct gg_pinned_comparison *row, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (row->block_count == 0)
		return;
	gg_buf_append_text(&text, "  ");
	if (isfinite(row->ratio))
		gg_buf_printf(&text, "keeps %.1f times the average of its size (p = %.3f); ",
		              row->ratio, row->p_value);
	gg_buf_append_text(&text, "median age ");
	gg_report_append_time((int64_t)row->age_ns, &text);
	gg_screen_text_append(out, gg_buf_text(&text), report->width, report->figures.ascii);
	gg_buf_append_text(out, "\n");
}

static void append_row(const struct gg_report *report, const struct columns *columns, size_t index,
                       struct gg_buf *out)
{
	const struct gg_query_row *row = &report->result->rows[index];

	append_number(report, columns, &columns->self, index, out);
	if (columns->has_total)
		append_number(report, columns, &columns->total, index, out);
	if (columns->has_failed)
		append_failed(report, columns, row, out);
	if (columns->has_samples)
		gg_buf_printf(out, "%*llu  ", (int)strlen(columns->samples_title),
		              (unsigned long long)row->total->sample_count);
	if (columns->has_comparison)
		append_comparison(&report->comparisons[index], out);
	if (report->result->query.by == GG_BY_STACK)
		append_stack(report, columns, row, out);
	else if (columns->names == NULL || columns->labels.failed)
		out->failed = true;
	else
		append_name(report, columns, index, out);
	if (report->comparisons != NULL && !columns->has_comparison)
		append_comparison_line(report, &report->comparisons[index], out);
	if (!has_neighbors(report, index) ||
	    (is_for_a_pipe(report) && report->result->query.by != GG_BY_STACK))
		return;
	append_neighbors(report, index, "  ", report->width, out);
	gg_buf_append_text(out, "\n");
}

/* The verb for a row of the metric: it "holds" memory, or it "allocated" some. */
static const char *verb_of(enum gg_metric metric)
{
	switch (metric) {
	case GG_METRIC_FREED:
		return "freed";
	case GG_METRIC_PINNED:
		return "keeps";
	case GG_METRIC_ALLOCATED:
	case GG_METRIC_TEMPORARY:
		return "allocated";
	default:
		return "holds";
	}
}

/* The sum of what the rows from `first` on have themselves. */
static double sum_from(const struct gg_query_result *result, size_t first)
{
	double sum = 0;

	for (size_t i = first; i < result->row_count; i++)
		sum += gg_tally_estimate(result->rows[i].self, result->query.unit).value;
	return sum;
}

/* Adds a line about the rows that the report does not show. */
static void append_hidden(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	enum gg_quantity unit = result->query.unit;
	const char *of_unit = unit == GG_ALLOCATIONS ? " allocations" : "";
	size_t shown = shown_count(report), hidden = result->row_count - shown;
	double most = hidden > 0 ? gg_report_most_hidden(report, shown) : 0, sum;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (hidden == 0)
		return;
	gg_buf_printf(&text, "%zu more row%s", hidden, hidden == 1 ? "" : "s");
	/* Samples do not tell the number of small allocations; and rows may have only callees. */
	if (isfinite(most) && most > 0) {
		gg_buf_printf(&text, hidden == 1 ? ", which %s at most " : ", each %s at most ",
		              verb_of(result->query.metric));
		gg_figure_append_number(&report->figures, most, unit, &text);
		gg_buf_append_text(&text, of_unit);
		if (has_total(result) && !result->query.sort_by_total)
			gg_buf_append_text(&text, " itself");
	}
	sum = result->query.sort_by_total ? 0 : sum_from(result, shown);
	if (sum > 0) {
		gg_buf_append_text(&text, hidden == 1 ? ": about " : ", about ");
		gg_figure_append_number(&report->figures, sum, unit, &text);
		gg_buf_printf(&text, "%s%s", of_unit, hidden == 1 ? "" : " together");
	}
	gg_buf_append_text(&text, ".");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

static void append_no_match(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query *query = &report->result->query;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (query->focus == NULL && query->ignore == NULL)
		return;
	gg_buf_printf(&text,
	              "%s%s%s left no sample: expressions match any part of the names of "
	              "functions, callers included.",
	              query->focus != NULL ? "--focus" : "",
	              query->focus != NULL && query->ignore != NULL ? " and " : "",
	              query->ignore != NULL ? "--ignore" : "");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

/* Nothing is live, as in every program that frees all; hints at metrics that have more to show. */
static void append_other_metrics(const struct gg_report *report, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (report->result->row_count > 0 || report->model->sample_total == 0)
		return;
	append_no_match(report, out);
	if (report->result->query.metric != GG_METRIC_LIVE)
		return;
	if (gg_model_has_history(report->model))
		gg_buf_append_text(&text, "--metric peak shows the largest moment, ");
	gg_buf_append_text(&text, "--metric allocated all allocations.");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

/* Processes that share blocks have rows that add up to more than the total. */
static void append_shared(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	enum gg_quantity unit = result->query.unit;
	double total = gg_tally_estimate(&result->total, unit).value, sum = 0;

	if (result->query.by != GG_BY_PROCESS)
		return;
	for (size_t i = 0; i < result->row_count; i++)
		sum += gg_tally_estimate(result->rows[i].self, unit).value;
	if (sum > total * (1 + 1e-6))
		gg_screen_text_append_paragraph(
			out,
			"Blocks that processes share by fork count in each row, "
			"once in the total.",
			report->width, report->figures.ascii);
}

/* Appends the lines below the rows: bounds of other rows, and notes. */
static void append_foot(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;

	if (report->head == GG_HEAD_NONE)
		return;
	gg_buf_append_text(out, "\n");
	append_shared(report, out);
	append_hidden(report, out);
	append_other_metrics(report, out);
	if (result->query.metric == GG_METRIC_PINNED)
		gg_report_append_pinned(report, &result->pinned, out);
	else
		gg_report_append_unseen(report, &result->total, out);
	gg_report_append_inexact(report, &result->unplaced, out);
	gg_report_append_notes(report, out);
	gg_report_append_unnamed(report, out);
}

static void append_rows(const struct gg_report *report, struct gg_buf *out)
{
	struct columns columns = lay_out(report);

	find_names(report, &columns);
	if (columns.self.figures == NULL)
		out->failed = true;
	else if (report->result->row_count > 0)
		append_titles(report, &columns, out);
	for (size_t i = 0; i < shown_count(report) && !out->failed; i++)
		append_row(report, &columns, i, out);
	free(columns.self.figures);
	free(columns.names);
	gg_buf_done(&columns.labels);
}

void gg_report_text(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	char what[64];

	snprintf(what, sizeof(what), "in %zu row%s, by %s", result->row_count,
	         result->row_count == 1 ? "" : "s", gg_grouping_name(result->query.by));
	gg_report_append_head(report, out);
	if (gg_model_is_unprofiled(report->model)) {
		gg_report_append_notes(report, out);
		return;
	}
	gg_report_append_title(report, &result->query, result->moment_ns, &result->total,
	                       &result->pinned, what, out);
	append_rows(report, out);
	append_foot(report, out);
}
