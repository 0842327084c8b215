/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name - the tables of the names of heaps and types.
 */
#include "profile/tables/record_table.h"

static const struct gg_column heap_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_name_row, id), .target = GG_DENSE_HEAP },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_name_row, name) },
};

const struct gg_record_table gg_record_table_heap = {
	.name = "heap",
	.create = "heap(id integer primary key, name text)",
	.insert = "insert",
	.sql = GG_SQL_HEAP,
	.columns = heap_columns,
	.column_count = GG_COUNT(heap_columns),
};

static const struct gg_column type_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_name_row, id), .target = GG_DENSE_TYPE },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_name_row, name) },
};

const struct gg_record_table gg_record_table_type = {
	.name = "type",
	.create = "type(id integer primary key, name text)",
	.insert = "insert",
	.sql = GG_SQL_TYPE,
	.columns = type_columns,
	.column_count = GG_COUNT(type_columns),
};

int gg_profile_each_name(struct gg_profile *profile, enum gg_name_kind kind, gg_name_visit *visit,
                         void *context, struct gg_error *error)
{
	const struct gg_record_table *table = kind == GG_NAME_HEAP ? &gg_record_table_heap
	                                                           : &gg_record_table_type;
	struct gg_row_reader reading;
	struct gg_name_row row;

	gg_record_table_select(&reading, profile, table, " order by id");
	while (gg_record_table_next(&reading, table, &row))
		if (row.id != 0)
			gg_row_reader_visited(&reading, visit(row.id, row.name, context));
	return gg_row_reader_end(&reading, error);
}
