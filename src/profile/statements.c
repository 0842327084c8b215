/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/statements.h"

#include <errno.h>
#include <string.h>

static const char *const texts[GG_SQL_COUNT] = {
	[GG_SQL_SESSION] = "insert or replace into session values (1,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_PROCESS] =
		"insert or replace into process(id, parent, pid, start_ns, end_ns, exe, command,"
		" ending, interval, scheme) values (?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_PROCESS_END] = "update process set end_least_ns = ?2 where id = ?1",
	[GG_SQL_THREAD] = "insert or replace into thread values (?,?,?,?,?,?)",
	[GG_SQL_MODULE] = "insert into module values (?,?,?,?)",
	[GG_SQL_MODULE_STATUS] = "update module set status = ?2 where id = ?1",
	[GG_SQL_MAPPING] = "insert into mapping values (null,?,?,?,?,?,?,?,?)",
	[GG_SQL_FRAME] = "insert into frame values (?,?,?)",
	[GG_SQL_FRAME_MODULE] = "update frame set module = ?2 where id = ?1",
	[GG_SQL_SYMBOL] = "insert into symbol values (?,?,?,?,?)",
	[GG_SQL_LINE] = "insert into line values (?,?,?,?,?)",
	[GG_SQL_LINES_REMOVE] = "delete from line where frame = ?",
	[GG_SQL_STACK] = "insert into stack values (?,?,?)",
	[GG_SQL_HEAP] = "insert into heap values (?,?)",
	[GG_SQL_TYPE] = "insert into type values (?,?)",
	[GG_SQL_SAMPLE] = "insert into sample values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_SAMPLE_END] = "update sample set t_free = ?2, free_thread = ?3, free_stack = ?4,"
			      " flags = flags | ?5, reserve = zeroblob(length(reserve) - ?6)"
			      " where id = ?1 and t_free is null",
	[GG_SQL_SAMPLE_MOVE] = "update sample set address = ?2, flags = flags | ?3 where id = ?1",
	[GG_SQL_COARSE] = "insert into coarse values (null,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_COARSE_ADD] =
		"update coarse set interval = max(interval, ?2), samples = samples + ?3,"
		" size = size + ?4, count = count + ?5,"
		" count_variance = count_variance + ?6, bytes = bytes + ?7,"
		" bytes_variance = bytes_variance + ?8,"
		" count_skew = count_skew + ?9, bytes_skew = bytes_skew + ?10,"
		" lifetime_ns = lifetime_ns + ?11 where id = ?1",
	[GG_SQL_COARSE_REMOVE] = "delete from coarse where id = ?",
	[GG_SQL_SAMPLE_REMOVE] = "delete from sample where id = ?",
	[GG_SQL_TOTAL] = "insert or replace into total values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_MEMORY] = "insert into memory values (null,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_EVENT] = "insert into event values (null,?,?,?,?)",
	[GG_SQL_COUNTER] = "insert or replace into counter values (?,?,?)",
	[GG_SQL_STACK_SUM] = "insert into stack_sum values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[GG_SQL_FUNCTION_SUM] =
		("insert into function_sum values (null,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
	         "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
	[GG_SQL_LABEL] = "insert or replace into label values (?,?,?)",
	[GG_SQL_NOTE] = "insert or ignore into note values (null,?)",
};

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

int gg_store_fail(const struct gg_profile *profile, int result, struct gg_error *error)
{
	const char *advice;
	int status = meaning_of(result, &advice);

	return gg_error_set(
		error, status, profile->path != NULL ? profile->path : "profile", advice, "%s",
		profile->db != NULL ? sqlite3_errmsg(profile->db) : sqlite3_errstr(result));
}

int gg_store_execute(struct gg_profile *profile, const char *sql, struct gg_error *error)
{
	int result = sqlite3_exec(profile->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : gg_store_fail(profile, result, error);
}

int64_t gg_store_read_integer(struct gg_profile *profile, const char *sql, int *ret_result)
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

void gg_store_forget_statements(struct gg_profile *profile)
{
	for (int i = 0; i < GG_SQL_COUNT; i++) {
		sqlite3_finalize(profile->statements[i]);
		profile->statements[i] = NULL;
	}
}

static int prepare(struct gg_statement *row, enum gg_sql sql, struct gg_error *error)
{
	struct gg_profile *profile = row->profile;
	sqlite3_stmt **statement = &profile->statements[sql];
	int result = SQLITE_OK;

	if (*statement == NULL)
		result = sqlite3_prepare_v3(profile->db, texts[sql], -1, SQLITE_PREPARE_PERSISTENT,
		                            statement, NULL);
	if (result != SQLITE_OK)
		return gg_store_fail(profile, result, error);
	row->statement = *statement;
	row->column = 1;
	row->result = SQLITE_OK;
	return 0;
}

int gg_store_fail_write(struct gg_profile *profile, int result, struct gg_error *error)
{
	int status = gg_store_fail(profile, result, error);

	/* SQLite rolls back by itself if the disk is full or broken; later rows would lack earlier ones. */
	if (sqlite3_get_autocommit(profile->db)) {
		profile->failure = status;
		profile->has_changes = false;
	}
	return status;
}

int gg_store_fail_again(const struct gg_profile *profile, struct gg_error *error)
{
	return gg_error_set(error, profile->failure, profile->path, NULL,
	                    "an earlier write failed (%s); what was committed is kept",
	                    strerror(-profile->failure));
}

int gg_store_begin(struct gg_profile *profile, struct gg_error *error)
{
	int status = 0;

	if (gg_likely(profile->has_changes))
		return 0;
	if (!profile->is_written)
		return gg_error_set(error, -EROFS, profile->path, NULL,
		                    "the profile was opened for reading");
	if (profile->failure != 0)
		return gg_store_fail_again(profile, error);
	if (sqlite3_get_autocommit(profile->db))
		status = gg_store_execute(profile, "begin immediate", error);
	if (status == 0 && profile->has_summary)
		status = gg_profile_summary_remove(profile, error);
	if (status == 0)
		profile->has_changes = true;
	return status;
}

int gg_statement_begin(struct gg_statement *row, struct gg_profile *profile, enum gg_sql sql,
                       struct gg_error *error)
{
	int status = gg_store_begin(profile, error);

	row->profile = profile;
	return status < 0 ? status : prepare(row, sql, error);
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

	if (result == SQLITE_OK)
		result = sqlite3_step(row->statement);
	if (gg_unlikely(result != SQLITE_DONE))
		status = gg_store_fail_write(row->profile, result, error);
	sqlite3_reset(row->statement);
	if (status == 0)
		row->profile->uncommitted_count++;
	return status;
}
