/* SPDX-License-Identifier: Apache-2.0 */
/* unpack - reads the content of a packed profile into tables in memory. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/array.h"
#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"

enum {
	TABLE_NAME_MAX = 64,
	DEFLATE_MOST = 1100, /* deflate makes at most 1032 bytes of one */
	SMALL_ROWS = 1024,
};

struct stream_cursor {
	const uint8_t *at, *end;
	bool is_bad; /* something was missing */
};

struct bytes {
	uint8_t *data;
	size_t length;
};

struct unpacked_text {
	const uint8_t *bytes;
	size_t length;
};

struct unpack_column {
	uint8_t kind, mask;
	struct stream_cursor kinds, integers, text_ids, texts;
	struct bytes reals;
	size_t next_real;
	uint64_t last_integer, last_text;
};

struct unpacker {
	struct gg_profile *profile;
	struct stream_cursor in;
	uint64_t used_bytes; /* by content, streams and texts */
	uint64_t rows_most;  /* a table with more has rows that no byte stands for */
	size_t next_table;   /* tables have the order of gg_schema_tables */
	GG_ARRAY(struct bytes) streams;
	GG_ARRAY(struct unpacked_text) texts;
	struct unpack_column columns[GG_PACKED_COLUMNS_MAX];
};

/* --- reading --- */

static uint8_t take_byte(struct stream_cursor *in)
{
	if (in->at == in->end) {
		in->is_bad = true;
		return 0;
	}
	return *in->at++;
}

static uint64_t take_number(struct stream_cursor *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = take_byte(in);

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	in->is_bad = true;
	return 0;
}

