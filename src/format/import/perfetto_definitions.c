/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_definitions - reads the names, mappings, frames and callstacks of a Perfetto trace. */
#include "format/import/perfetto_definitions.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

enum {
	PERFETTO_INLINED_MAX = 64, /* calls at one address; deeper calls make a new frame */
	MODULE_PATH_MAX = 4096,
	PERFETTO_BUILD_ID_MAX = 64,
};

/* The kinds of definitions that a sequence numbers. */
enum definition { FUNCTION, BUILD_ID, PATH, SOURCE, MAPPING, FRAME, CALLSTACK };

int gg_perfetto_definitions_wrong(const struct gg_perfetto_definitions *trace, const uint8_t *at,
                                  const char *format, ...)
{
	char message[256];
	va_list values;

	gg_assert(at >= trace->file && at <= trace->file + trace->file_bytes);
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	return gg_input_wrong(trace->import->input, (uint64_t)(at - trace->file),
	                      trace->import->error, "%s", message);
}

static int no_memory(const struct gg_perfetto_definitions *trace)
{
	return gg_import_no_memory(trace->import);
}

/* --- numbers -------------------------------------------------------------------------------- */

static uint64_t key_of(const struct gg_perfetto_definitions *trace, enum definition kind,
                       uint64_t number)
{
	uint64_t of_sequence = gg_hash_integer(trace->sequence << 32 | trace->generation,
	                                       trace->seed);

	/* Hashes twice, so that adjacent kinds and adjacent numbers do not collide. */
	return gg_hash_integer(gg_hash_integer(number, of_sequence) + (uint64_t)kind, trace->seed);
}

uint64_t gg_perfetto_definitions_callstack_key(const struct gg_perfetto_definitions *trace,
                                               uint64_t number)
{
	return key_of(trace, CALLSTACK, number);
}

/* Defines a number as the newest of the `count` items of its kind's array. */
static int define(struct gg_perfetto_definitions *trace, enum definition kind, uint64_t number,
                  size_t count)
{
	gg_assert(count > 0);
	return gg_map_put(&trace->numbers, key_of(trace, kind, number), count - 1) < 0
	               ? no_memory(trace)
	               : 0;
}

/* Returns the index of the item that a number refers to; GG_MAP_NONE: the number is undefined. */
static uint64_t lookup(const struct gg_perfetto_definitions *trace, enum definition kind,
                       uint64_t number)
{
	return gg_map_get(&trace->numbers, key_of(trace, kind, number));
}

/* An undefined text is empty. */
static struct gg_wire text_of(const struct gg_perfetto_definitions *trace, enum definition kind,
                              uint64_t number)
{
	uint64_t index = lookup(trace, kind, number);

	gg_assert(index == GG_MAP_NONE || index < trace->texts.count);
	return index != GG_MAP_NONE ? trace->texts.items[index] : (struct gg_wire){ 0 };
}

const struct gg_perfetto_callstack *gg_perfetto_definitions_callstack(
	const struct gg_perfetto_definitions *trace, uint64_t number)
{
	uint64_t index = lookup(trace, CALLSTACK, number);

	gg_assert(index == GG_MAP_NONE || index < trace->callstacks.count);
	return index != GG_MAP_NONE ? &trace->callstacks.items[index] : NULL;
}

int gg_perfetto_definitions_begin_packet(struct gg_perfetto_definitions *trace, uint64_t sequence,
                                         bool forgets)
{
	uint64_t generation = gg_map_get(&trace->generations, sequence);

	if (generation == GG_MAP_NONE)
		generation = 0;
	if (forgets && gg_map_put(&trace->generations, sequence, ++generation) < 0)
		return no_memory(trace);
	trace->sequence = sequence;
	trace->generation = generation;
	return 0;
}

/* --- texts, mappings and frames ------------------------------------------------------------- */

