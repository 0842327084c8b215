/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module - the tables of modules, their mappings, and the frames in them.
 */
#include "profile/tables/record_table.h"

_Static_assert(offsetof(struct gg_profile_module, build_id_bytes) ==
                       offsetof(struct gg_profile_module, build_id) +
                               offsetof(struct gg_column_blob, length),
               "the build-id and its length are a blob");

static const struct gg_column module_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_module, id),
	  .target = GG_DENSE_MODULE },
	{ "path", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_module, path) },
	{ "build_id", GG_COLUMN_BLOB, .offset = offsetof(struct gg_profile_module, build_id) },
	{ "status", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_module, status) },
};

const struct gg_record_table gg_record_table_module = {
	.name = "module",
	.create = "module(id integer primary key, path text, build_id blob, status text)",
	.insert = "insert",
	.sql = GG_SQL_MODULE,
	.columns = module_columns,
	.column_count = GG_COUNT(module_columns),
};

int gg_profile_each_module(struct gg_profile *profile, gg_module_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_module record;

	gg_record_table_select(&reading, profile, &gg_record_table_module, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_module, &record))
		if (record.id != 0)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

int gg_profile_set_module_status(struct gg_profile *profile, uint32_t module,
                                 const char *symbol_status, struct gg_error *error)
{
	static const char sql[] = "update module set status = ?2 where id = ?1";
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_MODULE_STATUS, sql, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, module);
	gg_statement_text(&row, symbol_status);
	return gg_statement_run(&row, error);
}

/* --- mappings ------------------------------------------------------------------------------- */

static const struct gg_column mapping_columns[] = {
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_mapping, process),
	  .target = GG_DENSE_PROCESS },
	{ "module", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_mapping, module),
	  .target = GG_DENSE_MODULE },
	{ "start", GG_COLUMN_BITS, .offset = offsetof(struct gg_profile_mapping, start) },
	{ "end", GG_COLUMN_BITS, .offset = offsetof(struct gg_profile_mapping, end) },
	{ "file_offset", GG_COLUMN_BITS,
	  .offset = offsetof(struct gg_profile_mapping, file_offset) },
	{ "bias", GG_COLUMN_BITS, .offset = offsetof(struct gg_profile_mapping, bias) },
	{ "load_ns", GG_COLUMN_TIME, .offset = offsetof(struct gg_profile_mapping, load_ns) },
	{ "unload_ns", GG_COLUMN_TIME, .offset = offsetof(struct gg_profile_mapping, unload_ns) },
};

const struct gg_record_table gg_record_table_mapping = {
	.name = "mapping",
	.create = "mapping(\n"
		  "  id integer primary key, process integer references process(id),\n"
		  "  module integer references module(id), start integer, end integer,\n"
		  "  file_offset integer, bias integer, load_ns integer, unload_ns integer)",
	.insert = "insert",
	.sql = GG_SQL_MAPPING,
	.columns = mapping_columns,
	.column_count = GG_COUNT(mapping_columns),
};

int gg_profile_add_mapping(struct gg_profile *profile, const struct gg_profile_mapping *mapping,
                           struct gg_error *error)
{
	return gg_record_table_insert(profile, &gg_record_table_mapping, mapping, error);
}

int gg_profile_each_mapping(struct gg_profile *profile, gg_mapping_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_mapping record;

	gg_record_table_select(&reading, profile, &gg_record_table_mapping, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_mapping, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

/* --- frames --------------------------------------------------------------------------------- */

static const struct gg_column frame_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_frame, id),
	  .target = GG_DENSE_FRAME },
	{ "module", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_frame, module),
	  .target = GG_DENSE_MODULE },
	{ "address", GG_COLUMN_BITS, .offset = offsetof(struct gg_profile_frame, address) },
};

const struct gg_record_table gg_record_table_frame = {
	.name = "frame",
	.create =
		"frame(\n"
		"  id integer primary key, module integer references module(id), address integer)",
	.insert = "insert",
	.sql = GG_SQL_FRAME,
	.columns = frame_columns,
	.column_count = GG_COUNT(frame_columns),
};

int gg_profile_each_frame(struct gg_profile *profile, gg_frame_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_frame record;

	gg_record_table_select(&reading, profile, &gg_record_table_frame, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_frame, &record))
		if (record.id != 0)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
