/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/statements.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>

#define KILLED_ADVICE                                                                       \
	"Its recorder was killed: copy it with its '-journal' to a directory that you may " \
	"write, and read it there."

/* Maps an SQLite result to -Exxx, with advice. */
static int meaning_of(int result, const char **ret_advice)
{
	*ret_advice = NULL;
	switch (result & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_MISMATCH:
		*ret_advice = "The file is damaged: 'geiger check' says where.";
		return -EBADMSG;
	case SQLITE_FULL:
		*ret_advice = "Make room on the disk; what was committed before is kept.";
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		*ret_advice = "Another program uses the file: wait until it is done.";
		return -EBUSY;
	case SQLITE_READONLY:
		if (result == SQLITE_READONLY_ROLLBACK || result == SQLITE_READONLY_RECOVERY ||
		    result == SQLITE_READONLY_CANTINIT)
			*ret_advice = KILLED_ADVICE;
		else
			*ret_advice = "Write a copy: geiger pack -o FILE.";
		return -EROFS;
	case SQLITE_CANTOPEN:
		*ret_advice = KILLED_ADVICE;
		return -EACCES;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	default:
		return -EIO;
	}
}

const char *gg_database_place(const struct gg_profile *profile)
{
	if (profile->final_path != NULL)
		return profile->final_path;
	return profile->path != NULL ? profile->path : "profile";
}

int gg_database_fail(const struct gg_profile *profile, int result, struct gg_error *error)
{
	const char *advice;
	int status = meaning_of(result, &advice);

	/* An unfinished file is removed, and nothing of it is kept. */
	if (status == -ENOSPC && profile->final_path != NULL)
		advice = "Make room on the disk.";
	return gg_error_set(error, status, gg_database_place(profile), advice, "%s",
	                    profile->db != NULL ? sqlite3_errmsg(profile->db)
	                                        : sqlite3_errstr(result));
}

