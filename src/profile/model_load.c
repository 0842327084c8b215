/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_load - reads profiles into a model.
 *
 * Every id of a file is looked up in an array of the model's numbers, so ids that point nowhere, or
 * repeat, are number 0 and cannot lead outside of an array.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model_internal.h"
#include "stats/weight.h"

/* The model's number of each id of one file; 0 where there is none. */
struct numbers {
	uint32_t *of;
	size_t size;
};

/* Ids are dense; a file with a larger one was not written by us, and would cost memory. */
enum { ID_LIMIT = 1 << 27 };

struct load {
	struct gg_model *model;
	struct gg_profile *profile;
	struct gg_error *error;
	int64_t shift_ns; /* of this profile's start to that of the earliest */
	struct numbers processes, threads, modules, frames, stacks, heaps, types;
	uint32_t first_sample;
	uint64_t *sample_ids;  /* of the model's samples from first_sample on: ascending */
	struct gg_map orphans; /* first sample of blocks whose own first sample is not there */
	struct gg_items heap_names, type_names; /* number 0 is none */
};

static uint32_t number_of(const struct numbers *numbers, uint32_t id)
{
	return id < numbers->size ? numbers->of[id] : 0;
}

static int out_of_memory(struct load *load)
{
	return gg_error_set_errno(load->error, ENOMEM, "reading the profile", NULL);
}

static int set_number(struct load *load, struct numbers *numbers, uint32_t id, size_t number)
{
	if (id >= ID_LIMIT || number >= UINT32_MAX)
		return gg_error_set(load->error, -EBADMSG, "reading the profile",
		                    "Record it again.", "the id %u is too large", id);
	if (id >= numbers->size) {
		size_t size = numbers->size == 0 ? 1024 : numbers->size;
		uint32_t *of;

		while (size <= id)
			size *= 2;
		of = reallocarray(numbers->of, size, sizeof(*of));
		if (of == NULL)
			return out_of_memory(load);
		memset(of + numbers->size, 0, (size - numbers->size) * sizeof(*of));
		numbers->of = of;
		numbers->size = size;
	}
	numbers->of[id] = (uint32_t)number;
	return 0;
}

/* A time of the file on the model's axis; what is out of range stays within it. */
static int64_t time_of(const struct load *load, int64_t time_ns)
{
	int64_t time;

	if (time_ns == GG_TIME_NONE)
		return GG_TIME_NONE;
	if (__builtin_add_overflow(time_ns, load->shift_ns, &time) || time == GG_TIME_NONE)
		return GG_TIME_NONE - 1;
	return time;
}

static void note_time(struct load *load, int64_t time_ns)
{
	if (time_ns != GG_TIME_NONE && time_ns > load->model->end_ns)
		load->model->end_ns = time_ns;
}

static const char *text(struct load *load, const char *value, int *code)
{
	bool failed = false;
	const char *kept = gg_model_text(load->model, value, &failed);

	if (failed)
		*code = out_of_memory(load);
	return kept;
}

static int read_session(struct load *load)
{
	struct gg_session session, *kept;
	int code = gg_profile_session(load->profile, &session, load->error);

	if (code < 0)
		return code;
	kept = gg_items_add(&load->model->sessions, sizeof(*kept));
	if (kept == NULL)
		return out_of_memory(load);
	*kept = session;
	kept->command = text(load, session.command, &code);
	kept->host = text(load, session.host, &code);
	kept->kernel = text(load, session.kernel, &code);
	kept->machine = text(load, session.machine, &code);
	kept->geiger = text(load, session.geiger, &code);
	kept->end_ns = time_of(load, session.end_ns);
	note_time(load, kept->end_ns);
	return code;
}

static int read_process(const struct gg_process *process, void *context)
{
	struct load *load = context;
	struct gg_process *kept = gg_items_add(&load->model->processes, sizeof(*kept));
	size_t number = load->model->processes.used_count - 1;
	int code = 0;

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *process;
	kept->id = (uint32_t)number;
	kept->parent = number_of(&load->processes, process->parent);
	kept->start_ns = time_of(load, process->start_ns);
	kept->end_ns = time_of(load, process->end_ns);
	kept->exe = text(load, process->exe, &code);
	kept->command = text(load, process->command, &code);
	kept->ending = text(load, process->ending, &code);
	note_time(load, kept->end_ns);
	return code < 0 ? code : set_number(load, &load->processes, process->id, number);
}

