/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_wire - encodes and decodes the messages; each table is a few loops over its columns. */
#include "fleet/fleet_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

static const char magic[] = "GGFLEET";
enum { FRAME_NAME_MAX = 1024 /* of a function, in an id */ };
enum { MAGIC_BYTES = sizeof(magic) - 1, KIND_SLOT = 'S', KIND_DEFINITIONS = 'D' };
#define SLOT_START_MOST (UINT64_C(1) << 32) /* the store's times have 32 bits */

int gg_fleet_row_compare(const struct gg_fleet_row *a, const struct gg_fleet_row *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->gap != b->gap)
		return a->gap < b->gap ? -1 : 1;
	return (int)a->flags - (int)b->flags;
}

int gg_fleet_folded_compare(const struct gg_fleet_folded *a, const struct gg_fleet_folded *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (int)a->metric - (int)b->metric;
}

uint64_t gg_fleet_sender_id(const char *host, const char *instance)
{
	char text[2 * GG_FLEET_TEXT_MAX + 2];

	if (instance == NULL || instance[0] == '\0')
		return gg_fleet_host_id(host);
	snprintf(text, sizeof(text), "%s\n%s", host, instance);
	return gg_fleet_host_id(text);
}

uint64_t gg_fleet_frame_id_of(const struct gg_fleet_definitions *definitions,
                              const struct gg_fleet_frame *frame)
{
	char above[24] = "", name[FRAME_NAME_MAX];
	uint64_t id = 0;

	if (frame->build_id[0] != '\0' || frame->line_count == 0)
		return gg_fleet_native_frame_id(frame->build_id, frame->module, frame->address);
	for (size_t i = 0; i < frame->line_count; i++) {
		const struct gg_fleet_line *line = &definitions->lines.items[frame->first_line + i];

		snprintf(name, sizeof(name), "%s%s", above, line->function);
		id = gg_fleet_named_frame_id(name, line->file, line->line);
		snprintf(above, sizeof(above), "%016" PRIx64 " ", id);
	}
	return id;
}

/* --- encoding ------------------------------------------------------------------------------- */

static void put_text(struct gg_buf *out, const char *text)
{
	size_t length = text != NULL ? strlen(text) : 0;

	gg_varint_append(out, length);
	gg_buf_append(out, text, length);
}

static void put_double(struct gg_buf *out, double value)
{
	gg_buf_append(out, &value, sizeof(value)); /* IEEE 754, little endian: all our machines */
}

static void put_difference(struct gg_buf *out, uint64_t value, uint64_t before)
{
	uint64_t difference = value - before;

	gg_varint_append(out, difference << 1 ^ (0 - (difference >> 63)));
}

static void put_labels(struct gg_buf *out, const struct gg_fleet_label *labels, size_t count)
{
	gg_varint_append(out, count);
	for (size_t i = 0; i < count; i++) {
		put_text(out, labels[i].key);
		put_text(out, labels[i].value);
	}
}

static void put_head(struct gg_buf *out, char kind)
{
	gg_buf_append(out, magic, MAGIC_BYTES);
	gg_buf_append(out, &kind, 1);
	gg_varint_append(out, GG_FLEET_WIRE_VERSION);
}

static void put_processes(const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	gg_varint_append(out, slot->processes.count);
	for (size_t i = 0; i < slot->processes.count; i++) {
		const struct gg_fleet_process_row *row = &slot->processes.items[i];

		gg_varint_append(out, row->series);
		gg_varint_append(out, row->processes);
		gg_varint_append(out, row->selected_ppm);
		gg_varint_append(out, row->scheme);
		put_double(out, row->gap_max);
		gg_varint_append(out, row->rss_bytes);
		put_double(out, row->live_bytes);
		put_double(out, row->allocated_bytes);
		gg_varint_append(out, row->covered_s);
		gg_varint_append(out, row->dropped);
	}
}

