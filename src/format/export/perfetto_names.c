/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_names - the interned names of a sequence of packets.
 *
 * The packets hold functions, files, mappings, frames and stacks, whose numbers (iid) begin at 1.
 * Each inlined call gets a frame of its own, at the same address.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "format/codec/string_table.h"
#include "format/export/perfetto_writer.h"

/* Field numbers of messages. */
enum {
	INTERNED_FUNCTION_NAME = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_BUILD_ID = 16, /* raw bytes */
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE_PATH = 18,
	INTERNED_MAPPING = 19,

	TEXT_IID = 1,
	TEXT_BYTES = 2,

	TRACE_MAPPING_IID = 1,
	TRACE_MAPPING_BUILD_ID = 2, /* optional */
	TRACE_MAPPING_START_OFFSET = 3,
	TRACE_MAPPING_START = 4,
	TRACE_MAPPING_END = 5,
	TRACE_MAPPING_LOAD_BIAS = 6,
	TRACE_MAPPING_PATH = 7, /* one for each folder */
	TRACE_MAPPING_EXACT_OFFSET = 8,

	FRAME_IID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,     /* optional */
	FRAME_RELATIVE_PC = 4, /* optional; an address in the file */
	FRAME_SOURCE_PATH = 5, /* optional */
	FRAME_LINE = 6,        /* optional */

	STACK_IID = 1,
	STACK_FRAME = 2, /* outermost first */
};

/* The names that the entries of one heap use. */
struct names {
	struct gg_perfetto_writer *writer;
	uint32_t sequence;
	struct gg_string_table functions, sources;
	struct gg_map first_frame; /* by location: the iid of its outermost frame */
	GG_ARRAY(uint64_t) stacks; /* stack and location of each frame, sorted by iid */
	GG_ARRAY(uint64_t) frames; /* iids of the frames of the current stack */
	uint64_t *used_stacks;     /* stacks in use; the iid is the stack's number */
	size_t used_count;
};

/*
 * Hashes a frame's address and module.  The same address may be code without a file in one process
 * and belong to a module in another.
 */
static uint64_t frame_key(struct names *names, uint32_t stack)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(names->writer->extract->model,
	                                                          stack);

	/* Two rounds: an address and a module must not cancel each other out. */
	return gg_hash_integer(frame->address,
	                       gg_hash_integer(frame->module, gg_map_seed(&names->first_frame)));
}

/* Adds the frames of one address, outermost first. */
static void add_frames(struct names *names, uint32_t stack)
{
	struct gg_perfetto_writer *writer = names->writer;
	const struct gg_model *model = writer->extract->model;
	uint64_t key = frame_key(names, stack);
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(model, stack, &count);

	if (gg_map_get(&names->first_frame, key) != GG_MAP_NONE)
		return;
	if (gg_map_put(&names->first_frame, key, names->stacks.count + 1) < 0)
		writer->failed = true;
	for (size_t i = count; i-- > 0;) {
		gg_string_table_put(&names->functions,
		                    model->functions[locations[i].function].name);
		gg_string_table_put(&names->sources, model->lines[locations[i].line].file);
		if (!gg_array_push(&names->stacks, (uint64_t)stack << 32 | i))
			writer->failed = true;
	}
}

static void add_stack(struct names *names, uint32_t stack)
{
	names->used_stacks[names->used_count++] = stack;
	do {
		add_frames(names, stack);
		stack = names->writer->extract->model->stacks[stack].parent;
	} while (stack != 0 && !names->writer->failed);
}

/* Opens a packet with interned names; end_packet() closes both. */
static size_t begin_packet(struct names *names, uint32_t flags, size_t *ret_interned)
{
	size_t packet = gg_perfetto_writer_begin(names->writer, names->sequence, flags, 0);

	*ret_interned = gg_wire_begin(names->writer->job->out, GG_PACKET_INTERNED);
	return packet;
}

static void end_packet(struct names *names, size_t packet, size_t interned)
{
	gg_wire_end(names->writer->job->out, interned);
	gg_wire_end(names->writer->job->out, packet);
}