static int read_thread(const struct gg_thread *thread, void *context)
{
	struct load *load = context;
	struct gg_thread *kept = gg_items_add(&load->model->threads, sizeof(*kept));
	size_t number = load->model->threads.used_count - 1;
	int code = 0;

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *thread;
	kept->id = (uint32_t)number;
	kept->process = number_of(&load->processes, thread->process);
	kept->start_ns = time_of(load, thread->start_ns);
	kept->end_ns = time_of(load, thread->end_ns);
	kept->name = text(load, thread->name, &code);
	return code < 0 ? code : set_number(load, &load->threads, thread->id, number);
}

static const char *build_id_text(struct load *load, const struct gg_module *module, int *code)
{
	char hex[2 * 64 + 1] = "";
	size_t count = module->build_id_bytes < 64 ? module->build_id_bytes : 64;

	for (size_t i = 0; i < count; i++) {
		hex[2 * i] = "0123456789abcdef"[module->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[module->build_id[i] & 15];
	}
	hex[2 * count] = '\0';
	return text(load, hex, code);
}

/* Two profiles share a module if path and build-id are the same texts. */
static int read_module(const struct gg_module *module, void *context)
{
	struct load *load = context;
	struct gg_model *model = load->model;
	struct gg_model_module wanted = { 0 }, *kept;
	int code = 0;

	wanted.path = text(load, module->path != NULL ? module->path : "[unknown]", &code);
	wanted.build_id = build_id_text(load, module, &code);
	wanted.status = text(load, module->status, &code);
	if (code < 0)
		return code;
	for (size_t i = 1; i < model->modules.used_count; i++) {
		kept = GG_ITEMS(model, modules, struct gg_model_module) + i;
		if (kept->path == wanted.path && kept->build_id == wanted.build_id)
			return set_number(load, &load->modules, module->id, i);
	}
	wanted.name = strrchr(wanted.path, '/');
	wanted.name = wanted.name != NULL ? wanted.name + 1 : wanted.path;
	kept = gg_items_add(&model->modules, sizeof(*kept));
	if (kept == NULL)
		return out_of_memory(load);
	*kept = wanted;
	return set_number(load, &load->modules, module->id, model->modules.used_count - 1);
}

static int read_frame(const struct gg_frame *frame, void *context)
{
	struct load *load = context;
	struct gg_model_frame *kept = gg_items_add(&load->model->frames, sizeof(*kept));

	if (kept == NULL)
		return out_of_memory(load);
	kept->module = number_of(&load->modules, frame->module);
	kept->address = frame->address;
	return set_number(load, &load->frames, frame->id, load->model->frames.used_count - 1);
}

/* Lines come frame by frame; one that does not follow its frame's others is left out. */
static int read_line(const struct gg_line *line, void *context)
{
	struct load *load = context;
	struct gg_model *model = load->model;
	uint32_t number = number_of(&load->frames, line->frame);
	struct gg_model_frame *frame = GG_ITEMS(model, frames, struct gg_model_frame) + number;
	struct gg_model_function function = { .module = frame->module, .is_named = true };
	struct gg_model_line wanted = { .line = line->line };
	struct gg_model_place *place;
	int code = 0;

	if (number == 0 || line->function == NULL || line->function[0] == '\0')
		return 0;
	if (frame->place_count == 0)
		frame->first_place = (uint32_t)model->places.used_count;
	if (frame->first_place + frame->place_count != model->places.used_count)
		return 0;
	function.name = text(load, line->function, &code);
	function.full_name = text(load, line->full_name, &code);
	function.linkage_name = text(load, line->linkage_name, &code);
	wanted.file = text(load, line->file, &code);
	if (code < 0)
		return code;
	wanted.function = gg_model_put_function(model, &function);
	place = gg_items_add(&model->places, sizeof(*place));
	if (wanted.function == UINT32_MAX || place == NULL)
		return out_of_memory(load);
	place->function = wanted.function;
	place->line = gg_model_put_line(model, &wanted);
	frame->place_count++;
	return place->line == UINT32_MAX ? out_of_memory(load) : 0;
}

/* Ids ascend and a parent's is smaller: it has its number before its children come. */
static int read_stack(const struct gg_stack *stack, void *context)
{
	struct load *load = context;
	struct gg_model_node *node = gg_items_add(&load->model->nodes, sizeof(*node));

	if (node == NULL)
		return out_of_memory(load);
	node->parent = number_of(&load->stacks, stack->parent);
	node->frame = number_of(&load->frames, stack->frame);
	return set_number(load, &load->stacks, stack->id, load->model->nodes.used_count - 1);
}

static int read_name(struct load *load, struct gg_items *names, struct numbers *numbers,
                     uint32_t id, const char *name)
{
	const char **kept;
	int code = 0;

	if (names->used_count == 0 && gg_items_add(names, sizeof(*kept)) == NULL)
		return out_of_memory(load);
	kept = gg_items_add(names, sizeof(*kept));
	if (kept == NULL)
		return out_of_memory(load);
	*kept = text(load, name, &code);
	return code < 0 ? code : set_number(load, numbers, id, names->used_count - 1);
}

static int read_heap(uint32_t id, const char *name, void *context)
{
	struct load *load = context;

	return read_name(load, &load->heap_names, &load->heaps, id, name);
}

static int read_type(uint32_t id, const char *name, void *context)
{
	struct load *load = context;

	return read_name(load, &load->type_names, &load->types, id, name);
}

/* The number of "heap: type"; few, so they are looked up by what they consist of. */
static int find_kind(struct load *load, const struct gg_sample *sample, uint32_t *ret_kind)
{
	struct gg_model *model = load->model;
	uint32_t heap = number_of(&load->heaps, sample->heap);
	uint32_t type = number_of(&load->types, sample->type);
	bool is_mapping = (sample->flags & GG_SAMPLE_IS_MAPPING) != 0;
	uint64_t key = (uint64_t)is_mapping << 63 | (uint64_t)heap << 32 | type;
	uint64_t number = gg_map_get(&model->kind_map, key);
	const char *heap_name = is_mapping ? "mapping" : "malloc", **kept;
	char name[512];
	int code = 0;

	if (number != GG_MAP_NONE) {
		*ret_kind = (uint32_t)number;
		return 0;
	}
	if (heap != 0)
		heap_name = ((const char **)load->heap_names.data)[heap];
	snprintf(name, sizeof(name), "%.240s%s%.240s", heap_name, type != 0 ? ": " : "",
	         type != 0 ? ((const char **)load->type_names.data)[type] : "");
	heap_name = text(load, name, &code);
	for (number = 0; number < model->kinds.used_count; number++)
		if (GG_ITEMS(model, kinds, const char *)[number] == heap_name)
			break;
	if (number == model->kinds.used_count) {
		kept = gg_items_add(&model->kinds, sizeof(*kept));
		if (kept == NULL)
			return out_of_memory(load);
		*kept = heap_name;
	}
	*ret_kind = (uint32_t)number;
	if (code == 0 && gg_map_put(&model->kind_map, key, number) < 0)
		return out_of_memory(load);
	return code;
}

/* The sample of this file with that id, or UINT32_MAX. */
static uint32_t find_sample(const struct load *load, uint64_t id, size_t count)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (load->sample_ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && load->sample_ids[low] == id ? load->first_sample + (uint32_t)low
	                                                  : UINT32_MAX;
}

/* The block of an inherited sample: that of the sample it comes from, or of the first such one. */
static int find_block(struct load *load, uint64_t origin, uint32_t number, uint32_t *ret_block)
{
	uint32_t first = find_sample(load, origin, number - load->first_sample);
	uint64_t orphan;

	load->model->has_inherited = true;
	*ret_block = number;
	if (first != UINT32_MAX) {
		*ret_block = GG_ITEMS(load->model, samples, struct gg_model_sample)[first].block;
		return 0;
	}
	orphan = gg_map_get(&load->orphans, origin);
	if (orphan != GG_MAP_NONE)
		*ret_block = (uint32_t)orphan;
	else if (gg_map_put(&load->orphans, origin, number) < 0)
		return out_of_memory(load);
	return 0;
}

static int add_sample_id(struct load *load, uint64_t id, size_t index)
{
	if ((index & (index - 1)) == 0) { /* full at powers of two */
		uint64_t *ids = reallocarray(load->sample_ids, index == 0 ? 1 : 2 * index,
		                             sizeof(*ids));

		if (ids == NULL)
			return out_of_memory(load);
		load->sample_ids = ids;
	}
	load->sample_ids[index] = id;
	return 0;
}

static int read_sample(const struct gg_sample *sample, void *context)
{
	struct load *load = context;
	struct gg_model *model = load->model;
	uint32_t number = (uint32_t)model->samples.used_count;
	struct gg_model_sample *kept;
	uint64_t slack = 0;
	int code;

	if (!gg_draw_is_valid(&sample->draw))
		return 0;
	kept = gg_items_add(&model->samples, sizeof(*kept));
	if (kept == NULL)
		return out_of_memory(load);
	if (sample->usable_bytes > sample->size_bytes)
		slack = sample->usable_bytes - sample->size_bytes;
	kept->alloc_ns = time_of(load, sample->alloc_ns);
	kept->free_ns = time_of(load, sample->free_ns);
	kept->size_bytes = sample->size_bytes;
	kept->draw = sample->draw;
	kept->weighted_bytes = gg_weight_of(&sample->draw, sample->size_bytes).bytes;
	kept->slack_bytes = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
	kept->process = number_of(&load->processes, sample->process);
	kept->thread = number_of(&load->threads, sample->thread);
	kept->stack = number_of(&load->stacks, sample->stack);
	kept->flags = sample->flags;
	kept->block = number;
	note_time(load, kept->alloc_ns);
	note_time(load, kept->free_ns);
	if (sample->origin != 0) {
		int64_t start =
			GG_ITEMS(model, processes, struct gg_process)[kept->process].start_ns;

		kept->flags |= GG_MODEL_INHERITED;
		if (kept->process != 0 && kept->alloc_ns < start)
			kept->alloc_ns = start;
		code = find_block(load, sample->origin, number, &kept->block);
		if (code < 0)
			return code;
	} else {
		model->sample_total++;
	}
	code = find_kind(load, sample, &kept->kind);
	return code < 0 ? code : add_sample_id(load, sample->id, number - load->first_sample);
}

static int read_coarse(const struct gg_coarse *coarse, void *context)
{
	struct load *load = context;
	struct gg_coarse *kept = gg_items_add(&load->model->coarse, sizeof(*kept));

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *coarse;
	kept->process = number_of(&load->processes, coarse->process);
	kept->thread = number_of(&load->threads, coarse->thread);
	kept->stack = number_of(&load->stacks, coarse->stack);
	kept->from_ns = time_of(load, coarse->from_ns);
	kept->to_ns = time_of(load, coarse->to_ns);
	note_time(load, kept->to_ns);
	load->model->sample_total += coarse->sums.sample_count;
	return 0;
}

static int read_memory(const struct gg_memory *memory, void *context)
{
	struct load *load = context;
	struct gg_memory *kept = gg_items_add(&load->model->memory, sizeof(*kept));

	if (kept == NULL)
		return out_of_memory(load);
	*kept = *memory;
	kept->process = number_of(&load->processes, memory->process);
	kept->time_ns = time_of(load, memory->time_ns);
	note_time(load, kept->time_ns);
	return 0;
}

static int read_event(const struct gg_event *event, void *context)
{
	struct load *load = context;
	struct gg_event *kept = gg_items_add(&load->model->events, sizeof(*kept));
	int code = 0;

	if (kept == NULL)
		return out_of_memory(load);
	kept->process = number_of(&load->processes, event->process);
	kept->time_ns = time_of(load, event->time_ns);
	kept->kind = text(load, event->kind, &code);
	kept->detail = text(load, event->detail, &code);
	note_time(load, kept->time_ns);
	return code;
}

static int read_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct load *load = context;
	struct gg_model_counter *kept = gg_items_add(&load->model->counters, sizeof(*kept));
	int code = 0;

	if (kept == NULL)
		return out_of_memory(load);
	kept->process = number_of(&load->processes, process);
	kept->name = text(load, name, &code);
	kept->value = value;
	return code;
}

