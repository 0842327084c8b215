/* SPDX-License-Identifier: Apache-2.0 */
/* segment - makes the blocks of the store's tables, and keeps them as files. */
#include "fleet/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/address_name.h"
#include "base/varint.h"

enum { SEGMENT_DIGITS = 16, SECONDS_PER_DAY = 86400 };
static const char file_magic[] = "GGSEGM1\n";
enum { FILE_MAGIC_BYTES = sizeof(file_magic) - 1, FILE_HEAD_BYTES = FILE_MAGIC_BYTES + 4 };

static const char *const tables[] = { "series", "host",  "process", "draw",  "live",
	                              "folded", "stack", "frame",   "symbol" };

uint32_t gg_segment_month(uint64_t time_s)
{
	time_t time = (time_t)time_s;
	struct tm utc;

	if (gmtime_r(&time, &utc) == NULL)
		return 197001;
	return (uint32_t)(utc.tm_year + 1900) * 100 + (uint32_t)utc.tm_mon + 1;
}

/* --- blocks --------------------------------------------------------------------------------- */

/* A block that is being written: columns follow each other, each with all rows. */
struct block_writer {
	struct gg_buf *out;
	size_t row_count;
};

static void put(struct block_writer *writer, const void *bytes, size_t length)
{
	gg_buf_append(writer->out, bytes, length);
}

static void put_text(struct block_writer *writer, const char *text)
{
	size_t length = strlen(text);

	gg_varint_append(writer->out, length);
	gg_buf_append(writer->out, text, length);
}

