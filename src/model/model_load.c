/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_load - reads profiles into a model.
 *
 * The loader maps each id of a file through an array to the model's number.  Ids that do not exist,
 * or that repeat, map to number 0, so that a damaged file cannot lead outside of an array.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_load.h"

#include "base/address_name.h"
#include "base/assert.h"
#include "base/path.h"

static int out_of_memory(struct gg_model_load *load)
{
	return gg_error_memory(load->error, "reading the profile");
}

/* Sums of all collections of a profile do not overflow. */
#define COLLECTIONS_MAX (INT64_C(1) << 40)

/* geiger writes dense ids; a file with a larger id is damaged, and its arrays would be huge. */
enum { ID_LIMIT = 1 << 27 };

int gg_model_load_set_number(struct gg_model_load *load, struct gg_numbers *numbers, uint32_t id,
                             size_t number)
{
	if (id >= ID_LIMIT || number >= UINT32_MAX)
		return gg_error_set(load->error, -EBADMSG, "reading the profile",
		                    "Record it again.", "the id %u is too large", id);
	if (!gg_array_extend(numbers, (size_t)id + 1))
		return out_of_memory(load);
	numbers->items[id] = (uint32_t)number;
	return 0;
}

static void note_time(struct gg_model_load *load, int64_t time_ns)
{
	if (time_ns != GG_TIME_NONE && time_ns > load->builder->model.end_ns)
		load->builder->model.end_ns = time_ns;
}

static const char *text(struct gg_model_load *load, const char *value, int *status)
{
	bool failed = false;
	const char *kept = gg_model_text(load->builder, value, &failed);

	if (failed)
		*status = out_of_memory(load);
	return kept;
}

/* The text of a symbol.  A damaged file may refer to one that it does not have. */
static const char *name_text(struct gg_model_load *load, const char *value, int *status)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf room = { 0 };

	value = gg_profile_bounded_name(value, &room);
	if (room.failed)
		*status = out_of_memory(load);
	return text(load, value, status);
}

static int read_session(struct gg_model_load *load)
{
	struct gg_profile_session session, *kept;
	int status = gg_profile_session(load->profile, &session, load->error);

	if (status < 0)
		return status;
	kept = gg_array_add(&load->builder->sessions);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = session;
	kept->command = text(load, session.command, &status);
	kept->host = text(load, session.host, &status);
	kept->kernel = text(load, session.kernel, &status);
	kept->machine = text(load, session.machine, &status);
	kept->geiger = text(load, session.geiger, &status);
	kept->end_ns = gg_model_load_time(load, session.end_ns);
	note_time(load, kept->end_ns);
	return status;
}

static int read_process(const struct gg_profile_process *process, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_process *kept = gg_array_add(&load->builder->processes);
	uint32_t *session = gg_array_add(&load->builder->process_sessions);
	size_t number = load->builder->processes.count - 1;
	int status = 0;

	if (kept == NULL || session == NULL)
		return out_of_memory(load);
	*session = (uint32_t)load->builder->sessions.count - 1;
	*kept = *process;
	kept->id = (uint32_t)number;
	kept->parent = gg_model_load_number(&load->processes, process->parent);
	kept->start_ns = gg_model_load_time(load, process->start_ns);
	kept->end_ns = gg_model_load_time(load, process->end_ns);
	kept->exe = text(load, process->exe, &status);
	kept->command = text(load, process->command, &status);
	kept->ending = text(load, process->ending, &status);
	note_time(load, kept->end_ns);
	return status < 0 ? status
	                  : gg_model_load_set_number(load, &load->processes, process->id, number);
}

static int read_thread(const struct gg_profile_thread *thread, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_thread *kept = gg_array_add(&load->builder->threads);
	size_t number = load->builder->threads.count - 1;
	int status = 0;

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *thread;
	kept->id = (uint32_t)number;
	kept->process = gg_model_load_number(&load->processes, thread->process);
	kept->start_ns = gg_model_load_time(load, thread->start_ns);
	kept->end_ns = gg_model_load_time(load, thread->end_ns);
	kept->name = text(load, thread->name, &status);
	return status < 0 ? status
	                  : gg_model_load_set_number(load, &load->threads, thread->id, number);
}