static int read_text(struct gg_perfetto_definitions *trace, struct gg_wire message,
                     enum definition kind)
{
	struct perfetto_text {
		uint64_t number;
		struct gg_wire text;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_text, 1, number),
		GG_WIRE_SPAN(struct perfetto_text, 2, text),
	};

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_perfetto_definitions_wrong(trace, message.at,
		                                     "the definition of a text is damaged");
	if (record.text.at == NULL)
		return 0;
	return gg_array_push(&trace->texts, record.text)
	               ? define(trace, kind, record.number, trace->texts.count)
	               : no_memory(trace);
}

/* Joins the parts of a mapping's path.  Leaves out parts that do not fit: no path is that long. */
static int read_path(const struct gg_perfetto_definitions *trace, struct gg_wire message,
                     char *path)
{
	struct gg_wire_field field;
	size_t used = 0;
	uint64_t part;
	bool is_wrong = false;

	while (gg_wire_next(&message, &field) > 0)
		while (field.number == 7 && gg_wire_numbers(&field, &part, &is_wrong)) {
			struct gg_wire text = text_of(trace, PATH, part);
			size_t length = gg_wire_length(&text);

			if (length + 2 > MODULE_PATH_MAX - used)
				continue;
			path[used++] = '/';
			if (length > 0)
				memcpy(path + used, text.at, length);
			used += length;
		}
	gg_assert(used < MODULE_PATH_MAX);
	path[used] = '\0';
	return is_wrong
	               ? gg_perfetto_definitions_wrong(
				 trace, message.at, "the path of a mapping's definition is damaged")
	               : 0;
}

static int read_mapping(struct gg_perfetto_definitions *trace, struct gg_wire message)
{
	struct perfetto_mapping {
		uint64_t number, build_id;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_mapping, 1, number),
		GG_WIRE_NUMBER(struct perfetto_mapping, 2, build_id),
	};
	struct gg_wire all = message, build_id;
	char path[MODULE_PATH_MAX] = "";
	struct gg_profile_module module = { .path = path };
	struct gg_perfetto_mapping mapping = { 0 };
	int status = 0;

	if (gg_wire_read(&all, members, GG_COUNT(members), &record) < 0)
		return gg_perfetto_definitions_wrong(trace, all.at,
		                                     "the definition of a mapping is damaged");
	if (read_path(trace, message, path) < 0)
		return -EBADMSG;
	build_id = text_of(trace, BUILD_ID, record.build_id);
	module.build_id = build_id.at;
	module.build_id_bytes = gg_wire_length(&build_id);
	if (module.build_id_bytes > PERFETTO_BUILD_ID_MAX)
		module.build_id_bytes = 0;
	mapping.has_build_id = module.build_id_bytes > 0;
	if (path[0] != '\0' || gg_wire_length(&build_id) > 0)
		status = gg_profile_intern_module(trace->import->profile, &module, &mapping.module,
		                                  trace->import->error);
	if (status < 0)
		return status;
	return gg_array_push(&trace->mappings, mapping)
	               ? define(trace, MAPPING, record.number, trace->mappings.count)
	               : no_memory(trace);
}

static int read_frame(struct gg_perfetto_definitions *trace, struct gg_wire message)
{
	struct perfetto_frame {
		uint64_t number, function, mapping, address, source, line;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_frame, 1, number),
		GG_WIRE_NUMBER(struct perfetto_frame, 2, function),
		GG_WIRE_NUMBER(struct perfetto_frame, 3, mapping),
		GG_WIRE_NUMBER(struct perfetto_frame, 4, address),
		GG_WIRE_NUMBER(struct perfetto_frame, 5, source),
		GG_WIRE_NUMBER(struct perfetto_frame, 6, line),
	};
	struct gg_perfetto_frame frame = { 0 };
	uint64_t mapping;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_perfetto_definitions_wrong(trace, message.at,
		                                     "the definition of a frame is damaged");
	frame.name = text_of(trace, FUNCTION, record.function);
	frame.file = text_of(trace, SOURCE, record.source);
	frame.address = record.address;
	frame.line = record.line <= INT32_MAX ? (uint32_t)record.line : 0;
	mapping = lookup(trace, MAPPING, record.mapping);
	if (mapping != GG_MAP_NONE)
		frame.mapping = trace->mappings.items[mapping];
	return gg_array_push(&trace->frames, frame)
	               ? define(trace, FRAME, record.number, trace->frames.count)
	               : no_memory(trace);
}