static const uint8_t *take_bytes(struct stream_cursor *in, uint64_t length)
{
	const uint8_t *bytes = in->at;

	if (length > (uint64_t)(in->end - in->at)) {
		in->is_bad = true;
		return NULL;
	}
	in->at += length;
	return bytes;
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

/* --- streams --- */

/* Counts memory.  False: it is too much. */
static bool use(struct unpacker *unpacker, uint64_t bytes)
{
	unpacker->used_bytes += bytes;
	return unpacker->used_bytes <= gg_packed_streams_most;
}

static int read_new_stream(struct unpacker *unpacker, bool is_deflated, struct bytes *ret_stream)
{
	struct stream_cursor *in = &unpacker->in;
	uint64_t length = take_number(in), packed = is_deflated ? take_number(in) : length;
	const uint8_t *bytes = take_bytes(in, packed);
	uLongf unpacked = length;
	struct bytes stream;

	if (in->is_bad || length > GG_PACKED_STREAM_MOST || packed > length ||
	    length > packed * DEFLATE_MOST || !use(unpacker, length))
		return -EBADMSG;
	stream = (struct bytes){ .data = malloc(length + 1), .length = length };
	if (stream.data == NULL || !gg_array_push(&unpacker->streams, stream)) {
		free(stream.data);
		return -ENOMEM;
	}
	*ret_stream = stream;
	if (!is_deflated) {
		memcpy(stream.data, bytes, length);
		return 0;
	}
	return uncompress(stream.data, &unpacked, bytes, packed) == Z_OK && unpacked == length
	               ? 0
	               : -EBADMSG;
}

static int read_stream(struct unpacker *unpacker, struct bytes *ret_stream)
{
	uint8_t form = take_byte(&unpacker->in);
	uint64_t number;

	if (form == GG_PACKED_STORED || form == GG_PACKED_DEFLATED)
		return read_new_stream(unpacker, form == GG_PACKED_DEFLATED, ret_stream);
	number = take_number(&unpacker->in);
	if (form != GG_PACKED_SAME || unpacker->in.is_bad || number >= unpacker->streams.count)
		return -EBADMSG;
	*ret_stream = unpacker->streams.items[number];
	return 0;
}

static int read_into(struct unpacker *unpacker, struct unpack_column *column, uint8_t bit,
                     struct stream_cursor *ret_cursor)
{
	struct bytes stream = { 0 };
	int status = 0;

	if ((column->mask & bit) != 0)
		status = read_stream(unpacker, &stream);
	*ret_cursor = (struct stream_cursor){ 0 };
	if (stream.data != NULL)
		*ret_cursor = (struct stream_cursor){ .at = stream.data,
			                              .end = stream.data + stream.length };
	return status;
}

static int read_column(struct unpacker *unpacker, struct unpack_column *column)
{
	struct stream_cursor reals;
	int status;

	*column = (struct unpack_column){ .kind = take_byte(&unpacker->in),
		                          .mask = take_byte(&unpacker->in) };
	if (column->kind >= GG_PACKED_KIND_COUNT && column->kind != GG_PACKED_MIXED)
		return -EBADMSG;
	status = read_into(unpacker, column, GG_PACKED_KINDS, &column->kinds);
	if (status == 0)
		status = read_into(unpacker, column, GG_PACKED_INTEGERS, &column->integers);
	if (status == 0)
		status = read_into(unpacker, column, GG_PACKED_REALS, &reals);
	if (status == 0)
		status = read_into(unpacker, column, GG_PACKED_TEXT_IDS, &column->text_ids);
	if (status == 0)
		status = read_into(unpacker, column, GG_PACKED_TEXTS, &column->texts);
	if (status == 0 && (column->mask & GG_PACKED_REALS) != 0)
		column->reals = (struct bytes){ .data = (uint8_t *)(uintptr_t)reals.at,
			                        .length = (size_t)(reals.end - reals.at) };
	return status;
}

/* --- values --- */

static uint64_t next_integer(struct unpack_column *column)
{
	uint64_t value = unzigzag(take_number(&column->integers));

	if ((column->mask & GG_PACKED_DELTAS) != 0)
		value += column->last_integer;
	column->last_integer = value;
	return value;
}

static int next_real(struct unpack_column *column, double *ret_value)
{
	size_t count = column->reals.length / sizeof(double), at = column->next_real++;
	uint8_t bytes[sizeof(double)];

	if (at >= count)
		return -EBADMSG;
	for (size_t plane = 0; plane < sizeof(bytes); plane++)
		bytes[plane] = column->reals.data[plane * count + at];
	memcpy(ret_value, bytes, sizeof(bytes));
	return 0;
}

static int next_text(struct unpacker *unpacker, struct unpack_column *column,
                     struct unpacked_text *ret_text)
{
	uint64_t id = take_number(&column->text_ids);
	struct unpacked_text text;

	if (id != 0) {
		id = column->last_text + unzigzag(id - 1);
		if (id == 0 || id > unpacker->texts.count)
			return -EBADMSG;
		column->last_text = id;
		*ret_text = unpacker->texts.items[id - 1];
		return 0;
	}
	text.length = take_number(&column->texts);
	text.bytes = take_bytes(&column->texts, text.length);
	if (column->texts.is_bad || column->text_ids.is_bad || !use(unpacker, GG_PACKED_TEXT_BYTES))
		return -EBADMSG;
	if (!gg_array_push(&unpacker->texts, text))
		return -ENOMEM;
	column->last_text = unpacker->texts.count;
	*ret_text = text;
	return 0;
}

static int bind_value(struct unpacker *unpacker, struct unpack_column *column, sqlite3_stmt *row,
                      int at)
{
	uint8_t kind = column->kind != GG_PACKED_MIXED ? column->kind : take_byte(&column->kinds);
	int result = SQLITE_OK, status;
	struct unpacked_text text;
	double real;

	switch (kind) {
	case GG_PACKED_NULL:
		result = sqlite3_bind_null(row, at);
		break;
	case GG_PACKED_INTEGER:
		result = sqlite3_bind_int64(row, at, (int64_t)next_integer(column));
		break;
	case GG_PACKED_WHOLE:
		result = sqlite3_bind_double(row, at, (double)(int64_t)next_integer(column));
		break;
	case GG_PACKED_REAL:
		status = next_real(column, &real);
		if (status < 0)
			return status;
		result = sqlite3_bind_double(row, at, real);
		break;
	case GG_PACKED_TEXT:
	case GG_PACKED_BLOB:
		status = next_text(unpacker, column, &text);
		if (status < 0)
			return status;
		if (kind == GG_PACKED_TEXT)
			result = sqlite3_bind_text64(row, at, (const char *)text.bytes, text.length,
			                             SQLITE_STATIC, SQLITE_UTF8);
		else
			result = sqlite3_bind_blob64(row, at, text.bytes, text.length,
			                             SQLITE_STATIC);
		break;
	default:
		return -EBADMSG;
	}
	if (result != SQLITE_OK)
		return result == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
	return column->kinds.is_bad || column->integers.is_bad ? -EBADMSG : 0;
}

/* --- tables --- */

static int insert_rows(struct unpacker *unpacker, sqlite3_stmt *row, int columns, uint64_t rows)
{
	int status = 0;

	for (uint64_t i = 0; i < rows && status == 0; i++) {
		for (int at = 0; at < columns && status == 0; at++)
			status = bind_value(unpacker, &unpacker->columns[at], row, at + 1);
		if (status == 0) {
			int result = sqlite3_step(row);

			if (result != SQLITE_DONE)
				status = (result & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
			sqlite3_reset(row);
		}
	}
	return status;
}

static const struct gg_record_table *find_table(struct unpacker *unpacker, const uint8_t *name,
                                                size_t length)
{
	for (size_t i = unpacker->next_table; gg_schema_tables[i] != NULL; i++)
		if (strlen(gg_schema_tables[i]->name) == length &&
		    memcmp(gg_schema_tables[i]->name, name, length) == 0 &&
		    gg_record_table_create(gg_schema_tables[i], unpacker->profile->version) !=
		            NULL) {
			unpacker->next_table = i + 1;
			return gg_schema_tables[i];
		}
	return NULL;
}

/* The SQL comes from a file, so only a statement that creates one view is run. */
static int create_view(struct unpacker *unpacker, const char *text, size_t length)
{
	static const char create[] = "CREATE VIEW ";
	sqlite3_stmt *statement = NULL;
	const char *tail = NULL;
	int result = SQLITE_ERROR;

	if (length < INT_MAX && length > strlen(create) &&
	    strncmp(text, create, strlen(create)) == 0)
		result = sqlite3_prepare_v2(unpacker->profile->db, text, (int)length, &statement,
		                            &tail);
	if (result == SQLITE_OK)
		result = tail == text + length ? sqlite3_step(statement) : SQLITE_ERROR;
	sqlite3_finalize(statement);
	return result == SQLITE_DONE ? 0 : (result & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

static int read_views(struct unpacker *unpacker)
{
	struct stream_cursor *in = &unpacker->in;
	uint64_t count = take_number(in);
	int status = 0;

	for (uint64_t i = 0; i < count && status == 0; i++) {
		uint64_t length = take_number(in);
		const uint8_t *text = take_bytes(in, length);

		status = text != NULL && !in->is_bad
		                 ? create_view(unpacker, (const char *)text, length)
		                 : -EBADMSG;
	}
	if (status == 0 && (in->is_bad || in->at != in->end))
		status = -EBADMSG;
	return status;
}

/* Reads a table whose name has this length. */
static int read_table(struct unpacker *unpacker, uint64_t length)
{
	struct stream_cursor *in = &unpacker->in;
	uint64_t columns, rows;
	const uint8_t *name = take_bytes(in, length);
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };
	const struct gg_record_table *table;
	sqlite3_stmt *row = NULL;
	int status = 0;

	columns = take_number(in);
	rows = take_number(in);
	if (in->is_bad || length > TABLE_NAME_MAX || columns == 0 ||
	    columns > GG_PACKED_COLUMNS_MAX || rows > unpacker->rows_most)
		return -EBADMSG;
	table = find_table(unpacker, name, length);
	if (table == NULL)
		return -EBADMSG;
	for (uint64_t i = 0; i < columns && status == 0; i++)
		status = read_column(unpacker, &unpacker->columns[i]);
	gg_buf_printf(&sql, "insert into %s values (?", table->name);
	for (uint64_t i = 1; i < columns; i++)
		gg_buf_append_text(&sql, ", ?");
	gg_buf_append_text(&sql, ")");
	if (status == 0 && sql.failed)
		status = -ENOMEM;
	if (status == 0 && sqlite3_prepare_v2(unpacker->profile->db, gg_buf_text(&sql), -1, &row,
	                                      NULL) != SQLITE_OK)
		status = -EBADMSG;
	if (status == 0)
		status = insert_rows(unpacker, row, (int)columns, rows);
	sqlite3_finalize(row);
	return status;
}

static int read_tables(struct gg_profile *profile, const struct gg_buf *content)
{
	struct unpacker *unpacker = calloc(1, sizeof(*unpacker));
	int status = 0;

	if (unpacker == NULL)
		return -ENOMEM;
	unpacker->profile = profile;
	unpacker->rows_most = content->length * DEFLATE_MOST + SMALL_ROWS;
	unpacker->in.at = (const uint8_t *)gg_buf_text(content);
	unpacker->in.end = unpacker->in.at + content->length - GG_PACKED_CHECK_BYTES;
	if (!use(unpacker, content->length))
		status = -EBADMSG;
	while (status == 0) {
		uint64_t length = take_number(&unpacker->in);

		if (unpacker->in.is_bad)
			status = -EBADMSG;
		else if (length > 0)
			status = read_table(unpacker, length);
		else
			break;
	}
	if (status == 0)
		status = read_views(unpacker);
	for (size_t i = 0; i < unpacker->streams.count; i++)
		free(unpacker->streams.items[i].data);
	gg_array_done(&unpacker->streams);
	gg_array_done(&unpacker->texts);
	free(unpacker);
	return status;
}

/* --- the file --- */

static int read_content(struct gg_profile *profile, struct gg_buf *content, struct gg_error *error)
{
	sqlite3_stmt *row = NULL;
	struct stat file;
	int result;

	if (stat(profile->path, &file) < 0)
		return gg_error_set_errno(error, errno, profile->path, NULL);
	result = sqlite3_prepare_v2(profile->db, "select content from packed order by part", -1,
	                            &row, NULL);
	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(row);
		if (result == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_BLOB)
			gg_buf_append(content, sqlite3_column_blob(row, 0),
			              (size_t)sqlite3_column_bytes(row, 0));
		/* A file that was made to do harm has pages to which many places lead. */
		if (content->length > (uint64_t)file.st_size)
			result = SQLITE_CORRUPT;
	}
	if (result != SQLITE_DONE)
		gg_database_fail(profile, result, error);
	sqlite3_finalize(row);
	if (content->failed)
		return gg_error_memory(error, profile->path);
	return result == SQLITE_DONE ? 0 : error->status;
}

static int create_tables(struct gg_profile *profile, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };

	gg_buf_printf(&sql,
	              "pragma page_size = %d; pragma max_page_count = %lld;"
	              " pragma application_id = %d; pragma user_version = %u; begin;\n",
	              GG_SCHEMA_PAGE_BYTES,
	              (long long)(GG_PACKED_TABLES_MOST / GG_SCHEMA_PAGE_BYTES),
	              GG_PROFILE_APPLICATION_ID, profile->version);
	for (size_t i = 0; gg_schema_tables[i] != NULL; i++) {
		const char *create = gg_record_table_create(gg_schema_tables[i], profile->version);

		if (create != NULL)
			gg_buf_printf(&sql, "create table %s;\n", create);
	}
	gg_buf_append_text(&sql, gg_schema_contents);
	gg_buf_append_text(&sql, "delete from scheme;\n"); /* the content has the file's own */
	if (sql.failed)
		return gg_error_memory(error, profile->path);
	return gg_database_execute(profile, gg_buf_text(&sql), error);
}

/* A part that is missing, or changed by accident, fails the check. */
static bool is_whole(const struct gg_buf *content)
{
	size_t length = content->length - GG_PACKED_CHECK_BYTES;
	uint32_t check = 0;

	if (content->length < GG_PACKED_CHECK_BYTES)
		return false;
	for (size_t i = 0; i < GG_PACKED_CHECK_BYTES; i++)
		check |= (uint32_t)(uint8_t)content->data[length + i] << 8 * i;
	return check == gg_packed_check(content->data, length);
}

int gg_packed_load(struct gg_profile *profile, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf content = { 0 };
	int status = read_content(profile, &content, error);

	if (status < 0)
		return status;
	sqlite3_close_v2(profile->db);
	profile->db = NULL;
	profile->is_in_file = false;
	profile->is_packed = true;
	status = gg_database_open(profile, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (status == 0)
		status = create_tables(profile, error);
	if (status < 0)
		return status;
	status = is_whole(&content) ? read_tables(profile, &content) : -EBADMSG;
	if (status == -ENOMEM)
		return gg_error_memory(error, profile->path);
	if (status < 0)
		return gg_error_set(error, status, profile->path, "Copy or record it again.",
		                    "its packed content is damaged");
	return gg_database_execute(profile, "commit", error);
}

bool gg_profile_is_packed(const struct gg_profile *profile)
{
	return profile->is_packed;
}
