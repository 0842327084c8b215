/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_perfetto - heap profiles in Perfetto traces, as heapprofd and geiger write them.
 *
 * A trace is a list of packets, and each belongs to a sequence.  Packets define numbers for names,
 * mappings, frames and callstacks once, and later packets refer to these numbers.  Flag 1 makes a
 * sequence forget all its definitions.  A dump holds, for a process and a heap, the allocated and
 * freed memory of each callstack since the start.  The importer keeps only the last value of each,
 * so the profile has no history.
 *
 * Callstacks.  The number within a sequence identifies a callstack, not its frames: two call sites
 * on one line are two callstacks with equal names, whose values add up.  When a sequence begins
 * anew, its old numbers lose their meaning.  A callstack then replaces those that had the same
 * frames and addresses before.
 *
 * Frames.  Consecutive frames at one address are one frame with its inlined calls.  In a mapping
 * with a build-id, the address identifies a frame.  In other mappings the names identify it,
 * because the same address in another build is different code.
 *
 * Errors. heapprofd counts a mean interval for each mark, or the allocation's size if it is many
 * intervals long.  So the variance of B bytes is at most B times the interval.  Its numbers of
 * objects are numbers of samples, and their error is unknown. geiger writes estimates of both
 * numbers, with the errors of a pprof file (row_sums.h).
 *
 * The importer ignores symbols that were added to a trace later (module_symbols).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "format/codec/wire.h"
#include "format/import/import.h"

enum {
	FILE_MAX = 512 << 20,
	FRAMES_MAX = 65536,
	LINES_MAX = 64, /* inlined calls at one address; deeper calls make a new frame */
	PATH_MAX_BYTES = 4096,
};

/* The kinds of definitions that a sequence numbers. */
enum kind { FUNCTION, BUILD_ID, PATH, SOURCE, MAPPING, FRAME, STACK, KIND_COUNT };

/* A callstack in a heap of a process, as in the last dump. */
struct row {
	uint32_t stack, process;
	uint64_t generation; /* how often its sequence had begun anew */
	uint64_t next;       /* next row with these frames and this generation, or GG_MAP_NONE */
	uint64_t allocated, freed, allocated_count, freed_count, interval;
};

struct text {
	const uint8_t *at;
	size_t length;
};

struct mapping {
	uint32_t module;   /* id; 0: no module */
	bool has_build_id; /* addresses identify frames in the module */
};

/* A frame of the trace; an address with inlined calls has several. */
struct place {
	uint64_t address; /* in the module's file; 0: unknown */
	struct mapping mapping;
	struct text name, file;
	uint32_t line;
};

struct callstack {
	uint32_t stack;  /* id */
	uint64_t frames; /* hash of the frames and their addresses */
};

struct reading {
	struct gg_import *import;
	const uint8_t *file;
	uint64_t seed;
	struct gg_map generations;     /* by sequence: how often it began anew */
	struct gg_map numbers;         /* hash of sequence, generation, kind and number -> item */
	struct gg_buf texts;           /* struct text */
	struct gg_buf mappings;        /* struct mapping */
	struct gg_buf places;          /* struct place */
	struct gg_buf callstacks;      /* struct callstack */
	struct gg_buf rows;            /* struct row */
	struct gg_map row_map;         /* hash of process, heap and callstack's number -> index */
	struct gg_map same_frames;     /* hash of process, heap and frames -> newest row's index */
	struct gg_map processes;       /* pid -> id */
	struct gg_map names;           /* pid -> index of texts */
	uint64_t *stack_places;        /* indices of a callstack's places, outermost first */
	uint64_t sequence, generation; /* those of the current packet */
	bool is_ours;                  /* geiger wrote the trace */
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

	/* Hashes twice, so that adjacent kinds and adjacent numbers do not collide. */
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

/* --- definitions ------------------------------------------------------------------------------ */

/* Defines a number as an item of a list. */
static int define_item(struct reading *reading, enum kind kind, uint64_t number,
                       struct gg_buf *list, const void *item, size_t item_bytes)
{
	uint64_t index = list->length / item_bytes;

