/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums - the tables of the summary.
 */
#include "profile/tables/sums.h"

#include "profile/tables/record_table.h"

static const struct gg_column stack_sum_columns[] = {
	{ "stack", GG_COLUMN_KEY_ID, .offset = offsetof(struct gg_stack_sum_row, stack),
	  .target = GG_DENSE_STACK },
	{ "live_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_stack_sum_row, sums.live.sample_count) },
	{ "live_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.live.bytes) },
	{ "live_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.live.bytes_variance) },
	{ "live_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.live.count) },
	{ "live_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.live.count_variance) },
	{ "allocated_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_stack_sum_row, sums.allocated.sample_count) },
	{ "allocated_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.allocated.bytes) },
	{ "allocated_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.allocated.bytes_variance) },
	{ "allocated_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.allocated.count) },
	{ "allocated_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.allocated.count_variance) },
	{ "left_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_stack_sum_row, sums.left.sample_count) },
	{ "left_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.left.bytes) },
	{ "left_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.left.bytes_variance) },
	{ "left_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.left.count) },
	{ "left_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_stack_sum_row, sums.left.count_variance) },
};

static const struct gg_record_table_older older_stack_sum[] = {
	{ 2,
	  "stack_sum(\n"
	  "  stack integer primary key,\n" /* 0: none */
	  "  live_samples integer, live_bytes real, live_bytes_variance real, live_count real,\n"
	  "  live_count_variance real, allocated_samples integer, allocated_bytes real,\n"
	  "  allocated_bytes_variance real, allocated_count real, allocated_count_variance real)" },
	{ 0 },
};

const struct gg_record_table gg_record_table_stack_sum = {
	.name = "stack_sum",
	.create =
		"stack_sum(\n"
		"  stack integer primary key,\n" /* 0: none */
		"  live_samples integer, live_bytes real, live_bytes_variance real, live_count real,\n"
		"  live_count_variance real, allocated_samples integer, allocated_bytes real,\n"
		"  allocated_bytes_variance real, allocated_count real, allocated_count_variance real,\n"
		"  left_samples integer, left_bytes real, left_bytes_variance real, left_count real,\n"
		"  left_count_variance real)",
	.older = older_stack_sum,
	.insert = "insert",
	.sql = GG_SQL_STACK_SUM,
	.columns = stack_sum_columns,
	.column_count = GG_COUNT(stack_sum_columns),
};

static const struct gg_column function_sum_columns[] = {
	{ "function", GG_COLUMN_TEXT, .offset = offsetof(struct gg_function_sum_row, function) },
	{ "module", GG_COLUMN_ID, .offset = offsetof(struct gg_function_sum_row, module),
	  .target = GG_DENSE_MODULE },
	{ "file", GG_COLUMN_TEXT, .offset = offsetof(struct gg_function_sum_row, file) },
	{ "self_live_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, self.live.sample_count) },
	{ "self_live_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.live.bytes) },
	{ "self_live_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.live.bytes_variance) },
	{ "self_live_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.live.count) },
	{ "self_live_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.live.count_variance) },
	{ "self_allocated_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, self.allocated.sample_count) },
	{ "self_allocated_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.allocated.bytes) },
	{ "self_allocated_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.allocated.bytes_variance) },
	{ "self_allocated_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.allocated.count) },
	{ "self_allocated_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.allocated.count_variance) },
	{ "live_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, total.live.sample_count) },
	{ "live_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.live.bytes) },
	{ "live_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.live.bytes_variance) },
	{ "live_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.live.count) },
	{ "live_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.live.count_variance) },
	{ "allocated_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, total.allocated.sample_count) },
	{ "allocated_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.allocated.bytes) },
	{ "allocated_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.allocated.bytes_variance) },
	{ "allocated_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.allocated.count) },
	{ "allocated_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.allocated.count_variance) },
	{ "self_left_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, self.left.sample_count) },
	{ "self_left_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.left.bytes) },
	{ "self_left_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.left.bytes_variance) },
	{ "self_left_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.left.count) },
	{ "self_left_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, self.left.count_variance) },
	{ "left_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct gg_function_sum_row, total.left.sample_count) },
	{ "left_bytes", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.left.bytes) },
	{ "left_bytes_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.left.bytes_variance) },
	{ "left_count", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.left.count) },
	{ "left_count_variance", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct gg_function_sum_row, total.left.count_variance) },
	{ "full_name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_function_sum_row, full_name) },
};

static const struct gg_record_table_older older_function_sum[] = {
	{ 2,
	  "function_sum(\n"
	  "  id integer primary key, function text, module integer references module(id), file text,\n"
	  "  self_live_samples integer, self_live_bytes real, self_live_bytes_variance real,\n"
	  "  self_live_count real, self_live_count_variance real,\n"
	  "  self_allocated_samples integer, self_allocated_bytes real, self_allocated_bytes_variance real,\n"
	  "  self_allocated_count real, self_allocated_count_variance real,\n"
	  "  live_samples integer, live_bytes real, live_bytes_variance real, live_count real,\n"
	  "  live_count_variance real, allocated_samples integer, allocated_bytes real,\n"
	  "  allocated_bytes_variance real, allocated_count real, allocated_count_variance real)" },
	{ 0 },
};

const struct gg_record_table gg_record_table_function_sum = {
	.name = "function_sum",
	.create =
		"function_sum(\n"
		"  id integer primary key, function text, module integer references module(id), file text,\n"
		"  self_live_samples integer, self_live_bytes real, self_live_bytes_variance real,\n"
		"  self_live_count real, self_live_count_variance real,\n"
		"  self_allocated_samples integer, self_allocated_bytes real, self_allocated_bytes_variance real,\n"
		"  self_allocated_count real, self_allocated_count_variance real,\n"
		"  live_samples integer, live_bytes real, live_bytes_variance real, live_count real,\n"
		"  live_count_variance real, allocated_samples integer, allocated_bytes real,\n"
		"  allocated_bytes_variance real, allocated_count real, allocated_count_variance real,\n"
		"  self_left_samples integer, self_left_bytes real, self_left_bytes_variance real,\n"
		"  self_left_count real, self_left_count_variance real,\n"
		"  left_samples integer, left_bytes real, left_bytes_variance real, left_count real,\n"
		"  left_count_variance real, full_name text)",
	.older = older_function_sum,
	.insert = "insert",
	.sql = GG_SQL_FUNCTION_SUM,
	.columns = function_sum_columns,
	.column_count = GG_COUNT(function_sum_columns),
};
