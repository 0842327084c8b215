/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/printable.h"
#include "report/screen_text.h"
#include "report/text_cells.h"

void gg_text_table_done(struct gg_text_table *table)
{
	gg_buf_done(&table->cells);
	*table = (struct gg_text_table){ 0 };
}

static void keep_text(struct gg_text_table *table, size_t column, const char *text)
{
	size_t width, begin = table->cells.length;

	gg_printable_append(&table->cells, text, strlen(text), GG_PRINTABLE_ESCAPE);
	gg_buf_append(&table->cells, "", 1);
	if (table->cells.failed)
		return;
	width = gg_text_cells(table->cells.data + begin, table->cells.length - begin - 1);
	if (width > table->width[column])
		table->width[column] = width;
}

void gg_text_table_column(struct gg_text_table *table, enum gg_align align, const char *head)
{
	gg_assert(table->cell_count == 0 && table->column_count < GG_TEXT_TABLE_MAX_COLUMNS);
	table->align[table->column_count] = align;
	keep_text(table, table->column_count++, head);
}

/* Takes off what was cut in the middle of a character. */
static void cut_whole(char *text)
{
	size_t length = strlen(text), begin = length;

	while (begin > 0 && length - begin < 4 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
		begin--;
	if (begin > 0 && (unsigned char)text[begin - 1] >= 0xc0 &&
	    gg_utf8_length((unsigned char *)text + begin - 1) == 0)
		text[begin - 1] = '\0';
}

void gg_text_table_cell(struct gg_text_table *table, const char *format, ...)
{
	char text[2048]; /* a longer cell is cut */
	va_list values;

	va_start(values, format);
	if (vsnprintf(text, sizeof(text), format, values) >= (int)sizeof(text))
		cut_whole(text);
	va_end(values);
	keep_text(table, table->cell_count++ % table->column_count, text);
}

/* The texts before, between and after the cells of a row. */
struct frame {
	const char *before, *between, *after;
};

static const struct frame plain = { "", "  ", "\n" }, markdown = { "| ", " | ", " |\n" };

static void print_cut(const char *text, size_t width, FILE *stream)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf cut = { 0 };

	gg_screen_text_append(&cut, text, width, !gg_screen_text_is_utf8());
	fputs(gg_buf_text(&cut), stream);
}

/* Prints one row's cells from `text` on and returns where the next row starts. */
static const char *print_row(const struct gg_text_table *table, const char *text,
                             const struct frame *frame, FILE *stream)
{
	fputs(frame->before, stream);
	for (size_t column = 0; column < table->column_count; column++) {
		int pad = (int)(table->width[column] - gg_text_cells(text, strlen(text)));
		bool last = column + 1 == table->column_count;
		bool pad_left = table->align[column] == GG_ALIGN_RIGHT;
		bool pad_right = !pad_left && (!last || frame == &markdown);

		if (last && frame == &plain && table->last_width_max > 0)
			print_cut(text, table->last_width_max, stream);
		else
			fprintf(stream, "%*s%s%*s%s", pad_left ? pad : 0, "", text,
			        pad_right ? pad : 0, "", last ? "" : frame->between);
		text += strlen(text) + 1;
	}
	return text;
}

/* May it be printed, and is there anything to print? */
static int check(const struct gg_text_table *table)
{
	gg_assert(table->column_count == 0 || table->cell_count % table->column_count == 0);
	return table->cells.failed ? -ENOMEM : 0;
}

static void print_body(const struct gg_text_table *table, const char *text,
                       const struct frame *frame, FILE *stream)
{
	for (size_t row = 0; row < table->cell_count / table->column_count; row++) {
		text = print_row(table, text, frame, stream);
		fputs(frame->after, stream);
	}
}

int gg_text_table_print(const struct gg_text_table *table, const struct gg_style *style,
                        FILE *stream)
{
	const char *text = gg_buf_text(&table->cells);
	int status = check(table);

	if (status < 0 || table->column_count == 0)
		return status;
	fputs(style->heading, stream);
	text = print_row(table, text, &plain, stream);
	fprintf(stream, "%s\n", style->reset);
	print_body(table, text, &plain, stream);
	return 0;
}

int gg_text_table_print_markdown(const struct gg_text_table *table, FILE *stream)
{
	const char *text = gg_buf_text(&table->cells);
	int status = check(table);

	if (status < 0 || table->column_count == 0)
		return status;
	text = print_row(table, text, &markdown, stream);
	fputs(markdown.after, stream);
	for (size_t column = 0; column < table->column_count; column++)
		fputs(table->align[column] == GG_ALIGN_RIGHT ? "|-:" : "|-", stream);
	fputs("|\n", stream);
	print_body(table, text, &markdown, stream);
	return 0;
}
