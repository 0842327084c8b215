/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_firefox - the processed profile of the Firefox Profiler, version 61.
 *
 * Each thread has a table of native allocations: a row for a block with its bytes, and, when it was
 * freed, one with minus its bytes and the same address, from which the viewer derives what is
 * retained.  Addresses are numbers of ours, each used once, so that a reused one cannot be taken for the
 * other block.  A free is noted where the block was allocated.  The same blocks are the thread's samples,
 * weighed by their bytes, so that its graph is drawn.  Each process has a counter of its live memory,
 * which the viewer shows as a track.  The viewer knows bytes alone; confidence intervals of a thread's
 * live and allocated bytes are markers.
 *
 * The version is pinned: viewers read older files than theirs and refuse newer ones.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "format/export.h"
#include "format/space.h"
#include "format/strings.h"

enum { VERSION = 61, COUNTER_STEPS = 200 };
enum { CATEGORY_OTHER, CATEGORY_PROGRAM, CATEGORY_LIBRARY };
enum { NONE = -1, LIBRARY_RESOURCE = 1 };

struct func {
	uint32_t function;
	uint32_t name, file; /* texts */
};

struct frame {
	uint32_t func, depth, line, module;
	uint64_t address; /* in the file */
};

struct stack {
	uint32_t frame;
	int64_t prefix;
};

struct items {
	void *data;
	size_t count, capacity;
};

/* A row of a thread's table of allocations. */
struct event {
	int64_t time_ns;
	uint32_t block; /* number of it: its address is one more */
	bool is_free;
};

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_space space;
	struct gg_strings strings, files; /* of the file; names of source files */
	struct items funcs, frames, stacks;
	struct gg_map func_of,
		frame_of;  /* function and file; unified address: its outermost frame */
	int64_t *stack_of; /* of each stack of the model; -2: not yet */
	struct gg_extract_block *blocks;
	uint64_t *weights; /* of each block, whole bytes */
	size_t block_count;
	int64_t *library_of;               /* of each module */
	uint32_t *by_thread;               /* numbers of blocks, thread by thread */
	size_t *thread_end;                /* of each thread: where its part of them ends */
	struct gg_rough *live, *allocated; /* of each thread */
	int64_t *changes;                  /* of each process: of its counter, COUNTER_STEPS + 1 */
	struct gg_json json;
	bool failed;
};