static void put_u8(struct block_writer *writer, uint8_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_u16(struct block_writer *writer, uint16_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_u32(struct block_writer *writer, uint32_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_u64(struct block_writer *writer, uint64_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_f64(struct block_writer *writer, double value)
{
	put(writer, &value, sizeof(value));
}

static void put_f32(struct block_writer *writer, double value)
{
	float narrow = (float)value;

	put(writer, &narrow, sizeof(narrow));
}

static void put_column(struct block_writer *writer, const char *name, const char *type)
{
	put_text(writer, name);
	put_text(writer, type);
}

static void begin_block(struct block_writer *writer, size_t columns, size_t rows)
{
	writer->row_count = rows;
	gg_varint_append(writer->out, columns);
	gg_varint_append(writer->out, rows);
}

/* Returns the block of a table, which is empty; NULL: memory is out. */
static struct gg_segment_block *add_block(struct gg_segment *segment, const char *table,
                                          size_t columns, size_t rows, struct block_writer *writer)
{
	struct gg_segment_block *block = gg_array_add(&segment->blocks);

	if (block == NULL)
		return NULL;
	block->table = table;
	block->row_count = rows;
	segment->row_count += rows;
	writer->out = &block->bytes;
	begin_block(writer, columns, rows);
	return block;
}

/* A column of `rows` values, each an expression of the row's number `i`. */
#define COLUMN(writer, name, type, put_value, value)             \
	do {                                                     \
		put_column((writer), (name), (type));            \
		for (size_t i = 0; i < (writer)->row_count; i++) \
			put_value((writer), (value));            \
	} while (false)

static void put_label_column(struct block_writer *writer, const char *name,
                             const struct gg_fleet_slot *slot, bool is_value)
{
	uint64_t offset = 0;

	put_column(writer, name, "Array(String)");
	for (size_t i = 0; i < slot->series.count; i++) {
		offset += slot->series.items[i].label_count;
		put_u64(writer, offset);
	}
	for (size_t i = 0; i < slot->series.count; i++)
		for (size_t k = 0; k < slot->series.items[i].label_count; k++) {
			const struct gg_fleet_label *label = &slot->series.items[i].labels[k];

			put_text(writer, is_value ? label->value : label->key);
		}
}

/* The ids of a slot's series, services and host, computed once. */
struct slot_ids {
	uint64_t host;
	uint64_t *series, *services;
};

static int add_series(struct gg_segment *segment, const struct gg_fleet_slot *slot,
                      const struct slot_ids *ids)
{
	const struct gg_fleet_series *series = slot->series.items;
	uint32_t month = gg_segment_month(slot->start_s);
	struct block_writer writer;

	if (slot->series.count == 0)
		return 0;
	if (add_block(segment, "series", 10, slot->series.count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "month", "UInt32", put_u32, month);
	COLUMN(&writer, "service", "UInt64", put_u64, ids->services[i]);
	COLUMN(&writer, "series", "UInt64", put_u64, ids->series[i]);
	COLUMN(&writer, "service_name", "String", put_text, series[i].service);
	COLUMN(&writer, "version", "String", put_text, series[i].version);
	COLUMN(&writer, "kind", "String", put_text, series[i].kind);
	COLUMN(&writer, "heap", "String", put_text, series[i].heap);
	COLUMN(&writer, "type", "String", put_text, series[i].type);
	put_label_column(&writer, "keys", slot, false);
	put_label_column(&writer, "vals", slot, true);
	return writer.out->failed ? -ENOMEM : 0;
}

static int add_host(struct gg_segment *segment, const struct gg_fleet_slot *slot,
                    const struct slot_ids *ids)
{
	bool has_instance = slot->instance != NULL && slot->instance[0] != '\0';
	uint64_t label_count = slot->host_label_count + has_instance;
	struct block_writer writer;

	if (add_block(segment, "host", 5, 1, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "month", "UInt32", put_u32, gg_segment_month(slot->start_s));
	COLUMN(&writer, "host", "UInt64", put_u64, ids->host);
	COLUMN(&writer, "name", "String", put_text, slot->host);
	put_column(&writer, "keys", "Array(String)");
	put_u64(&writer, label_count);
	for (size_t k = 0; k < slot->host_label_count; k++)
		put_text(&writer, slot->host_labels[k].key);
	if (has_instance)
		put_text(&writer, "instance");
	put_column(&writer, "vals", "Array(String)");
	put_u64(&writer, label_count);
	for (size_t k = 0; k < slot->host_label_count; k++)
		put_text(&writer, slot->host_labels[k].value);
	if (has_instance)
		put_text(&writer, slot->instance);
	return writer.out->failed ? -ENOMEM : 0;
}

static int add_processes(struct gg_segment *segment, const struct gg_fleet_slot *slot,
                         const struct slot_ids *ids)
{
	const struct gg_fleet_process_row *rows = slot->processes.items;
	uint32_t start_s = (uint32_t)slot->start_s;
	struct block_writer writer;

	if (slot->processes.count == 0)
		return 0;
	if (add_block(segment, "process", 13, slot->processes.count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "slot", "DateTime", put_u32, start_s);
	COLUMN(&writer, "service", "UInt64", put_u64, ids->services[rows[i].series]);
	COLUMN(&writer, "series", "UInt64", put_u64, ids->series[rows[i].series]);
	COLUMN(&writer, "host", "UInt64", put_u64, ids->host);
	COLUMN(&writer, "processes", "UInt32", put_u32, rows[i].processes);
	COLUMN(&writer, "selected_ppm", "UInt32", put_u32, rows[i].selected_ppm);
	COLUMN(&writer, "gap_max", "Float64", put_f64, rows[i].gap_max);
	COLUMN(&writer, "scheme", "UInt8", put_u8, rows[i].scheme);
	COLUMN(&writer, "rss", "UInt64", put_u64, rows[i].rss_bytes);
	COLUMN(&writer, "live_bytes", "Float64", put_f64, rows[i].live_bytes);
	COLUMN(&writer, "allocated_bytes", "Float64", put_f64, rows[i].allocated_bytes);
	COLUMN(&writer, "covered_s", "UInt32", put_u32, rows[i].covered_s);
	COLUMN(&writer, "dropped", "UInt64", put_u64, rows[i].dropped);
	return writer.out->failed ? -ENOMEM : 0;
}

/* Rows for draw or for live: those with a number there. */
static int add_rows(struct gg_segment *segment, const struct gg_fleet_slot *slot,
                    const struct slot_ids *ids, bool is_live)
{
	uint32_t start_s = (uint32_t)slot->start_s;
	const struct gg_fleet_row **rows = NULL;
	size_t count = 0;
	struct block_writer writer;
	int status = 0;

	if (slot->rows.count == 0)
		return 0;
	rows = malloc(slot->rows.count * sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	for (size_t k = 0; k < slot->rows.count; k++) {
		const struct gg_fleet_row *row = &slot->rows.items[k];

		if (is_live ? row->live > 0 : row->allocated > 0 || row->freed > 0)
			rows[count++] = row;
	}
	if (count == 0)
		goto out;
	if (add_block(segment, is_live ? "live" : "draw", is_live ? 9 : 10, count, &writer) ==
	    NULL) {
		status = -ENOMEM;
		goto out;
	}
	COLUMN(&writer, "slot", "DateTime", put_u32, start_s);
	COLUMN(&writer, "service", "UInt64", put_u64, ids->services[rows[i]->series]);
	put_column(&writer, "stack", "FixedString(16)");
	for (size_t i = 0; i < count; i++)
		put(&writer, slot->stacks.items[rows[i]->stack].bytes, 16);
	COLUMN(&writer, "series", "UInt64", put_u64, ids->series[rows[i]->series]);
	COLUMN(&writer, "host", "UInt64", put_u64, ids->host);
	COLUMN(&writer, "size", "UInt64", put_u64, rows[i]->size);
	COLUMN(&writer, "gap", "Float64", put_f64, rows[i]->gap);
	if (is_live) {
		COLUMN(&writer, "n", "UInt32", put_u32, rows[i]->live);
	} else {
		COLUMN(&writer, "allocated", "UInt32", put_u32, rows[i]->allocated);
		COLUMN(&writer, "freed", "UInt32", put_u32, rows[i]->freed);
	}
	COLUMN(&writer, "flags", "UInt8", put_u8, rows[i]->flags);
	status = writer.out->failed ? -ENOMEM : 0;
out:
	free(rows);
	return status;
}

static int add_folded(struct gg_segment *segment, const struct gg_fleet_slot *slot,
                      const struct slot_ids *ids)
{
	const struct gg_fleet_folded *rows = slot->folded.items;
	uint32_t start_s = (uint32_t)slot->start_s;
	struct block_writer writer;

	if (slot->folded.count == 0)
		return 0;
	if (add_block(segment, "folded", 26, slot->folded.count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "slot", "DateTime", put_u32, start_s);
	COLUMN(&writer, "service", "UInt64", put_u64, ids->services[rows[i].series]);
	put_column(&writer, "stack", "FixedString(16)");
	for (size_t i = 0; i < writer.row_count; i++)
		put(&writer, slot->stacks.items[rows[i].stack].bytes, 16);
	COLUMN(&writer, "series", "UInt64", put_u64, ids->series[rows[i].series]);
	COLUMN(&writer, "host", "UInt64", put_u64, ids->host);
	COLUMN(&writer, "metric", "UInt8", put_u8, rows[i].metric);
	COLUMN(&writer, "n", "UInt32", put_u32, rows[i].n);
	COLUMN(&writer, "sure_n", "UInt32", put_u32, rows[i].sure_n);
	COLUMN(&writer, "seen", "UInt64", put_u64, rows[i].seen);
	COLUMN(&writer, "sure_seen", "UInt64", put_u64, rows[i].sure_seen);
	COLUMN(&writer, "bytes", "Float64", put_f64, rows[i].bytes);
	COLUMN(&writer, "count", "Float64", put_f64, rows[i].count);
	COLUMN(&writer, "bytes_var", "Float32", put_f32, rows[i].bytes_var);
	COLUMN(&writer, "count_var", "Float32", put_f32, rows[i].count_var);
	COLUMN(&writer, "missed_bytes", "Float32", put_f32, rows[i].missed_bytes);
	COLUMN(&writer, "missed_count", "Float32", put_f32, rows[i].missed_count);
	COLUMN(&writer, "sure_bytes_var", "Float32", put_f32, rows[i].sure_bytes_var);
	COLUMN(&writer, "sure_count_var", "Float32", put_f32, rows[i].sure_count_var);
	COLUMN(&writer, "bytes_skew", "Float32", put_f32, rows[i].bytes_skew);
	COLUMN(&writer, "count_skew", "Float32", put_f32, rows[i].count_skew);
	COLUMN(&writer, "bytes_slack", "Float32", put_f32, rows[i].bytes_slack);
	COLUMN(&writer, "count_slack", "Float32", put_f32, rows[i].count_slack);
	COLUMN(&writer, "unknown", "UInt8", put_u8, rows[i].unknown);
	COLUMN(&writer, "gap_max", "Float32", put_f32, rows[i].gap_max);
	COLUMN(&writer, "reserve_count", "Float32", put_f32, rows[i].reserve_count);
	COLUMN(&writer, "least_size", "UInt64", put_u64, rows[i].least_size);
	return writer.out->failed ? -ENOMEM : 0;
}

int gg_segment_of_slot(struct gg_segment *segment, const struct gg_fleet_slot *slot)
{
	struct slot_ids ids = {
		.host = gg_fleet_sender_id(slot->host, slot->instance),
		.series = malloc((slot->series.count + 1) * sizeof(uint64_t)),
		.services = malloc((slot->series.count + 1) * sizeof(uint64_t)),
	};
	int status = ids.series == NULL || ids.services == NULL ? -ENOMEM : 0;

	for (size_t i = 0; status == 0 && i < slot->series.count; i++) {
		ids.series[i] = gg_fleet_series_id(&slot->series.items[i]);
		ids.services[i] = gg_fleet_service_id(slot->series.items[i].service);
	}
	if (status == 0)
		status = add_series(segment, slot, &ids);
	if (status == 0)
		status = add_host(segment, slot, &ids);
	if (status == 0)
		status = add_processes(segment, slot, &ids);
	if (status == 0)
		status = add_rows(segment, slot, &ids, false);
	if (status == 0)
		status = add_rows(segment, slot, &ids, true);
	if (status == 0)
		status = add_folded(segment, slot, &ids);
	free(ids.series);
	free(ids.services);
	return status;
}

/* --- definitions ---------------------------------------------------------------------------- */

static int add_stacks(struct gg_segment *segment, const struct gg_fleet_definitions *definitions,
                      const uint64_t *frame_ids)
{
	const struct gg_fleet_stack *stacks = definitions->stacks.items;
	const uint32_t *frames = definitions->stack_frames.items;
	uint32_t month = gg_segment_month(definitions->at_s);
	uint64_t path[GG_FLEET_DEPTH_MAX], offset = 0;
	struct block_writer writer;

	if (definitions->stacks.count == 0)
		return 0;
	if (add_block(segment, "stack", 4, definitions->stacks.count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "month", "UInt32", put_u32, month);
	COLUMN(&writer, "service", "UInt64", put_u64,
	       gg_fleet_service_id(definitions->services.items[stacks[i].service]));
	/* The receiver computes the id, so that no sender can give a stack another content. */
	put_column(&writer, "stack", "FixedString(16)");
	for (size_t i = 0; i < writer.row_count; i++) {
		struct gg_fleet_stack_id id;

		for (size_t k = 0; k < stacks[i].frame_count; k++)
			path[k] = frame_ids[frames[stacks[i].first_frame + k]];
		id = gg_fleet_stack_id(path, stacks[i].frame_count);
		put(&writer, id.bytes, sizeof(id.bytes));
	}
	put_column(&writer, "frames", "Array(UInt64)");
	for (size_t i = 0; i < writer.row_count; i++) {
		offset += stacks[i].frame_count;
		put_u64(&writer, offset);
	}
	for (size_t i = 0; i < writer.row_count; i++)
		for (size_t k = 0; k < stacks[i].frame_count; k++)
			put_u64(&writer, frame_ids[frames[stacks[i].first_frame + k]]);
	return writer.out->failed ? -ENOMEM : 0;
}

/* The numbers of the frames that a table has. */
static size_t list_frames(const struct gg_fleet_definitions *definitions, bool is_named,
                          uint32_t *numbers)
{
	size_t count = 0;

	for (size_t k = 0; k < definitions->frames.count; k++)
		if (!is_named || definitions->frames.items[k].line_count > 0)
			numbers[count++] = (uint32_t)k;
	return count;
}

static int add_frames(struct gg_segment *segment, const struct gg_fleet_definitions *definitions,
                      const uint64_t *frame_ids, uint32_t *numbers)
{
	const struct gg_fleet_frame *frames = definitions->frames.items;
	size_t count = list_frames(definitions, false, numbers);
	uint32_t month = gg_segment_month(definitions->at_s);
	struct block_writer writer;

	if (count == 0)
		return 0;
	if (add_block(segment, "frame", 5, count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "month", "UInt32", put_u32, month);
	COLUMN(&writer, "frame", "UInt64", put_u64, frame_ids[numbers[i]]);
	COLUMN(&writer, "build_id", "String", put_text, frames[numbers[i]].build_id);
	COLUMN(&writer, "address", "UInt64", put_u64, frames[numbers[i]].address);
	COLUMN(&writer, "module", "String", put_text, frames[numbers[i]].module);
	return writer.out->failed ? -ENOMEM : 0;
}

static void put_offsets(struct block_writer *writer, const struct gg_fleet_frame *frames,
                        const uint32_t *numbers)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < writer->row_count; i++) {
		offset += frames[numbers[i]].line_count;
		put_u64(writer, offset);
	}
}

/* Every line of the listed frames, in order. */
#define LINES(writer, put_value, value)                                                     \
	do {                                                                                \
		for (size_t i = 0; i < (writer)->row_count; i++)                            \
			for (size_t k = 0; k < frames[numbers[i]].line_count; k++) {        \
				const struct gg_fleet_line *line =                          \
					&definitions->lines                                 \
						 .items[frames[numbers[i]].first_line + k]; \
				put_value((writer), (value));                               \
			}                                                                   \
	} while (false)

/* A host that knows only the address of a function takes its name from no other one. */
static uint32_t resolved_of(const struct gg_fleet_definitions *definitions,
                            const struct gg_fleet_frame *frame, uint64_t now_s)
{
	const struct gg_fleet_line *last =
		&definitions->lines.items[frame->first_line + frame->line_count - 1];

	return gg_address_name_is(last->function, NULL) ? 1 : (uint32_t)now_s;
}

static int add_symbols(struct gg_segment *segment, const struct gg_fleet_definitions *definitions,
                       const uint64_t *frame_ids, uint32_t *numbers, uint64_t now_s)
{
	const struct gg_fleet_frame *frames = definitions->frames.items;
	size_t count = list_frames(definitions, true, numbers);
	struct block_writer writer;

	if (count == 0)
		return 0;
	if (add_block(segment, "symbol", 5, count, &writer) == NULL)
		return -ENOMEM;
	COLUMN(&writer, "frame", "UInt64", put_u64, frame_ids[numbers[i]]);
	COLUMN(&writer, "resolved", "DateTime", put_u32,
	       resolved_of(definitions, &frames[numbers[i]], now_s));
	put_column(&writer, "functions", "Array(String)");
	put_offsets(&writer, frames, numbers);
	LINES(&writer, put_text, line->function);
	put_column(&writer, "files", "Array(String)");
	put_offsets(&writer, frames, numbers);
	LINES(&writer, put_text, line->file);
	put_column(&writer, "lines", "Array(UInt32)");
	put_offsets(&writer, frames, numbers);
	LINES(&writer, put_u32, line->line);
	return writer.out->failed ? -ENOMEM : 0;
}

int gg_segment_of_definitions(struct gg_segment *segment,
                              const struct gg_fleet_definitions *definitions, uint64_t now_s)
{
	size_t count = definitions->frames.count;
	uint64_t *frame_ids = malloc((count + 1) * sizeof(*frame_ids));
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	int status = frame_ids == NULL || numbers == NULL ? -ENOMEM : 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		frame_ids[i] = gg_fleet_frame_id_of(definitions, &definitions->frames.items[i]);
	if (status == 0)
		status = add_stacks(segment, definitions, frame_ids);
	if (status == 0)
		status = add_frames(segment, definitions, frame_ids, numbers);
	if (status == 0)
		status = add_symbols(segment, definitions, frame_ids, numbers, now_s);
	free(frame_ids);
	free(numbers);
	return status;
}

int gg_segment_batch_row(struct gg_buf *out, uint32_t receiver, uint64_t number, uint64_t row_count,
                         uint64_t bytes, uint64_t now_s)
{
	struct block_writer writer = { .out = out };

	begin_block(&writer, 6, 1);
	COLUMN(&writer, "day", "Date", put_u16, (uint16_t)(now_s / SECONDS_PER_DAY));
	COLUMN(&writer, "receiver", "UInt32", put_u32, receiver);
	COLUMN(&writer, "segment", "UInt64", put_u64, number);
	COLUMN(&writer, "rows", "UInt64", put_u64, row_count);
	COLUMN(&writer, "bytes", "UInt64", put_u64, bytes);
	COLUMN(&writer, "at", "DateTime", put_u32, (uint32_t)now_s);
	return out->failed ? -ENOMEM : 0;
}

int gg_segment_append(struct gg_segment *segment, struct gg_segment *part)
{
	for (size_t i = 0; i < part->blocks.count; i++) {
		if (!gg_array_push(&segment->blocks, part->blocks.items[i]))
			return -ENOMEM;
		part->blocks.items[i].bytes = (struct gg_buf){ 0 };
	}
	segment->row_count += part->row_count;
	return 0;
}

void gg_segment_done(struct gg_segment *segment)
{
	for (size_t i = 0; i < segment->blocks.count; i++)
		gg_buf_done(&segment->blocks.items[i].bytes);
	gg_array_done(&segment->blocks);
	*segment = (struct gg_segment){ 0 };
}

/* --- files ---------------------------------------------------------------------------------- */

struct segment_name {
	char text[SEGMENT_DIGITS + 16];
};

static struct segment_name name_of(uint64_t number, const char *suffix)
{
	struct segment_name name;

	snprintf(name.text, sizeof(name.text), "%016" PRIx64 "%s", number, suffix);
	return name;
}

static void pack(const struct gg_segment *segment, const char *tenant, struct gg_buf *out)
{
	struct block_writer writer = { .out = out };
	uint32_t sum;

	gg_buf_append(out, file_magic, FILE_MAGIC_BYTES);
	put_u32(&writer, 0);
	put_text(&writer, tenant);
	gg_varint_append(out, segment->row_count);
	for (size_t i = 0; i < segment->blocks.count; i++) {
		const struct gg_segment_block *block = &segment->blocks.items[i];

		put_text(&writer, block->table);
		gg_varint_append(out, block->row_count);
		gg_varint_append(out, block->bytes.length);
		gg_buf_append(out, block->bytes.data, block->bytes.length);
	}
	if (out->failed)
		return;
	sum = (uint32_t)crc32_z(0, (const Bytef *)out->data + FILE_HEAD_BYTES,
	                        out->length - FILE_HEAD_BYTES);
	memcpy(out->data + FILE_MAGIC_BYTES, &sum, sizeof(sum));
}

static int write_whole(int fd, const struct gg_buf *content)
{
	size_t done = 0;

	while (done < content->length) {
		ssize_t count = write(fd, content->data + done, content->length - done);

		if (count <= 0 && errno != EINTR)
			return count < 0 ? -errno : -EIO;
		done += count > 0 ? (size_t)count : 0;
	}
	return 0;
}

int gg_segment_seal(int directory_fd, uint64_t number, const char *tenant,
                    const struct gg_segment *segment, uint64_t *ret_bytes, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf content = { 0 };
	struct segment_name part = name_of(number, ".part"), name = name_of(number, ".segment");
	int fd, status;

	pack(segment, tenant, &content);
	if (content.failed)
		return gg_error_memory(error, "fleet");
	fd = openat(directory_fd, part.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return gg_error_set_errno(error, errno, part.text, NULL);
	status = write_whole(fd, &content);
	/* An answer promises that the rows survive a power cut. */
	if (status == 0 && fsync(fd) < 0)
		status = -errno;
	if (close(fd) < 0 && status == 0)
		status = -errno;
	if (status == 0 && renameat(directory_fd, part.text, directory_fd, name.text) < 0)
		status = -errno;
	if (status == 0 && fsync(directory_fd) < 0) {
		status = -errno;
		unlinkat(directory_fd, name.text, 0);
	}
	if (status < 0) {
		unlinkat(directory_fd, part.text, 0);
		return gg_error_set_errno(error, -status, name.text, NULL);
	}
	*ret_bytes = content.length;
	return 0;
}

struct segment_cursor {
	const uint8_t *at, *end;
	bool is_cut;
};

static uint64_t get_number(struct segment_cursor *cursor)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	cursor->is_cut = true;
	return 0;
}

static const char *get_bytes(struct segment_cursor *cursor, uint64_t length)
{
	const char *bytes = (const char *)cursor->at;

	if (length > (uint64_t)(cursor->end - cursor->at)) {
		cursor->is_cut = true;
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += length;
	return bytes;
}

static const char *get_table(struct segment_cursor *cursor)
{
	uint64_t length = get_number(cursor);
	const char *bytes = get_bytes(cursor, length);

	for (size_t i = 0; bytes != NULL && i < GG_COUNT(tables); i++)
		if (strlen(tables[i]) == length && memcmp(tables[i], bytes, length) == 0)
			return tables[i];
	cursor->is_cut = true;
	return NULL;
}

static int unpack(struct gg_segment *segment, const struct gg_buf *content)
{
	struct segment_cursor cursor = { 0 };
	const char *bytes;
	uint64_t length;
	uint32_t sum;

	if (content->length < FILE_HEAD_BYTES ||
	    memcmp(content->data, file_magic, FILE_MAGIC_BYTES) != 0)
		return -EBADMSG;
	memcpy(&sum, content->data + FILE_MAGIC_BYTES, sizeof(sum));
	if (sum != (uint32_t)crc32_z(0, (const Bytef *)content->data + FILE_HEAD_BYTES,
	                             content->length - FILE_HEAD_BYTES))
		return -EBADMSG;
	cursor.at = (const uint8_t *)content->data + FILE_HEAD_BYTES;
	cursor.end = (const uint8_t *)content->data + content->length;
	length = get_number(&cursor);
	bytes = get_bytes(&cursor, length);
	if (bytes == NULL || length >= GG_SEGMENT_TENANT_MAX)
		return -EBADMSG;
	memcpy(segment->tenant, bytes, length);
	segment->tenant[length] = '\0';
	segment->row_count = get_number(&cursor);
	while (!cursor.is_cut && cursor.at < cursor.end) {
		struct gg_segment_block *block = gg_array_add(&segment->blocks);

		if (block == NULL)
			return -ENOMEM;
		block->table = get_table(&cursor);
		block->row_count = get_number(&cursor);
		length = get_number(&cursor);
		bytes = get_bytes(&cursor, length);
		if (bytes != NULL)
			gg_buf_append(&block->bytes, bytes, length);
		if (block->bytes.failed)
			return -ENOMEM;
	}
	return cursor.is_cut ? -EBADMSG : 0;
}

int gg_segment_read(struct gg_segment *ret_segment, int directory_fd, uint64_t number,
                    struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf content = { 0 };
	struct segment_name name = name_of(number, ".segment");
	struct gg_segment segment = { 0 };
	int fd = openat(directory_fd, name.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), status = 0;
	struct stat file;

	if (fd < 0)
		return gg_error_set_errno(error, errno, name.text, NULL);
	if (fstat(fd, &file) < 0)
		status = -errno;
	else if (file.st_size > GG_SEGMENT_FILE_MAX)
		status = -EBADMSG;
	else if (!gg_buf_reserve(&content, (size_t)file.st_size + 1))
		status = -ENOMEM;
	while (status == 0 && content.length < (size_t)file.st_size) {
		ssize_t count = read(fd, content.data + content.length,
		                     (size_t)file.st_size - content.length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			status = count < 0 ? -errno : -EBADMSG;
		else
			content.length += (size_t)count;
	}
	close(fd);
	if (status == 0)
		status = unpack(&segment, &content);
	if (status == 0) {
		*ret_segment = segment;
		return 0;
	}
	gg_segment_done(&segment);
	if (status == -EBADMSG)
		return gg_error_set(error, -EBADMSG, name.text, NULL, "the segment is damaged");
	return gg_error_set_errno(error, -status, name.text, NULL);
}

void gg_segment_remove(int directory_fd, uint64_t number)
{
	unlinkat(directory_fd, name_of(number, ".segment").text, 0);
}

void gg_segment_set_aside(int directory_fd, uint64_t number)
{
	struct segment_name from = name_of(number, ".segment"), to = name_of(number, ".damaged");

	renameat(directory_fd, from.text, directory_fd, to.text);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct gg_segment_listed *)a)->number;
	uint64_t y = ((const struct gg_segment_listed *)b)->number;

	return x < y ? -1 : x > y;
}

int gg_segment_list(struct gg_segment_list *ret_list, int directory_fd, struct gg_error *error)
{
	struct gg_segment_list list = { 0 };
	int again = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = again >= 0 ? fdopendir(again) : NULL;
	const struct dirent *entry;

	if (listing == NULL) {
		if (again >= 0)
			close(again);
		return gg_error_set_errno(error, errno, "the segments", NULL);
	}
	while ((entry = readdir(listing)) != NULL) {
		const char *name = entry->d_name;
		struct gg_segment_listed file;
		struct stat status;

		if (strspn(name, "0123456789abcdef") != SEGMENT_DIGITS)
			continue;
		if (strcmp(name + SEGMENT_DIGITS, ".part") == 0)
			unlinkat(directory_fd, name, 0);
		if (strcmp(name + SEGMENT_DIGITS, ".segment") != 0 ||
		    fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		file.number = strtoull(name, NULL, 16);
		file.bytes = (uint64_t)status.st_size;
		if (!gg_array_push(&list.files, file)) {
			gg_array_done(&list.files);
			closedir(listing);
			return gg_error_memory(error, "fleet");
		}
	}
	closedir(listing);
	if (list.files.count > 0)
		qsort(list.files.items, list.files.count, sizeof(*list.files.items), by_number);
	*ret_list = list;
	return 0;
}
