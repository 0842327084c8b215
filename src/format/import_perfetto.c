/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_perfetto - heap profiles in a trace of Perfetto's, as heapprofd writes them, and geiger.
 *
 * A trace is a list of packets, each of a sequence.  Packets say once what a number stands for (names,
 * mappings, frames, callstacks) and refer to it from then on; flag 1 makes a sequence forget all that.  A
 * dump has, for a process and a heap, what each callstack allocated and freed since the start: the last
 * value of each counts.  So there is no history here, only the end.
 *
 * Errors.  heapprofd takes a mean interval for each mark, or the size where that is many intervals long: so
 * B bytes have a variance of B times the interval at most.  Its numbers of objects are those of samples, others'
 * are estimates: they have no error.
 *
 * Symbols that were added to a trace later (module_symbols) are not read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "format/import.h"
#include "format/wire.h"

enum { FILE_MAX = 512 << 20, FRAMES_MAX = 65536, PATH_PARTS_MAX = 256, PATH_MAX_BYTES = 4096 };

/* What numbers of a sequence stand for. */
enum kind { FUNCTION, BUILD_ID, PATH, SOURCE, MAPPING, FRAME, STACK, KIND_COUNT };

/* A callstack in a heap of a process, as the last dump had it. */
struct row {
	uint32_t stack, process;
	uint64_t allocated, freed, allocated_count, freed_count, interval;
};

struct text {
	const uint8_t *at;
	size_t length;
};

struct reading {
	struct gg_import *import;
	const uint8_t *file;
	uint64_t seed;
	struct gg_map generations; /* of each sequence: how often it began anew */
	struct gg_map numbers;     /* hash of sequence, generation, kind and number -> what it is */
	struct gg_buf texts;       /* struct text */
	struct gg_buf rows;        /* struct row */
	struct gg_map row_map;     /* hash of pid, heap and callstack -> index */
	struct gg_map processes;   /* pid -> id */
	struct gg_map names;       /* pid -> index of texts */
	uint32_t *frames;
	uint64_t sequence, generation; /* of the packet */
};

static int wrong(const struct reading *reading, const uint8_t *at, const char *what)
{
	return gg_input_wrong(reading->import->input, (uint64_t)(at - reading->file),
	                      reading->import->error, "%s", what);
}

static int no_memory(const struct reading *reading)
{
	return gg_import_no_memory(reading->import);
}

static uint64_t key_of(const struct reading *reading, enum kind kind, uint64_t number)
{
	uint64_t of_sequence = gg_hash_integer(reading->sequence << 32 | reading->generation,
	                                       reading->seed);

	/* Twice: kinds that are next to each other must not be numbers that are. */
	return gg_hash_integer(gg_hash_integer(number, of_sequence) + (uint64_t)kind,
	                       reading->seed);
}

static int define(struct reading *reading, enum kind kind, uint64_t number, uint64_t value)
{
	return gg_map_put(&reading->numbers, key_of(reading, kind, number), value) < 0
	               ? no_memory(reading)
	               : 0;
}

static uint64_t lookup(const struct reading *reading, enum kind kind, uint64_t number)
{
	return gg_map_get(&reading->numbers, key_of(reading, kind, number));
}

/* --- what numbers stand for ------------------------------------------------------------------------ */

static int add_text(struct reading *reading, const struct gg_wire *bytes, uint64_t *ret_index)
{
	struct text text = { bytes->at, gg_wire_length(bytes) };

	*ret_index = reading->texts.length / sizeof(text);
	gg_buf_append(&reading->texts, &text, sizeof(text));
	return reading->texts.failed ? no_memory(reading) : 0;
}

static struct text text_of(const struct reading *reading, enum kind kind, uint64_t number)
{
	uint64_t index = lookup(reading, kind, number);
	struct text none = { NULL, 0 };

	if (index >= reading->texts.length / sizeof(none))
		return none;
	return ((const struct text *)(const void *)reading->texts.data)[index];
}