static void *add_item(struct writing *writing, struct items *items, size_t item_bytes)
{
	if (items->count == items->capacity) {
		size_t capacity = items->capacity == 0 ? 1024 : items->capacity * 2;
		void *data = reallocarray(items->data, capacity, item_bytes);

		if (data == NULL) {
			writing->failed = true;
			return NULL;
		}
		items->data = data;
		items->capacity = capacity;
	}
	return (char *)items->data + items->count++ * item_bytes;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static uint32_t func_of(struct writing *writing, uint32_t function, const char *file)
{
	uint32_t file_text = gg_strings_put(&writing->files, file);
	uint64_t key = (uint64_t)function << 32 | file_text;
	uint64_t number = gg_map_get(&writing->func_of, key);
	struct func *func;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = writing->funcs.count;
	func = add_item(writing, &writing->funcs, sizeof(*func));
	if (func == NULL || gg_map_put(&writing->func_of, key, number) < 0) {
		writing->failed = true;
		return 0;
	}
	func->function = function;
	func->file = file_text;
	func->name = gg_strings_put(&writing->strings,
	                            gg_model_function(writing->extract->model, function).name);
	return (uint32_t)number;
}

/* Frames of one address follow each other, the outermost first.  The number of that. */
static uint64_t frames_of(struct writing *writing, uint32_t stack, size_t *ret_count)
{
	const struct gg_model *model = writing->extract->model;
	struct gg_model_spot spot = gg_model_stack_spot(model, stack);
	const struct gg_model_place *places = gg_model_stack_places(model, stack, ret_count);
	uint64_t address = gg_space_address(&writing->space, spot);
	uint64_t number = gg_map_get(&writing->frame_of, address);

	if (number != GG_MAP_NONE)
		return number;
	number = writing->frames.count;
	if (gg_map_put(&writing->frame_of, address, number) < 0)
		writing->failed = true;
	for (size_t i = *ret_count; i-- > 0 && !writing->failed;) {
		struct gg_model_line line = gg_model_line(model, places[i].line);
		uint32_t func = func_of(writing, places[i].function, line.file);
		struct frame *frame = add_item(writing, &writing->frames, sizeof(*frame));

		if (frame != NULL)
			*frame = (struct frame){ func, (uint32_t)(*ret_count - 1 - i), line.line,
				                 spot.module, spot.address };
	}
	return number;
}

/* Callers have smaller numbers, so they are made first by going up and coming back. */
static int64_t stack_of(struct writing *writing, uint32_t stack)
{
	uint32_t parent;
	int64_t prefix = NONE;
	uint64_t first;
	size_t count;

	if (writing->stack_of[stack] != -2)
		return writing->stack_of[stack];
	parent = gg_model_stack_parent(writing->extract->model, stack);
	if (parent != 0)
		prefix = writing->stack_of[parent];
	first = frames_of(writing, stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct stack *added = add_item(writing, &writing->stacks, sizeof(*added));

		if (added == NULL)
			return NONE;
		*added = (struct stack){ (uint32_t)(first + i), prefix };
		prefix = (int64_t)writing->stacks.count - 1;
	}
	writing->stack_of[stack] = prefix;
	return prefix;
}

/* All stacks that blocks have, with their callers, in ascending order. */
static int make_stacks(struct writing *writing)
{
	const struct gg_model *model = writing->extract->model;
	size_t count = gg_model_stack_count(model);
	uint8_t *is_used = calloc(count, 1);

	writing->stack_of = malloc(count * sizeof(*writing->stack_of));
	if (is_used == NULL || writing->stack_of == NULL) {
		free(is_used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < writing->block_count; i++)
		is_used[writing->blocks[i].stack] = 1;
	for (size_t i = count; i-- > 1;)
		if (is_used[i] && gg_model_stack_parent(model, (uint32_t)i) != 0)
			is_used[gg_model_stack_parent(model, (uint32_t)i)] = 1;
	for (size_t i = 0; i < count && !writing->failed; i++) {
		writing->stack_of[i] = -2;
		if (is_used[i])
			stack_of(writing, (uint32_t)i);
	}
	free(is_used);
	return writing->failed ? -ENOMEM : 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put(struct writing *writing, int64_t value)
{
	gg_json_decimal(&writing->json, NULL, value, 0);
}

static void put_null(struct writing *writing)
{
	gg_json_text(&writing->json, NULL, NULL);
}

/* A column of one value. */
static void put_column(struct writing *writing, const char *name, size_t count, int64_t value)
{
	gg_json_open(&writing->json, name, '[');
	for (size_t i = 0; i < count; i++)
		put(writing, value);
	gg_json_close(&writing->json);
}

static void put_null_column(struct writing *writing, const char *name, size_t count)
{
	gg_json_open(&writing->json, name, '[');
	for (size_t i = 0; i < count; i++)
		put_null(writing);
	gg_json_close(&writing->json);
}

static void end_table(struct writing *writing, size_t count)
{
	gg_json_integer(&writing->json, "length", count);
	gg_json_close(&writing->json);
}

static void write_stack_table(struct writing *writing)
{
	const struct stack *stacks = writing->stacks.data;
	size_t count = writing->stacks.count;

	gg_json_open(&writing->json, "stackTable", '{');
	gg_json_open(&writing->json, "frame", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, stacks[i].frame);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "prefix", '[');
	for (size_t i = 0; i < count; i++)
		if (stacks[i].prefix < 0)
			put_null(writing);
		else
			put(writing, stacks[i].prefix);
	gg_json_close(&writing->json);
	end_table(writing, count);
}

static int category_of(const struct writing *writing, uint32_t module)
{
	if (module == 0)
		return CATEGORY_OTHER;
	return writing->library_of[module] == 0 ? CATEGORY_PROGRAM : CATEGORY_LIBRARY;
}

static void write_frame_table(struct writing *writing)
{
	const struct frame *frames = writing->frames.data;
	size_t count = writing->frames.count;

	gg_json_open(&writing->json, "frameTable", '{');
	gg_json_open(&writing->json, "address", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, frames[i].module != 0 ? (int64_t)frames[i].address : NONE);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "inlineDepth", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, frames[i].depth);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "category", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, category_of(writing, frames[i].module));
	gg_json_close(&writing->json);
	put_column(writing, "subcategory", count, 0);
	gg_json_open(&writing->json, "func", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, frames[i].func);
	gg_json_close(&writing->json);
	put_null_column(writing, "nativeSymbol", count);
	put_null_column(writing, "innerWindowID", count);
	gg_json_open(&writing->json, "line", '[');
	for (size_t i = 0; i < count; i++)
		if (frames[i].line == 0)
			put_null(writing);
		else
			put(writing, frames[i].line);
	gg_json_close(&writing->json);
	put_null_column(writing, "column", count);
	end_table(writing, count);
}