static const char *build_id_text(struct gg_model_load *load, const struct gg_profile_module *module,
                                 int *status)
{
	char hex[2 * 64 + 1] = "";
	size_t count = module->build_id_bytes < 64 ? module->build_id_bytes : 64;

	for (size_t i = 0; i < count; i++) {
		hex[2 * i] = "0123456789abcdef"[module->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[module->build_id[i] & 15];
	}
	hex[2 * count] = '\0';
	return text(load, hex, status);
}

/* Two profiles share a module if its path and build-id are equal. */
static int read_module(const struct gg_profile_module *module, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_builder *builder = load->builder;
	struct gg_model_module wanted = { 0 }, *kept;
	int status = 0;

	wanted.path = text(load, module->path != NULL ? module->path : "[unknown]", &status);
	wanted.build_id = build_id_text(load, module, &status);
	wanted.status = text(load, module->status, &status);
	if (status < 0)
		return status;
	for (size_t i = 1; i < builder->modules.count; i++) {
		kept = builder->modules.items + i;
		if (kept->path == wanted.path && kept->build_id == wanted.build_id)
			return gg_model_load_set_number(load, &load->modules, module->id, i);
	}
	wanted.name = gg_path_base(wanted.path);
	kept = gg_array_add(&builder->modules);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = wanted;
	return gg_model_load_set_number(load, &load->modules, module->id,
	                                builder->modules.count - 1);
}

static int read_mapping(const struct gg_profile_mapping *mapping, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_mapping *kept = gg_array_add(&load->builder->mappings);

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *mapping;
	kept->process = gg_model_load_number(&load->processes, mapping->process);
	kept->module = gg_model_load_number(&load->modules, mapping->module);
	kept->load_ns = gg_model_load_time(load, mapping->load_ns);
	kept->unload_ns = gg_model_load_time(load, mapping->unload_ns);
	return 0;
}

static int read_frame(const struct gg_profile_frame *frame, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_frame *kept = gg_array_add(&load->builder->frames);

	if (kept == NULL)
		return out_of_memory(load);
	kept->module = gg_model_load_number(&load->modules, frame->module);
	kept->address = frame->address;
	return gg_model_load_set_number(load, &load->frames, frame->id,
	                                load->builder->frames.count - 1);
}

/* Lines come frame by frame; a line that is apart from the others of its frame is ignored. */
static int read_line(const struct gg_profile_line *line, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_builder *builder = load->builder;
	uint32_t number = gg_model_load_number(&load->frames, line->frame);
	struct gg_model_frame *frame = builder->frames.items + number;
	struct gg_model_function function = { .module = frame->module };
	struct gg_model_line wanted = { .line = line->line };
	struct gg_code_location *location;
	int status = 0;

	if (number == 0 || line->function == NULL || line->function[0] == '\0')
		return 0;
	if (frame->location_count == 0)
		frame->first_location = (uint32_t)builder->locations.count;
	if (frame->first_location + frame->location_count != builder->locations.count)
		return 0;
	function.name = name_text(load, line->function, &status);
	function.is_named = !gg_address_name_is(line->function,
	                                        builder->modules.items[frame->module].path);
	if (function.is_named) {
		function.full_name = name_text(load, line->full_name, &status);
		function.linkage_name = name_text(load, line->linkage_name, &status);
	}
	wanted.file = function.file = name_text(load, line->file, &status);
	if (status < 0)
		return status;
	wanted.function = gg_model_put_function(builder, &function);
	location = gg_array_add(&builder->locations);
	if (wanted.function == UINT32_MAX || location == NULL)
		return out_of_memory(load);
	location->function = wanted.function;
	location->line = gg_model_put_line(builder, &wanted);
	frame->location_count++;
	return location->line == UINT32_MAX ? out_of_memory(load) : 0;
}

/* Ids ascend and a parent's id is smaller, so a parent has its number before its children. */
static int read_stack(const struct gg_profile_stack *stack, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_stack *kept = gg_array_add(&load->builder->stacks);

	if (kept == NULL)
		return out_of_memory(load);
	kept->parent = gg_model_load_number(&load->stacks, stack->parent);
	kept->frame = gg_model_load_number(&load->frames, stack->frame);
	return gg_model_load_set_number(load, &load->stacks, stack->id,
	                                load->builder->stacks.count - 1);
}

static int read_name(struct gg_model_load *load, struct gg_model_text_array *names,
                     struct gg_numbers *numbers, uint32_t id, const char *name)
{
	const char **kept;
	int status = 0;

	if (names->count == 0 && gg_array_add(names) == NULL)
		return out_of_memory(load);
	kept = gg_array_add(names);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = name_text(load, name, &status);
	return status < 0 ? status : gg_model_load_set_number(load, numbers, id, names->count - 1);
}

static int read_heap(uint32_t id, const char *name, void *context)
{
	struct gg_model_load *load = context;

	return read_name(load, &load->heap_names, &load->heaps, id, name);
}

static int read_type(uint32_t id, const char *name, void *context)
{
	struct gg_model_load *load = context;

	return read_name(load, &load->type_names, &load->types, id, name);
}

/* Sets *ret_kind to UINT32_MAX if the profile did not keep the aggregate's kind. */
static int find_kind(struct gg_model_load *load, const struct gg_profile_aggregate *aggregate,
                     uint32_t *ret_kind)
{
	uint64_t key = gg_model_load_kind_key(load, aggregate->is_mapping, aggregate->heap,
	                                      aggregate->type);
	uint64_t found = gg_map_get(&load->aggregate_kinds, key);

	*ret_kind = UINT32_MAX;
	if (!aggregate->has_kind)
		return 0;
	if (found != GG_MAP_NONE) {
		*ret_kind = (uint32_t)found;
		return 0;
	}
	if (gg_model_load_kind(load, key, ret_kind) < 0)
		return -ENOMEM;
	return gg_map_put(&load->aggregate_kinds, key, *ret_kind);
}

static int read_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_aggregate *kept = gg_array_add(&load->builder->aggregates);
	uint32_t *kind = gg_array_add(&load->builder->aggregate_kinds);

	if (kept == NULL || kind == NULL || find_kind(load, aggregate, kind) < 0)
		return out_of_memory(load);
	*kept = *aggregate;
	kept->process = gg_model_load_number(&load->processes, aggregate->process);
	kept->thread = gg_model_load_number(&load->threads, aggregate->thread);
	kept->stack = gg_model_load_number(&load->stacks, aggregate->stack);
	kept->from_ns = gg_model_load_time(load, aggregate->from_ns);
	kept->to_ns = gg_model_load_time(load, aggregate->to_ns);
	note_time(load, kept->to_ns);
	load->builder->model.sample_total += aggregate->sums.sample_count;
	return 0;
}