static void put_rows(const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	const struct gg_fleet_row *rows = slot->rows.items;
	size_t count = slot->rows.count;
	double gap = 0;

	gg_varint_append(out, count);
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].series);
	for (size_t i = 0; i < count; i++)
		put_difference(out, rows[i].stack, i > 0 ? rows[i - 1].stack : 0);
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].size);
	/* A gap is written where it changes; otherwise the byte 0 stands for it. */
	for (size_t i = 0; i < count; i++) {
		gg_varint_append(out, rows[i].gap != gap);
		if (rows[i].gap != gap)
			put_double(out, rows[i].gap);
		gap = rows[i].gap;
	}
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].flags);
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].allocated);
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].freed);
	for (size_t i = 0; i < count; i++)
		gg_varint_append(out, rows[i].live);
}

/* The doubles of a folded row, in the order of the message. */
#define FOLDED_DOUBLES 14
static double *folded_double(struct gg_fleet_folded *row, int number)
{
	double *const fields[FOLDED_DOUBLES] = {
		&row->bytes,        &row->count,         &row->bytes_var,      &row->count_var,
		&row->missed_bytes, &row->missed_count,  &row->sure_bytes_var, &row->sure_count_var,
		&row->bytes_skew,   &row->count_skew,    &row->bytes_slack,    &row->count_slack,
		&row->gap_max,      &row->reserve_count,
	};

	return fields[number];
}

static void put_folded(const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	gg_varint_append(out, slot->folded.count);
	for (size_t i = 0; i < slot->folded.count; i++) {
		struct gg_fleet_folded row = slot->folded.items[i];

		gg_varint_append(out, row.series);
		gg_varint_append(out, row.stack);
		gg_varint_append(out, row.metric);
		gg_varint_append(out, row.unknown);
		gg_varint_append(out, row.n);
		gg_varint_append(out, row.sure_n);
		gg_varint_append(out, row.seen);
		gg_varint_append(out, row.sure_seen);
		gg_varint_append(out, row.least_size);
		for (int number = 0; number < FOLDED_DOUBLES; number++)
			put_double(out, *folded_double(&row, number));
	}
}

void gg_fleet_slot_encode(const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	put_head(out, KIND_SLOT);
	put_text(out, slot->host);
	put_text(out, slot->instance);
	gg_buf_append(out, slot->boot, sizeof(slot->boot));
	gg_varint_append(out, slot->sequence);
	gg_varint_append(out, slot->start_s);
	gg_varint_append(out, slot->seconds);
	put_labels(out, slot->host_labels, slot->host_label_count);
	gg_varint_append(out, slot->series.count);
	for (size_t i = 0; i < slot->series.count; i++) {
		const struct gg_fleet_series *series = &slot->series.items[i];

		put_text(out, series->service);
		put_text(out, series->version);
		put_text(out, series->kind);
		put_text(out, series->heap);
		put_text(out, series->type);
		put_labels(out, series->labels, series->label_count);
	}
	gg_varint_append(out, slot->stacks.count);
	gg_buf_append(out, slot->stacks.items, slot->stacks.count * sizeof(*slot->stacks.items));
	put_processes(slot, out);
	put_rows(slot, out);
	put_folded(slot, out);
}

void gg_fleet_definitions_encode(const struct gg_fleet_definitions *definitions, struct gg_buf *out)
{
	put_head(out, KIND_DEFINITIONS);
	put_text(out, definitions->host);
	gg_varint_append(out, definitions->at_s);
	gg_varint_append(out, definitions->services.count);
	for (size_t i = 0; i < definitions->services.count; i++)
		put_text(out, definitions->services.items[i]);
	gg_varint_append(out, definitions->frames.count);
	for (size_t i = 0; i < definitions->frames.count; i++) {
		const struct gg_fleet_frame *frame = &definitions->frames.items[i];

		put_text(out, frame->build_id);
		put_text(out, frame->module);
		gg_varint_append(out, frame->address);
		gg_varint_append(out, frame->line_count);
		for (size_t k = 0; k < frame->line_count; k++) {
			const struct gg_fleet_line *line =
				&definitions->lines.items[frame->first_line + k];

			put_text(out, line->function);
			put_text(out, line->file);
			gg_varint_append(out, line->line);
		}
	}
	gg_varint_append(out, definitions->stacks.count);
	for (size_t i = 0; i < definitions->stacks.count; i++) {
		const struct gg_fleet_stack *stack = &definitions->stacks.items[i];
		uint64_t before = 0;

		gg_varint_append(out, stack->service);
		gg_varint_append(out, stack->frame_count);
		for (size_t k = 0; k < stack->frame_count; k++) {
			uint32_t frame = definitions->stack_frames.items[stack->first_frame + k];

			put_difference(out, frame, before);
			before = frame;
		}
	}
}