static void write_func_table(struct writing *writing)
{
	const struct gg_model *model = writing->extract->model;
	const struct func *funcs = writing->funcs.data;
	size_t count = writing->funcs.count;

	gg_json_open(&writing->json, "funcTable", '{');
	gg_json_open(&writing->json, "name", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, funcs[i].name);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "isJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writing->json, NULL, false);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "relevantForJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writing->json, NULL, false);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "resource", '[');
	for (size_t i = 0; i < count; i++)
		put(writing,
		    writing->library_of[gg_model_function(model, funcs[i].function).module]);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "source", '[');
	for (size_t i = 0; i < count; i++)
		if (funcs[i].file == 0)
			put_null(writing);
		else
			put(writing, funcs[i].file - 1);
	gg_json_close(&writing->json);
	put_null_column(writing, "lineNumber", count);
	put_null_column(writing, "columnNumber", count);
	end_table(writing, count);
}

/* Libraries are the modules of the space, in its order; a resource is one of them. */
static void write_resources(struct writing *writing)
{
	const struct gg_space *space = &writing->space;

	gg_json_open(&writing->json, "resourceTable", '{');
	gg_json_open(&writing->json, "lib", '[');
	for (size_t i = 0; i < space->used_count; i++)
		put(writing, (int64_t)i);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "name", '[');
	for (size_t i = 0; i < space->used_count; i++)
		put(writing,
		    gg_strings_put(&writing->strings,
		                   gg_model_module_name(writing->extract->model, space->order[i])));
	gg_json_close(&writing->json);
	put_null_column(writing, "host", space->used_count);
	put_column(writing, "type", space->used_count, LIBRARY_RESOURCE);
	end_table(writing, space->used_count);
}

static void write_sources(struct writing *writing)
{
	size_t count = writing->files.count > 0 ? writing->files.count - 1 : 0;

	gg_json_open(&writing->json, "sources", '{');
	put_null_column(writing, "id", count);
	gg_json_open(&writing->json, "filename", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, gg_strings_put(&writing->strings, writing->files.texts[i + 1]));
	gg_json_close(&writing->json);
	put_column(writing, "startLine", count, 1);
	put_column(writing, "startColumn", count, 1);
	put_null_column(writing, "sourceMapURL", count);
	end_table(writing, count);
}