	gg_buf_append(list, item, item_bytes);
	return list->failed ? no_memory(reading) : define(reading, kind, number, index);
}

/* Finds the item that a number refers to; NULL: the number is undefined. */
static const void *find_item(const struct reading *reading, enum kind kind, uint64_t number,
                             const struct gg_buf *list, size_t item_bytes)
{
	uint64_t index = lookup(reading, kind, number);

	return index < list->length / item_bytes ? list->data + index * item_bytes : NULL;
}

static struct text text_of(const struct reading *reading, enum kind kind, uint64_t number)
{
	const struct text *text = find_item(reading, kind, number, &reading->texts, sizeof(*text)),
			  none = { NULL, 0 };

	return text != NULL ? *text : none;
}

static int read_text(struct reading *reading, struct gg_wire message, enum kind kind)
{
	struct gg_wire_field field;
	struct text text = { NULL, 0 };
	uint64_t number = 0;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		else if (field.number == 2 && field.type == GG_WIRE_BYTES)
			text = (struct text){ field.bytes.at, gg_wire_length(&field.bytes) };
	}
	if (code < 0)
		return wrong(reading, message.at, "a damaged text");
	return text.at != NULL
	               ? define_item(reading, kind, number, &reading->texts, &text, sizeof(text))
	               : 0;
}

static int read_mapping(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	char path[PATH_MAX_BYTES] = "";
	size_t used = 0;
	uint64_t number = 0, build_id = 0, part;
	struct gg_profile_module module = { .path = path };
	struct mapping mapping = { 0 };
	struct text text;
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
				continue; /* longer than any path */
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
	mapping.has_build_id = module.build_id_bytes > 0;
	if (path[0] != '\0' || text.length > 0) {
		code = gg_profile_intern_module(reading->import->profile, &module, &mapping.module,
		                                reading->import->error);
		if (code < 0)
			return code;
	}
	return define_item(reading, MAPPING, number, &reading->mappings, &mapping, sizeof(mapping));
}

static int read_frame(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	uint64_t values[7] = { 0 };
	const struct mapping *mapping;
	struct place place = { 0 };
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0)
		if (field.number < GG_COUNT(values) && field.type == GG_WIRE_VARINT)
			values[field.number] = field.value;
	if (code < 0)
		return wrong(reading, message.at, "a damaged frame");
	place.name = text_of(reading, FUNCTION, values[2]);
	mapping = find_item(reading, MAPPING, values[3], &reading->mappings, sizeof(*mapping));
	if (mapping != NULL)
		place.mapping = *mapping;
	place.address = values[4];
	place.file = text_of(reading, SOURCE, values[5]);
	place.line = values[6] <= INT32_MAX ? (uint32_t)values[6] : 0;
	return define_item(reading, FRAME, values[1], &reading->places, &place, sizeof(place));
}

static const struct place *place_at(const struct reading *reading, size_t at)
{
	const struct place *places = (const struct place *)(const void *)reading->places.data;

	return &places[reading->stack_places[at]];
}

/*
 * True if the place `at` is inlined into that of `first`.  A recursive call repeats the number of
 * an outer frame, so it is not inlined.
 */
static bool is_inlined(const struct reading *reading, size_t first, size_t at)
{
	const struct place *outer = place_at(reading, first), *inner = place_at(reading, at);

	if (inner->address == 0 || inner->address != outer->address || inner->name.length == 0 ||
	    outer->name.length == 0 || inner->mapping.module == 0 ||
	    inner->mapping.module != outer->mapping.module || at - first >= LINES_MAX)
		return false;
	for (size_t i = first; i < at; i++)
		if (reading->stack_places[i] == reading->stack_places[at])
			return false;
	return true;
}

