/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line - the tables of lines and of the symbols that lines share.
 */
#include "profile/tables/record_table.h"

static const struct gg_column symbol_columns[] = {
	{ "id", GG_COLUMN_NONZERO, .offset = offsetof(struct gg_symbol_row, id) },
	{ "function", GG_COLUMN_TEXT, .offset = offsetof(struct gg_symbol_row, texts[0]) },
	{ "full_name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_symbol_row, texts[1]) },
	{ "linkage_name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_symbol_row, texts[2]) },
	{ "file", GG_COLUMN_TEXT, .offset = offsetof(struct gg_symbol_row, texts[3]) },
};

const struct gg_record_table gg_record_table_symbol = {
	.name = "symbol",
	.create =
		"symbol(\n"
		"  id integer primary key, function text, full_name text, linkage_name text, file text)",
	.insert = "insert",
	.sql = GG_SQL_SYMBOL,
	.columns = symbol_columns,
	.column_count = GG_COUNT(symbol_columns),
};

static const struct gg_column line_columns[] = {
	{ "frame", GG_COLUMN_ID, .offset = offsetof(struct gg_line_row, frame),
	  .target = GG_DENSE_FRAME },
	{ "depth", GG_COLUMN_UINT32, .offset = offsetof(struct gg_line_row, depth) },
	{ "symbol", GG_COLUMN_NONZERO, .offset = offsetof(struct gg_line_row, symbol) },
	{ "line", GG_COLUMN_NONZERO, .offset = offsetof(struct gg_line_row, line) },
	{ "inlined", GG_COLUMN_BOOL, .offset = offsetof(struct gg_line_row, inlined) },
};

const struct gg_record_table gg_record_table_line = {
	.name = "line",
	.create =
		"line(\n"
		"  frame integer references frame(id), depth integer, symbol integer references symbol(id),\n"
		"  line integer, inlined integer, primary key(frame, depth)) without rowid",
	.insert = "insert",
	.sql = GG_SQL_LINE,
	.columns = line_columns,
	.column_count = GG_COUNT(line_columns),
};

/* Readers get each line with its names. */
static const struct gg_column joined_columns[] = {
	{ "frame", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_line, frame),
	  .target = GG_DENSE_FRAME },
	{ "depth", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_line, depth) },
	{ "function", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_line, function) },
	{ "full_name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_line, full_name) },
	{ "linkage_name", GG_COLUMN_TEXT,
	  .offset = offsetof(struct gg_profile_line, linkage_name) },
	{ "file", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_line, file) },
	{ "line", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_line, line) },
	{ "inlined", GG_COLUMN_BOOL, .offset = offsetof(struct gg_profile_line, inlined) },
};

static const struct gg_record_table joined = {
	.name = "line left join symbol on symbol.id = line.symbol",
	.columns = joined_columns,
	.column_count = GG_COUNT(joined_columns),
};

int gg_profile_each_line(struct gg_profile *profile, gg_line_visit *visit, void *context,
                         struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_line record;

	gg_record_table_select(&reading, profile, &joined, " order by frame, depth");
	while (gg_record_table_next(&reading, &joined, &record))
		if (record.frame != 0)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
