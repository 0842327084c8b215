/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_pprof - pprof's profile.proto, compressed with gzip.
 *
 * A sample has four values in the order that pprof uses for heaps: alloc_objects, alloc_space,
 * inuse_objects, inuse_space.  A sample is a row of the extract with labels.  The labels are its
 * thread, tid, process, pid, heap and type; "bytes", the mean size of its blocks, like in pprof's
 * own heap profiles; and the ends of the confidence intervals of both sizes in bytes.  The labels
 * of its process follow, unless their key is one of these.  Comments hold the confidence intervals
 * of the totals.
 *
 * A location is an address, and its lines are the calls inlined there.  A frame without a name gets
 * a function named by module and offset, because pprof would show nothing otherwise.  Names are
 * full, and pprof shortens them for display.  The system name is the linker's name, or the short
 * name if the linker has no name for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/size.h"
#include "format/codec/string_table.h"
#include "format/codec/wire_writer.h"
#include "format/export/address_space.h"
#include "format/export/export.h"

/* Field numbers of profile.proto's messages.  Readers take a missing field for 0. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3, /* the program itself first */
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,  /* texts are numbers in this table, whose first entry is empty */
	PROFILE_TIME_NS = 9, /* since 1970 */
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12, /* for heaps: the mean sampling interval */
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	TYPE_NAME = 1,
	TYPE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1, /* packed, leaf first */
	SAMPLE_VALUE = 2,       /* packed, one for each sample type */
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2, /* either this, or a number with its unit */
	LABEL_NUMBER = 3,
	LABEL_UNIT = 4,

	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6, /* hexadecimal */
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,

	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2, /* 0: in no mapping */
	LOCATION_ADDRESS = 3,    /* of the call: the return address less 1 */
	LOCATION_LINE = 4,       /* innermost inlined call first */

	LINE_FUNCTION_ID = 1,
	LINE_NUMBER = 2,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3, /* the linker's name */
	FUNCTION_FILENAME = 4,
};

/* Keys of labels, and their units. */
enum word {
	LABEL_WORD_THREAD,
	LABEL_WORD_PROCESS,
	LABEL_WORD_HEAP,
	LABEL_WORD_TYPE,
	LABEL_WORD_PID,
	LABEL_WORD_TID,
	LABEL_WORD_SIZE_BYTES, /* also a unit */
	LABEL_WORD_LIVE_LOW,
	LABEL_WORD_LIVE_HIGH,
	LABEL_WORD_ALLOCATED_LOW,
	LABEL_WORD_ALLOCATED_HIGH,
	LABEL_WORD_COUNT,
};
static const char *const words[LABEL_WORD_COUNT] = {
	"thread",
	"process",
	"heap",
	"type",
	"pid",
	"tid",
	"bytes",
	"inuse_space_low",
	"inuse_space_high",
	"alloc_space_low",
	"alloc_space_high",
};

struct pprof_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table strings;
	struct gg_buf profile; /* the message, to which samples are appended one by one */
	struct gg_buf locations, functions; /* fields of the message, appended to it at the end */
	uint64_t location_count, function_count;
	struct gg_map function_of, location_of; /* function and file; module and address */
	uint32_t words[LABEL_WORD_COUNT];
	uint32_t *thread_text, *process_text, *heap_text,
		*type_text;          /* name texts by number; 0: not made yet */
	uint64_t *location_of_stack; /* by stack; 0: not made yet */
	bool failed;
};

/* Writes a field unless it is 0, because readers take a missing field for 0. */
static void put(struct gg_buf *out, uint32_t field, uint64_t value)
{
	if (value != 0)
		gg_wire_put_number(out, field, value);
}

static uint32_t text(struct pprof_export *writer, const char *value)
{
	return gg_string_table_put(&writer->strings, value);
}

/* --- locations ------------------------------------------------------------------------------ */

