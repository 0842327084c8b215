/* SPDX-License-Identifier: Apache-2.0 */
/* pack - turns tables into columns, and columns into deflated streams. */
#include "profile/packed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/varint.h"
#include "profile/schema.h"
#include "profile/statements.h"

enum { DEFLATE_LEVEL = 7 };

struct pack_column {
	uint64_t count;
	uint8_t kind; /* of all values so far; GG_PACKED_MIXED: they differ */
	uint64_t last_integer;
	uint32_t last_text;
	struct gg_buf kinds, integers, deltas, reals, text_ids, texts;
};

struct packer {
	struct gg_profile *profile;
	struct gg_buf *out;
	struct gg_intern texts;
	GG_ARRAY(struct gg_buf) streams; /* all that were written */
	uint64_t stream_bytes;
	struct pack_column columns[GG_PACKED_COLUMNS_MAX];
};

static uint64_t zigzag(uint64_t value)
{
	return value << 1 ^ -(value >> 63);
}

static void put_byte(struct gg_buf *out, uint8_t byte)
{
	gg_buf_append(out, &byte, 1);
}

/* --- values --- */

static bool is_whole(double value)
{
	return fabs(value) < 0x1p53 && value == trunc(value) && !(value == 0 && signbit(value));
}

/* Sets *ret_real if the value is a number with a point; SQLite takes some time for each reading. */
static uint8_t kind_of(sqlite3_stmt *row, int column, double *ret_real)
{
	switch (sqlite3_column_type(row, column)) {
	case SQLITE_INTEGER:
		return GG_PACKED_INTEGER;
	case SQLITE_FLOAT:
		*ret_real = sqlite3_column_double(row, column);
		return is_whole(*ret_real) ? GG_PACKED_WHOLE : GG_PACKED_REAL;
	case SQLITE_TEXT:
		return GG_PACKED_TEXT;
	case SQLITE_BLOB:
		return GG_PACKED_BLOB;
	default:
		return GG_PACKED_NULL;
	}
}

static void add_integer(struct pack_column *column, uint64_t value)
{
	gg_varint_append(&column->integers, zigzag(value));
	gg_varint_append(&column->deltas, zigzag(value - column->last_integer));
	column->last_integer = value;
}

static int add_text(struct packer *packer, struct pack_column *column, const void *bytes,
                    size_t length)
{
	uint32_t id = gg_intern_find(&packer->texts, bytes, length);

	if (id != 0) {
		gg_varint_append(&column->text_ids,
		                 zigzag((uint64_t)id - (uint64_t)column->last_text) + 1);
	} else {
		if (gg_intern_add(&packer->texts, bytes, length) < 0)
			return -ENOMEM;
		id = packer->texts.count;
		gg_varint_append(&column->text_ids, 0);
		gg_varint_append(&column->texts, length);
		gg_buf_append(&column->texts, bytes, length);
	}
	column->last_text = id;
	return 0;
}

static int add_value(struct packer *packer, struct pack_column *column, sqlite3_stmt *row, int at)
{
	double real = 0;
	uint8_t kind = kind_of(row, at, &real);
	const void *bytes;

	if (column->count++ == 0)
		column->kind = kind;
	else if (column->kind != kind)
		column->kind = GG_PACKED_MIXED;
	put_byte(&column->kinds, kind);
	switch (kind) {
	case GG_PACKED_INTEGER:
		add_integer(column, (uint64_t)sqlite3_column_int64(row, at));
		return 0;
	case GG_PACKED_WHOLE:
		add_integer(column, (uint64_t)(int64_t)real);
		return 0;
	case GG_PACKED_REAL:
		gg_buf_append(&column->reals, &real, sizeof(real));
		return 0;
	case GG_PACKED_TEXT:
		bytes = sqlite3_column_text(row, at);
		return bytes == NULL ? -ENOMEM
		                     : add_text(packer, column, bytes,
		                                (size_t)sqlite3_column_bytes(row, at));
	case GG_PACKED_BLOB:
		bytes = sqlite3_column_blob(row, at);
		return add_text(packer, column, bytes != NULL ? bytes : "",
		                (size_t)sqlite3_column_bytes(row, at));
	default:
		return 0;
	}
}

/* --- streams --- */

/* Turns doubles into planes of their bytes, which repeat more. */
static int divide_into_planes(struct gg_buf *reals)
{
	size_t count = reals->length / sizeof(double);
	struct gg_buf planes = { 0 };

	if (!gg_buf_reserve(&planes, reals->length))
		return -ENOMEM;
	for (size_t plane = 0; plane < sizeof(double); plane++)
		for (size_t i = 0; i < count; i++)
			gg_buf_append(&planes, reals->data + i * sizeof(double) + plane, 1);
	gg_buf_done(reals);
	*reals = planes;
	return 0;
}