/* --- callstacks ----------------------------------------------------------------------------- */

static const struct gg_perfetto_frame *frame_at(const struct gg_perfetto_definitions *trace,
                                                size_t position)
{
	gg_assert(position < GG_PERFETTO_FRAMES_MAX);
	return &trace->frames.items[trace->frame_indices[position]];
}

/*
 * True if the frame at a position is inlined into the one at `first`.  A recursive call repeats the
 * number of an outer frame, so it is not inlined.
 */
static bool is_inlined(const struct gg_perfetto_definitions *trace, size_t first, size_t position)
{
	const struct gg_perfetto_frame *outer = frame_at(trace, first);
	const struct gg_perfetto_frame *inner = frame_at(trace, position);

	if (inner->address == 0 || inner->address != outer->address ||
	    gg_wire_length(&inner->name) == 0 || gg_wire_length(&outer->name) == 0 ||
	    inner->mapping.module == 0 || inner->mapping.module != outer->mapping.module ||
	    position - first >= PERFETTO_INLINED_MAX)
		return false;
	for (size_t i = first; i < position; i++)
		if (trace->frame_indices[i] == trace->frame_indices[position])
			return false;
	return true;
}

static char *copy_of(const struct gg_wire *text)
{
	return strndup((const char *)text->at, gg_wire_length(text));
}

/* Interns the frame of the positions [first, end), which share one address, outermost first. */
static int intern_frame(struct gg_perfetto_definitions *trace, size_t first, size_t end,
                        uint32_t *ret_frame)
{
	struct gg_import *import = trace->import;
	const struct gg_perfetto_frame *outer = frame_at(trace, first);
	struct gg_profile_line lines[PERFETTO_INLINED_MAX] = { 0 };
	char *texts[2 * PERFETTO_INLINED_MAX];
	size_t text_count = 0;
	int status = 0;

	gg_assert(first < end && end - first <= PERFETTO_INLINED_MAX);
	if (gg_wire_length(&outer->name) == 0)
		return gg_profile_intern_frame(import->profile, outer->mapping.module,
		                               outer->address, ret_frame, import->error);
	for (size_t i = 0; i < end - first && status == 0; i++) {
		const struct gg_perfetto_frame *call = frame_at(trace, end - 1 - i);
		bool has_file = gg_wire_length(&call->file) > 0;
		char *name = copy_of(&call->name), *file = has_file ? copy_of(&call->file) : NULL;

		texts[text_count++] = name;
		texts[text_count++] = file;
		if (name == NULL || (has_file && file == NULL))
			status = no_memory(trace);
		lines[i] = (struct gg_profile_line){ .linkage_name = name,
			                             .file = file,
			                             .line = call->line };
	}
	if (status == 0)
		status = gg_import_frame(import, outer->mapping.module,
		                         outer->mapping.has_build_id ? outer->address : 0, lines,
		                         (uint32_t)(end - first), ret_frame);
	while (text_count > 0)
		free(texts[--text_count]);
	return status;
}

static int define_callstack(struct gg_perfetto_definitions *trace, uint64_t number,
                            size_t frame_count)
{
	struct gg_import *import = trace->import;
	struct gg_perfetto_callstack callstack = { 0, trace->seed };
	int status = 0;

	for (size_t first = 0, end; first < frame_count && status == 0; first = end) {
		uint64_t address = frame_at(trace, first)->address;
		uint32_t frame;

		for (end = first + 1; end < frame_count && is_inlined(trace, first, end);)
			end++;
		status = intern_frame(trace, first, end, &frame);
		if (status < 0)
			return status;
		status = gg_profile_intern_stack(import->profile, callstack.stack, frame,
		                                 &callstack.stack, import->error);
		callstack.frames = gg_hash_integer(
			gg_hash_integer(address, callstack.frames) + frame, trace->seed);
	}
	if (status < 0)
		return status;
	return gg_array_push(&trace->callstacks, callstack)
	               ? define(trace, CALLSTACK, number, trace->callstacks.count)
	               : no_memory(trace);
}