/* pprof's functions have one file each, so one name in two files makes two functions. */
static uint64_t function_id(struct pprof_export *writer, uint32_t number, const char *file)
{
	const struct gg_model_function function = writer->extract->model->functions[number];
	uint32_t file_text = text(writer, file);
	uint64_t key = (uint64_t)number << 32 | file_text;
	uint64_t id = gg_map_get(&writer->function_of, key);
	struct gg_buf *out = &writer->functions;
	size_t message;

	if (id != GG_MAP_NONE)
		return id;
	id = ++writer->function_count;
	if (gg_map_put(&writer->function_of, key, id) < 0) {
		writer->failed = true;
		return 0;
	}
	message = gg_wire_begin(out, PROFILE_FUNCTION);
	put(out, FUNCTION_ID, id);
	put(out, FUNCTION_NAME,
	    text(writer, function.full_name != NULL ? function.full_name : function.name));
	put(out, FUNCTION_SYSTEM_NAME,
	    text(writer,
	         function.linkage_name != NULL ? function.linkage_name : function.short_name));
	put(out, FUNCTION_FILENAME, file_text);
	gg_wire_end(out, message);
	return id;
}

static uint64_t add_location(struct pprof_export *writer, uint32_t stack, uint64_t address)
{
	const struct gg_model *model = writer->extract->model;
	uint32_t module = gg_model_stack_frame(model, stack)->module;
	struct gg_buf *out = &writer->locations;
	size_t count, message = gg_wire_begin(out, PROFILE_LOCATION), line_message;
	const struct gg_code_location *lines_of_frame = gg_model_stack_locations(model, stack,
	                                                                         &count);

	put(out, LOCATION_ID, ++writer->location_count);
	for (size_t i = 0; i < writer->space.used_count; i++)
		if (writer->space.order[i] == module)
			put(out, LOCATION_MAPPING_ID, i + 1);
	put(out, LOCATION_ADDRESS, address);
	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = model->lines[lines_of_frame[i].line];

		line_message = gg_wire_begin(out, LOCATION_LINE);
		put(out, LINE_FUNCTION_ID,
		    function_id(writer, lines_of_frame[i].function, line.file));
		put(out, LINE_NUMBER, line.line);
		gg_wire_end(out, line_message);
	}
	gg_wire_end(out, message);
	return writer->location_count;
}

static uint64_t location_id(struct pprof_export *writer, uint32_t stack)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(writer->extract->model, stack);
	uint64_t *known = &writer->location_of_stack[stack], address, key, id;

	if (*known != 0)
		return *known;
	address = gg_address_space_address(&writer->space, frame);
	key = gg_hash_integer(frame->address, gg_map_seed(&writer->location_of) + frame->module);
	id = gg_map_get(&writer->location_of, key);
	if (id == GG_MAP_NONE) {
		id = add_location(writer, stack, address);
		if (gg_map_put(&writer->location_of, key, id) < 0)
			writer->failed = true;
	}
	*known = id;
	return id;
}

/* --- samples -------------------------------------------------------------------------------- */

static void label_text(struct pprof_export *writer, enum word key, uint32_t value)
{
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, SAMPLE_LABEL);

	put(out, LABEL_KEY, writer->words[key]);
	put(out, LABEL_TEXT, value);
	gg_wire_end(out, message);
}

static void label_number(struct pprof_export *writer, enum word key, double value, enum word unit)
{
	struct gg_buf *out = &writer->profile;
	size_t message;

	if (!(value < 0x1p62)) /* the interval has no upper end */
		return;
	message = gg_wire_begin(out, SAMPLE_LABEL);
	put(out, LABEL_KEY, writer->words[key]);
	put(out, LABEL_NUMBER, (uint64_t)(int64_t)(value + 0.5));
	put(out, LABEL_UNIT, writer->words[unit]);
	gg_wire_end(out, message);
}

static void label_interval(struct pprof_export *writer, const struct gg_extract_sum *sum,
                           enum word low, enum word high)
{
	struct gg_interval interval;