static bool put_same(struct packer *packer, const struct gg_buf *raw)
{
	for (size_t i = 0; i < packer->streams.count; i++) {
		const struct gg_buf *earlier = &packer->streams.items[i];

		if (earlier->length != raw->length ||
		    memcmp(earlier->data, raw->data, raw->length) != 0)
			continue;
		put_byte(packer->out, GG_PACKED_SAME);
		gg_varint_append(packer->out, i);
		return true;
	}
	return false;
}

/* Writes a stream, and takes its bytes. */
static int put_stream(struct packer *packer, struct gg_buf *raw)
{
	uLongf packed_bytes = compressBound(raw->length);
	void *packed;

	if (raw->failed)
		return -ENOMEM;
	if (put_same(packer, raw))
		return 0;
	packer->stream_bytes += raw->length;
	if (raw->length > GG_PACKED_STREAM_MOST)
		return -EFBIG;
	packed = malloc(packed_bytes);
	if (packed == NULL || compress2(packed, &packed_bytes, (const Bytef *)raw->data,
	                                raw->length, DEFLATE_LEVEL) != Z_OK) {
		free(packed);
		return -ENOMEM;
	}
	put_byte(packer->out, packed_bytes < raw->length ? GG_PACKED_DEFLATED : GG_PACKED_STORED);
	gg_varint_append(packer->out, raw->length);
	if (packed_bytes < raw->length) {
		gg_varint_append(packer->out, packed_bytes);
		gg_buf_append(packer->out, packed, packed_bytes);
	} else {
		gg_buf_append(packer->out, raw->data, raw->length);
	}
	free(packed);
	if (!gg_array_push(&packer->streams, *raw))
		return -ENOMEM;
	*raw = (struct gg_buf){ 0 };
	return 0;
}

static int put_column(struct packer *packer, struct pack_column *column)
{
	/* Differences take fewer bytes before deflation where values follow one another. */
	bool has_deltas = column->deltas.length < column->integers.length;
	struct gg_buf *streams[] = { &column->kinds,
		                     has_deltas ? &column->deltas : &column->integers,
		                     &column->reals, &column->text_ids, &column->texts };
	static const uint8_t bits[] = { GG_PACKED_KINDS, GG_PACKED_INTEGERS, GG_PACKED_REALS,
		                        GG_PACKED_TEXT_IDS, GG_PACKED_TEXTS };
	uint8_t mask = has_deltas ? GG_PACKED_DELTAS : 0;
	int status = divide_into_planes(&column->reals);

	if (column->kind != GG_PACKED_MIXED)
		gg_buf_clear(&column->kinds);
	for (size_t i = 0; i < GG_COUNT(streams); i++)
		mask |= streams[i]->length > 0 ? bits[i] : 0;
	put_byte(packer->out, column->kind);
	put_byte(packer->out, mask);
	for (size_t i = 0; i < GG_COUNT(streams) && status == 0; i++)
		if (streams[i]->length > 0 || streams[i]->failed)
			status = put_stream(packer, streams[i]);
	return status;
}

static void column_done(struct pack_column *column)
{
	gg_buf_done(&column->kinds);
	gg_buf_done(&column->integers);
	gg_buf_done(&column->deltas);
	gg_buf_done(&column->reals);
	gg_buf_done(&column->text_ids);
	gg_buf_done(&column->texts);
	*column = (struct pack_column){ 0 };
}

/* --- tables --- */

static int put_rows(struct packer *packer, sqlite3_stmt *row, const char *name)
{
	int count = sqlite3_column_count(row), result = SQLITE_DONE, status = 0;
	uint64_t rows = 0;

	gg_assert(count <= GG_PACKED_COLUMNS_MAX);
	for (; status == 0 && (result = sqlite3_step(row)) == SQLITE_ROW; rows++)
		for (int i = 0; i < count && status == 0; i++)
			status = add_value(packer, &packer->columns[i], row, i);
	if (status == 0 && result != SQLITE_DONE)
		return -EIO;
	if (rows == 0)
		return status;
	gg_varint_append(packer->out, strlen(name));
	gg_buf_append_text(packer->out, name);
	gg_varint_append(packer->out, (uint64_t)count);
	gg_varint_append(packer->out, rows);
	for (int i = 0; i < count && status == 0; i++)
		status = put_column(packer, &packer->columns[i]);
	return status;
}

/* The reader would refuse it. */
static int fail_too_large(const struct gg_profile *profile, struct gg_error *error)
{
	return gg_error_set(error, -EFBIG, profile->path, "It stays as it is.",
	                    "a profile of so many different values is not packed");
}

