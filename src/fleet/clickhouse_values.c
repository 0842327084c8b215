/* SPDX-License-Identifier: Apache-2.0 */
/* clickhouse_values - values in statements, and values of rows in the format RowBinary. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/clickhouse.h"

enum { NUMBER_BYTES = 8, VARINT_BITS = 7, VARINT_BYTES_MAX = 10 };

/*
 * The one place that quotes.  ClickHouse reads backslash escapes in texts and in quoted names, so a
 * backslash and the quote itself get one; control characters go as \xHH.
 */
static void add_quoted(struct gg_buf *out, const char *text, char quote)
{
	gg_buf_append(out, &quote, 1);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\\' || c == '\'' || c == '`')
			gg_buf_printf(out, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			gg_buf_printf(out, "\\x%02X", c);
		else
			gg_buf_append(out, text, 1);
	}
	gg_buf_append(out, &quote, 1);
}

static void add_number(struct gg_buf *out, double number)
{
	if (isfinite(number))
		gg_buf_printf(out, "toFloat64('%.17g')", number);
	else
		gg_buf_append_text(out, isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

static void add_list(struct gg_buf *out, const struct gg_clickhouse_value *value)
{
	if (value->count == 0)
		gg_buf_append_text(out, "NULL");
	for (size_t i = 0; i < value->count; i++) {
		if (i > 0)
			gg_buf_append_text(out, ", ");
		if (value->kind == GG_CLICKHOUSE_TEXTS)
			add_quoted(out, value->texts[i], '\'');
		else
			gg_buf_printf(out, "%llu", (unsigned long long)value->u64s[i]);
	}
}

static void add_value(struct gg_buf *out, const struct gg_clickhouse_value *value)
{
	switch (value->kind) {
	case GG_CLICKHOUSE_U64:
		gg_buf_printf(out, "%llu", (unsigned long long)value->u64);
		break;
	case GG_CLICKHOUSE_DOUBLE:
		add_number(out, value->number);
		break;
	case GG_CLICKHOUSE_TEXT:
		add_quoted(out, value->text, '\'');
		break;
	case GG_CLICKHOUSE_NAME:
		add_quoted(out, value->text, '`');
		break;
	case GG_CLICKHOUSE_U64S:
	case GG_CLICKHOUSE_TEXTS:
		add_list(out, value);
		break;
	case GG_CLICKHOUSE_BYTES:
		gg_buf_append_text(out, "unhex('");
		for (size_t i = 0; i < value->count; i++)
			gg_buf_printf(out, "%02x", value->bytes[i]);
		gg_buf_append_text(out, "')");
		break;
	}
}

static const struct gg_clickhouse_value *find_value(const struct gg_clickhouse_value *values,
                                                    size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(values[i].name) == length && memcmp(values[i].name, name, length) == 0)
			return &values[i];
	return NULL;
}

int gg_clickhouse_bind(struct gg_buf *query, const char *statement,
                       const struct gg_clickhouse_value *values, size_t count,
                       struct gg_error *error)
{
	while (*statement != '\0') {
		size_t length = strcspn(statement, "{");
		const struct gg_clickhouse_value *value;

		gg_buf_append(query, statement, length);
		statement += length;
		if (*statement == '\0')
			break;
		length = strcspn(statement + 1, "}");
		value = find_value(values, count, statement + 1, length);
		if (value == NULL || statement[length + 1] != '}')
			return gg_error_set(error, -EINVAL, "query", NULL,
			                    "the statement has no value for %.*s", (int)length,
			                    statement + 1);
		if (value->kind == GG_CLICKHOUSE_NAME && value->text[0] == '\0')
			return gg_error_set(error, -EINVAL, "query", NULL, "%s is empty",
			                    value->name);
		add_value(query, value);
		statement += length + 2;
	}
	return query->failed ? gg_error_memory(error, "query") : 0;
}

const unsigned char *gg_clickhouse_read_bytes(struct gg_clickhouse_rows *rows, size_t length)
{
	const unsigned char *bytes = rows->at;

	if (rows->failed || length > (size_t)(rows->end - rows->at)) {
		rows->failed = true;
		return NULL;
	}
	rows->at += length;
	return bytes;
}

static uint64_t read_number(struct gg_clickhouse_rows *rows, size_t length)
{
	const unsigned char *bytes = gg_clickhouse_read_bytes(rows, length);
	uint64_t number = 0;

	for (size_t i = length; bytes != NULL && i > 0; i--)
		number = number << 8 | bytes[i - 1];
	return number;
}

uint64_t gg_clickhouse_read_u64(struct gg_clickhouse_rows *rows)
{
	return read_number(rows, NUMBER_BYTES);
}

uint32_t gg_clickhouse_read_u32(struct gg_clickhouse_rows *rows)
{
	return (uint32_t)read_number(rows, 4);
}

uint8_t gg_clickhouse_read_u8(struct gg_clickhouse_rows *rows)
{
	return (uint8_t)read_number(rows, 1);
}

double gg_clickhouse_read_double(struct gg_clickhouse_rows *rows)
{
	uint64_t bits = read_number(rows, NUMBER_BYTES);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t gg_clickhouse_read_varint(struct gg_clickhouse_rows *rows)
{
	uint64_t value = 0;

	for (int i = 0; i < VARINT_BYTES_MAX; i++) {
		const unsigned char *byte = gg_clickhouse_read_bytes(rows, 1);

		if (byte == NULL)
			return 0;
		value |= (uint64_t)(*byte & 0x7f) << VARINT_BITS * i;
		if (*byte < 0x80)
			return value;
	}
	rows->failed = true;
	return 0;
}

const char *gg_clickhouse_read_text(struct gg_clickhouse_rows *rows, size_t *ret_length)
{
	uint64_t length = gg_clickhouse_read_varint(rows);
	const unsigned char *bytes = gg_clickhouse_read_bytes(rows, length);

	*ret_length = bytes != NULL ? length : 0;
	return bytes != NULL ? (const char *)bytes : "";
}

static void write_number(struct gg_buf *rows, uint64_t value, size_t length)
{
	unsigned char bytes[NUMBER_BYTES];

	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	gg_buf_append(rows, bytes, length);
}

void gg_clickhouse_write_u64(struct gg_buf *rows, uint64_t value)
{
	write_number(rows, value, NUMBER_BYTES);
}

void gg_clickhouse_write_u32(struct gg_buf *rows, uint32_t value)
{
	write_number(rows, value, 4);
}

void gg_clickhouse_write_u8(struct gg_buf *rows, uint8_t value)
{
	write_number(rows, value, 1);
}

void gg_clickhouse_write_double(struct gg_buf *rows, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	write_number(rows, bits, NUMBER_BYTES);
}

void gg_clickhouse_write_varint(struct gg_buf *rows, uint64_t value)
{
	for (; value >= 0x80; value >>= VARINT_BITS)
		gg_clickhouse_write_u8(rows, (uint8_t)(value | 0x80));
	gg_clickhouse_write_u8(rows, (uint8_t)value);
}

void gg_clickhouse_write_text(struct gg_buf *rows, const char *text)
{
	size_t length = strlen(text);

	gg_clickhouse_write_varint(rows, length);
	gg_buf_append(rows, text, length);
}