static int read_note(const char *note, void *context)
{
	struct load *load = context;
	const char **kept = gg_items_add(&load->model->notes, sizeof(*kept));
	int code = 0;

	if (kept == NULL)
		return out_of_memory(load);
	*kept = text(load, note, &code);
	return code;
}

static int read_all(struct load *load)
{
	struct gg_profile *from = load->profile;
	struct gg_error *error = load->error;
	int code = read_session(load);

	code = code != 0 ? code : gg_profile_each_process(from, read_process, load, error);
	code = code != 0 ? code : gg_profile_each_thread(from, read_thread, load, error);
	code = code != 0 ? code : gg_profile_each_module(from, read_module, load, error);
	code = code != 0 ? code : gg_profile_each_frame(from, read_frame, load, error);
	code = code != 0 ? code : gg_profile_each_line(from, read_line, load, error);
	code = code != 0 ? code : gg_profile_each_stack(from, read_stack, load, error);
	code = code != 0 ? code : gg_profile_each_name(from, GG_NAME_HEAP, read_heap, load, error);
	code = code != 0 ? code : gg_profile_each_name(from, GG_NAME_TYPE, read_type, load, error);
	code = code != 0 ? code : gg_profile_each_sample(from, read_sample, load, error);
	code = code != 0 ? code : gg_profile_each_coarse(from, read_coarse, load, error);
	code = code != 0 ? code : gg_profile_each_memory(from, read_memory, load, error);
	code = code != 0 ? code : gg_profile_each_event(from, read_event, load, error);
	code = code != 0 ? code : gg_profile_each_counter(from, read_counter, load, error);
	return code != 0 ? code : gg_profile_each_note(from, read_note, load, error);
}