static int put_table(struct packer *packer, const char *name, struct gg_error *error)
{
	struct gg_profile *profile = packer->profile;
	sqlite3_stmt *row = NULL;
	char sql[64];
	int status, result;

	snprintf(sql, sizeof(sql), "select * from %s", name);
	result = sqlite3_prepare_v2(profile->db, sql, -1, &row, NULL);
	status = result == SQLITE_OK ? put_rows(packer, row, name) : -EIO;
	if (status == -EIO)
		status = gg_database_fail(profile, sqlite3_errcode(profile->db), error);
	else if (status == -EFBIG)
		status = fail_too_large(profile, error);
	else if (status < 0 || packer->out->failed)
		status = gg_error_memory(error, profile->path);
	sqlite3_finalize(row);
	for (size_t i = 0; i < GG_PACKED_COLUMNS_MAX; i++)
		column_done(&packer->columns[i]);
	return status;
}

/* --- views, and what is no part of a profile --- */

static bool is_own(const struct gg_profile *profile, const char *type, const char *name)
{
	if (strcmp(type, "index") == 0)
		return strcmp(name, "sample_origin") == 0;
	for (size_t i = 0; gg_schema_tables[i] != NULL; i++)
		if (strcmp(type, "table") == 0 && strcmp(gg_schema_tables[i]->name, name) == 0)
			return gg_record_table_create(gg_schema_tables[i], profile->version) !=
			       NULL;
	return false;
}

static int check_own(struct gg_profile *profile, struct gg_error *error)
{
	static const char sql[] = "select type, name from main.sqlite_schema where type <> 'view'"
				  " and substr(name, 1, 7) <> 'sqlite_'";
	sqlite3_stmt *row = NULL;
	int result = sqlite3_prepare_v2(profile->db, sql, -1, &row, NULL), status = 0;

	while (result == SQLITE_OK || result == SQLITE_ROW) {
		const char *type, *name;

		result = sqlite3_step(row);
		if (result != SQLITE_ROW)
			break;
		type = (const char *)sqlite3_column_text(row, 0);
		name = (const char *)sqlite3_column_text(row, 1);
		if (type == NULL || name == NULL || is_own(profile, type, name))
			continue;
		status = gg_error_set(error, -ENOTSUP, profile->path,
		                      "Remove it first, or leave the profile as it is.",
		                      "its %s '%s' was added, and packing would lose it", type,
		                      name);
		break;
	}
	if (status == 0 && result != SQLITE_DONE)
		status = gg_database_fail(profile, result, error);
	sqlite3_finalize(row);
	return status;
}

static int put_views(struct packer *packer, struct gg_error *error)
{
	struct gg_buf texts = { 0 };
	sqlite3_stmt *row = NULL;
	int result = sqlite3_prepare_v2(packer->profile->db, gg_packed_views, -1, &row, NULL);
	uint64_t count = 0;

	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(row);
		if (result != SQLITE_ROW)
			break;
		count++;
		gg_varint_append(&texts, (uint64_t)sqlite3_column_bytes(row, 1));
		gg_buf_append(&texts, sqlite3_column_text(row, 1),
		              (size_t)sqlite3_column_bytes(row, 1));
	}
	if (texts.failed)
		result = SQLITE_NOMEM;
	sqlite3_finalize(row);
	gg_varint_append(packer->out, 0);
	gg_varint_append(packer->out, count);
	gg_buf_append(packer->out, gg_buf_text(&texts), texts.length);
	gg_buf_done(&texts);
	return result == SQLITE_DONE ? 0 : gg_database_fail(packer->profile, result, error);
}

static void put_check(struct gg_buf *out)
{
	uint32_t check = gg_packed_check(out->data, out->length);

	for (size_t i = 0; i < GG_PACKED_CHECK_BYTES; i++)
		put_byte(out, (uint8_t)(check >> 8 * i));
}

int gg_packed_append(struct gg_profile *profile, struct gg_buf *out, struct gg_error *error)
{
	struct packer *packer = calloc(1, sizeof(*packer));
	int status = check_own(profile, error);

	if (status < 0) {
		free(packer);
		return status;
	}
	if (packer == NULL)
		return gg_error_memory(error, profile->path);
	packer->profile = profile;
	packer->out = out;
	for (size_t i = 0; status == 0 && gg_schema_tables[i] != NULL; i++) {
		const struct gg_record_table *table = gg_schema_tables[i];

		if (gg_record_table_create(table, profile->version) != NULL)
			status = put_table(packer, table->name, error);
	}
	if (status == 0)
		status = put_views(packer, error);
	if (status == 0)
		put_check(out);
	if (status == 0 && out->failed)
		status = gg_error_memory(error, profile->path);
	if (status == 0 && packer->stream_bytes + out->length +
	                                   packer->texts.count * (uint64_t)GG_PACKED_TEXT_BYTES >
	                           gg_packed_streams_most)
		status = fail_too_large(profile, error);
	for (size_t i = 0; i < packer->streams.count; i++)
		gg_buf_done(&packer->streams.items[i]);
	gg_array_done(&packer->streams);
	gg_intern_done(&packer->texts);
	free(packer);
	return status;
}
