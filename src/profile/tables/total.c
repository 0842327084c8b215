/* SPDX-License-Identifier: Apache-2.0 */
/*
 * total - the table of site totals.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/tables/record_table.h"

/* The histogram is a text: "[0,0,12]", without trailing zeros. */
struct site_total_row {
	struct gg_profile_total total;
	const char *lifetimes;
};

static const struct gg_column total_columns[] = {
	{ "process", GG_COLUMN_KEY_ID, .offset = offsetof(struct site_total_row, total.process),
	  .target = GG_DENSE_PROCESS },
	{ "thread", GG_COLUMN_KEY_ID, .offset = offsetof(struct site_total_row, total.thread),
	  .target = GG_DENSE_THREAD },
	{ "stack", GG_COLUMN_KEY_ID, .offset = offsetof(struct site_total_row, total.stack),
	  .target = GG_DENSE_STACK },
	{ "allocated_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct site_total_row, total.allocated.sample_count) },
	{ "allocated_size", GG_COLUMN_COUNT,
	  .offset = offsetof(struct site_total_row, total.allocated.size_bytes) },
	{ "allocated_count", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.allocated.count) },
	{ "allocated_count_variance", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.allocated.count_variance) },
	{ "allocated_bytes", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.allocated.bytes) },
	{ "allocated_bytes_variance", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.allocated.bytes_variance) },
	{ "freed_samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct site_total_row, total.freed.sample_count) },
	{ "freed_size", GG_COLUMN_COUNT,
	  .offset = offsetof(struct site_total_row, total.freed.size_bytes) },
	{ "freed_count", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.freed.count) },
	{ "freed_count_variance", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.freed.count_variance) },
	{ "freed_bytes", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.freed.bytes) },
	{ "freed_bytes_variance", GG_COLUMN_FIXED,
	  .offset = offsetof(struct site_total_row, total.freed.bytes_variance) },
	{ "lifetimes", GG_COLUMN_TEXT, .offset = offsetof(struct site_total_row, lifetimes) },
};

const struct gg_record_table gg_record_table_total = {
	.name = "total",
	.create =
		"total(\n"
		"  process integer, thread integer, stack integer,\n" /* 0: none */
		"  allocated_samples integer, allocated_size integer, allocated_count real,\n"
		"  allocated_count_variance real, allocated_bytes real, allocated_bytes_variance real,\n"
		"  freed_samples integer, freed_size integer, freed_count real,\n"
		"  freed_count_variance real, freed_bytes real, freed_bytes_variance real,\n"
		"  lifetimes text, primary key(process, thread, stack)) without rowid",
	.insert = "insert or replace",
	.sql = GG_SQL_TOTAL,
	.columns = total_columns,
	.column_count = GG_COUNT(total_columns),
};

/* Writes "[0,0,12]", without trailing zeros. */
static void print_lifetimes(struct gg_buf *text, const uint32_t *lifetimes, size_t count)
{
	while (count > 0 && lifetimes[count - 1] == 0)
		count--;
	gg_buf_append_text(text, "[");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			gg_buf_append(text, ",", 1);
		gg_buf_append_number(text, lifetimes[i]);
	}
	gg_buf_append_text(text, "]");
}

int gg_profile_put_total(struct gg_profile *profile, const struct gg_profile_total *total,
                         struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf lifetimes = { 0 };
	struct site_total_row row = { .total = *total };

	print_lifetimes(&lifetimes, total->lifetimes, GG_COUNT(total->lifetimes));
	if (lifetimes.failed)
		return gg_error_memory(error, profile->path);
	row.lifetimes = gg_buf_text(&lifetimes);
	return gg_record_table_insert(profile, &gg_record_table_total, &row, error);
}

/* Reads "[0,0,12]".  False: the text has another form. */
static bool parse_lifetimes(const char *text, uint32_t *lifetimes, size_t count)
{
	char *end;

	if (text == NULL || *text++ != '[')
		return text == NULL;
	for (size_t i = 0; i < count && *text != ']'; i++) {
		unsigned long value = strtoul(text, &end, 10);

		if (end == text || value > UINT32_MAX)
			return false;
		lifetimes[i] = (uint32_t)value;
		text = end + (*end == ',');
	}
	return strcmp(text, "]") == 0;
}

int gg_profile_each_total(struct gg_profile *profile, gg_total_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct site_total_row row;

	gg_record_table_select(&reading, profile, &gg_record_table_total,
	                       " order by process, thread, stack");
	while (gg_record_table_next(&reading, &gg_record_table_total, &row)) {
		memset(row.total.lifetimes, 0, sizeof(row.total.lifetimes));
		if (!parse_lifetimes(row.lifetimes, row.total.lifetimes,
		                     GG_COUNT(row.total.lifetimes))) {
			memset(row.total.lifetimes, 0, sizeof(row.total.lifetimes));
			profile->dangling_count++;
		}
		gg_row_reader_visited(&reading, visit(&row.total, context));
	}
	return gg_row_reader_end(&reading, error);
}
