/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event - the tables of events, counters, labels, and notes.
 */
#include "profile/tables/record_table.h"

static const struct gg_column event_columns[] = {
	{ "time_ns", GG_COLUMN_MOMENT, .offset = offsetof(struct gg_profile_event, time_ns) },
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_event, process),
	  .target = GG_DENSE_PROCESS },
	{ "kind", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_event, kind) },
	{ "detail", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_event, detail) },
};

const struct gg_record_table gg_record_table_event = {
	.name = "event",
	.create =
		"event(\n"
		"  id integer primary key, time_ns integer, process integer references process(id),\n"
		"  kind text, detail text)",
	.insert = "insert",
	.sql = GG_SQL_EVENT,
	.columns = event_columns,
	.column_count = GG_COUNT(event_columns),
};

int gg_profile_add_event(struct gg_profile *profile, const struct gg_profile_event *event,
                         struct gg_error *error)
{
	return gg_record_table_insert(profile, &gg_record_table_event, event, error);
}

int gg_profile_each_event(struct gg_profile *profile, gg_event_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_event record;

	gg_record_table_select(&reading, profile, &gg_record_table_event, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_event, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

/* --- counters ------------------------------------------------------------------------------- */

struct counter_row {
	uint32_t process;
	const char *name;
	uint64_t value;
};

static const struct gg_column counter_columns[] = {
	{ "process", GG_COLUMN_KEY_ID, .offset = offsetof(struct counter_row, process),
	  .target = GG_DENSE_PROCESS },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct counter_row, name) },
	{ "value", GG_COLUMN_BITS, .offset = offsetof(struct counter_row, value) },
};

const struct gg_record_table gg_record_table_counter = {
	.name = "counter",
	.create = "counter(\n"
		  "  process integer, name text, value integer,\n" /* 0: the session */
		  "  primary key(process, name)) without rowid",
	.insert = "insert or replace",
	.sql = GG_SQL_COUNTER,
	.columns = counter_columns,
	.column_count = GG_COUNT(counter_columns),
};

int gg_profile_put_counter(struct gg_profile *profile, uint32_t process, const char *name,
                           uint64_t value, struct gg_error *error)
{
	struct counter_row row = { process, name, value };

	return gg_record_table_insert(profile, &gg_record_table_counter, &row, error);
}

int gg_profile_each_counter(struct gg_profile *profile, gg_counter_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;
	struct counter_row record;

	gg_record_table_select(&reading, profile, &gg_record_table_counter,
	                       " order by process, name");
	while (gg_record_table_next(&reading, &gg_record_table_counter, &record))
		if (record.name != NULL)
			gg_row_reader_visited(&reading, visit(record.process, record.name,
			                                      record.value, context));
	return gg_row_reader_end(&reading, error);
}

/* --- labels --------------------------------------------------------------------------------- */

struct label_row {
	uint32_t process;
	const char *key, *value;
};

static const struct gg_column label_columns[] = {
	{ "process", GG_COLUMN_KEY_ID, .offset = offsetof(struct label_row, process),
	  .target = GG_DENSE_PROCESS },
	{ "key", GG_COLUMN_TEXT, .offset = offsetof(struct label_row, key) },
	{ "value", GG_COLUMN_TEXT, .offset = offsetof(struct label_row, value) },
};

const struct gg_record_table gg_record_table_label = {
	.name = "label",
	.create =
		"label(\n"
		"  process integer, key text, value text, primary key(process, key)) without rowid",
	.insert = "insert or replace",
	.sql = GG_SQL_LABEL,
	.columns = label_columns,
	.column_count = GG_COUNT(label_columns),
};

int gg_profile_put_label(struct gg_profile *profile, uint32_t process, const char *key,
                         const char *value, struct gg_error *error)
{
	struct label_row row = { process, key, value };

	return gg_record_table_insert(profile, &gg_record_table_label, &row, error);
}

int gg_profile_each_label(struct gg_profile *profile, gg_label_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	struct label_row record;

	gg_record_table_select(&reading, profile, &gg_record_table_label, " order by process, key");
	while (gg_record_table_next(&reading, &gg_record_table_label, &record))
		if (record.process != 0 && record.key != NULL && record.value != NULL)
			gg_row_reader_visited(
				&reading, visit(record.process, record.key, record.value, context));
	return gg_row_reader_end(&reading, error);
}

/* --- notes ---------------------------------------------------------------------------------- */

struct note_row {
	const char *text;
};

static const struct gg_column note_columns[] = {
	{ "text", GG_COLUMN_TEXT, .offset = offsetof(struct note_row, text) },
};

const struct gg_record_table gg_record_table_note = {
	.name = "note",
	.create = "note(id integer primary key, text text unique)",
	.insert = "insert or ignore",
	.sql = GG_SQL_NOTE,
	.columns = note_columns,
	.column_count = GG_COUNT(note_columns),
};

int gg_profile_add_note(struct gg_profile *profile, const char *text, struct gg_error *error)
{
	struct note_row row = { text };

	return gg_record_table_insert(profile, &gg_record_table_note, &row, error);
}

int gg_profile_each_note(struct gg_profile *profile, gg_note_visit *visit, void *context,
                         struct gg_error *error)
{
	struct gg_row_reader reading;
	struct note_row record;

	gg_record_table_select(&reading, profile, &gg_record_table_note, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_note, &record))
		if (record.text != NULL)
			gg_row_reader_visited(&reading, visit(record.text, context));
	return gg_row_reader_end(&reading, error);
}
