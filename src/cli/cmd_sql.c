/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_sql - `geiger sql`: queries a profile in SQL, as a table for people or as CSV or JSON for
 * programs.
 *
 * CSV and JSON go out row by row, so a result may have any length.  A table needs all rows first,
 * because the widest cell determines the width of its column.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/sql_pinned_values.h"
#include "profile/sql_query.h"
#include "record/regions/region_profile.h"
#include "report/text_table.h"

struct sql_options {
	bool csv, json;
};

static const struct gg_option sql_option_table[] = {
	{ "csv", 0, GG_OPTION_FLAG, offsetof(struct sql_options, csv), NULL,
	  "print CSV: one line of names, then the rows" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct sql_options, json), NULL,
	  "print JSON: a list with one object a row" },
	GG_OPTIONS_END,
};

/*
 * Lists the tables and views with their columns, for a person who does not know them.  Views come
 * first.
 */
static const char overview[] =
	"select name, type,"
	" (select group_concat(name, ' ') from pragma_table_info(s.name)) as columns from ("
	"  select name, type, 0 as rank from sqlite_temp_schema where name like 'v\\_%' escape '\\'"
	"  union all select name, type, 1 from sqlite_schema where type = 'table'"
	"  and name not like 'sqlite%') as s order by rank, name";

static void append_hex(struct gg_buf *out, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		gg_buf_printf(out, "%02x", (unsigned char)bytes[i]);
}

/* Appends the fewest digits that read back as the same number. */
static void append_exactly(struct gg_buf *out, double number)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	gg_buf_append_text(out, text);
}

/* Appends as many digits as a person reads. */
static void append_roughly(struct gg_buf *out, double number)
{
	gg_buf_printf(out, fabs(number) >= 1000 && fabs(number) < 1e15 ? "%.0f" : "%.5g", number);
}

/* Appends a value as text; bytes become hexadecimal digits, and NULL becomes nothing. */
static void append_value(struct gg_buf *out, const struct gg_sql_query *query, int column,
                         void (*append_number)(struct gg_buf *, double))
{
	size_t length;
	const char *text;

	switch (gg_sql_query_kind(query, column)) {
	case GG_SQL_QUERY_NULL:
		break;
	case GG_SQL_QUERY_INTEGER:
		gg_buf_printf(out, "%" PRId64, gg_sql_query_integer(query, column));
		break;
	case GG_SQL_QUERY_NUMBER:
		append_number(out, gg_sql_query_number(query, column));
		break;
	case GG_SQL_QUERY_TEXT:
		text = gg_sql_query_text(query, column, &length);
		gg_buf_append(out, text, length);
		break;
	case GG_SQL_QUERY_BYTES:
		text = gg_sql_query_text(query, column, &length);
		append_hex(out, text, length);
		break;
	}
}

/* --- CSV (RFC 4180, but lines end in a line feed alone) ------------------------------ */

/*
 * Prints a line and empties it.  Names in a profile are of foreign origin, so a terminal gets them
 * escaped; a pipe or a file gets the exact bytes.
 */
static int put_line(struct gg_buf *line, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf shown = { 0 }; /* with escapes, for a terminal */

	if (line->failed)
		return gg_error_memory(error, "sql");
	if (isatty(STDOUT_FILENO) && gg_printable_lines(&shown, line->data, line->length) < 0)
		return gg_error_memory(error, "sql");
	if (shown.length > 0)
		fwrite(shown.data, 1, shown.length, stdout);
	else
		fwrite(gg_buf_text(line), 1, line->length, stdout);
	gg_buf_clear(line);
	return 0;
}