int gg_database_execute(struct gg_profile *profile, const char *sql, struct gg_error *error)
{
	int result = sqlite3_exec(profile->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : gg_database_fail(profile, result, error);
}

int64_t gg_database_read_integer(struct gg_profile *profile, const char *sql, int *ret_result)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = 0;

	*ret_result = sqlite3_prepare_v2(profile->db, sql, -1, &statement, NULL);
	if (*ret_result == SQLITE_OK)
		*ret_result = sqlite3_step(statement);
	if (*ret_result == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	if (*ret_result == SQLITE_ROW || *ret_result == SQLITE_DONE)
		*ret_result = SQLITE_OK;
	sqlite3_finalize(statement);
	return value;
}

void gg_database_forget_statements(struct gg_profile *profile)
{
	for (int i = 0; i < GG_SQL_COUNT; i++) {
		sqlite3_finalize(profile->statements[i]);
		profile->statements[i] = NULL;
	}
}

static int prepare(struct gg_statement *row, enum gg_sql sql, const char *text,
                   struct gg_error *error)
{
	struct gg_profile *profile = row->profile;
	sqlite3_stmt **statement = &profile->statements[sql];
	int result = SQLITE_OK;

	gg_assert(sql < GG_SQL_COUNT);
	/* Each place has one text; inserts of tables leave it out once they are prepared. */
	gg_assert(*statement == NULL || text[0] == '\0' ||
	          strcmp(sqlite3_sql(*statement), text) == 0);
	if (*statement == NULL)
		result = sqlite3_prepare_v3(profile->db, text, -1, SQLITE_PREPARE_PERSISTENT,
		                            statement, NULL);
	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	row->statement = *statement;
	row->column = 1;
	row->result = SQLITE_OK;
	return 0;
}

int gg_database_fail_write(struct gg_profile *profile, int result, struct gg_error *error)
{
	int status = gg_database_fail(profile, result, error);

	/*
	 * SQLite rolls back by itself if the disk is full or broken.  Write nothing more then,
	 * because later rows would refer to rows that are gone.
	 */
	if (sqlite3_get_autocommit(profile->db)) {
		profile->failure = status;
		profile->has_changes = false;
	}
	return status;
}

int gg_database_fail_again(const struct gg_profile *profile, struct gg_error *error)
{
	return gg_error_set(error, profile->failure, gg_database_place(profile), NULL,
	                    "an earlier write failed (%s)%s", strerror(-profile->failure),
	                    profile->final_path != NULL ? "" : "; what was committed is kept");
}

int gg_database_take_id(struct gg_profile *profile, enum gg_dense table, int status,
                        uint32_t *ret_id)
{
	if (status < 0)
		return status;
	gg_assert(profile->counts[table] < UINT32_MAX);
	profile->counts[table]++;
	if (ret_id != NULL)
		*ret_id = profile->counts[table];
	return 0;
}

/*
 * A profile commits by itself after this many rows, which limits the memory that it needs before it
 * has a file.
 */
enum { UNCOMMITTED_MAX = 500000 };

int gg_database_commit_if_due(struct gg_profile *profile, struct gg_error *error)
{
	return profile->uncommitted_count >= UNCOMMITTED_MAX ? gg_profile_commit(profile, error)
	                                                     : 0;
}

int gg_database_begin(struct gg_profile *profile, struct gg_error *error)
{
	int status = 0;

	if (gg_likely(profile->has_changes))
		return 0;
	if (!profile->is_written)
		return gg_error_set(error, -EROFS, profile->path, NULL,
		                    "the profile was opened for reading");
	if (profile->failure != 0)
		return gg_database_fail_again(profile, error);
	if (sqlite3_get_autocommit(profile->db))
		status = gg_database_execute(profile, "begin immediate", error);
	if (status == 0 && profile->has_summary)
		status = gg_profile_summary_remove(profile, error);
	if (status == 0)
		profile->has_changes = true;
	return status;
}

int gg_statement_begin(struct gg_statement *row, struct gg_profile *profile, enum gg_sql sql,
                       const char *text, struct gg_error *error)
{
	int status = gg_database_begin(profile, error);

	row->profile = profile;
	return status < 0 ? status : prepare(row, sql, text, error);
}

/* Remembers the first failure of a bind, which running the row reports. */
static void bound(struct gg_statement *row, int result)
{
	row->column++;
	if (gg_unlikely(result != SQLITE_OK) && row->result == SQLITE_OK)
		row->result = result;
}

void gg_statement_integer(struct gg_statement *row, int64_t value)
{
	bound(row, sqlite3_bind_int64(row->statement, row->column, value));
}

void gg_statement_null(struct gg_statement *row)
{
	bound(row, sqlite3_bind_null(row->statement, row->column));
}

void gg_statement_id(struct gg_statement *row, uint64_t id)
{
	if (id == 0)
		gg_statement_null(row);
	else
		gg_statement_integer(row, (int64_t)id);
}

void gg_statement_time(struct gg_statement *row, int64_t time_ns)
{
	if (time_ns == GG_TIME_NONE)
		gg_statement_null(row);
	else
		gg_statement_integer(row, time_ns);
}

void gg_statement_known(struct gg_statement *row, int64_t value)
{
	if (value < 0)
		gg_statement_null(row);
	else
		gg_statement_integer(row, value);
}

void gg_statement_number(struct gg_statement *row, double value)
{
	bound(row, sqlite3_bind_double(row->statement, row->column, value));
}

void gg_statement_text(struct gg_statement *row, const char *text)
{
	bound(row, sqlite3_bind_text(row->statement, row->column, text, -1, SQLITE_STATIC));
}

void gg_statement_text_of(struct gg_statement *row, const char *text, size_t length)
{
	bound(row,
	      sqlite3_bind_text(row->statement, row->column, text, (int)length, SQLITE_STATIC));
}

void gg_statement_bytes(struct gg_statement *row, const void *bytes, size_t length)
{
	bound(row, sqlite3_bind_blob64(row->statement, row->column, bytes, length, SQLITE_STATIC));
}

void gg_statement_zeros(struct gg_statement *row, uint32_t length)
{
	bound(row, sqlite3_bind_zeroblob(row->statement, row->column, (int)length));
}

int gg_statement_run(struct gg_statement *row, struct gg_error *error)
{
	int result = row->result, status = 0;

	gg_assert(row->column == sqlite3_bind_parameter_count(row->statement) + 1);
	if (result == SQLITE_OK)
		result = sqlite3_step(row->statement);
	if (gg_unlikely(result != SQLITE_DONE))
		status = gg_database_fail_write(row->profile, result, error);
	sqlite3_reset(row->statement);
	if (status == 0)
		row->profile->uncommitted_count++;
	return status;
}