/* The texts come last: everything else may add some. */
static void write_shared(struct writing *writing)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	gg_json_open(&writing->json, "shared", '{');
	write_stack_table(writing);
	write_frame_table(writing);
	write_func_table(writing);
	write_resources(writing);
	write_sources(writing);
	gg_json_open(&writing->json, "nativeSymbols", '{');
	for (size_t i = 0; i < GG_COUNT(columns); i++)
		put_column(writing, columns[i], 0, 0);
	end_table(writing, 0);
	gg_json_open(&writing->json, "stringArray", '[');
	for (size_t i = 0; i < writing->strings.count; i++)
		gg_json_text(&writing->json, NULL, writing->strings.texts[i]);
	gg_json_close(&writing->json);
	gg_json_close(&writing->json);
}

/* --- libraries and the head ------------------------------------------------------------------ */

/* The first 16 bytes of a build-id as a GUID of which the first three parts are little-endian. */
static void breakpad_id(const char *build_id, char id[34])
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t length = strlen(build_id);

	for (size_t i = 0; i < 16; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t at = 2 * (size_t)order[i] + k;
			char digit = at < length ? build_id[at] : '0';

			id[2 * i + k] = digit >= 'a' ? (char)(digit - 'a' + 'A') : digit;
		}
	id[32] = '0';
	id[33] = '\0';
}

static void write_libraries(struct writing *writing)
{
	const struct gg_model *model = writing->extract->model;
	struct gg_json *json = &writing->json;

	gg_json_open(json, "libs", '[');
	for (size_t i = 0; i < writing->space.used_count; i++) {
		uint32_t module = writing->space.order[i];
		const char *build_id = gg_model_module_build_id(model, module);
		char id[34];

		breakpad_id(build_id, id);
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "arch", "");
		gg_json_text(json, "name", gg_model_module_name(model, module));
		gg_json_text(json, "path", gg_model_module_path(model, module));
		gg_json_text(json, "debugName", gg_model_module_name(model, module));
		gg_json_text(json, "debugPath", gg_model_module_path(model, module));
		gg_json_text(json, "breakpadId", build_id[0] != '\0' ? id : "");
		gg_json_text(json, "codeId", build_id[0] != '\0' ? build_id : NULL);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void write_category(struct gg_json *json, const char *name, const char *color)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", name);
	gg_json_text(json, "color", color);
	gg_json_open(json, "subcategories", '[');
	gg_json_text(json, NULL, "Other");
	gg_json_close(json);
	gg_json_close(json);
}

/* How the markers with confidence intervals are shown. */
static void write_marker_schema(struct gg_json *json)
{
	static const char *const fields[][3] = {
		{ "estimate", "Estimate", "bytes" },
		{ "low", "At least", "bytes" },
		{ "high", "At most", "bytes" },
		{ "confidence", "Confidence", "percentage" },
	};

	gg_json_open(json, "markerSchema", '[');
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", "geiger");
	gg_json_text(json, "tooltipLabel", "{marker.name}");
	gg_json_text(json, "tableLabel",
	             "{marker.data.estimate} ({marker.data.low} to {marker.data.high})");
	gg_json_open(json, "display", '[');
	gg_json_text(json, NULL, "marker-chart");
	gg_json_text(json, NULL, "marker-table");
	gg_json_text(json, NULL, "timeline-memory");
	gg_json_close(json);
	gg_json_open(json, "fields", '[');
	for (size_t i = 0; i < GG_COUNT(fields); i++) {
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "key", fields[i][0]);
		gg_json_text(json, "label", fields[i][1]);
		gg_json_text(json, "format", fields[i][2]);
		gg_json_close(json);
	}
	gg_json_close(json);
	gg_json_close(json);
	gg_json_close(json);
}