static int read_callstack(struct gg_perfetto_definitions *trace, struct gg_wire message)
{
	struct gg_wire_field field;
	uint64_t number = 0, value;
	size_t count = 0;
	bool is_wrong = false;
	int more;

	while ((more = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			number = field.value;
		while (field.number == 2 && gg_wire_numbers(&field, &value, &is_wrong)) {
			uint64_t index = lookup(trace, FRAME, value);

			if (index == GG_MAP_NONE)
				return gg_perfetto_definitions_wrong(
					trace, message.at,
					"a callstack refers to frame %llu, which is not defined",
					(unsigned long long)value);
			if (count == GG_PERFETTO_FRAMES_MAX)
				return gg_perfetto_definitions_wrong(
					trace, message.at, "a callstack has more than %d frames",
					GG_PERFETTO_FRAMES_MAX);
			trace->frame_indices[count++] = index;
		}
	}
	if (more < 0 || is_wrong)
		return gg_perfetto_definitions_wrong(trace, message.at,
		                                     "the definition of a callstack is damaged");
	return define_callstack(trace, number, count);
}

/* --- a packet's definitions ----------------------------------------------------------------- */

static int define_one(struct gg_perfetto_definitions *trace, enum definition kind,
                      struct gg_wire message)
{
	switch (kind) {
	case MAPPING:
		return read_mapping(trace, message);
	case FRAME:
		return read_frame(trace, message);
	case CALLSTACK:
		return read_callstack(trace, message);
	default:
		return read_text(trace, message, kind);
	}
}

/*
 * Reads definitions in the order of their references to each other, whatever their order in the
 * packet.
 */
int gg_perfetto_definitions_read(struct gg_perfetto_definitions *trace, struct gg_wire interned)
{
	static const struct {
		uint32_t field;
		enum definition kind;
	} order[] = { { 5, FUNCTION }, { 16, BUILD_ID }, { 17, PATH },    { 18, SOURCE },
		      { 19, MAPPING }, { 6, FRAME },     { 7, CALLSTACK } };
	int status = 0;

	for (size_t i = 0; i < GG_COUNT(order) && status == 0; i++) {
		struct gg_wire wire = interned;
		struct gg_wire_field field;
		int more = 0;

		while (status == 0 && (more = gg_wire_next(&wire, &field)) > 0)
			if (field.number == order[i].field && field.type == GG_WIRE_BYTES)
				status = define_one(trace, order[i].kind, field.bytes);
		if (status == 0 && more < 0)
			status = gg_perfetto_definitions_wrong(
				trace, wire.at, "the definitions of a packet are damaged");
	}
	return status;
}

int gg_perfetto_definitions_init(struct gg_perfetto_definitions *ret_trace,
                                 struct gg_import *import, const uint8_t *file, size_t length)
{
	*ret_trace = (struct gg_perfetto_definitions){
		.import = import,
		.file = file,
		.file_bytes = length,
		.seed = gg_hash_random_seed(),
		.frame_indices = malloc(GG_PERFETTO_FRAMES_MAX * sizeof(uint64_t)),
	};
	return ret_trace->frame_indices == NULL ? no_memory(ret_trace) : 0;
}

void gg_perfetto_definitions_done(struct gg_perfetto_definitions *trace)
{
	free(trace->frame_indices);
	gg_array_done(&trace->texts);
	gg_array_done(&trace->mappings);
	gg_array_done(&trace->frames);
	gg_array_done(&trace->callstacks);
	gg_map_done(&trace->generations);
	gg_map_done(&trace->numbers);
}