static int read_memory(const struct gg_profile_memory *memory, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_memory *kept = gg_array_add(&load->builder->memory);

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *memory;
	kept->process = gg_model_load_number(&load->processes, memory->process);
	kept->time_ns = gg_model_load_time(load, memory->time_ns);
	note_time(load, kept->time_ns);
	return 0;
}

/* The process's last span of this file that has no end yet; NULL: none. */
static struct gg_model_span *find_open(const struct gg_model_span_array *spans, size_t first,
                                       uint32_t process)
{
	struct gg_model_span *all = spans->items;

	for (size_t i = spans->count; i > first; i--)
		if (all[i - 1].process == process)
			return all[i - 1].to_ns == GG_TIME_NONE ? &all[i - 1] : NULL;
	return NULL;
}

static int open_span(struct gg_model_load *load, struct gg_model_span_array *spans, size_t first,
                     uint32_t process, int64_t time_ns)
{
	struct gg_model_span *span;

	if (find_open(spans, first, process) != NULL)
		return 0;
	span = gg_array_add(spans);
	if (span == NULL)
		return out_of_memory(load);
	*span = (struct gg_model_span){ process, time_ns, GG_TIME_NONE };
	return 0;
}

static void close_span(const struct gg_model_span_array *spans, size_t first, uint32_t process,
                       int64_t time_ns)
{
	struct gg_model_span *span = find_open(spans, first, process);

	if (span != NULL)
		span->to_ns = time_ns;
}

/* An event of another text, such as one of an older version, is no change that is known. */
static int read_interval(struct gg_model_load *load, const char *text, uint32_t process,
                         int64_t time_ns)
{
	struct gg_model_interval_change change = { .process = process, .time_ns = time_ns };

	if (text == NULL ||
	    sscanf(text, "the sampling interval was changed from %lf to %lf", &change.from_bytes,
	           &change.to_bytes) != 2 ||
	    !(change.from_bytes >= 1 && change.to_bytes >= 1 && isfinite(change.from_bytes) &&
	      isfinite(change.to_bytes)))
		return 0;
	return gg_array_push(&load->builder->interval_changes, change) ? 0 : out_of_memory(load);
}

static bool are_counts(const int64_t *numbers, size_t count, int64_t least)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] < least || numbers[i] > COLLECTIONS_MAX)
			return false;
	return true;
}