	if (sum->count == 0)
		return;
	interval = gg_extract_interval(writer->extract, sum, GG_BYTES);
	label_number(writer, low, interval.low, LABEL_WORD_SIZE_BYTES);
	label_number(writer, high, interval.high, LABEL_WORD_SIZE_BYTES);
}

/* Returns the text of a name that many rows use, and makes it only once. */
static uint32_t name_of(struct pprof_export *writer, uint32_t *known, uint32_t number,
                        void (*name)(const struct gg_extract *, uint32_t, struct gg_buf *))
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text_of = { 0 };

	if (known[number] == 0) {
		name(writer->extract, number, &text_of);
		known[number] = text(writer, gg_buf_text(&text_of));
	}
	return known[number];
}

static void heap_name(const struct gg_extract *extract, uint32_t heap, struct gg_buf *out)
{
	gg_buf_append_text(out, gg_extract_heap_name(extract, heap));
}

static void type_name(const struct gg_extract *extract, uint32_t type, struct gg_buf *out)
{
	gg_buf_append_text(out, extract->model->types[type]);
}

/* Writes the labels of a row's heap and, if it has one, its type. */
static void label_kind(struct pprof_export *writer, uint32_t kind)
{
	const struct gg_extract *extract = writer->extract;
	uint32_t heap = gg_extract_heap(extract, kind), type = 0;

	if (kind < extract->model->kind_count)
		type = extract->model->kinds[kind].type;
	label_text(writer, LABEL_WORD_HEAP, name_of(writer, writer->heap_text, heap, heap_name));
	if (type != 0)
		label_text(writer, LABEL_WORD_TYPE,
		           name_of(writer, writer->type_text, type, type_name));
}

static bool is_word(const char *key)
{
	for (size_t i = 0; i < LABEL_WORD_COUNT; i++)
		if (strcmp(key, words[i]) == 0)
			return true;
	return false;
}

/* Writes the labels that distinguish its process from other processes. */
static void label_process(struct pprof_export *writer, uint32_t process)
{
	const struct gg_model_label *labels = writer->extract->model->labels;

	for (size_t i = 0; i < writer->extract->model->label_count; i++) {
		struct gg_buf *out = &writer->profile;
		size_t message;

		if (labels[i].process != process || is_word(labels[i].key))
			continue;
		message = gg_wire_begin(out, SAMPLE_LABEL);
		put(out, LABEL_KEY, text(writer, labels[i].key));
		put(out, LABEL_TEXT, text(writer, labels[i].value));
		gg_wire_end(out, message);
	}
}

static void add_labels(struct pprof_export *writer, const struct gg_extract_row *row)
{
	const struct gg_extract *extract = writer->extract;
	const struct gg_extract_sum *all = row->allocated.count > 0 ? &row->allocated : &row->live;

	label_text(writer, LABEL_WORD_THREAD,
	           name_of(writer, writer->thread_text, row->thread, gg_extract_thread_name));
	label_text(writer, LABEL_WORD_PROCESS,
	           name_of(writer, writer->process_text, row->process, gg_extract_process_name));
	label_kind(writer, row->kind);
	label_number(writer, LABEL_WORD_PID, extract->model->processes[row->process].pid,
	             LABEL_WORD_PID);
	label_number(writer, LABEL_WORD_TID, extract->model->threads[row->thread].tid,
	             LABEL_WORD_TID);
	label_process(writer, row->process);
	if (all->count > 0)
		label_number(writer, LABEL_WORD_SIZE_BYTES, (double)all->bytes / (double)all->count,
		             LABEL_WORD_SIZE_BYTES);
	label_interval(writer, &row->live, LABEL_WORD_LIVE_LOW, LABEL_WORD_LIVE_HIGH);
	label_interval(writer, &row->allocated, LABEL_WORD_ALLOCATED_LOW,
	               LABEL_WORD_ALLOCATED_HIGH);
}