static void done(struct load *load)
{
	free(load->processes.of);
	free(load->threads.of);
	free(load->modules.of);
	free(load->frames.of);
	free(load->stacks.of);
	free(load->heaps.of);
	free(load->types.of);
	free(load->heap_names.data);
	free(load->type_names.data);
	free(load->sample_ids);
	gg_map_done(&load->orphans);
}

/* Kinds are known by the numbers of one file's names: the next file looks its own up. */
static int load_one(struct gg_model *model, struct gg_profile *profile, int64_t shift_ns,
                    struct gg_error *error)
{
	struct load load = { .model = model,
		             .profile = profile,
		             .error = error,
		             .shift_ns = shift_ns,
		             .first_sample = (uint32_t)model->samples.used_count };
	int code = read_all(&load);

	done(&load);
	gg_map_done(&model->kind_map);
	return code;
}

/* Number 0 of everything. */
static int add_unknown(struct gg_model *model)
{
	struct gg_model_module *module = gg_items_add(&model->modules, sizeof(*module));
	struct gg_model_function function = { 0 };
	struct gg_model_line line = { 0 };
	bool failed = false;

	if (module == NULL || gg_items_add(&model->processes, sizeof(struct gg_process)) == NULL ||
	    gg_items_add(&model->threads, sizeof(struct gg_thread)) == NULL ||
	    gg_items_add(&model->frames, sizeof(struct gg_model_frame)) == NULL ||
	    gg_items_add(&model->nodes, sizeof(struct gg_model_node)) == NULL)
		return -ENOMEM;
	module->path = module->name = gg_model_text(model, "[unknown]", &failed);
	module->build_id = gg_model_text(model, "", &failed);
	function.name = module->name;
	if (failed || gg_model_put_function(model, &function) != 0 ||
	    gg_model_put_line(model, &line) != 0)
		return -ENOMEM;
	return 0;
}