static int read_text(struct reading *reading, struct gg_wire message, enum kind kind)
{
	struct gg_wire_field field;
	uint64_t number = 0, index = GG_MAP_NONE;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		else if (field.number == 2 && field.type == GG_WIRE_BYTES)
			code = add_text(reading, &field.bytes, &index);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return wrong(reading, message.at, "a damaged text");
	return index != GG_MAP_NONE ? define(reading, kind, number, index) : 0;
}

static int read_mapping(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	char path[PATH_MAX_BYTES] = "";
	size_t used = 0;
	uint64_t number = 0, build_id = 0, part;
	struct gg_module module = { .path = path };
	struct text text;
	uint32_t id;
	bool is_wrong = false;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		else if (field.number == 2 && field.type == GG_WIRE_VARINT)
			build_id = field.value;
		while (field.number == 7 && gg_wire_numbers(&field, &part, &is_wrong)) {
			text = text_of(reading, PATH, part);
			if (text.length + 2 > sizeof(path) - used)
				continue; /* longer than a path can be */
			path[used++] = '/';
			if (text.length > 0)
				memcpy(path + used, text.at, text.length);
			used += text.length;
			path[used] = '\0';
		}
	}
	if (code < 0 || is_wrong)
		return wrong(reading, message.at, "a damaged mapping");
	text = text_of(reading, BUILD_ID, build_id);
	module.build_id = text.at;
	module.build_id_bytes = text.length <= 64 ? text.length : 0;
	if (path[0] == '\0' && text.length == 0)
		return define(reading, MAPPING, number, 0);
	code = gg_profile_intern_module(reading->import->profile, &module, &id,
	                                reading->import->error);
	return code < 0 ? code : define(reading, MAPPING, number, id);
}

static int define_frame(struct reading *reading, uint64_t number, uint64_t function,
                        uint64_t mapping, uint64_t pc, uint64_t source, uint64_t line_number)
{
	struct gg_import *import = reading->import;
	struct text name = text_of(reading, FUNCTION, function);
	struct text file = text_of(reading, SOURCE, source);
	uint64_t module = lookup(reading, MAPPING, mapping);
	struct gg_line line = { .line = line_number <= INT32_MAX ? (uint32_t)line_number : 0 };
	char *name_text = NULL, *file_text = NULL;
	uint32_t frame;
	int code = 0;

	if (module == GG_MAP_NONE)
		module = 0;
	if (name.length == 0) {
		code = gg_profile_intern_frame(import->profile, (uint32_t)module, pc, &frame,
		                               import->error);
	} else {
		/* By its names: inlined calls are frames of their own at one address. */
		name_text = strndup((const char *)name.at, name.length);
		file_text = file.length > 0 ? strndup((const char *)file.at, file.length) : NULL;
		line.linkage_name = name_text;
		line.file = file_text;
		if (name_text == NULL)
			code = no_memory(reading);
		else
			code = gg_import_frame(import, (uint32_t)module, 0, &line, 1, &frame);
	}
	free(name_text);
	free(file_text);
	return code < 0 ? code : define(reading, FRAME, number, frame);
}

static int read_frame(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	uint64_t values[7] = { 0 };
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0)
		if (field.number < GG_COUNT(values) && field.type == GG_WIRE_VARINT)
			values[field.number] = field.value;
	if (code < 0)
		return wrong(reading, message.at, "a damaged frame");
	return define_frame(reading, values[1], values[2], values[3], values[4], values[5],
	                    values[6]);
}

static int read_callstack(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	uint64_t number = 0, value, frame;
	uint32_t stack = 0;
	size_t count = 0;
	bool is_wrong = false;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		while (field.number == 2 && gg_wire_numbers(&field, &value, &is_wrong)) {
			frame = lookup(reading, FRAME, value);
			if (frame == GG_MAP_NONE)
				return wrong(reading, message.at, "a frame that is not there");
			if (count == FRAMES_MAX)
				return wrong(reading, message.at,
				             "a stack of more than 65536 frames");
			reading->frames[count++] = (uint32_t)frame;
		}
	}
	if (code < 0 || is_wrong)
		return wrong(reading, message.at, "a damaged callstack");
	for (size_t i = 0; i < count && code == 0; i++)
		code = gg_profile_intern_stack(reading->import->profile, stack, reading->frames[i],
		                               &stack, reading->import->error);
	return code < 0 ? code : define(reading, STACK, number, stack);
}