/* Interns the frame of the places [first, end), which share one address, outermost first. */
static int intern_frame(struct reading *reading, size_t first, size_t end, uint32_t *ret_frame)
{
	struct gg_import *import = reading->import;
	const struct place *place = place_at(reading, first);
	struct mapping mapping = place->mapping;
	uint64_t address = place->address;
	struct gg_profile_line lines[LINES_MAX] = { 0 };
	char *texts[2 * LINES_MAX];
	size_t text_count = 0;
	int code = 0;

	if (place->name.length == 0)
		return gg_profile_intern_frame(import->profile, mapping.module, address, ret_frame,
		                               import->error);
	for (size_t i = 0; i < end - first && code == 0; i++) {
		char *name, *file = NULL;

		place = place_at(reading, end - 1 - i);
		name = texts[text_count++] = strndup((const char *)place->name.at,
		                                     place->name.length);
		if (place->file.length > 0)
			file = texts[text_count++] = strndup((const char *)place->file.at,
			                                     place->file.length);
		if (name == NULL || (place->file.length > 0 && file == NULL))
			code = no_memory(reading);
		lines[i] = (struct gg_profile_line){ .linkage_name = name,
			                             .file = file,
			                             .line = place->line };
	}
	if (code == 0)
		code = gg_import_frame(import, mapping.module, mapping.has_build_id ? address : 0,
		                       lines, (uint32_t)(end - first), ret_frame);
	while (text_count > 0)
		free(texts[--text_count]);
	return code;
}

static int define_callstack(struct reading *reading, uint64_t number, size_t count)
{
	struct gg_import *import = reading->import;
	struct callstack callstack = { 0, reading->seed };
	int code = 0;

	for (size_t first = 0, end; first < count && code == 0; first = end) {
		uint64_t address = place_at(reading, first)->address;
		uint32_t frame;

		for (end = first + 1; end < count && is_inlined(reading, first, end);)
			end++;
		code = intern_frame(reading, first, end, &frame);
		if (code == 0)
			code = gg_profile_intern_stack(import->profile, callstack.stack, frame,
			                               &callstack.stack, import->error);
		callstack.frames = gg_hash_integer(
			gg_hash_integer(address, callstack.frames) + frame, reading->seed);
	}
	return code < 0 ? code
	                : define_item(reading, STACK, number, &reading->callstacks, &callstack,
	                              sizeof(callstack));
}

static int read_callstack(struct reading *reading, struct gg_wire message)
{
	struct gg_wire_field field;
	uint64_t number = 0, value, place;
	size_t count = 0;
	bool is_wrong = false;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		while (field.number == 2 && gg_wire_numbers(&field, &value, &is_wrong)) {
			place = lookup(reading, FRAME, value);
			if (place == GG_MAP_NONE)
				return wrong(reading, message.at, "a frame that is not there");
			if (count == FRAMES_MAX)
				return wrong(reading, message.at,
				             "a stack of more than 65536 frames");
			reading->stack_places[count++] = place;
		}
	}
	if (code < 0 || is_wrong)
		return wrong(reading, message.at, "a damaged callstack");
	return define_callstack(reading, number, count);
}

/*
 * Reads definitions in the order of their references to each other, whatever their order in the
 * packet.
 */
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

/* --- dumps ------------------------------------------------------------------------------------ */

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
	import->result->scheme = interval > 1 && !reading->is_ours ? GG_SCHEME_POISSON_COUNT
	                                                           : GG_SCHEME_POISSON;
	if (import->result->command[0] == '\0')
		memcpy(import->result->command, command, sizeof(command));
	code = gg_import_next_process(import, pid <= UINT32_MAX ? (uint32_t)pid : 0,
	                              command[0] != '\0' ? command : NULL);
	*ret_process = import->process;
	if (code == 0 && gg_map_put(&reading->processes, pid, import->process) < 0)
		code = no_memory(reading);
	return code;
}

static struct row *row_at(const struct reading *reading, uint64_t index)
{
	return (struct row *)(void *)reading->rows.data + index;
}