static void write_meta(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	struct gg_json *json = &writing->json;
	bool has_session = gg_model_session_count(extract->model) > 0;
	const struct gg_session *session = has_session ? gg_model_session(extract->model, 0) : NULL;

	gg_json_open(json, "meta", '{');
	gg_json_integer(json, "interval", 1);
	gg_json_decimal(json, "startTime", has_session ? (int64_t)session->start_wall_ns : 0, 6);
	gg_json_integer(json, "processType", 0);
	gg_json_text(json, "product",
	             has_session && session->command != NULL ? session->command : "geiger");
	gg_json_integer(json, "stackwalk", 1);
	gg_json_integer(json, "version", 27);
	gg_json_integer(json, "preprocessedProfileVersion", VERSION);
	gg_json_open(json, "categories", '[');
	write_category(json, "Other", "grey");
	write_category(json, "Program", "blue");
	write_category(json, "Library", "orange");
	gg_json_close(json);
	write_marker_schema(json);
	gg_json_bool(json, "symbolicated", true);
	gg_json_text(json, "importedFrom", "geiger " GG_VERSION);
	gg_json_open(json, "sampleUnits", '{');
	gg_json_text(json, "time", "ms");
	gg_json_text(json, "eventDelay", "ms");
	gg_json_text(json, "threadCPUDelta", "ns");
	gg_json_close(json);
	gg_json_close(json);
}

/* --- threads --------------------------------------------------------------------------------- */

static void put_time(struct writing *writing, const char *name, int64_t time_ns)
{
	gg_json_decimal(&writing->json, name, time_ns, 6);
}

static int64_t stack_of_event(const struct writing *writing, const struct event *event)
{
	return writing->stack_of[writing->blocks[event->block].stack];
}

static void put_event_columns(struct writing *writing, const struct event *events, size_t count,
                              bool has_frees)
{
	gg_json_open(&writing->json, "time", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free)
			put_time(writing, NULL, events[i].time_ns);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "weight", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free) {
			int64_t weight = (int64_t)writing->weights[events[i].block];

			put(writing, events[i].is_free ? -weight : weight);
		}
	gg_json_close(&writing->json);
	gg_json_text(&writing->json, "weightType", "bytes");
	gg_json_open(&writing->json, "stack", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free)
			put(writing, stack_of_event(writing, &events[i]));
	gg_json_close(&writing->json);
}

static void write_allocations(struct writing *writing, const struct event *events, size_t count,
                              uint32_t tid)
{
	size_t alloc_count = 0;

	for (size_t i = 0; i < count; i++)
		alloc_count += !events[i].is_free;
	gg_json_open(&writing->json, "samples", '{');
	put_event_columns(writing, events, count, false);
	end_table(writing, alloc_count);
	gg_json_open(&writing->json, "nativeAllocations", '{');
	put_event_columns(writing, events, count, true);
	gg_json_open(&writing->json, "memoryAddress", '[');
	for (size_t i = 0; i < count; i++)
		put(writing, (int64_t)events[i].block + 1);
	gg_json_close(&writing->json);
	put_column(writing, "threadId", count, tid);
	end_table(writing, count);
}

static void write_marker(struct writing *writing, const struct gg_tally *tally)
{
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, writing->extract->confidence,
	                                             false);

	gg_json_open(&writing->json, NULL, '{');
	gg_json_text(&writing->json, "type", "geiger");
	gg_json_number(&writing->json, "estimate", round(gg_tally_estimate(tally, GG_BYTES).value));
	gg_json_number(&writing->json, "low", round(interval.low));
	gg_json_number(&writing->json, "high", round(interval.high));
	gg_json_number(&writing->json, "confidence", writing->extract->confidence);
	gg_json_close(&writing->json);
}

/* What a thread's rows add up to: live, allocated. */
static void tally_thread(const struct writing *writing, uint32_t thread, struct gg_tally tallies[2])
{
	gg_rough_tally(&writing->live[thread], &tallies[0]);
	gg_rough_tally(&writing->allocated[thread], &tallies[1]);
	for (size_t i = 0; i < 2; i++)
		gg_tally_expose(&tallies[i], writing->extract->interval_bytes);
}

