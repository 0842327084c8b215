/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statements - the open database and its prepared statements, shared by the files of src/profile.
 *
 * Statements are prepared at their first use and kept.  This binds and writes a row:
 *
 *   struct gg_statement row;
 *
 *   if (gg_statement_begin(&row, profile, GG_SQL_MODULE_STATUS, sql, error) < 0)
 *           return error->status;
 *   gg_statement_id(&row, module);
 *   gg_statement_text(&row, status);
 *   return gg_statement_run(&row, error);
 */
#pragma once

#include <sqlite3.h>

#include "profile/intern.h"
#include "profile/profile.h"

/* The tables with dense ids. */
enum gg_dense {
	GG_DENSE_PROCESS,
	GG_DENSE_THREAD,
	GG_DENSE_MODULE,
	GG_DENSE_FRAME,
	GG_DENSE_STACK,
	GG_DENSE_HEAP,
	GG_DENSE_TYPE,
	GG_DENSE_COUNT,
};

/* The places of prepared statements that write rows; their texts are where they are used. */
enum gg_sql {
	GG_SQL_SESSION,
	GG_SQL_PROCESS,
	GG_SQL_THREAD,
	GG_SQL_MODULE,
	GG_SQL_MODULE_STATUS,
	GG_SQL_MAPPING,
	GG_SQL_FRAME,
	GG_SQL_FRAME_MODULE,
	GG_SQL_SYMBOL,
	GG_SQL_LINE,
	GG_SQL_LINES_REMOVE,
	GG_SQL_STACK,
	GG_SQL_HEAP,
	GG_SQL_TYPE,
	GG_SQL_SAMPLE,
	GG_SQL_SAMPLE_END,
	GG_SQL_SAMPLE_MOVE,
	GG_SQL_AGGREGATE,
	GG_SQL_AGGREGATE_ADD,
	GG_SQL_AGGREGATE_REMOVE,
	GG_SQL_AGGREGATE_LIVE_REMOVE,
	GG_SQL_SAMPLE_REMOVE,
	GG_SQL_TOTAL,
	GG_SQL_MEMORY,
	GG_SQL_LOOK,
	GG_SQL_LOOK_MAPPING,
	GG_SQL_LOOK_BLOCK,
	GG_SQL_LOOK_TOTAL,
	GG_SQL_ATTACH,
	GG_SQL_FAULT,
	GG_SQL_EVENT,
	GG_SQL_COUNTER,
	GG_SQL_COUNTER_COMPACTED,
	GG_SQL_LABEL,
	GG_SQL_NOTE,
	GG_SQL_STACK_SUM,
	GG_SQL_FUNCTION_SUM,
	GG_SQL_COUNT,
};

/* The first version whose table `process` has the column end_least_ns. */
enum { GG_PROFILE_VERSION_END_LEAST = 4 };
/* The first version with looks. */
enum { GG_PROFILE_VERSION_LOOK = 5 };
/* The first version with attaches. */
enum { GG_PROFILE_VERSION_ATTACH = 6 };
/* The first version with memory errors. */
enum { GG_PROFILE_VERSION_FAULT = 7 };
/* The first version whose table `coarse` has the columns heap and type. */
enum { GG_PROFILE_VERSION_AGGREGATE_KIND = 8 };

enum { GG_DATABASE_END_BYTES = 8 }; /* size of t_free and the freeing thread */

struct gg_statement;
struct gg_compaction;