/* --- decoding ------------------------------------------------------------------------------- */

struct message_reader {
	const uint8_t *start, *at, *end;
	char *texts;     /* room for all: each has lost its length, and gets a 0 byte */
	const char *why; /* NULL: nothing is wrong */
	bool is_out_of_memory;
};

static void fail(struct message_reader *reader, const char *why)
{
	if (reader->why == NULL)
		reader->why = why;
	reader->at = reader->end;
}

static void fail_memory(struct message_reader *reader)
{
	reader->is_out_of_memory = true;
	fail(reader, "memory is out");
}

static uint64_t get_number(struct message_reader *reader, uint64_t most, const char *what)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (reader->at == reader->end) {
			fail(reader, "it is cut");
			return 0;
		}
		byte = *reader->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128) {
			if (value <= most)
				return value;
			fail(reader, what);
			return 0;
		}
	}
	fail(reader, "a number is too large");
	return 0;
}

/* An index of a table. */
static uint32_t get_index(struct message_reader *reader, size_t count)
{
	uint64_t index;

	if (count == 0) {
		fail(reader, "an index of an empty table");
		return 0;
	}
	index = get_number(reader, count - 1, "an index beyond its table");
	return (uint32_t)index;
}

/* A count of items, each of which takes at least `least` bytes. */
static size_t get_count(struct message_reader *reader, size_t most, size_t least)
{
	uint64_t count = get_number(reader, most, "a table beyond its limit");

	if (count > (size_t)(reader->end - reader->at) / least) {
		fail(reader, "a table is cut");
		return 0;
	}
	return (size_t)count;
}

static uint64_t get_difference(struct message_reader *reader, uint64_t before, size_t count)
{
	uint64_t coded = get_number(reader, UINT64_MAX, "");
	uint64_t value = before + (coded >> 1 ^ (0 - (coded & 1)));

	if (value < count)
		return value;
	fail(reader, "an index beyond its table");
	return 0;
}

static const void *get_bytes(struct message_reader *reader, size_t length)
{
	const void *bytes = reader->at;

	if ((size_t)(reader->end - reader->at) < length) {
		fail(reader, "it is cut");
		return NULL;
	}
	reader->at += length;
	return bytes;
}

/* A number that is not negative and not infinite. */
static double get_double(struct message_reader *reader)
{
	const void *bytes = get_bytes(reader, sizeof(double));
	double value = 0;

	if (bytes == NULL)
		return 0;
	memcpy(&value, bytes, sizeof(value));
	if (!(value >= 0) || !isfinite(value)) {
		fail(reader, "a value is negative, infinite or no number");
		return 0;
	}
	return value;
}

static const char *get_text(struct message_reader *reader)
{
	size_t length = (size_t)get_number(reader, GG_FLEET_TEXT_MAX, "a text is too long");
	const void *bytes = get_bytes(reader, length);
	char *text = reader->texts;

	if (bytes == NULL || reader->why != NULL)
		return "";
	if (memchr(bytes, '\0', length) != NULL) {
		fail(reader, "a text has a 0 byte");
		return "";
	}
	memcpy(text, bytes, length);
	text[length] = '\0';
	reader->texts += length + 1;
	return text;
}

static void get_head(struct message_reader *reader, char kind)
{
	const char *bytes = get_bytes(reader, MAGIC_BYTES + 1);

	if (bytes == NULL || memcmp(bytes, magic, MAGIC_BYTES) != 0)
		fail(reader, "it is no message of a fleet");
	else if (bytes[MAGIC_BYTES] != kind)
		fail(reader, "it is another kind of message");
	else if (get_number(reader, UINT64_MAX, "") != GG_FLEET_WIRE_VERSION)
		fail(reader, "its version is not known here");
}

static struct message_reader begin(const void *bytes, size_t length, char **ret_texts)
{
	struct message_reader reader = { .start = bytes, .at = bytes };