static void write_markers(struct writing *writing, uint32_t thread)
{
	static const char *const names[2] = { "live at the end", "allocated" };
	struct gg_json *json = &writing->json;
	struct gg_tally tallies[2];

	tally_thread(writing, thread, tallies);
	gg_json_open(json, "markers", '{');
	gg_json_open(json, "data", '[');
	for (size_t i = 0; i < 2; i++)
		write_marker(writing, &tallies[i]);
	gg_json_close(json);
	gg_json_open(json, "name", '[');
	for (size_t i = 0; i < 2; i++)
		put(writing, gg_strings_put(&writing->strings, names[i]));
	gg_json_close(json);
	gg_json_open(json, "startTime", '[');
	put_time(writing, NULL, writing->extract->end_ns);
	put_time(writing, NULL, writing->extract->start_ns);
	gg_json_close(json);
	gg_json_open(json, "endTime", '[');
	put_null(writing);
	put_time(writing, NULL, writing->extract->end_ns);
	gg_json_close(json);
	gg_json_open(json, "phase", '[');
	put(writing, 0); /* a moment */
	put(writing, 1); /* a time */
	gg_json_close(json);
	put_column(writing, "category", 2, CATEGORY_OTHER);
	end_table(writing, 2);
}

static void write_thread(struct writing *writing, uint32_t number, const struct event *events,
                         size_t count)
{
	const struct gg_extract *extract = writing->extract;
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf program = { 0 };
	struct gg_json *json = &writing->json;
	size_t total;
	const struct gg_thread *thread = gg_model_threads(extract->model, &total) + number;
	const struct gg_process *process = gg_model_processes(extract->model, &total) +
	                                   thread->process;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", process->pid);
	gg_extract_thread_name(extract, number, &name);
	gg_extract_process_name(extract, thread->process, &program);
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "processType", "default");
	put_time(writing, "processStartupTime", process->start_ns);
	if (process->end_ns == GG_TIME_NONE)
		gg_json_text(json, "processShutdownTime", NULL);
	else
		put_time(writing, "processShutdownTime", process->end_ns);
	put_time(writing, "registerTime", thread->start_ns);
	if (thread->end_ns == GG_TIME_NONE)
		gg_json_text(json, "unregisterTime", NULL);
	else
		put_time(writing, "unregisterTime", thread->end_ns);
	gg_json_open(json, "pausedRanges", '[');
	gg_json_close(json);
	gg_json_text(json, "name", gg_buf_text(&name));
	gg_json_text(json, "processName", gg_buf_text(&program));
	gg_json_bool(json, "isMainThread", thread->tid == process->pid);
	gg_json_text(json, "pid", pid);
	gg_json_integer(json, "tid", thread->tid);
	write_allocations(writing, events, count, thread->tid);
	write_markers(writing, number);
	gg_json_close(json);
}

static int compare_events(const void *a, const void *b)
{
	const struct event *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->is_free != right->is_free)
		return left->is_free ? 1 : -1; /* a block comes before it goes */
	return (left->block > right->block) - (left->block < right->block);
}

/* The thread's rows, by time; the caller frees them. */
static struct event *events_of(struct writing *writing, uint32_t thread, size_t *ret_count)
{
	size_t first = thread > 0 ? writing->thread_end[thread - 1] : 0;
	size_t end = writing->thread_end[thread], count = 0;
	struct event *events = malloc((2 * (end - first) + 1) * sizeof(*events));

	writing->failed |= events == NULL;
	for (size_t i = first; i < end && events != NULL; i++) {
		const struct gg_extract_block *block = &writing->blocks[writing->by_thread[i]];

		events[count++] = (struct event){ block->alloc_ns, writing->by_thread[i], false };
		if (block->free_ns != GG_TIME_NONE)
			events[count++] = (struct event){ block->free_ns, writing->by_thread[i],
				                          true };
	}
	if (count > 0)
		qsort(events, count, sizeof(*events), compare_events);
	*ret_count = count;
	return events;
}