/* A detail that is another one is ignored, as in a damaged file. */
static int read_collections(struct gg_model_load *load, const char *text, uint32_t process,
                            int64_t time_ns)
{
	int64_t counts[5], bytes[4];
	struct gg_model_collections read = { .process = process, .time_ns = time_ns };

	if (text == NULL ||
	    sscanf(text, GG_PROFILE_COLLECTIONS_FORMAT, &counts[0], &counts[1], &counts[2],
	           &counts[3], &counts[4], &bytes[0], &bytes[1], &bytes[2], &bytes[3]) != 9 ||
	    !are_counts(counts, GG_COUNT(counts), 0) || !are_counts(bytes, GG_COUNT(bytes), -1))
		return 0;
	read.minor_count = counts[0];
	read.step_count = counts[1];
	read.major_count = counts[2];
	read.pause_ns = counts[3];
	read.longest_ns = counts[4];
	read.heap_bytes = bytes[0];
	read.most_bytes = bytes[1];
	read.arena_bytes = bytes[2];
	read.large_bytes = bytes[3];
	return gg_array_push(&load->builder->collections, read) ? 0 : out_of_memory(load);
}

/*
 * The model lasts until the last event; some events say when sampling was off.  Collections are
 * within their session, and a merged profile has them of several sessions, and no end.
 */
static int read_event(const struct gg_profile_event *event, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_builder *builder = load->builder;
	uint32_t process = gg_model_load_number(&load->processes, event->process);
	int64_t time_ns = gg_model_load_time(load, event->time_ns);

	if (event->kind == NULL || strcmp(event->kind, GG_PROFILE_COLLECTIONS) != 0)
		note_time(load, time_ns);
	if (process == 0 || event->kind == NULL || time_ns == GG_TIME_NONE)
		return 0;
	if (strcmp(event->kind, "lost") == 0)
		return open_span(load, &builder->losses, load->first_loss, process, time_ns);
	if (strcmp(event->kind, "off") == 0)
		return open_span(load, &builder->pauses, load->first_pause, process, time_ns);
	if (strcmp(event->kind, "drop") == 0 || strcmp(event->kind, "reconciled") == 0)
		close_span(&builder->losses, load->first_loss, process, time_ns);
	else if (strcmp(event->kind, "on") == 0)
		close_span(&builder->pauses, load->first_pause, process, time_ns);
	else if (strcmp(event->kind, "interval") == 0)
		return read_interval(load, event->detail, process, time_ns);
	else if (strcmp(event->kind, GG_PROFILE_FULL_COLLECTION) == 0 &&
	         !gg_array_push(&builder->full_collections,
	                        ((struct gg_model_full_collection){ process, time_ns })))
		return out_of_memory(load);
	else if (strcmp(event->kind, GG_PROFILE_COLLECTIONS) == 0)
		return read_collections(load, event->detail, process, time_ns);
	return 0;
}

static int read_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct gg_model_load *load = context;
	struct gg_model_counter *kept = gg_array_add(&load->builder->counters);
	int status = 0;

	if (kept == NULL)
		return out_of_memory(load);
	kept->process = gg_model_load_number(&load->processes, process);
	kept->name = text(load, name, &status);
	kept->value = value;
	return status;
}

static int read_label(uint32_t process, const char *key, const char *value, void *context)
{
	struct gg_model_load *load = context;
	uint32_t number = gg_model_load_number(&load->processes, process);
	struct gg_model_label *kept;
	int status = 0;

	if (number == 0) /* the file is damaged */
		return 0;
	kept = gg_array_add(&load->builder->labels);
	if (kept == NULL)
		return out_of_memory(load);
	kept->process = number;
	kept->key = text(load, key, &status);
	kept->value = text(load, value, &status);
	return status;
}

/* The process may have been attached, or forked by one, before its session began. */
static int read_attach(const struct gg_profile_attach *attach, void *context)
{
	struct gg_model_load *load = context;
	uint32_t number = gg_model_load_number(&load->processes, attach->process);
	struct gg_profile_attach *kept;
	int status = 0;

	if (number == 0) /* the file is damaged */
		return 0;
	kept = gg_array_add(&load->builder->attaches);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = *attach;
	kept->process = number;
	kept->time_ns = gg_model_load_time(load, attach->time_ns);
	kept->older_source = text(load, attach->older_source, &status);
	return status;
}

static struct gg_profile_fault_place read_place(const struct gg_model_load *load,
                                                const struct gg_profile_fault_place *place)
{
	return (struct gg_profile_fault_place){
		.time_ns = gg_model_load_time(load, place->time_ns),
		.tid = place->tid,
		.stack = gg_model_load_number(&load->stacks, place->stack),
	};
}