	reader.end = reader.at + length;
	*ret_texts = reader.texts = malloc(length + 1);
	if (reader.texts == NULL)
		fail_memory(&reader);
	else if (length > GG_FLEET_MESSAGE_MAX)
		fail(&reader, "it is too long");
	return reader;
}

/* The labels of all series and the host are one table, whose size the first pass cannot know. */
static size_t get_labels(struct message_reader *reader, struct gg_fleet_label *labels)
{
	size_t count = get_count(reader, GG_FLEET_LABELS_MAX, 2);

	for (size_t i = 0; i < count && reader->why == NULL; i++) {
		labels[i].key = get_text(reader);
		labels[i].value = get_text(reader);
	}
	return reader->why == NULL ? count : 0;
}

static void get_series(struct message_reader *reader, struct gg_fleet_slot *slot)
{
	size_t count, used;

	/* A label takes two bytes at least. */
	slot->labels = calloc((size_t)(reader->end - reader->at) / 2 + GG_FLEET_LABELS_MAX,
	                      sizeof(*slot->labels));
	if (slot->labels == NULL) {
		fail_memory(reader);
		return;
	}
	slot->host_labels = slot->labels;
	slot->host_label_count = used = get_labels(reader, slot->labels);
	count = get_count(reader, GG_FLEET_SERIES_MAX, 6);
	if (!gg_array_extend(&slot->series, count)) {
		fail_memory(reader);
		return;
	}
	for (size_t i = 0; i < count && reader->why == NULL; i++) {
		struct gg_fleet_series *series = &slot->series.items[i];

		series->service = get_text(reader);
		series->version = get_text(reader);
		series->kind = get_text(reader);
		series->heap = get_text(reader);
		series->type = get_text(reader);
		series->labels = slot->labels + used;
		series->label_count = get_labels(reader, slot->labels + used);
		used += series->label_count;
		if (series->service[0] == '\0')
			fail(reader, "a service has no name");
	}
}

static void get_stacks(struct message_reader *reader, struct gg_fleet_slot *slot)
{
	size_t bytes = sizeof(*slot->stacks.items);
	size_t count = get_count(reader, GG_FLEET_ROWS_MAX, bytes);
	const void *ids = get_bytes(reader, count * bytes);

	if (ids == NULL)
		return;
	if (!gg_array_extend(&slot->stacks, count))
		fail_memory(reader);
	else if (count > 0)
		memcpy(slot->stacks.items, ids, count * bytes);
}

static void get_processes(struct message_reader *reader, struct gg_fleet_slot *slot)
{
	size_t count = get_count(reader, GG_FLEET_SERIES_MAX, 31);

	if (!gg_array_extend(&slot->processes, count)) {
		fail_memory(reader);
		return;
	}
	for (size_t i = 0; i < count && reader->why == NULL; i++) {
		struct gg_fleet_process_row *row = &slot->processes.items[i];

		row->series = get_index(reader, slot->series.count);
		row->processes = (uint32_t)get_number(reader, GG_FLEET_COUNT_MAX, "processes");
		row->selected_ppm = (uint32_t)get_number(reader, 1000000, "a share above 1");
		row->scheme = (uint8_t)get_number(reader, UINT8_MAX, "a scheme");
		row->gap_max = get_double(reader);
		row->rss_bytes = get_number(reader, UINT64_MAX, "");
		row->live_bytes = get_double(reader);
		row->allocated_bytes = get_double(reader);
		row->covered_s = (uint32_t)get_number(reader, slot->seconds,
		                                      "more seconds than the slot has");
		row->dropped = get_number(reader, UINT64_MAX, "");
	}
}