/* In the order in which they refer to each other, wherever they are in the packet. */
static int read_interned(struct reading *reading, struct gg_wire message)
{
	static const struct {
		uint32_t field;
		enum kind kind;
	} order[] = { { 5, FUNCTION }, { 16, BUILD_ID }, { 17, PATH }, { 18, SOURCE },
		      { 19, MAPPING }, { 6, FRAME },     { 7, STACK } };
	int code = 0;

	for (size_t i = 0; i < GG_COUNT(order) && code == 0; i++) {
		struct gg_wire wire = message;
		struct gg_wire_field field;
		int more = 0;

		while (code == 0 && (more = gg_wire_next(&wire, &field)) > 0) {
			if (field.number != order[i].field || field.type != GG_WIRE_BYTES)
				continue;
			code = order[i].kind == MAPPING ? read_mapping(reading, field.bytes)
			       : order[i].kind == FRAME ? read_frame(reading, field.bytes)
			       : order[i].kind == STACK
			               ? read_callstack(reading, field.bytes)
			               : read_text(reading, field.bytes, order[i].kind);
		}
		if (code == 0 && more < 0)
			code = wrong(reading, wire.at, "damaged interned data");
	}
	return code;
}

/* --- dumps ----------------------------------------------------------------------------------------- */

static int find_process(struct reading *reading, uint64_t pid, uint64_t interval,
                        uint32_t *ret_process)
{
	struct gg_import *import = reading->import;
	uint64_t id = gg_map_get(&reading->processes, pid);
	uint64_t name = gg_map_get(&reading->names, pid);
	struct text text = { NULL, 0 };
	char command[256];
	int code;

	*ret_process = (uint32_t)id;
	if (id != GG_MAP_NONE)
		return 0;
	if (name != GG_MAP_NONE)
		text = ((const struct text *)(const void *)reading->texts.data)[name];
	snprintf(command, sizeof(command), "%.*s", (int)(text.length < 255 ? text.length : 255),
	         text.at != NULL ? (const char *)text.at : "");
	import->result->interval_bytes = (double)interval;
	import->result->scheme = interval > 1 ? GG_SCHEME_POISSON_COUNT : GG_SCHEME_POISSON;
	if (import->result->command[0] == '\0')
		memcpy(import->result->command, command, sizeof(command));
	code = gg_import_next_process(import, pid <= UINT32_MAX ? (uint32_t)pid : 0,
	                              command[0] != '\0' ? command : NULL);
	*ret_process = import->process;
	if (code == 0 && gg_map_put(&reading->processes, pid, import->process) < 0)
		code = no_memory(reading);
	return code;
}

static int read_heap_sample(struct reading *reading, struct gg_wire message, uint64_t heap,
                            const struct row *of)
{
	struct gg_wire_field field;
	uint64_t values[7] = { 0 }, stack, key, index;
	struct row row = *of;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0)
		if (field.number < GG_COUNT(values) && field.type == GG_WIRE_VARINT)
			values[field.number] = field.value;
	if (code < 0)
		return wrong(reading, message.at, "a damaged sample");
	stack = lookup(reading, STACK, values[1]);
	if (stack == GG_MAP_NONE)
		return wrong(reading, message.at, "a sample of a callstack that is not there");
	if (values[3] > values[2] || values[6] > values[5])
		return wrong(reading, message.at, "a sample that freed more than was allocated");
	row.stack = (uint32_t)stack;
	row.allocated = values[2];
	row.freed = values[3];
	row.allocated_count = values[5];
	row.freed_count = values[6];
	key = gg_hash_integer(stack << 32 | row.process, heap);
	index = gg_map_get(&reading->row_map, key);
	if (index != GG_MAP_NONE) {
		((struct row *)(void *)reading->rows.data)[index] = row;
		return 0;
	}
	if (gg_map_put(&reading->row_map, key, reading->rows.length / sizeof(row)) < 0)
		return no_memory(reading);
	gg_buf_append(&reading->rows, &row, sizeof(row));
	return reading->rows.failed ? no_memory(reading) : 0;
}