/* Returns the name that equals the text, so that no other text of a file is ever printed. */
static const char *name_among(const char *const *names, size_t count, const char *text,
                              const char *otherwise)
{
	for (size_t i = 0; i < count; i++)
		if (text != NULL && strcmp(names[i], text) == 0)
			return names[i];
	return otherwise;
}

static const char *kind_of(const char *text)
{
	static const char *const kinds[] = { "use after free", "buffer overflow",
		                             "buffer underflow", "double free", "invalid free" };

	return name_among(kinds, GG_COUNT(kinds), text, "unknown");
}

static const char *access_of(const char *text)
{
	static const char *const accesses[] = { "read", "write", "execution" };

	return name_among(accesses, GG_COUNT(accesses), text, NULL);
}

static int read_fault(const struct gg_profile_fault *fault, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_fault *kept = gg_array_add(&load->builder->faults);

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *fault;
	kept->process = gg_model_load_number(&load->processes, fault->process);
	kept->kind = kind_of(fault->kind);
	kept->access = access_of(fault->access);
	kept->accessed = read_place(load, &fault->accessed);
	kept->allocated = read_place(load, &fault->allocated);
	kept->freed = read_place(load, &fault->freed);
	return 0;
}

static int read_note(const char *note, void *context)
{
	struct gg_model_load *load = context;
	const char **kept = gg_array_add(&load->builder->notes);
	int status = 0;

	if (kept == NULL)
		return out_of_memory(load);
	*kept = text(load, note, &status);
	return status;
}

static int read_more_lines(struct gg_model_load *load)
{
	const struct gg_model_options *options = load->builder->options;

	if (options == NULL || options->more_lines == NULL)
		return 0;
	return options->more_lines(read_line, load, options->context);
}

static int read_all(struct gg_model_load *load)
{
	struct gg_profile *from = load->profile;
	struct gg_error *error = load->error;
	int status = read_session(load);

	status = status != 0 ? status : gg_profile_each_process(from, read_process, load, error);
	status = status != 0 ? status : gg_profile_each_thread(from, read_thread, load, error);
	status = status != 0 ? status : gg_profile_each_module(from, read_module, load, error);
	status = status != 0 ? status : gg_profile_each_mapping(from, read_mapping, load, error);
	status = status != 0 ? status : gg_profile_each_frame(from, read_frame, load, error);
	status = status != 0 ? status : gg_profile_each_line(from, read_line, load, error);
	status = status != 0 ? status : read_more_lines(load);
	status = status != 0 ? status : gg_profile_each_stack(from, read_stack, load, error);
	status = status != 0 ? status
	                     : gg_profile_each_name(from, GG_NAME_HEAP, read_heap, load, error);
	status = status != 0 ? status
	                     : gg_profile_each_name(from, GG_NAME_TYPE, read_type, load, error);
	status = status != 0 ? status : gg_model_load_looks(load);
	status = status != 0 ? status : gg_model_load_samples(load);
	status = status != 0 ? status
	                     : gg_profile_each_aggregate(from, read_aggregate, load, error);
	status = status != 0 ? status : gg_profile_each_memory(from, read_memory, load, error);
	status = status != 0 ? status : gg_profile_each_event(from, read_event, load, error);
	status = status != 0 ? status : gg_profile_each_counter(from, read_counter, load, error);
	status = status != 0 ? status : gg_profile_each_label(from, read_label, load, error);
	status = status != 0 ? status : gg_profile_each_attach(from, read_attach, load, error);
	status = status != 0 ? status : gg_profile_each_fault(from, read_fault, load, error);
	return status != 0 ? status : gg_profile_each_note(from, read_note, load, error);
}

static void done(struct gg_model_load *load)
{
	gg_array_done(&load->processes);
	gg_array_done(&load->threads);
	gg_array_done(&load->modules);
	gg_array_done(&load->frames);
	gg_array_done(&load->stacks);
	gg_array_done(&load->heaps);
	gg_array_done(&load->types);
	gg_array_done(&load->looks);
	gg_array_done(&load->heap_names);
	gg_array_done(&load->type_names);
	gg_map_done(&load->aggregate_kinds);
}