/*
 * Adds the first row of its callstack's number.  Older rows with the same frames belong to the same
 * callstack, from before the sequence began anew, so the new row replaces their values.
 */
static int add_row(struct reading *reading, struct row *row, uint64_t key, uint64_t frames_key)
{
	uint64_t index = reading->rows.length / sizeof(*row);
	uint64_t same = gg_map_get(&reading->same_frames, frames_key);

	row->next = GG_MAP_NONE;
	if (same != GG_MAP_NONE && row_at(reading, same)->generation == row->generation) {
		row->next = same;
		same = GG_MAP_NONE;
	}
	for (; same != GG_MAP_NONE; same = row_at(reading, same)->next) {
		struct row *old = row_at(reading, same);

		old->allocated = old->freed = old->allocated_count = old->freed_count = 0;
	}
	gg_buf_append(&reading->rows, row, sizeof(*row));
	return reading->rows.failed || gg_map_put(&reading->row_map, key, index) < 0 ||
	                       gg_map_put(&reading->same_frames, frames_key, index) < 0
	               ? no_memory(reading)
	               : 0;
}

static int read_heap_sample(struct reading *reading, struct gg_wire message, uint64_t heap,
                            const struct row *of)
{
	struct gg_wire_field field;
	const struct callstack *callstack;
	uint64_t values[7] = { 0 }, key, index;
	struct row row = *of;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0)
		if (field.number < GG_COUNT(values) && field.type == GG_WIRE_VARINT)
			values[field.number] = field.value;
	if (code < 0)
		return wrong(reading, message.at, "a damaged sample");
	callstack = find_item(reading, STACK, values[1], &reading->callstacks, sizeof(*callstack));
	if (callstack == NULL)
		return wrong(reading, message.at, "a sample of a callstack that is not there");
	if (values[3] > values[2] || values[6] > values[5])
		return wrong(reading, message.at, "a sample that freed more than was allocated");
	row.stack = callstack->stack;
	row.generation = reading->generation;
	row.allocated = values[2];
	row.freed = values[3];
	row.allocated_count = values[5];
	row.freed_count = values[6];
	key = gg_hash_integer(key_of(reading, STACK, values[1]) + row.process, heap);
	index = gg_map_get(&reading->row_map, key);
	if (index != GG_MAP_NONE) {
		row.next = row_at(reading, index)->next;
		*row_at(reading, index) = row;
		return 0;
	}
	return add_row(reading, &row, key,
	               gg_hash_integer(callstack->frames + row.process,
	                               gg_hash_integer(reading->sequence, heap)));
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

/* Reads names of processes: the first word of their command lines. */
static int read_processes(struct reading *reading, struct gg_wire tree)
{
	struct gg_wire_field field, inner;
	int code = 0;

	while (code == 0 && gg_wire_next(&tree, &field) > 0) {
		uint64_t pid = 0, index = GG_MAP_NONE;
		struct text text;

		if (field.number != 1 || field.type != GG_WIRE_BYTES)
			continue;
		while (code == 0 && gg_wire_next(&field.bytes, &inner) > 0) {
			if (inner.number == 1 && inner.type == GG_WIRE_VARINT) {
				pid = inner.value;
			} else if (inner.number == 3 && inner.type == GG_WIRE_BYTES &&
			           index == GG_MAP_NONE) {
				text = (struct text){ inner.bytes.at,
					              gg_wire_length(&inner.bytes) };
				index = reading->texts.length / sizeof(text);
				gg_buf_append(&reading->texts, &text, sizeof(text));
				code = reading->texts.failed ? no_memory(reading) : 0;
			}
		}
		if (code == 0 && index != GG_MAP_NONE &&
		    gg_map_put(&reading->names, pid, index) < 0)
			code = no_memory(reading);
	}
	return code;
}

/* --- packets ---------------------------------------------------------------------------------- */