struct gg_profile {
	sqlite3 *db;
	sqlite3 *lock;    /* holds the write lock of the file (file_lock.c); NULL: none */
	uint32_t version; /* version of its tables, 2 to GG_PROFILE_VERSION */
	/* The profile whose file is replaced, with its lock; NULL: none.  It may be this one. */
	const struct gg_profile *source;
	char *path;         /* NULL: in memory only */
	int scratch[3];     /* ids of its files in base/scratch.h while it is incomplete */
	bool has_scratch;   /* the ids of `scratch` are valid */
	char *final_path;   /* gg_profile_finish() moves the file there; NULL: it is in place */
	bool is_written;    /* made by gg_profile_create() */
	bool is_tried;      /* by gg_profile_try(): only a commit makes its file */
	bool is_in_file;    /* false: still in memory, without a file */
	bool is_packed;     /* it was read from a packed file (packed.h) */
	uint32_t file_mode; /* permissions of the file that is written; 0: those of a new one */
	bool has_changes;   /* something was written since the last commit */
	bool has_summary;   /* the profile is finished; the next change removes the summary */
	int failure;        /* status of a failed write, after which nothing is written; 0: none */
	sqlite3_stmt *statements[GG_SQL_COUNT];

	uint32_t counts[GG_DENSE_COUNT]; /* ids 1 to count exist */
	uint64_t last_sample;            /* the largest id */
	uint64_t uncommitted_count;      /* rows since the last commit */
	uint32_t free_reserve_bytes;     /* space that a live sample's row keeps for its end */
	int64_t data_version;            /* SQLite's, when the ids were counted */
	uint64_t dangling_count;
	const struct gg_progress *progress; /* of gg_profile_finish(); NULL: nobody */
	struct gg_compaction *compaction;   /* NULL: not begun */
	char *session_texts[5];             /* texts of gg_profile_session() */

	/* For writing: keys with ids. */
	struct gg_intern modules, frames, symbols, names[GG_NAME_TYPE + 1];
	uint32_t first_symbol; /* the first id of `symbols` */
	struct gg_map stacks;  /* parent << 32 | frame -> id */
};

/* --- open.c ------------------------------------------------------------------------------- */

/*
 * How long a reader or writer waits for the other, in milliseconds.  A reader holds its lock while
 * it loads a whole model, which takes a minute for a large profile.  The last commit waits for
 * that, because a failure would lose what was recorded since the one before.
 */
enum { GG_DATABASE_BUSY_MS = 5000, GG_DATABASE_LAST_COMMIT_MS = 10 * 60 * 1000 };

/* Pragmas for a connection that writes a file. */
extern const char gg_database_writing_pragmas[];

struct gg_profile *gg_database_new(struct gg_error *error);
void gg_database_free(struct gg_profile *profile);

/* Opens a database with every feature off that could run code from the file. */
GG_MUST_CHECK int gg_database_open(struct gg_profile *profile, const char *path, int flags,
                                   struct gg_error *error);

/* See gg_profile_is_file(). */
bool gg_database_is_profile(const char *path);

/* Checks by the first bytes that the file is a whole profile of a known version. */
GG_MUST_CHECK int gg_database_check_header(const char *path, struct gg_error *error);

/* Opens a profile whose file will be replaced or copied, with the lock of file_lock.c. */
GG_MUST_CHECK int gg_database_open_locked(struct gg_profile **ret_profile, const char *path,
                                          struct gg_error *error);

/* --- file_lock.c ---------------------------------------------------------------------------- */

/*
 * Takes the write lock of the open file, until gg_database_unlock() or the end.  A profile that is
 * not edited and that may only be read has no lock: then all rows come from one state of the file.
 * -EBUSY: another program is writing the file, or has replaced it since it was opened.
 */
GG_MUST_CHECK int gg_database_lock(struct gg_profile *profile, struct gg_error *error);

/* Checks that the file at the path may be replaced: it is the one with the lock. */
GG_MUST_CHECK int gg_database_check_lock(const struct gg_profile *profile, struct gg_error *error);
void gg_database_unlock(struct gg_profile *profile);

/* --- file_attributes.c ---------------------------------------------------------------------- */

/* Gives the file `part`, which shall replace the one at `path`, its owner and permissions. */
GG_MUST_CHECK int gg_database_copy_attributes(const char *path, const char *part,
                                              struct gg_error *error);

/* --- profile_file.c ----------------------------------------------------------------------- */

