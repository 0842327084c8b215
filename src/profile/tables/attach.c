/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach - the table of processes to which the agent was attached.
 */
#include "profile/tables/record_table.h"

static const struct gg_column attach_columns[] = {
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_attach, process),
	  .target = GG_DENSE_PROCESS },
	{ "time_ns", GG_COLUMN_MOMENT, .offset = offsetof(struct gg_profile_attach, time_ns) },
	{ "age_ns", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_attach, age_ns) },
	{ "older_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_attach, older_bytes) },
	{ "older_source", GG_COLUMN_TEXT,
	  .offset = offsetof(struct gg_profile_attach, older_source) },
	{ "unseen_slots", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_attach, unseen_slot_count) },
	{ "is_inherited", GG_COLUMN_BOOL,
	  .offset = offsetof(struct gg_profile_attach, is_inherited) },
};

const struct gg_record_table gg_record_table_attach = {
	.name = "attach",
	.create = "attach(\n"
		  "  process integer primary key references process(id), time_ns integer,\n"
		  "  age_ns integer, older_bytes integer, older_source text,\n"
		  "  unseen_slots integer, is_inherited integer)",
	.from_version = GG_PROFILE_VERSION_ATTACH,
	.insert = "insert or replace",
	.sql = GG_SQL_ATTACH,
	.columns = attach_columns,
	.column_count = GG_COUNT(attach_columns),
};

int gg_profile_put_attach(struct gg_profile *profile, const struct gg_profile_attach *attach,
                          struct gg_error *error)
{
	return gg_record_table_insert(profile, &gg_record_table_attach, attach, error);
}

int gg_profile_each_attach(struct gg_profile *profile, gg_attach_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_attach record;

	gg_record_table_select(&reading, profile, &gg_record_table_attach, " order by process");
	while (gg_record_table_next(&reading, &gg_record_table_attach, &record))
		if (record.process != 0)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