/* Live memory of a process: changes between evenly spaced moments. */
static void write_counter(struct writing *writing, const char *pid, uint32_t process,
                          size_t thread_index)
{
	const struct gg_extract *extract = writing->extract;
	const int64_t *changes = &writing->changes[(size_t)process * (COUNTER_STEPS + 1)];
	double length = (double)(extract->end_ns - extract->start_ns);
	struct gg_json *json = &writing->json;

	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", "malloc");
	gg_json_text(json, "category", "Memory");
	gg_json_text(json, "description", "Live memory, as geiger estimates it");
	gg_json_text(json, "pid", pid);
	gg_json_integer(json, "mainThreadIndex", thread_index);
	gg_json_open(json, "samples", '{');
	gg_json_open(json, "time", '[');
	for (int i = 0; i <= COUNTER_STEPS; i++)
		put_time(writing, NULL, extract->start_ns + (int64_t)(length * i / COUNTER_STEPS));
	gg_json_close(json);
	gg_json_open(json, "count", '[');
	for (int i = 0; i <= COUNTER_STEPS; i++)
		put(writing, changes[i]);
	gg_json_close(json);
	end_table(writing, COUNTER_STEPS + 1);
	gg_json_close(json);
}

/* Threads with blocks, in the order of the model, which is that of processes for each one. */
static int write_threads(struct writing *writing, uint32_t *shown, size_t *ret_count)
{
	size_t thread_count, count = 0;

	gg_model_threads(writing->extract->model, &thread_count);
	gg_json_open(&writing->json, "threads", '[');
	for (uint32_t i = 0; i < thread_count && !writing->failed; i++) {
		size_t event_count;
		struct event *events = events_of(writing, i, &event_count);

		if (writing->job->progress != NULL)
			writing->job->progress(writing->job->progress_context, i, thread_count);
		if (events != NULL && event_count > 0) {
			write_thread(writing, i, events, event_count);
			shown[count++] = i;
		}
		free(events);
	}
	gg_json_close(&writing->json);
	*ret_count = count;
	return writing->failed ? -ENOMEM : 0;
}

static void write_counters(struct writing *writing, const uint32_t *shown, size_t count)
{
	const struct gg_model *model = writing->extract->model;
	size_t total;
	const struct gg_thread *threads = gg_model_threads(model, &total);
	const struct gg_process *processes = gg_model_processes(model, &total);

	gg_json_open(&writing->json, "counters", '[');
	for (size_t i = 0; i < count; i++) {
		uint32_t process = threads[shown[i]].process;
		char pid[16];
		bool is_first = true;

		for (size_t k = 0; k < i; k++)
			is_first &= threads[shown[k]].process != process;
		if (!is_first)
			continue;
		snprintf(pid, sizeof(pid), "%u", processes[process].pid);
		write_counter(writing, pid, process, i);
	}
	gg_json_close(&writing->json);
}

/* --- the file -------------------------------------------------------------------------------- */

/* Whole bytes that add up: each is rounded with what is owed from those before. */
static int weigh(struct writing *writing)
{
	double owed[2] = { 0 }; /* of blocks that were freed, and of the others */

	writing->weights = malloc((writing->block_count + 1) * sizeof(*writing->weights));
	if (writing->weights == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		double *of = &owed[block->free_ns == GG_TIME_NONE];
		double whole = fmax(0, floor(block->bytes + *of + 0.5));

		*of += block->bytes - whole;
		writing->weights[i] = (uint64_t)whole;
	}
	return 0;
}

/* The step of a counter that a moment is in. */
static size_t step_of(const struct gg_extract *extract, int64_t time_ns)
{
	double length = fmax(1, (double)(extract->end_ns - extract->start_ns));
	double share = (double)(time_ns - extract->start_ns) / length;

	return (size_t)(fmin(fmax(share, 0), 1) * COUNTER_STEPS);
}

static void note_changes(struct writing *writing)
{
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		int64_t *changes = &writing->changes[(size_t)block->process * (COUNTER_STEPS + 1)];
		int64_t weight = (int64_t)writing->weights[i];

		changes[step_of(writing->extract, block->alloc_ns)] += weight;
		if (block->free_ns != GG_TIME_NONE)
			changes[step_of(writing->extract, block->free_ns)] -= weight;
	}
}