static void get_rows(struct message_reader *reader, struct gg_fleet_slot *slot)
{
	size_t count = get_count(reader, GG_FLEET_ROWS_MAX, 8);
	struct gg_fleet_row *rows;
	double gap = 0;

	if (!gg_array_extend(&slot->rows, count)) {
		fail_memory(reader);
		return;
	}
	rows = slot->rows.items;
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].series = get_index(reader, slot->series.count);
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].stack = (uint32_t)get_difference(reader, i > 0 ? rows[i - 1].stack : 0,
		                                         slot->stacks.count);
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].size = get_number(reader, UINT64_MAX, "");
	for (size_t i = 0; i < count && reader->why == NULL; i++) {
		if (get_number(reader, 1, "a mark") != 0)
			gap = get_double(reader);
		rows[i].gap = gap;
	}
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].flags = (uint8_t)get_number(reader, GG_FLEET_FLAGS_MOST, "a flag");
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].allocated = (uint32_t)get_number(reader, GG_FLEET_COUNT_MAX, "a count");
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].freed = (uint32_t)get_number(reader, GG_FLEET_COUNT_MAX, "a count");
	for (size_t i = 0; i < count && reader->why == NULL; i++)
		rows[i].live = (uint32_t)get_number(reader, GG_FLEET_COUNT_MAX, "a count");
	for (size_t i = 1; i < count && reader->why == NULL; i++)
		if (gg_fleet_row_compare(&rows[i - 1], &rows[i]) >= 0)
			fail(reader, "its rows are not sorted, or two are the same");
}

static void get_folded(struct message_reader *reader, struct gg_fleet_slot *slot)
{
	size_t count = get_count(reader, GG_FLEET_ROWS_MAX, 9 + FOLDED_DOUBLES * sizeof(double));

	if (!gg_array_extend(&slot->folded, count)) {
		fail_memory(reader);
		return;
	}
	for (size_t i = 0; i < count && reader->why == NULL; i++) {
		struct gg_fleet_folded *row = &slot->folded.items[i];

		row->series = get_index(reader, slot->series.count);
		row->stack = get_index(reader, slot->stacks.count);
		row->metric = (uint8_t)get_number(reader, GG_FLEET_METRIC_COUNT - 1, "a metric");
		row->unknown = (uint8_t)get_number(reader, 3, "an unknown error");
		row->n = (uint32_t)get_number(reader, UINT32_MAX, "a count");
		row->sure_n = (uint32_t)get_number(reader, UINT32_MAX, "a count");
		row->seen = get_number(reader, UINT64_MAX, "");
		row->sure_seen = get_number(reader, UINT64_MAX, "");
		row->least_size = get_number(reader, UINT64_MAX, "");
		for (int number = 0; number < FOLDED_DOUBLES; number++)
			*folded_double(row, number) = get_double(reader);
		if (i > 0 && reader->why == NULL && gg_fleet_folded_compare(row - 1, row) >= 0)
			fail(reader, "its sums are not sorted, or two are the same");
	}
}

static int end(struct message_reader *reader, struct gg_error *error)
{
	size_t offset = (size_t)(reader->at - reader->start);

	if (reader->why == NULL && reader->at < reader->end)
		reader->why = "bytes follow its end";
	if (reader->why == NULL)
		return 0;
	if (reader->is_out_of_memory)
		return gg_error_memory(error, "fleet");
	return gg_error_set(error, -EBADMSG, "the message", NULL, "offset %zu: %s", offset,
	                    reader->why);
}

int gg_fleet_slot_decode(struct gg_fleet_slot *ret_slot, const void *bytes, size_t length,
                         struct gg_error *error)
{
	struct gg_fleet_slot slot = { 0 };
	struct message_reader reader = begin(bytes, length, &slot.texts);
	const void *boot;
	int status;

	get_head(&reader, KIND_SLOT);
	slot.host = get_text(&reader);
	slot.instance = get_text(&reader);
	boot = get_bytes(&reader, sizeof(slot.boot));
	if (boot != NULL)
		memcpy(slot.boot, boot, sizeof(slot.boot));
	slot.sequence = get_number(&reader, UINT64_MAX, "");
	slot.start_s = get_number(&reader, SLOT_START_MOST - 1, "a time after 2106");
	slot.seconds = (uint32_t)get_number(&reader, GG_FLEET_SLOT_SECONDS_MOST, "a long slot");
	if (reader.why == NULL && slot.seconds < GG_FLEET_SLOT_SECONDS_LEAST)
		fail(&reader, "a slot without time");
	if (reader.why == NULL && slot.start_s % slot.seconds != 0)
		fail(&reader, "a slot does not begin at a multiple of its length");
	if (reader.why == NULL && slot.host[0] == '\0')
		fail(&reader, "the host has no name");
	if (reader.why == NULL)
		get_series(&reader, &slot);
	get_stacks(&reader, &slot);
	get_processes(&reader, &slot);
	get_rows(&reader, &slot);
	get_folded(&reader, &slot);
	status = end(&reader, error);
	if (status < 0)
		gg_fleet_slot_done(&slot);
	else
		*ret_slot = slot;
	return status;
}