static void add_sample(struct pprof_export *writer, const struct gg_extract_row *row)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, PROFILE_SAMPLE), packed;
	uint32_t stack = row->stack;

	packed = gg_wire_begin(out, SAMPLE_LOCATION_ID);
	do {
		gg_wire_append_varint(out, location_id(writer, stack));
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	gg_wire_end(out, packed);
	packed = gg_wire_begin(out, SAMPLE_VALUE);
	gg_wire_append_varint(out, row->allocated.count);
	gg_wire_append_varint(out, row->allocated.bytes);
	gg_wire_append_varint(out, row->live.count);
	gg_wire_append_varint(out, row->live.bytes);
	gg_wire_end(out, packed);
	add_labels(writer, row);
	gg_wire_end(out, message);
}

/* --- the file ------------------------------------------------------------------------------- */

static void add_comment(struct pprof_export *writer, const char *what, const struct gg_tally *tally)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, extract->confidence, false);

	put(&writer->profile, PROFILE_COMMENT,
	    gg_string_table_printf(&writer->strings,
	                           "%s: %.0f bytes, %g %% confidence interval %.0f to %.0f", what,
	                           gg_tally_estimate(tally, GG_BYTES).value,
	                           100 * extract->confidence, interval.low, interval.high));
}

static void add_comments(struct pprof_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	const struct gg_profile_session *session = extract->model->session_count > 0
	                                                   ? &extract->model->sessions[0]
	                                                   : NULL;

	put(&writer->profile, PROFILE_COMMENT,
	    gg_string_table_printf(&writer->strings, "geiger %s: %s", GG_VERSION,
	                           session != NULL && session->command != NULL ? session->command
	                                                                       : ""));
	put(&writer->profile, PROFILE_COMMENT,
	    gg_string_table_printf(&writer->strings, "mean sampling interval: %.0f bytes",
	                           extract->interval_bytes));
	add_comment(writer, "inuse_space", &extract->live);
	add_comment(writer, "alloc_space", &extract->allocated);
}

static void add_mappings(struct pprof_export *writer)
{
	const struct gg_address_space *space = &writer->space;
	const struct gg_model *model = writer->extract->model;
	struct gg_buf *out = &writer->profile;

	for (size_t i = 0; i < space->used_count; i++) {
		const struct gg_address_space_module *module = &space->modules[space->order[i]];
		size_t message = gg_wire_begin(out, PROFILE_MAPPING);

		put(out, MAPPING_ID, i + 1);
		put(out, MAPPING_START, module->start);
		put(out, MAPPING_LIMIT, module->end);
		put(out, MAPPING_FILE_OFFSET, module->file_offset);
		put(out, MAPPING_FILENAME, text(writer, model->modules[space->order[i]].path));
		put(out, MAPPING_BUILD_ID, text(writer, model->modules[space->order[i]].build_id));
		put(out, MAPPING_HAS_FUNCTIONS, module->has_names);
		put(out, MAPPING_HAS_FILENAMES, module->has_files);
		put(out, MAPPING_HAS_LINES, module->has_lines);
		put(out, MAPPING_HAS_INLINED, module->has_inlined);
		gg_wire_end(out, message);
	}
}

static int compress_into(const struct gg_export *job, const uint8_t *bytes, size_t length)
{
	struct gg_buf *out = job->out;
	z_stream stream = { 0 };
	size_t bound;
	int result;

	/* 31 selects the largest window, with gzip's header and trailer. */
	if (length > UINT32_MAX || deflateInit2(&stream, 5, Z_DEFLATED, 31, 8, 0) != Z_OK)
		return gg_export_out_of_memory(job);
	bound = deflateBound(&stream, length);
	if (bound > UINT32_MAX || !gg_buf_reserve(out, bound)) {
		deflateEnd(&stream);
		return gg_export_out_of_memory(job);
	}
	stream.next_in = (Bytef *)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = (Bytef *)out->data + out->length;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	out->length += stream.total_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : gg_export_out_of_memory(job);
}

static uint32_t add_type(struct pprof_export *writer, uint32_t field, const char *name,
                         const char *unit)
{
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, field);
	uint32_t name_text = text(writer, name);

	put(out, TYPE_NAME, name_text);
	put(out, TYPE_UNIT, text(writer, unit));
	gg_wire_end(out, message);
	return name_text;
}

