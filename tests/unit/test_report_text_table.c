/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_text_table - shows how tables are aligned, truncated, and written as Markdown. */
#include "report/text_table.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "report/text_cells.h"
#include "test.h"

static bool prints(const struct gg_text_table *table, const char *expected)
{
	const struct gg_style plain = gg_style_for(GG_COLOR_NEVER, 1);
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);
	bool same;

	CHECK_EQ_I64(gg_text_table_print(table, &plain, stream), 0);
	fclose(stream);
	same = CHECK_MSG(strcmp(text, expected) == 0, "%s", text);
	free(text);
	return same;
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	gg_text_table_column(&table, GG_ALIGN_LEFT, "function");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "size");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "note");
	gg_text_table_cell(&table, "f");
	gg_text_table_cell(&table, "%d", 123456);
	gg_text_table_cell(&table, "x");
	gg_text_table_cell(&table, "longer_name");
	gg_text_table_cell(&table, "%d", 7);
	gg_text_table_cell(&table, "%s", "");
	prints(&table, "function       size  note\n"
	               "f            123456  x\n"
	               "longer_name       7  \n");
}

TEST(columns_are_aligned_by_cells_of_the_terminal)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	if (gg_text_cells("\u4e2d", strlen("\u4e2d")) != 2)
		SKIP("no locale C.UTF-8");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "function");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "size");
	gg_text_table_cell(&table, "\u4e2d\u6587::f");
	gg_text_table_cell(&table, "1");
	gg_text_table_cell(&table, "e\u0301te\u0301");
	gg_text_table_cell(&table, "2");
	prints(&table, "function  size\n"
	               "\u4e2d\u6587::f      1\n"
	               "e\u0301te\u0301          2\n");
}

TEST(wide_bytes_count_as_one_character)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	gg_text_table_column(&table, GG_ALIGN_RIGHT, "\xc2\xb1");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "b");
	gg_text_table_cell(&table, "xyz");
	gg_text_table_cell(&table, "1");
	prints(&table, "  \xc2\xb1  b\nxyz  1\n");
}

TEST(a_document_gets_markdown)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	gg_text_table_column(&table, GG_ALIGN_LEFT, "program");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "n");
	gg_text_table_cell(&table, "a");
	gg_text_table_cell(&table, "10");
	CHECK_EQ_I64(gg_text_table_print_markdown(&table, stream), 0);
	fclose(stream);
	CHECK_MSG(strcmp(text, "| program |  n |\n|-|-:|\n| a       | 10 |\n") == 0, "%s", text);
	free(text);
}

TEST(a_table_without_rows_is_its_head)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	prints(&table, "");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "only");
	prints(&table, "only\n");
}

TEST(a_cell_that_is_too_long_is_cut)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	gg_text_table_column(&table, GG_ALIGN_LEFT, "x");
	gg_text_table_cell(&table, "%5000d", 1);
	CHECK_EQ_U64(table.width[0], 2047);
}
