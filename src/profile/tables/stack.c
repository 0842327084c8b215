/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack - the table of stacks.
 */
#include "profile/tables/record_table.h"

static const struct gg_column stack_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_stack, id),
	  .target = GG_DENSE_STACK },
	{ "parent", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_stack, parent),
	  .target = GG_DENSE_STACK },
	{ "frame", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_stack, frame),
	  .target = GG_DENSE_FRAME },
};

const struct gg_record_table gg_record_table_stack = {
	.name = "stack",
	.create = "stack(\n"
		  "  id integer primary key, parent integer references stack(id),\n"
		  "  frame integer references frame(id))",
	.insert = "insert",
	.sql = GG_SQL_STACK,
	.columns = stack_columns,
	.column_count = GG_COUNT(stack_columns),
};

int gg_profile_each_stack(struct gg_profile *profile, gg_stack_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_stack stack;

	gg_record_table_select(&reading, profile, &gg_record_table_stack, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_stack, &stack)) {
		if (stack.parent >= stack.id && stack.id != 0) { /* it would be its own caller */
			stack.parent = 0;
			profile->dangling_count++;
		}
		if (stack.id != 0)
			gg_row_reader_visited(&reading, visit(&stack, context));
	}
	return gg_row_reader_end(&reading, error);
}