/* Determines the path of a profile in memory, and fails if its file could not be written. */
GG_MUST_CHECK int gg_database_set_path(struct gg_profile *profile, const char *path,
                                       struct gg_error *error);

/* Writes the database to a file of a temporary name, which then replaces the one at its path. */
GG_MUST_CHECK int gg_database_put_in_place(struct gg_profile *profile, bool must_sync,
                                           struct gg_error *error);

/* --- summary.c ---------------------------------------------------------------------------- */

GG_MUST_CHECK int gg_profile_summary_make(struct gg_profile *profile, struct gg_error *error);
GG_MUST_CHECK int gg_profile_summary_remove(struct gg_profile *profile, struct gg_error *error);

/* --- compact.c ---------------------------------------------------------------------------- */

void gg_compaction_free(struct gg_compaction *compaction);

/* --- statements.c: errors, statements, rows ----------------------------------------------- */

/* Returns the name of the file for errors: that of the user, also while it is unfinished. */
const char *gg_database_place(const struct gg_profile *profile);

/* Fills the error from an SQLite result; its place is the file.  Returns -Exxx. */
int gg_database_fail(const struct gg_profile *profile, int result, struct gg_error *error);

/* Fills the error of a failed write, and remembers that rows may be lost. */
int gg_database_fail_write(struct gg_profile *profile, int result, struct gg_error *error);
/* The error of every later write: why the first one failed. */
int gg_database_fail_again(const struct gg_profile *profile, struct gg_error *error);

/* The first column of the first row; 0: no row.  *ret_result is SQLite's result. */
int64_t gg_database_read_integer(struct gg_profile *profile, const char *sql, int *ret_result);

/* Reads keys with ids, so that an existing profile can grow. */
GG_MUST_CHECK int gg_database_load_names(struct gg_profile *profile, struct gg_error *error);

/* Runs SQL that returns no rows. */
GG_MUST_CHECK int gg_database_execute(struct gg_profile *profile, const char *sql,
                                      struct gg_error *error);

/* Frees all statements. */
void gg_database_forget_statements(struct gg_profile *profile);

struct gg_statement {
	struct gg_profile *profile;
	sqlite3_stmt *statement;
	int column; /* the next column to bind */
	int result; /* SQLite's result of the first failed bind */
};

/* Begins a change: opens a transaction unless one is open. */
GG_MUST_CHECK int gg_database_begin(struct gg_profile *profile, struct gg_error *error);

/* Counts the row of a table with dense ids, after it has been written; passes `status` on. */
int gg_database_take_id(struct gg_profile *profile, enum gg_dense table, int status,
                        uint32_t *ret_id);
/* Commits when many rows have been written since the last commit. */
GG_MUST_CHECK int gg_database_commit_if_due(struct gg_profile *profile, struct gg_error *error);

/* Prepares a row for binding; calls gg_database_begin().  `text` is always the same for `sql`. */
GG_MUST_CHECK int gg_statement_begin(struct gg_statement *row, struct gg_profile *profile,
                                     enum gg_sql sql, const char *text, struct gg_error *error);
void gg_statement_integer(struct gg_statement *row, int64_t value);
void gg_statement_null(struct gg_statement *row);
void gg_statement_id(struct gg_statement *row, uint64_t id);       /* 0: NULL */
void gg_statement_time(struct gg_statement *row, int64_t time_ns); /* GG_TIME_NONE: NULL */
void gg_statement_known(struct gg_statement *row, int64_t value);  /* negative: NULL */
void gg_statement_number(struct gg_statement *row, double value);
void gg_statement_text(struct gg_statement *row,
                       const char *text); /* NULL: NULL; the row borrows the text until it is run */
void gg_statement_text_of(struct gg_statement *row, const char *text, size_t length);
void gg_statement_bytes(struct gg_statement *row, const void *bytes, size_t length); /* likewise */
void gg_statement_zeros(struct gg_statement *row, uint32_t length);
GG_MUST_CHECK int gg_statement_run(struct gg_statement *row, struct gg_error *error);