/* What threads and processes have, in one pass for all of them. */
static int divide(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	size_t thread_count, process_count;

	gg_model_threads(extract->model, &thread_count);
	gg_model_processes(extract->model, &process_count);
	writing->by_thread = malloc((writing->block_count + 1) * sizeof(*writing->by_thread));
	writing->thread_end = calloc(thread_count + 1, sizeof(*writing->thread_end));
	writing->live = calloc(thread_count, sizeof(*writing->live));
	writing->allocated = calloc(thread_count, sizeof(*writing->allocated));
	writing->changes = calloc(process_count * (COUNTER_STEPS + 1), sizeof(*writing->changes));
	if (writing->by_thread == NULL || writing->thread_end == NULL || writing->live == NULL ||
	    writing->allocated == NULL || writing->changes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++)
		writing->thread_end[writing->blocks[i].thread + 1]++;
	for (size_t i = 0; i < thread_count; i++)
		writing->thread_end[i + 1] += writing->thread_end[i];
	for (size_t i = 0; i < writing->block_count; i++) /* begins become ends */
		writing->by_thread[writing->thread_end[writing->blocks[i].thread]++] = (uint32_t)i;
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		gg_rough_add(&writing->live[row->thread], &row->live.rough);
		gg_rough_add(&writing->allocated[row->thread], &row->allocated.rough);
	}
	note_changes(writing);
	return 0;
}

static int number_libraries(struct writing *writing)
{
	size_t count = gg_model_module_count(writing->extract->model);

	writing->library_of = malloc(count * sizeof(*writing->library_of));
	if (writing->library_of == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		writing->library_of[i] = NONE;
	for (size_t i = 0; i < writing->space.used_count; i++)
		writing->library_of[writing->space.order[i]] = (int64_t)i;
	return 0;
}

static int write_all(struct writing *writing)
{
	size_t thread_count;
	uint32_t *shown;
	int code;

	gg_model_threads(writing->extract->model, &thread_count);
	shown = calloc(thread_count + 1, sizeof(*shown));
	if (shown == NULL)
		return -ENOMEM;
	gg_json_open(&writing->json, NULL, '{');
	write_meta(writing);
	write_libraries(writing);
	gg_json_open(&writing->json, "pages", '[');
	gg_json_close(&writing->json);
	code = write_threads(writing, shown, &thread_count);
	write_counters(writing, shown, thread_count);
	write_shared(writing);
	gg_json_close(&writing->json);
	gg_buf_append_text(writing->json.out, "\n");
	free(shown);
	return writing->strings.failed || writing->files.failed ? -ENOMEM : code;
}

static int write_firefox(const struct gg_export *job)
{
	struct writing writing = { .job = job,
		                   .extract = job->extract,
		                   .json = { .out = job->out } };
	int code = gg_space_make(&writing.space, job->extract, job->error);

	if (code == 0)
		code = gg_extract_blocks(job->extract, &writing.blocks, &writing.block_count,
		                         job->error);
	if (code == 0 &&
	    (weigh(&writing) < 0 || divide(&writing) < 0 || number_libraries(&writing) < 0 ||
	     make_stacks(&writing) < 0 || write_all(&writing) < 0))
		code = gg_export_out_of_memory(job);
	gg_space_done(&writing.space);
	gg_strings_done(&writing.strings);
	gg_strings_done(&writing.files);
	gg_map_done(&writing.func_of);
	gg_map_done(&writing.frame_of);
	free(writing.funcs.data);
	free(writing.frames.data);
	free(writing.stacks.data);
	free(writing.stack_of);
	free(writing.blocks);
	free(writing.weights);
	free(writing.library_of);
	free(writing.by_thread);
	free(writing.thread_end);
	free(writing.live);
	free(writing.allocated);
	free(writing.changes);
	return code;
}

const struct gg_export_format gg_export_firefox = {
	.name = "firefox",
	.suffix = ".profile.json",
	.has_both = true,
	.write = write_firefox,
};
