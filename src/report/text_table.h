/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_table - prints rows and columns for people.
 *
 *   GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
 *   gg_text_table_column(&table, GG_ALIGN_LEFT, "function");
 *   gg_text_table_column(&table, GG_ALIGN_RIGHT, "bytes");
 *   gg_text_table_cell(&table, "%s", name);        cells fill row after row
 *   gg_text_table_cell(&table, "%d", bytes);
 *   gg_text_table_print(&table, &style, stdout);
 *
 * Texts are escaped (base/printable.h): a cell is one line and steers no terminal.
 *
 * Columns are as wide as their widest cell and two blanks apart.  Widths count characters of UTF-8
 * text, one cell of the terminal each.
 *
 * Threads    One thread at a time.
 * Full       Without memory `cells.failed` is set, and printing returns -ENOMEM.
 */
#pragma once

#include <stdio.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "report/style.h"

enum gg_align {
	GG_ALIGN_LEFT,
	GG_ALIGN_RIGHT,
};

enum { GG_TEXT_TABLE_MAX_COLUMNS = 64 };

struct gg_text_table {
	struct gg_buf cells; /* all texts in order, heads first; each ends with a 0 byte */
	size_t cell_count;   /* without the heads */
	size_t column_count;
	enum gg_align align[GG_TEXT_TABLE_MAX_COLUMNS];
	size_t width[GG_TEXT_TABLE_MAX_COLUMNS]; /* characters */
	/* gg_text_table_print() cuts cells of the last column to this width; 0: it cuts none. */
	size_t last_width_max;
};

void gg_text_table_done(struct gg_text_table *table);

/* Adds a column with its head.  All columns come before the first cell. */
void gg_text_table_column(struct gg_text_table *table, enum gg_align align, const char *head);

/* Adds the next cell of the row, or the first of a new one. */
void gg_text_table_cell(struct gg_text_table *table, const char *format, ...) GG_PRINTF(2, 3);

/* 0, or -ENOMEM if a cell could not be kept; errors of the stream stay in the stream. */
GG_MUST_CHECK int gg_text_table_print(const struct gg_text_table *table,
                                      const struct gg_style *style, FILE *stream);

/* The same as a table of a Markdown document. */
GG_MUST_CHECK int gg_text_table_print_markdown(const struct gg_text_table *table, FILE *stream);