static int read_dump(struct reading *reading, struct gg_wire message)
{
	struct gg_wire again = message;
	struct gg_wire_field field;
	uint64_t pid = 0, heap = reading->seed;
	struct row row = { 0 };
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			pid = field.value;
		else if (field.number == 11 && field.type == GG_WIRE_BYTES)
			heap = gg_hash_bytes(field.bytes.at, gg_wire_length(&field.bytes),
			                     reading->seed);
		else if (field.number == 12 && field.type == GG_WIRE_VARINT)
			row.interval = field.value < UINT64_C(1) << 48 ? field.value : 0;
	}
	if (code < 0)
		return wrong(reading, message.at, "a damaged dump");
	code = find_process(reading, pid, row.interval, &row.process);
	while (code == 0 && gg_wire_next(&again, &field) > 0)
		if (field.number == 2 && field.type == GG_WIRE_BYTES)
			code = read_heap_sample(reading, field.bytes, heap, &row);
	return code;
}

static int read_dumps(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 5 && field.type == GG_WIRE_BYTES)
			code = read_dump(reading, field.bytes);
		if (code < 0)
			return code;
	}
	return code < 0 ? wrong(reading, message.at, "a damaged heap profile") : 0;
}

/* Names of processes: the first word of their command lines. */
static int read_processes(struct reading *reading, struct gg_wire tree)
{
	struct gg_wire_field field, inner;
	int code = 0;

	while (code == 0 && gg_wire_next(&tree, &field) > 0) {
		uint64_t pid = 0, index = GG_MAP_NONE;

		if (field.number != 1 || field.type != GG_WIRE_BYTES)
			continue;
		while (code == 0 && gg_wire_next(&field.bytes, &inner) > 0) {
			if (inner.number == 1 && inner.type == GG_WIRE_VARINT)
				pid = inner.value;
			else if (inner.number == 3 && inner.type == GG_WIRE_BYTES &&
			         index == GG_MAP_NONE)
				code = add_text(reading, &inner.bytes, &index);
		}
		if (code == 0 && index != GG_MAP_NONE &&
		    gg_map_put(&reading->names, pid, index) < 0)
			code = no_memory(reading);
	}
	return code;
}

/* --- packets --------------------------------------------------------------------------------------- */

struct packet {
	struct gg_wire interned, profile, processes;
	uint64_t sequence, flags, cleared;
};

static int take_packet(struct reading *reading, struct gg_wire message, struct packet *packet)
{
	struct gg_wire_field field;
	int code;

	*packet = (struct packet){ 0 };
	while ((code = gg_wire_next(&message, &field)) > 0) {
		bool is_bytes = field.type == GG_WIRE_BYTES;

		if (field.number == 2 && is_bytes)
			packet->processes = field.bytes;
		else if (field.number == 10 && !is_bytes)
			packet->sequence = field.value;
		else if (field.number == 12 && is_bytes)
			packet->interned = field.bytes;
		else if (field.number == 13 && !is_bytes)
			packet->flags = field.value;
		else if (field.number == 37 && is_bytes)
			packet->profile = field.bytes;
		else if (field.number == 41 && !is_bytes)
			packet->cleared = field.value;
		else if (field.number == 50)
			return wrong(reading, message.at,
			             "compressed packets: decompress the trace by traceconv first");
	}
	return code < 0 ? wrong(reading, message.at, "a damaged packet") : 0;
}

