/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault - the table of memory errors that guarded blocks have shown.
 */
#include "profile/tables/record_table.h"

#define AT(member)    .offset = offsetof(struct gg_profile_fault, member)
#define STACK(member) GG_COLUMN_ID, AT(member.stack), .target = GG_DENSE_STACK

static const struct gg_column fault_columns[] = {
	{ "process", GG_COLUMN_ID, AT(process), .target = GG_DENSE_PROCESS },
	{ "kind", GG_COLUMN_TEXT, AT(kind) },
	{ "access", GG_COLUMN_TEXT, AT(access) },
	{ "at_free", GG_COLUMN_BOOL, AT(at_free) },
	{ "address", GG_COLUMN_BITS, AT(address) },
	{ "block", GG_COLUMN_BITS, AT(block) },
	{ "size", GG_COLUMN_COUNT, AT(size_bytes) },
	{ "time_ns", GG_COLUMN_MOMENT, AT(accessed.time_ns) },
	{ "tid", GG_COLUMN_NONZERO, AT(accessed.tid) },
	{ "stack", STACK(accessed) },
	{ "t_alloc", GG_COLUMN_TIME, AT(allocated.time_ns) },
	{ "alloc_tid", GG_COLUMN_NONZERO, AT(allocated.tid) },
	{ "alloc_stack", STACK(allocated) },
	{ "t_free", GG_COLUMN_TIME, AT(freed.time_ns) },
	{ "free_tid", GG_COLUMN_NONZERO, AT(freed.tid) },
	{ "free_stack", STACK(freed) },
};

const struct gg_record_table gg_record_table_fault = {
	.name = "fault",
	.create =
		"fault(\n"
		"  id integer primary key, process integer references process(id), kind text,\n"
		"  access text, at_free integer, address integer, block integer, size integer,\n"
		"  time_ns integer, tid integer, stack integer references stack(id),\n"
		"  t_alloc integer, alloc_tid integer, alloc_stack integer references stack(id),\n"
		"  t_free integer, free_tid integer, free_stack integer references stack(id))",
	.from_version = GG_PROFILE_VERSION_FAULT,
	.insert = "insert",
	.sql = GG_SQL_FAULT,
	.columns = fault_columns,
	.column_count = GG_COUNT(fault_columns),
};

int gg_profile_add_fault(struct gg_profile *profile, const struct gg_profile_fault *fault,
                         struct gg_error *error)
{
	return gg_record_table_insert(profile, &gg_record_table_fault, fault, error);
}

int gg_profile_each_fault(struct gg_profile *profile, gg_fault_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_fault record;

	gg_record_table_select(&reading, profile, &gg_record_table_fault, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_fault, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
