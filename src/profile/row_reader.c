/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/row_reader.h"

#include "base/assert.h"

#include <errno.h>

void gg_row_reader_begin(struct gg_row_reader *reading, struct gg_profile *profile, const char *sql)
{
	*reading = (struct gg_row_reader){ .profile = profile };
	reading->result = sql == NULL ? SQLITE_NOMEM
	                              : sqlite3_prepare_v3(profile->db, sql, -1, 0,
	                                                   &reading->statement, NULL);
}

void gg_row_reader_bind(struct gg_row_reader *reading, int number, int64_t value)
{
	gg_assert(number > 0);
	if (reading->statement != NULL)
		sqlite3_bind_int64(reading->statement, number, value);
}

bool gg_row_reader_next(struct gg_row_reader *reading)
{
	if (reading->stopped != 0 || reading->statement == NULL)
		return false;
	reading->column = 0;
	reading->result = sqlite3_step(reading->statement);
	return reading->result == SQLITE_ROW;
}

int gg_row_reader_end(struct gg_row_reader *reading, struct gg_error *error)
{
	int result = reading->result, status = reading->stopped;

	if (status == 0 && result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW)
		status = gg_database_fail(reading->profile, result, error);
	sqlite3_finalize(reading->statement);
	return status;
}

bool gg_row_reader_is_null(const struct gg_row_reader *reading)
{
	return sqlite3_column_type(reading->statement, reading->column) == SQLITE_NULL;
}

int64_t gg_row_reader_known(struct gg_row_reader *reading)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);

	if (type == SQLITE_INTEGER && sqlite3_value_int64(value) >= 0)
		return sqlite3_value_int64(value);
	if (type != SQLITE_NULL)
		reading->profile->dangling_count++;
	return -1;
}

double gg_row_reader_number(struct gg_row_reader *reading, double least, double most)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);
	double number;

	gg_assert(least <= most);
	if (type == SQLITE_NULL)
		return least > 0 ? least : 0;
	number = sqlite3_value_double(value);
	if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && number >= least && number <= most)
		return number;
	reading->profile->dangling_count++;
	return least > 0 ? least : 0;
}

const char *gg_row_reader_text(struct gg_row_reader *reading)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);

	if (type == SQLITE_TEXT)
		return (const char *)sqlite3_value_text(value);
	if (type != SQLITE_NULL)
		reading->profile->dangling_count++;
	return NULL;
}

const void *gg_row_reader_bytes(struct gg_row_reader *reading, size_t *ret_length)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);

	*ret_length = 0;
	if (type == SQLITE_BLOB) {
		const void *bytes = sqlite3_value_blob(value);

		*ret_length = (size_t)sqlite3_value_bytes(value);
		return bytes;
	}
	if (type != SQLITE_NULL)
		reading->profile->dangling_count++;
	return NULL;
}