static int read_packet(struct reading *reading, struct gg_wire message)
{
	struct packet packet;
	uint64_t generation;
	int code = take_packet(reading, message, &packet);

	if (code < 0)
		return code;
	reading->sequence = packet.sequence;
	generation = gg_map_get(&reading->generations, packet.sequence);
	if (generation == GG_MAP_NONE)
		generation = 0;
	if ((packet.flags & 1) != 0 || packet.cleared != 0) {
		generation++;
		if (gg_map_put(&reading->generations, packet.sequence, generation) < 0)
			return no_memory(reading);
	}
	reading->generation = generation;
	code = read_processes(reading, packet.processes);
	if (code == 0)
		code = read_interned(reading, packet.interned);
	return code == 0 ? read_dumps(reading, packet.profile) : code;
}

static int write_rows(struct reading *reading)
{
	const struct row *rows = (const struct row *)(const void *)reading->rows.data;
	size_t count = reading->rows.length / sizeof(*rows);
	int code = 0;

	for (size_t i = 0; i < count && code == 0; i++) {
		const struct row *row = &rows[i];
		struct gg_weigh how = { row->interval == 0   ? GG_WEIGH_UNKNOWN
			                : row->interval == 1 ? GG_WEIGH_EXACT
			                                     : GG_WEIGH_MARKS,
			                (double)row->interval, true };
		struct gg_weighed live = gg_weigh(&how,
		                                  (double)(row->allocated_count - row->freed_count),
		                                  (double)(row->allocated - row->freed));
		struct gg_weighed freed = gg_weigh(&how, (double)row->freed_count,
		                                   (double)row->freed);

		reading->import->process = row->process;
		reading->import->result->interval_bytes = (double)row->interval;
		code = gg_import_row(reading->import, 0, row->stack, &live, &freed);
	}
	return code;
}

static int read_trace(struct reading *reading)
{
	struct gg_wire_field field;
	struct gg_wire wire;
	size_t length;
	int code = gg_input_all(reading->import->input, FILE_MAX, &reading->file, &length,
	                        reading->import->error);

	if (code < 0)
		return code;
	wire = gg_wire_of(reading->file, length);
	while ((code = gg_wire_next(&wire, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_BYTES)
			code = read_packet(reading, field.bytes);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return wrong(reading, wire.at,
		             "no packet of a trace is here: it is truncated or damaged");
	if (reading->processes.used_count == 0)
		return wrong(reading, wire.at, "the trace has no heap profile");
	return write_rows(reading);
}

static int read_perfetto(struct gg_import *import)
{
	struct reading reading = { .import = import,
		                   .seed = gg_hash_random_seed(),
		                   .frames = malloc(FRAMES_MAX * sizeof(uint32_t)) };
	int code = reading.frames == NULL ? gg_import_no_memory(import) : read_trace(&reading);

	if (code == 0)
		code = gg_import_note(import,
		                      "Of the trace only its end is here: what was live then, "
		                      "and what was allocated until then.");
	free(reading.frames);
	gg_buf_done(&reading.texts);
	gg_buf_done(&reading.rows);
	gg_map_done(&reading.generations);
	gg_map_done(&reading.numbers);
	gg_map_done(&reading.row_map);
	gg_map_done(&reading.processes);
	gg_map_done(&reading.names);
	return code;
}

/* Packets and nothing else, the first of which has a plausible field. */
static bool knows_perfetto(const uint8_t *head, size_t length)
{
	struct gg_wire wire = gg_wire_of(head, length);
	struct gg_wire_field field, inner;
	size_t count = 0;

	while (gg_wire_next(&wire, &field) > 0) {
		if (field.number != 1 || field.type != GG_WIRE_BYTES)
			return false;
		count++;
	}
	if (length == 0 || head[0] != 0x0a || (count == 0 && length < GG_INPUT_HEAD_BYTES))
		return false;
	wire = gg_wire_of(head, length);
	/* A first packet that is longer than the head is one of data; else it is whole. */
	return (count == 0 ||
	        (gg_wire_next(&wire, &field) > 0 &&
	         (gg_wire_length(&field.bytes) == 0 || gg_wire_next(&field.bytes, &inner) > 0)));
}

const struct gg_importer gg_importer_perfetto = {
	.name = "Perfetto trace",
	.knows = knows_perfetto,
	.read = read_perfetto,
};