void gg_fleet_slot_done(struct gg_fleet_slot *slot)
{
	gg_array_done(&slot->series);
	gg_array_done(&slot->stacks);
	gg_array_done(&slot->processes);
	gg_array_done(&slot->rows);
	gg_array_done(&slot->folded);
	free(slot->texts);
	free(slot->labels);
	slot->texts = NULL;
	slot->labels = NULL;
}

static void get_frame(struct message_reader *reader, struct gg_fleet_definitions *definitions,
                      struct gg_fleet_frame *frame)
{
	frame->build_id = get_text(reader);
	frame->module = get_text(reader);
	frame->address = get_number(reader, UINT64_MAX, "");
	frame->first_line = definitions->lines.count;
	frame->line_count = get_count(reader, GG_FLEET_LINES_MAX, 3);
	if (!gg_array_extend(&definitions->lines, frame->first_line + frame->line_count)) {
		fail_memory(reader);
		return;
	}
	for (size_t k = 0; k < frame->line_count && reader->why == NULL; k++) {
		struct gg_fleet_line *line = &definitions->lines.items[frame->first_line + k];

		line->function = get_text(reader);
		line->file = get_text(reader);
		line->line = (uint32_t)get_number(reader, UINT32_MAX, "a line");
	}
}

static void get_stack(struct message_reader *reader, struct gg_fleet_definitions *definitions,
                      struct gg_fleet_stack *stack)
{
	uint64_t before = 0;

	stack->service = get_index(reader, definitions->services.count);
	stack->first_frame = definitions->stack_frames.count;
	stack->frame_count = get_count(reader, GG_FLEET_DEPTH_MAX, 1);
	if (!gg_array_extend(&definitions->stack_frames, stack->first_frame + stack->frame_count)) {
		fail_memory(reader);
		return;
	}
	for (size_t k = 0; k < stack->frame_count && reader->why == NULL; k++) {
		before = get_difference(reader, before, definitions->frames.count);
		definitions->stack_frames.items[stack->first_frame + k] = (uint32_t)before;
	}
}

int gg_fleet_definitions_decode(struct gg_fleet_definitions *ret_definitions, const void *bytes,
                                size_t length, struct gg_error *error)
{
	struct gg_fleet_definitions definitions = { 0 };
	struct message_reader reader = begin(bytes, length, &definitions.texts);
	size_t count;
	int status;

	get_head(&reader, KIND_DEFINITIONS);
	definitions.host = get_text(&reader);
	definitions.at_s = get_number(&reader, SLOT_START_MOST - 1, "a time after 2106");
	count = get_count(&reader, GG_FLEET_SERIES_MAX, 1);
	if (!gg_array_extend(&definitions.services, count))
		fail_memory(&reader);
	for (size_t i = 0; i < count && reader.why == NULL; i++)
		definitions.services.items[i] = get_text(&reader);
	count = get_count(&reader, GG_FLEET_ROWS_MAX, 4);
	if (!gg_array_extend(&definitions.frames, count))
		fail_memory(&reader);
	for (size_t i = 0; i < count && reader.why == NULL; i++)
		get_frame(&reader, &definitions, &definitions.frames.items[i]);
	count = get_count(&reader, GG_FLEET_ROWS_MAX, 2);
	if (!gg_array_extend(&definitions.stacks, count))
		fail_memory(&reader);
	for (size_t i = 0; i < count && reader.why == NULL; i++)
		get_stack(&reader, &definitions, &definitions.stacks.items[i]);
	status = end(&reader, error);
	if (status < 0)
		gg_fleet_definitions_done(&definitions);
	else
		*ret_definitions = definitions;
	return status;
}

void gg_fleet_definitions_done(struct gg_fleet_definitions *definitions)
{
	gg_array_done(&definitions->services);
	gg_array_done(&definitions->frames);
	gg_array_done(&definitions->lines);
	gg_array_done(&definitions->stacks);
	gg_array_done(&definitions->stack_frames);
	free(definitions->texts);
	definitions->texts = NULL;
}