static int load_one(struct gg_model_builder *builder, struct gg_profile *profile, int64_t shift_ns,
                    struct gg_error *error)
{
	struct gg_model_load load = { .builder = builder,
		                      .profile = profile,
		                      .error = error,
		                      .shift_ns = shift_ns,
		                      .first_loss = builder->losses.count,
		                      .first_pause = builder->pauses.count };
	bool has_begun = false;
	int status = gg_profile_begin_reading(profile, &has_begun, error);

	/* A recorder may commit between two tables; samples would name a later process. */
	if (status == 0)
		status = read_all(&load);
	if (has_begun)
		gg_profile_end_reading(profile);
	done(&load);
	return status;
}

/* Adds number 0, "unknown", to every array. */
static int add_unknown(struct gg_model_builder *builder)
{
	struct gg_model_module *module = gg_array_add(&builder->modules);
	struct gg_model_function function = { 0 };
	struct gg_model_line line = { 0 };
	bool failed = false;

	if (module == NULL || gg_array_add(&builder->processes) == NULL ||
	    gg_array_add(&builder->process_sessions) == NULL ||
	    gg_array_add(&builder->threads) == NULL || gg_array_add(&builder->frames) == NULL ||
	    gg_array_add(&builder->stacks) == NULL)
		return -ENOMEM;
	module->path = module->name = gg_model_text(builder, "[unknown]", &failed);
	module->build_id = gg_model_text(builder, "", &failed);
	function.name = module->name;
	if (failed || gg_model_put_function(builder, &function) != 0 ||
	    gg_model_put_line(builder, &line) != 0)
		return -ENOMEM;
	return 0;
}

static int compare_memory(const void *a, const void *b)
{
	const struct gg_profile_memory *left = a, *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int compare_spans(const void *a, const void *b)
{
	const struct gg_model_span *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->to_ns > right->to_ns) - (left->to_ns < right->to_ns);
}

static void sort_spans(struct gg_model_span_array *spans)
{
	if (spans->count > 0)
		qsort(spans->items, spans->count, sizeof(*spans->items), compare_spans);
}

/* The earliest start of all profiles, in nanoseconds since 1970. */
static int find_start(struct gg_profile *const *profiles, size_t count, uint64_t *ret_start,
                      struct gg_error *error)
{
	struct gg_profile_session session;

	*ret_start = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		int status = gg_profile_session(profiles[i], &session, error);

		if (status < 0)
			return status;
		if (session.start_wall_ns < *ret_start)
			*ret_start = session.start_wall_ns;
	}
	return 0;
}

static int load_all(struct gg_model_builder *builder, struct gg_profile *const *profiles,
                    size_t count, struct gg_error *error)
{
	uint64_t start_ns;
	int status = find_start(profiles, count, &start_ns, error);

	for (size_t i = 0; i < count && status == 0; i++) {
		struct gg_profile_session session;

		status = gg_profile_session(profiles[i], &session, error);
		if (status == 0) {
			uint64_t shift = session.start_wall_ns - start_ns;

			status = load_one(builder, profiles[i],
			                  shift < INT64_MAX / 4 ? (int64_t)shift : INT64_MAX / 4,
			                  error);
		}
	}
	if (status != 0)
		return status;
	sort_spans(&builder->losses);
	sort_spans(&builder->pauses);
	if (!gg_array_extend(&builder->process_until_ns, builder->processes.count) ||
	    gg_model_find_until_ns(gg_model_builder_publish(builder), NULL,
	                           builder->process_until_ns.items) < 0 ||
	    gg_model_complete_locations(builder) < 0 || !gg_model_note_losses(builder))
		return gg_error_memory(error, "reading the profile");
	if (builder->memory.count > 0)
		qsort(builder->memory.items, builder->memory.count,
		      sizeof(struct gg_profile_memory), compare_memory);
	return 0;
}

int gg_model_load(struct gg_model **ret_model, struct gg_profile *const *profiles,
                  size_t profile_count, const struct gg_model_options *options,
                  struct gg_error *error)
{
	struct gg_model_builder *builder = gg_model_builder_new(options);
	struct gg_model *model;
	int status;

	if (builder == NULL)
		return gg_error_memory(error, "reading the profile");
	status = add_unknown(builder) < 0 ? gg_error_memory(error, "reading the profile")
	                                  : load_all(builder, profiles, profile_count, error);
	builder->options = NULL;
	if (status != 0) {
		gg_model_builder_free(builder);
		return status;
	}
	model = gg_model_builder_publish(builder);
	model->read_frame_count = model->frame_count;
	gg_assert(gg_model_validate(model, NULL) == 0);
	*ret_model = model;
	return 0;
}