static int compare_memory(const void *a, const void *b)
{
	const struct gg_memory *left = a, *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int compare_events(const void *a, const void *b)
{
	const struct gg_event *left = a, *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* The earliest start of all profiles, since 1970. */
static int find_start(struct gg_profile *const *profiles, size_t count, uint64_t *ret_start,
                      struct gg_error *error)
{
	struct gg_session session;

	*ret_start = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		int code = gg_profile_session(profiles[i], &session, error);

		if (code < 0)
			return code;
		if (session.start_wall_ns < *ret_start)
			*ret_start = session.start_wall_ns;
	}
	return 0;
}

static int load_all(struct gg_model *model, struct gg_profile *const *profiles, size_t count,
                    struct gg_error *error)
{
	uint64_t start_ns;
	int code = find_start(profiles, count, &start_ns, error);

	for (size_t i = 0; i < count && code == 0; i++) {
		struct gg_session session;

		code = gg_profile_session(profiles[i], &session, error);
		if (code == 0) {
			uint64_t shift = session.start_wall_ns - start_ns;

			code = load_one(model, profiles[i],
			                shift < INT64_MAX / 2 ? (int64_t)shift : INT64_MAX / 2,
			                error);
		}
	}
	if (code != 0)
		return code;
	if (gg_model_complete_places(model) < 0)
		return gg_error_set_errno(error, ENOMEM, "reading the profile", NULL);
	if (model->memory.used_count > 0)
		qsort(model->memory.data, model->memory.used_count, sizeof(struct gg_memory),
		      compare_memory);
	if (model->events.used_count > 0)
		qsort(model->events.data, model->events.used_count, sizeof(struct gg_event),
		      compare_events);
	return 0;
}

int gg_model_load(struct gg_model **ret_model, struct gg_profile *const *profiles,
                  size_t profile_count, const struct gg_model_options *options,
                  struct gg_error *error)
{
	struct gg_model *model = calloc(1, sizeof(*model));
	int code;

	if (model == NULL)
		return gg_error_set_errno(error, ENOMEM, "reading the profile", NULL);
	model->options = options;
	code = add_unknown(model) < 0
	               ? gg_error_set_errno(error, ENOMEM, "reading the profile", NULL)
	               : load_all(model, profiles, profile_count, error);
	model->options = NULL;
	if (code != 0) {
		gg_model_free(model);
		return code;
	}
	*ret_model = model;
	return 0;
}