static void put_text(struct gg_buf *out, uint32_t field, uint64_t iid, const void *bytes,
                     size_t length)
{
	size_t message = gg_wire_begin(out, field);

	gg_wire_put_number(out, TEXT_IID, iid);
	gg_wire_put_bytes(out, TEXT_BYTES, bytes, length);
	gg_wire_end(out, message);
}

/* Writes all texts except number 0, which is "". */
static void put_texts(struct gg_buf *out, uint32_t field, const struct gg_string_table *strings)
{
	for (size_t i = 1; i < strings->texts.count; i++)
		put_text(out, field, i, strings->texts.items[i], strlen(strings->texts.items[i]));
}

static void write_texts(struct names *names)
{
	struct gg_buf *out = names->writer->job->out;
	size_t interned, packet = begin_packet(names, GG_SEQUENCE_CLEARED, &interned);

	put_texts(out, INTERNED_FUNCTION_NAME, &names->functions);
	put_texts(out, INTERNED_SOURCE_PATH, &names->sources);
	end_packet(names, packet, interned);
}

static size_t bytes_of_hex(const char *hex, uint8_t bytes[64])
{
	size_t count = 0;

	for (; hex[0] != '\0' && hex[1] != '\0' && count < 64; hex += 2) {
		const char digits[3] = { hex[0], hex[1], '\0' };

		bytes[count++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return count;
}

/* Writes one packet for each module; there are few modules. */
static void write_mapping(struct names *names, size_t number)
{
	uint32_t of = names->writer->space.order[number];
	const struct gg_address_space_module *module = &names->writer->space.modules[of];
	const struct gg_model *model = names->writer->extract->model;
	struct gg_buf *out = names->writer->job->out;
	const char *path = model->modules[of].path;
	uint8_t build_id[64];
	size_t build_id_bytes = bytes_of_hex(model->modules[of].build_id, build_id);
	size_t interned, packet = begin_packet(names, GG_SEQUENCE_NEEDED, &interned), message;

	/*
	 * Readers put a '/' before each part, so the path is written as one part without its first
	 * '/'.
	 */
	path += path[0] == '/';
	put_text(out, INTERNED_MAPPING_PATH, number + 1, path, strlen(path));
	if (build_id_bytes > 0)
		put_text(out, INTERNED_BUILD_ID, number + 1, build_id, build_id_bytes);
	message = gg_wire_begin(out, INTERNED_MAPPING);
	gg_wire_put_number(out, TRACE_MAPPING_IID, number + 1);
	if (build_id_bytes > 0)
		gg_wire_put_number(out, TRACE_MAPPING_BUILD_ID, number + 1);
	gg_wire_put_number(out, TRACE_MAPPING_START_OFFSET, module->file_offset);
	gg_wire_put_number(out, TRACE_MAPPING_START, module->start);
	gg_wire_put_number(out, TRACE_MAPPING_END, module->end);
	/*
	 * rel_pc is an address in the file, so the load bias is the difference between address and
	 * offset.
	 */
	gg_wire_put_number(out, TRACE_MAPPING_LOAD_BIAS,
	                   module->start - module->bias - module->file_offset);
	gg_wire_put_number(out, TRACE_MAPPING_PATH, number + 1);
	gg_wire_put_number(out, TRACE_MAPPING_EXACT_OFFSET, module->file_offset);
	gg_wire_end(out, message);
	end_packet(names, packet, interned);
}

static uint64_t mapping_of(const struct gg_perfetto_writer *writer, uint32_t module)
{
	for (size_t i = 0; i < writer->space.used_count; i++)
		if (writer->space.order[i] == module)
			return i + 1;
	return 0;
}

static void put_frame(struct names *names, uint64_t iid, uint32_t stack, uint32_t number)
{
	const struct gg_model *model = names->writer->extract->model;
	struct gg_buf *out = names->writer->job->out;
	size_t ignored, message = gg_wire_begin(out, INTERNED_FRAME);
	const struct gg_code_location *location = &gg_model_stack_locations(model, stack,
	                                                                    &ignored)[number];
	struct gg_model_line line = model->lines[location->line];
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);
	uint64_t mapping = mapping_of(names->writer, frame->module);
	uint32_t source = gg_string_table_put(&names->sources, line.file);

	gg_wire_put_number(out, FRAME_IID, iid);
	gg_wire_put_number(
		out, FRAME_FUNCTION,
		gg_string_table_put(&names->functions, model->functions[location->function].name));
	if (mapping != 0) {
		gg_wire_put_number(out, FRAME_MAPPING, mapping);
		gg_wire_put_number(out, FRAME_RELATIVE_PC, frame->address);
	}
	if (source != 0)
		gg_wire_put_number(out, FRAME_SOURCE_PATH, source);
	if (line.line != 0)
		gg_wire_put_number(out, FRAME_LINE, line.line);
	gg_wire_end(out, message);
}

static void write_frames(struct names *names)
{
	size_t interned, packet = begin_packet(names, GG_SEQUENCE_NEEDED, &interned);

	for (size_t i = 0; i < names->stacks.count; i++)
		put_frame(names, i + 1, (uint32_t)(names->stacks.items[i] >> 32),
		          (uint32_t)names->stacks.items[i]);
	end_packet(names, packet, interned);
}

/* Collects the frames of a stack, outermost first. */
static void collect_frames(struct names *names, uint32_t stack)
{
	const struct gg_model *model = names->writer->extract->model;

	names->frames.count = 0;
	do {
		uint64_t first = gg_map_get(&names->first_frame, frame_key(names, stack));
		size_t count;

		gg_model_stack_locations(model, stack, &count);
		for (size_t i = count; i-- > 0;) /* innermost first until reversed below */
			if (!gg_array_push(&names->frames, first + i))
				names->writer->failed = true;
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	for (size_t i = 0; i < names->frames.count / 2; i++) {
		uint64_t *items = names->frames.items;
		uint64_t other = items[names->frames.count - 1 - i];

		items[names->frames.count - 1 - i] = items[i];
		items[i] = other;
	}
}

static void write_callstacks(struct names *names)
{
	struct gg_buf *out = names->writer->job->out;

	for (size_t i = 0; i < names->used_count && !names->writer->failed; i++) {
		size_t interned, packet = begin_packet(names, GG_SEQUENCE_NEEDED, &interned);
		size_t message = gg_wire_begin(out, INTERNED_STACK);

		collect_frames(names, (uint32_t)names->used_stacks[i]);
		gg_wire_put_number(out, STACK_IID, names->used_stacks[i] + 1);
		for (size_t j = 0; j < names->frames.count; j++)
			gg_wire_put_number(out, STACK_FRAME, names->frames.items[j]);
		gg_wire_end(out, message);
		end_packet(names, packet, interned);
	}
}

void gg_perfetto_names_put(struct gg_perfetto_writer *writer, size_t first, size_t end)
{
	const struct gg_timeline_entry *entries = writer->steps->entries;
	uint8_t *is_used = calloc(writer->extract->model->stack_count, 1);
	struct names names = { .writer = writer,
		               .sequence = gg_perfetto_writer_sequence(entries[first].heap) };

	names.used_stacks = calloc(end - first + 1, sizeof(*names.used_stacks));
	if (is_used == NULL || names.used_stacks == NULL)
		writer->failed = true;
	for (size_t i = first; i < end && !writer->failed; i++) {
		if (is_used[entries[i].stack])
			continue; /* belongs to another process */
		is_used[entries[i].stack] = 1;
		add_stack(&names, entries[i].stack);
	}
	if (!writer->failed)
		write_texts(&names);
	for (size_t i = 0; i < writer->space.used_count && !writer->failed; i++)
		write_mapping(&names, i);
	if (!writer->failed)
		write_frames(&names);
	if (!writer->failed)
		write_callstacks(&names);
	writer->failed |= names.functions.failed || names.sources.failed;
	gg_string_table_done(&names.functions);
	gg_string_table_done(&names.sources);
	gg_map_done(&names.first_frame);
	gg_array_done(&names.stacks);
	gg_array_done(&names.frames);
	free(names.used_stacks);
	free(is_used);
}