static int print_csv(struct gg_sql_query *query, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf value = { 0 };
	int status;

	for (int i = 0; i < gg_sql_query_column_count(query); i++) {
		const char *name = gg_sql_query_column_name(query, i);

		gg_buf_append_text(&line, i > 0 ? "," : "");
		gg_csv_append(&line, name, strlen(name));
	}
	gg_buf_append_text(&line, "\n");
	status = put_line(&line, error);
	while (status == 0 && (status = gg_sql_query_next(query, error)) > 0) {
		for (int i = 0; i < gg_sql_query_column_count(query); i++) {
			gg_buf_append_text(&line, i > 0 ? "," : "");
			gg_buf_clear(&value);
			append_value(&value, query, i, append_exactly);
			/* An empty cell is NULL; gg_csv_append() writes an empty text as "". */
			if (gg_sql_query_kind(query, i) != GG_SQL_QUERY_NULL)
				gg_csv_append(&line, gg_buf_text(&value), value.length);
		}
		gg_buf_append_text(&line, "\n");
		line.failed |= value.failed;
		status = put_line(&line, error);
	}
	return status;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_json(struct gg_json *json, const struct gg_sql_query *query, int column)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf hex = { 0 };
	const char *name = gg_sql_query_column_name(query, column), *text;
	int64_t integer;
	size_t length;

	switch (gg_sql_query_kind(query, column)) {
	case GG_SQL_QUERY_NULL:
		gg_json_text(json, name, NULL);
		break;
	case GG_SQL_QUERY_INTEGER:
		integer = gg_sql_query_integer(query, column);
		if (integer >= 0)
			gg_json_integer(json, name, (uint64_t)integer);
		else
			/*
			 * The JSON writer has only unsigned integers; a double is exact down to
			 * -2^53.
			 */
			gg_json_number(json, name, (double)integer);
		break;
	case GG_SQL_QUERY_NUMBER:
		gg_json_number(json, name, gg_sql_query_number(query, column));
		break;
	case GG_SQL_QUERY_TEXT:
		gg_json_text(json, name, gg_sql_query_text(query, column, NULL));
		break;
	case GG_SQL_QUERY_BYTES:
		text = gg_sql_query_text(query, column, &length);
		append_hex(&hex, text, length);
		gg_json_text(json, name, gg_buf_text(&hex));
		break;
	}
}

static int print_json(struct gg_sql_query *query, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	int status = 0;

	gg_json_open(&json, NULL, '[');
	while (status == 0 && (status = gg_sql_query_next(query, error)) > 0) {
		gg_json_open(&json, NULL, '{');
		for (int i = 0; i < gg_sql_query_column_count(query); i++)
			put_json(&json, query, i);
		gg_json_close(&json);
		status = put_line(&text, error);
	}
	gg_json_close(&json);
	gg_buf_append_text(&text, "\n");
	return status == 0 ? put_line(&text, error) : status;
}

/* --- a table --------------------------------------------------------------------------------- */

static void add_cell(struct gg_text_table *table, const struct gg_sql_query *query, int column)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf value = { 0 };

	append_value(&value, query, column, append_roughly);
	gg_text_table_cell(table, "%s", gg_buf_text(&value));
}

static void add_columns(struct gg_text_table *table, const struct gg_sql_query *query, int row)
{
	for (int i = 0; i < gg_sql_query_column_count(query); i++) {
		/*
		 * SQLite columns have no fixed type, so a result without rows has only left-aligned
		 * heads.
		 */
		enum gg_sql_query_kind kind = row > 0 ? gg_sql_query_kind(query, i)
		                                      : GG_SQL_QUERY_TEXT;
		bool is_number = kind == GG_SQL_QUERY_INTEGER || kind == GG_SQL_QUERY_NUMBER;

		gg_text_table_column(table, is_number ? GG_ALIGN_RIGHT : GG_ALIGN_LEFT,
		                     gg_sql_query_column_name(query, i));
	}
}

static int print_table(struct gg_sql_query *query, const struct gg_style *style,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	int status, row = 0;

	/* Programs get any number of columns, but a table has no room for them. */
	if (gg_sql_query_column_count(query) > GG_TEXT_TABLE_MAX_COLUMNS)
		return gg_error_set(error, -EINVAL, "sql",
		                    "Name the columns, or print --csv or --json.",
		                    "%d columns are more than the %d of a table",
		                    gg_sql_query_column_count(query), GG_TEXT_TABLE_MAX_COLUMNS);
	while ((status = gg_sql_query_next(query, error)) > 0) {
		if (row == 0)
			/*
			 * The kinds of the first row's values decide how the columns are aligned.
			 */
			add_columns(&table, query, status);
		for (int i = 0; i < gg_sql_query_column_count(query); i++)
			add_cell(&table, query, i);
		row = 1;
	}
	if (status < 0)
		return status;
	if (row == 0)
		add_columns(&table, query, 0);
	if (gg_text_table_print(&table, style, stdout) < 0)
		return gg_error_set_errno(error, ENOMEM, "sql",
		                          "Ask for fewer rows, or print --csv.");
	return 0;
}

