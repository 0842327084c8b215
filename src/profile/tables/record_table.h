/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table - describes how a table of the profile stores a record, one column after the other.
 *
 * Each file in this folder describes one table, or a few that belong together: the text that
 * creates it, and an array of columns.  The SQL that inserts and selects rows, the binding of
 * values, and the reading of rows follow from that array.  A new column is therefore one line of
 * the array, one member of the record (records.h), the word in the text, and its entry in
 * docs/internals/PROFILE.md.
 *
 *   static const struct gg_column columns[] = {
 *           { "id", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_thread, id),
 *             .target = GG_DENSE_THREAD },
 *           { "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_thread, name) },
 *   };
 *
 *   status = gg_record_table_insert(profile, &gg_record_table_thread, &thread, error);
 *
 *   gg_record_table_select(&reading, profile, &gg_record_table_thread, " order by id");
 *   while (gg_record_table_next(&reading, &gg_record_table_thread, &thread))
 *           gg_row_reader_visited(&reading, visit(&thread, context));
 *   return gg_row_reader_end(&reading, error);
 *
 * The columns have the order of the text; tests/unit/test_profile_tables.c compares the two.
 */
#pragma once

#include <stddef.h>

#include "profile/row_reader.h"

/* The type of the record's member, and which value stands for NULL. */
enum gg_column_type {
	GG_COLUMN_ID,        /* uint32_t: an id of the table `target`; 0: NULL */
	GG_COLUMN_KEY_ID,    /* the same as part of a primary key, where 0 stays 0 */
	GG_COLUMN_SAMPLE_ID, /* uint64_t: an id of a sample, never checked; 0: NULL */
	GG_COLUMN_UINT32,    /* uint32_t, or an enum that the reader checks by itself */
	GG_COLUMN_NONZERO,   /* uint32_t; 0: NULL */
	GG_COLUMN_SCHEME,    /* enum gg_scheme */
	GG_COLUMN_BOOL,      /* bool */
	GG_COLUMN_STATUS,    /* int; -1: NULL */
	GG_COLUMN_BITS,      /* uint64_t: any 64 bits, such as an address */
	GG_COLUMN_COUNT,     /* uint64_t: a number of bytes or of things */
	GG_COLUMN_MOMENT,    /* int64_t: a time in ns, always known */
	GG_COLUMN_TIME,      /* int64_t: a time in ns; GG_TIME_NONE: NULL */
	GG_COLUMN_DURATION,  /* int64_t: a duration in ns; 0: NULL */
	GG_COLUMN_KNOWN,     /* int64_t: not negative; -1: NULL */
	GG_COLUMN_NUMBER,    /* double: 0 to GG_COLUMN_LARGEST */
	GG_COLUMN_CUBE,      /* double: not negative; a cube may exceed GG_COLUMN_LARGEST */
	GG_COLUMN_ESTIMATE,  /* double: 0 to GG_COLUMN_LARGEST; -1: NULL */
	GG_COLUMN_FIXED,     /* struct gg_fixed, as a double */
	GG_COLUMN_TEXT,      /* const char *, valid until the next row; NULL: NULL */
	GG_COLUMN_BLOB,      /* struct gg_column_blob; no bytes: NULL when read */
	GG_COLUMN_ROOM,      /* uint32_t: so many zero bytes; 0: NULL; written only */
};

/* The largest sum of bytes, allocations, or nanoseconds that a profile can hold. */
#define GG_COLUMN_LARGEST 0x1p127

struct gg_column_blob {
	const uint8_t *bytes;
	size_t length;
};

struct gg_column {
	const char *name;
	enum gg_column_type type;
	size_t offset;         /* of the member in the record */
	enum gg_dense target;  /* for ids */
	uint32_t from_version; /* files of earlier versions lack the column; 0: all have it */
};

/* The text of a table in files of an earlier version. */
struct gg_record_table_older {
	uint32_t version;   /* the last version with this text */
	const char *create; /* as in struct gg_record_table; NULL: ends the list */
};

struct gg_record_table {
	const char *name;
	const char *create;                        /* the text behind "create table " */
	const struct gg_record_table_older *older; /* ascending versions; NULL: it never changed */
	uint32_t from_version; /* files of earlier versions lack the table; 0: all have it */
	const char *insert;    /* "insert" with its conflict clause */
	enum gg_sql sql;       /* the insert's place among prepared statements */
	const struct gg_column *columns;
	size_t column_count;
};

/* The text behind "create table " in files of that version; NULL: they lack the table. */
const char *gg_record_table_create(const struct gg_record_table *table, uint32_t version);

/* Inserts a record as a row.  Does nothing in a file whose version lacks the table. */
GG_MUST_CHECK int gg_record_table_insert(struct gg_profile *profile,
                                         const struct gg_record_table *table, const void *record,
                                         struct gg_error *error);

/* Begins to select all columns.  `rest` is the SQL after the table's name, such as an order. */
void gg_record_table_select(struct gg_row_reader *reading, struct gg_profile *profile,
                            const struct gg_record_table *table, const char *rest);
/* Reads the next row into every member that has a column.  False: there are no more rows. */
bool gg_record_table_next(struct gg_row_reader *reading, const struct gg_record_table *table,
                          void *record);

/* --- rows that other files of src/profile write ---------------------------------------------- */

struct gg_name_row {
	uint32_t id;
	const char *name;
};

/* The names of a location, which many lines share. */
struct gg_symbol_row {
	uint32_t id;
	const char *texts[4]; /* function, full name, linkage name, file */
};

struct gg_line_row {
	uint32_t frame, depth, symbol, line;
	bool inlined;
};

/* --- all tables ----------------------------------------------------------------------------- */

extern const struct gg_record_table gg_record_table_session;
extern const struct gg_record_table gg_record_table_scheme;
extern const struct gg_record_table gg_record_table_process;
extern const struct gg_record_table gg_record_table_attach;
extern const struct gg_record_table gg_record_table_fault;
extern const struct gg_record_table gg_record_table_thread;
extern const struct gg_record_table gg_record_table_module;
extern const struct gg_record_table gg_record_table_mapping;
extern const struct gg_record_table gg_record_table_frame;
extern const struct gg_record_table gg_record_table_symbol;
extern const struct gg_record_table gg_record_table_line;
extern const struct gg_record_table gg_record_table_stack;
extern const struct gg_record_table gg_record_table_heap;
extern const struct gg_record_table gg_record_table_type;
extern const struct gg_record_table gg_record_table_sample;
extern const struct gg_record_table gg_record_table_aggregate;
extern const struct gg_record_table gg_record_table_total;
extern const struct gg_record_table gg_record_table_memory;
extern const struct gg_record_table gg_record_table_look;
extern const struct gg_record_table gg_record_table_look_mapping;
extern const struct gg_record_table gg_record_table_look_block;
extern const struct gg_record_table gg_record_table_look_total;
extern const struct gg_record_table gg_record_table_event;
extern const struct gg_record_table gg_record_table_counter;
extern const struct gg_record_table gg_record_table_stack_sum;
extern const struct gg_record_table gg_record_table_function_sum;
extern const struct gg_record_table gg_record_table_label;
extern const struct gg_record_table gg_record_table_note;