static void add_types(struct pprof_export *writer)
{
	uint32_t allocated, live;

	add_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	allocated = add_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	add_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	live = add_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	put(&writer->profile, PROFILE_DEFAULT_SAMPLE_TYPE,
	    writer->extract->metric == GG_METRIC_ALLOCATED ? allocated : live);
}

static void add_times(struct pprof_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_buf *out = &writer->profile;

	if (extract->model->session_count > 0)
		put(out, PROFILE_TIME_NS,
		    (uint64_t)((int64_t)extract->model->sessions[0].start_wall_ns +
		               extract->start_ns));
	put(out, PROFILE_DURATION_NS, (uint64_t)(extract->end_ns - extract->start_ns));
	put(out, PROFILE_PERIOD,
	    extract->interval_bytes > 1 ? (uint64_t)gg_extract_whole(extract->interval_bytes) : 1);
}

/* Appends all fields after the samples.  The texts come last, because the other fields add some. */
static int finish(struct pprof_export *writer)
{
	struct gg_buf *out = &writer->profile;

	add_mappings(writer);
	gg_buf_append(out, writer->locations.data, writer->locations.length);
	gg_buf_append(out, writer->functions.data, writer->functions.length);
	add_times(writer);
	add_comments(writer);
	for (size_t i = 0; i < writer->strings.texts.count; i++)
		gg_wire_put_text(out, PROFILE_STRING, writer->strings.texts.items[i]);
	if (writer->failed || writer->strings.failed || writer->locations.failed ||
	    writer->functions.failed || out->failed)
		return gg_export_out_of_memory(writer->job);
	return compress_into(writer->job, (const uint8_t *)out->data, out->length);
}

static void free_writer(struct pprof_export *writer)
{
	gg_buf_done(&writer->profile);
	gg_buf_done(&writer->locations);
	gg_buf_done(&writer->functions);
	free(writer->location_of_stack);
	free(writer->thread_text);
	free(writer->process_text);
	free(writer->heap_text);
	free(writer->type_text);
	gg_map_done(&writer->function_of);
	gg_map_done(&writer->location_of);
	gg_string_table_done(&writer->strings);
	gg_address_space_done(&writer->space);
}

/* Makes text number 0 and the texts that all samples use. */
static bool begin(struct pprof_export *writer)
{
	const struct gg_model *model = writer->extract->model;

	writer->location_of_stack = calloc(model->stack_count, sizeof(*writer->location_of_stack));
	writer->thread_text = calloc(model->thread_count, sizeof(*writer->thread_text));
	writer->process_text = calloc(model->process_count, sizeof(*writer->process_text));
	writer->heap_text = calloc(model->heap_count + 1, sizeof(*writer->heap_text));
	writer->type_text = calloc(model->type_count + 1, sizeof(*writer->type_text));
	text(writer, "");
	for (size_t i = 0; i < LABEL_WORD_COUNT; i++)
		writer->words[i] = text(writer, words[i]);
	return writer->location_of_stack != NULL && writer->thread_text != NULL &&
	       writer->process_text != NULL && writer->heap_text != NULL &&
	       writer->type_text != NULL;
}

static int write_pprof(const struct gg_export *job)
{
	struct pprof_export writer = { .job = job, .extract = job->extract };
	size_t count = job->extract->row_count;
	int status = gg_address_space_make(&writer.space, job->extract, job->error);

	if (status < 0)
		return status;
	writer.failed = !begin(&writer);
	if (!writer.failed)
		add_types(&writer);
	for (size_t i = 0; i < count && !writer.failed; i++) {
		gg_export_progress(job, i, count);
		add_sample(&writer, &job->extract->rows[i]);
	}
	status = writer.failed ? gg_export_out_of_memory(job) : finish(&writer);
	free_writer(&writer);
	return status;
}

const struct gg_export_format gg_export_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.is_binary = true,
	.has_both = true,
	.write = write_pprof,
};