/* Answers the question, or lists the tables and views. */
static int answer(struct gg_invocation *invocation, struct gg_profile *profile)
{
	const struct sql_options *options = invocation->options;
	const char *question = invocation->operand_count > 1 ? invocation->operands[1] : overview;
	struct gg_error *error = invocation->error;
	struct gg_sql_pinned_values values = { 0 };
	struct gg_sql_query *query = NULL;
	int status = gg_sql_pinned_values_find(&values, profile, question, error);

	if (status == 0)
		status = gg_sql_query_new_pinned(&query, profile, question, &values.source, error);
	if (status == 0 && options->csv)
		status = print_csv(query, error);
	else if (status == 0 && options->json)
		status = print_json(query, error);
	else if (status == 0)
		status = print_table(query, &invocation->style, error);
	gg_sql_query_free(query);
	gg_sql_pinned_values_done(&values);
	return status;
}

static int run_sql(struct gg_invocation *invocation)
{
	const struct sql_options *options = invocation->options;
	struct gg_error *error = invocation->error;
	struct gg_profile *profile;
	struct gg_progress_line line;
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(error, -EINVAL, "sql",
		                    "Name one and ask, for example, 'select * from v_function'.",
		                    "no profile was given");
	if (options->csv && options->json)
		return gg_error_set(error, -EINVAL, "sql", "Give one of the two.",
		                    "both --csv and --json");
	gg_progress_line_init(&line);
	status = gg_region_profile_open(&profile, invocation->operands[0], &line.progress, error);
	gg_progress_line_end(&line);
	if (status < 0)
		return status;
	status = answer(invocation, profile);
	gg_profile_close(profile);
	return status;
}

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success" },
	{ "1", "the file is no profile, or damaged" },
	{ "2", "the question is wrong or would change something" },
	{ NULL, NULL },
};

const struct gg_command gg_command_sql = {
	.name = "sql",
	.summary = "ask a profile in SQL",
	.usage = "FILE [QUESTION]",
	.details =
		"QUESTION is one SQLite statement that only reads.  Without it, the command\n"
		"lists tables and views with their columns, which docs/internals/PROFILE.md\n"
		"explains.\n"
		"\n"
		"Views make common questions one line:\n"
		"  v_function  what functions hold and allocated: alone, and with what they call\n"
		"  v_stack     the same for each stack, written as main;parse;malloc\n"
		"  v_timeline  100 moments of the recording: live estimate, allocations, RSS\n"
		"  v_leak      what was live at the end, by stack, with first and last time\n"
		"  v_sample    each sample with what it stands for: count, bytes and variances\n"
		"  v_pinned    free memory that blocks keep, for each block that a look chose\n"
		"  v_attach    processes to which the agent was attached: when, what was older\n"
		"  v_fault     memory errors of guarded blocks, with functions of their stacks\n"
		"\n"
		"Functions, beside SQLite's: gg_size(bytes) writes a size for people;\n"
		"gg_bytes_low, gg_bytes_high, gg_count_low, gg_count_high(scheme, interval,\n"
		"offset, marks, size [, confidence]) are the ends of the confidence interval of a\n"
		"group of rows of v_sample.  gg_pinned_bytes, gg_pinned_low and\n"
		"gg_pinned_high(sample [, 'peak']) are the estimate and the ends for a group of\n"
		"rows of v_pinned, as reports of the metric pinned show them.\n"
		"\n"
		"  geiger sql x.geiger \"select function, gg_size(live_bytes) from v_function\n"
		"                       order by live_bytes desc limit 20\"\n",
	.options = sql_option_table,
	.options_size = sizeof(struct sql_options),
	.max_operands = 2,
	.run = run_sql,
	.variables = GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