struct packet {
	struct gg_wire interned, profile, processes, system;
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
		else if (field.number == 45 && is_bytes)
			packet->system = field.bytes;
		else if (field.number == 50)
			return wrong(reading, message.at,
			             "compressed packets: decompress the trace by traceconv first");
	}
	return code < 0 ? wrong(reading, message.at, "a damaged packet") : 0;
}

/* True if the system information names geiger in place of the version of Perfetto's service. */
static bool names_us(struct gg_wire system)
{
	struct gg_wire_field field;

	while (gg_wire_next(&system, &field) > 0)
		if (field.number == 4 && field.type == GG_WIRE_BYTES &&
		    gg_wire_length(&field.bytes) >= 7 && memcmp(field.bytes.at, "geiger ", 7) == 0)
			return true;
	return false;
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
	reading->is_ours |= names_us(packet.system);
	code = read_processes(reading, packet.processes);
	if (code == 0)
		code = read_interned(reading, packet.interned);
	return code == 0 ? read_dumps(reading, packet.profile) : code;
}

static int write_row(struct reading *reading, const struct row *row)
{
	double interval = (double)row->interval;
	double live_count = (double)(row->allocated_count - row->freed_count);
	double live_bytes = (double)(row->allocated - row->freed);
	struct gg_row_weighing how = { reading->is_ours ? GG_ROW_WEIGHING_SCALED
		                                        : GG_ROW_WEIGHING_MARKS,
		                       interval, true };
	struct gg_row_sums live, freed;

	if (row->interval <= 1)
		how.kind = row->interval == 1 ? GG_ROW_WEIGHING_EXACT : GG_ROW_WEIGHING_UNKNOWN;
	live = gg_row_weighing(&how, live_count, live_bytes);
	if (how.kind ==
	    GG_ROW_WEIGHING_SCALED) { /* as in a pprof file, one scheme weighted all numbers */
		struct gg_row_sums ever = gg_row_weighing(&how, (double)row->allocated_count,
		                                          (double)row->allocated);

		freed = gg_row_sums_rest(&ever, &live);
	} else {
		freed = gg_row_weighing(&how, (double)row->freed_count, (double)row->freed);
	}
	reading->import->process = row->process;
	reading->import->result->interval_bytes = interval;
	return gg_import_row(reading->import, 0, row->stack, &live, &freed);
}

static int write_rows(struct reading *reading)
{
	size_t count = reading->rows.length / sizeof(struct row);
	int code = 0;

	for (size_t i = 0; i < count && code == 0; i++)
		code = write_row(reading, row_at(reading, i));
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
		                   .stack_places = malloc(FRAMES_MAX * sizeof(uint64_t)) };
	int code = reading.stack_places == NULL ? gg_import_no_memory(import)
	                                        : read_trace(&reading);

	if (code == 0)
		code = gg_import_note(import,
		                      "Of the trace only its end is here: what was live then, "
		                      "and what was allocated until then.");
	free(reading.stack_places);
	gg_buf_done(&reading.texts);
	gg_buf_done(&reading.mappings);
	gg_buf_done(&reading.places);
	gg_buf_done(&reading.callstacks);
	gg_buf_done(&reading.rows);
	gg_map_done(&reading.same_frames);
	gg_map_done(&reading.generations);
	gg_map_done(&reading.numbers);
	gg_map_done(&reading.row_map);
	gg_map_done(&reading.processes);
	gg_map_done(&reading.names);
	return code;
}

/* True if the head has only packets, and the first one has a plausible field. */
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
	/*
	 * If the first packet is longer than the head, it must be one of data; otherwise it must be
	 * complete.
	 */
	return (count == 0 ||
	        (gg_wire_next(&wire, &field) > 0 &&
	         (gg_wire_length(&field.bytes) == 0 || gg_wire_next(&field.bytes, &inner) > 0)));
}

const struct gg_importer gg_importer_perfetto = {
	.name = "Perfetto trace",
	.knows = knows_perfetto,
	.read = read_perfetto,
};
