/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_perfetto - a trace of Perfetto with a heap profile of each process, dumped 60 times.
 *
 * A dump has, for each stack, what was allocated and freed since the start; the difference of two is
 * what happened between.  Only stacks that changed are in a dump, the last one is at the end.
 *
 * Each heap has a packet sequence of its own, with its own interned names: trace_processor keeps what a
 * stack had in the dump before by process and stack alone, so that two heaps on one sequence would be
 * taken for each other.  The first packet of a sequence begins its state anew (flag 1); without that
 * readers silently ignore everything.  The clock snapshot relates the clock of dumps to that of packets;
 * without it they drop every dump.
 *
 * A frame is written for each inlined call, at the same address.
 */
#include <errno.h>
#include <perfetto.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"
#include "format/export/export.h"
#include "format/export/timeline_samples.h"

enum { STEP_COUNT = 60, FIRST_SEQUENCE = 2 };
enum { CLEARED = 1, NEEDED = 2 }; /* sequence_flags */
enum { REAL_TIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4, BOOT_TIME = 6 };

/* Where the profile's time 0 is on all clocks but that of the day: 0 would mean "not set". */
#define START_NS GG_NS_PER_S

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_timeline_samples *steps;
	uint32_t *packet_index; /* of each heap: that of its next packet */
	bool failed;
};

static void put_packet(struct writing *writing, const Gg__Perfetto__TracePacket *packet)
{
	size_t length = gg__perfetto__trace_packet__get_packed_size(packet), rest = length;
	struct gg_buf *out = writing->job->out;
	uint8_t head[16];
	size_t used = 0;

	head[used++] = 1 << 3 | 2;
	for (; rest >= 128; rest >>= 7)
		head[used++] = (uint8_t)(rest | 128);
	head[used++] = (uint8_t)rest;
	gg_buf_append(out, head, used);
	if (!gg_buf_reserve(out, length))
		return;
	gg__perfetto__trace_packet__pack(packet, (uint8_t *)out->data + out->length);
	out->length += length;
}

/* An array of messages and of pointers to them; NULL when memory is out or count is 0. */
static void *messages(struct writing *writing, size_t count, size_t item_bytes, void ***ret_list)
{
	char *items = calloc(count + 1, item_bytes);

	*ret_list = calloc(count + 1, sizeof(**ret_list));
	if (items == NULL || *ret_list == NULL) {
		free(items);
		free(*ret_list);
		*ret_list = NULL;
		writing->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		(*ret_list)[i] = items + i * item_bytes;
	return items;
}

/* --- who and when --------------------------------------------------------------------------- */

static void write_clocks(struct writing *writing)
{
	static const uint32_t ids[] = { REAL_TIME, MONOTONIC, MONOTONIC_COARSE, BOOT_TIME };
	const struct gg_model *model = writing->extract->model;
	Gg__Perfetto__ClockSnapshot snapshot = GG__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;
	Gg__Perfetto__ClockSnapshot__Clock clocks[GG_COUNT(ids)], *list[GG_COUNT(ids)];

	for (size_t i = 0; i < GG_COUNT(ids); i++) {
		gg__perfetto__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp = START_NS;
		if (ids[i] == REAL_TIME && gg_model_session_count(model) > 0)
			clocks[i].timestamp = gg_model_session(model, 0)->start_wall_ns;
		list[i] = &clocks[i];
	}
	snapshot.clocks = list;
	snapshot.n_clocks = GG_COUNT(ids);
	packet.trusted_packet_sequence_id = 1;
	packet.clock_snapshot = &snapshot;
	put_packet(writing, &packet);
}

static bool is_wanted(const struct writing *writing, const struct gg_profile_process *process)
{
	return writing->extract->query.pid == 0 || writing->extract->query.pid == process->pid;
}

static void write_processes(struct writing *writing)
{
	const struct gg_model *model = writing->extract->model;
	Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;
	Gg__Perfetto__ProcessTree tree = GG__PERFETTO__PROCESS_TREE__INIT;
	size_t process_count, thread_count;
	const struct gg_profile_process *of = gg_model_processes(model, &process_count);
	const struct gg_profile_thread *threads = gg_model_threads(model, &thread_count);
	void **process_list, **thread_list;
	Gg__Perfetto__ProcessTree__Process *process = messages(writing, process_count,
	                                                       sizeof(*process), &process_list);
	Gg__Perfetto__ProcessTree__Thread *thread = messages(writing, thread_count, sizeof(*thread),
	                                                     &thread_list);
	const char **commands = calloc(process_count + 1, sizeof(*commands));

	for (size_t i = 1; i < process_count && commands != NULL && !writing->failed; i++) {
		const char *command = of[i].command != NULL ? of[i].command : of[i].exe;

		if (!is_wanted(writing, &of[i]))
			continue;
		gg__perfetto__process_tree__process__init(&process[tree.n_processes]);
		process[tree.n_processes].pid = (int32_t)of[i].pid;
		process[tree.n_processes].ppid = (int32_t)of[of[i].parent].pid;
		commands[tree.n_processes] = command != NULL ? command : "";
		process[tree.n_processes].cmdline = (char **)&commands[tree.n_processes];
		process[tree.n_processes++].n_cmdline = 1;
	}
	for (size_t i = 1; i < thread_count && !writing->failed; i++) {
		if (!is_wanted(writing, &of[threads[i].process]))
			continue;
		gg__perfetto__process_tree__thread__init(&thread[tree.n_threads]);
		thread[tree.n_threads].tid = (int32_t)threads[i].tid;
		thread[tree.n_threads].tgid = (int32_t)of[threads[i].process].pid;
		thread[tree.n_threads++].name = (char *)threads[i].name;
	}
	tree.processes = (Gg__Perfetto__ProcessTree__Process **)process_list;
	tree.threads = (Gg__Perfetto__ProcessTree__Thread **)thread_list;
	packet.trusted_packet_sequence_id = 1;
	packet.has_timestamp = 1;
	packet.timestamp = START_NS;
	packet.process_tree = &tree;
	if (commands == NULL || writing->failed)
		writing->failed = true;
	else
		put_packet(writing, &packet);
	free(process);
	free(process_list);
	free(thread);
	free(thread_list);
	free(commands);
}

/* Readings of RSS: counters of their processes. */
static void write_rss(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	size_t count, process_count;
	const struct gg_profile_memory *memory = gg_model_memory(extract->model, &count);
	const struct gg_profile_process *processes = gg_model_processes(extract->model,
	                                                                &process_count);

	for (size_t i = 0; i < count; i++) {
		Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;
		Gg__Perfetto__ProcessStats stats = GG__PERFETTO__PROCESS_STATS__INIT;
		Gg__Perfetto__ProcessStats__Process of = GG__PERFETTO__PROCESS_STATS__PROCESS__INIT;
		Gg__Perfetto__ProcessStats__Process *list[] = { &of };
		const struct gg_profile_process *process = &processes[memory[i].process];

		if (memory[i].process == 0 || memory[i].rss_bytes < 0 ||
		    !is_wanted(writing, process) || memory[i].time_ns < extract->start_ns ||
		    memory[i].time_ns > extract->end_ns)
			continue;
		of.pid = (int32_t)process->pid;
		of.vm_rss_kb = (uint64_t)memory[i].rss_bytes / 1024;
		stats.processes = list;
		stats.n_processes = 1;
		packet.trusted_packet_sequence_id = 1;
		packet.has_timestamp = 1;
		packet.timestamp = (uint64_t)(START_NS + memory[i].time_ns);
		packet.process_stats = &stats;
		put_packet(writing, &packet);
	}
}

/* Tells readers that know us that all numbers are estimates. */
static void write_author(struct writing *writing)
{
	Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;
	Gg__Perfetto__SystemInfo info = GG__PERFETTO__SYSTEM_INFO__INIT;

	info.tracing_service_version = (char *)"geiger " GG_VERSION;
	packet.trusted_packet_sequence_id = 1;
	packet.system_info = &info;
	put_packet(writing, &packet);
}

/* --- names of a sequence -------------------------------------------------------------------- */

struct list {
	uint64_t *items;
	size_t count, capacity;
};

static void list_put(struct writing *writing, struct list *list, uint64_t item)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity == 0 ? 1024 : list->capacity * 2;
		uint64_t *items = reallocarray(list->items, capacity, sizeof(*items));

		writing->failed |= items == NULL;
		if (items == NULL)
			return;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = item;
}

/* What one heap's entries name. */
struct names {
	struct writing *writing;
	struct gg_string_table functions, sources;
	struct gg_map first_frame; /* of each place: the outermost of its frames; iids follow on */
	struct list stacks;        /* stack and place of each frame, in the order of iids */
	uint64_t *used_stacks;     /* of the callstacks, whose iid is that of the stack itself */
	size_t used_count;
};

/* Of the frame's place: an address alone may be code without a file in one process, and a module's in another. */
static uint64_t frame_key(struct names *names, uint32_t stack)
{
	struct gg_model_spot spot = gg_model_stack_spot(names->writing->extract->model, stack);

	return gg_hash_integer(spot.address, gg_map_seed(&names->first_frame) + spot.module);
}

/* Frames of one address, outermost first. */
static void add_frames(struct names *names, uint32_t stack)
{
	struct writing *writing = names->writing;
	const struct gg_model *model = writing->extract->model;
	uint64_t key = frame_key(names, stack);
	size_t count;
	const struct gg_code_location *places = gg_model_stack_places(model, stack, &count);

	if (gg_map_get(&names->first_frame, key) != GG_MAP_NONE)
		return;
	if (gg_map_put(&names->first_frame, key, names->stacks.count + 1) < 0)
		writing->failed = true;
	for (size_t i = count; i-- > 0;) {
		gg_string_table_put(&names->functions,
		                    gg_model_function(model, places[i].function).name);
		gg_string_table_put(&names->sources, gg_model_line(model, places[i].line).file);
		list_put(writing, &names->stacks, (uint64_t)stack << 32 | i);
	}
}

static void add_stack(struct names *names, uint32_t stack)
{
	names->used_stacks[names->used_count++] = stack;
	do {
		add_frames(names, stack);
		stack = gg_model_stack_parent(names->writing->extract->model, stack);
	} while (stack != 0 && !names->writing->failed);
}

static Gg__Perfetto__InternedText *interned(struct writing *writing,
                                            const struct gg_string_table *strings,
                                            Gg__Perfetto__InternedText ***ret_list,
                                            size_t *ret_count)
{
	size_t count = strings->texts.count > 0 ? strings->texts.count - 1 : 0; /* 0 is "" */
	void **list;
	Gg__Perfetto__InternedText *texts = messages(writing, count, sizeof(*texts), &list);

	for (size_t i = 0; i < count && texts != NULL; i++) {
		gg__perfetto__interned_text__init(&texts[i]);
		texts[i].iid = i + 1;
		texts[i].str.data = (uint8_t *)strings->texts.items[i + 1];
		texts[i].str.len = strlen(strings->texts.items[i + 1]);
	}
	*ret_list = (Gg__Perfetto__InternedText **)list;
	*ret_count = count;
	return texts;
}

static void write_interned(struct names *names, Gg__Perfetto__InternedData *data, uint32_t sequence,
                           uint32_t flags)
{
	Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;

	packet.trusted_packet_sequence_id = sequence;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = flags;
	packet.interned_data = data;
	put_packet(names->writing, &packet);
}

static void write_texts(struct names *names, uint32_t sequence)
{
	struct writing *writing = names->writing;
	Gg__Perfetto__InternedData data = GG__PERFETTO__INTERNED_DATA__INIT;
	void *functions = interned(writing, &names->functions, &data.function_names,
	                           &data.n_function_names);
	void *sources = interned(writing, &names->sources, &data.source_paths,
	                         &data.n_source_paths);

	if (!writing->failed)
		write_interned(names, &data, sequence, CLEARED);
	free(functions);
	free(data.function_names);
	free(sources);
	free(data.source_paths);
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

/* One packet a module: there are few. */
static void write_mapping(struct names *names, uint32_t sequence, size_t number)
{
	const struct gg_address_space_module *module =
		&names->writing->space.modules[names->writing->space.order[number]];
	const struct gg_model *model = names->writing->extract->model;
	uint32_t of = names->writing->space.order[number];
	Gg__Perfetto__InternedData data = GG__PERFETTO__INTERNED_DATA__INIT;
	Gg__Perfetto__Mapping mapping = GG__PERFETTO__MAPPING__INIT, *mappings[] = { &mapping };
	Gg__Perfetto__InternedText build_id = GG__PERFETTO__INTERNED_TEXT__INIT;
	Gg__Perfetto__InternedText *build_ids[] = { &build_id };
	Gg__Perfetto__InternedText folder = GG__PERFETTO__INTERNED_TEXT__INIT;
	Gg__Perfetto__InternedText *folders[] = { &folder };
	const char *path = gg_model_module_path(model, of);
	uint64_t path_id = number + 1;
	uint8_t bytes[64];

	/* Readers put a '/' before each part: the path is one part, without its first one. */
	path += path[0] == '/';
	folder.iid = path_id;
	folder.str.data = (uint8_t *)path;
	folder.str.len = strlen(path);
	build_id.iid = number + 1;
	build_id.str.data = bytes;
	build_id.str.len = bytes_of_hex(gg_model_module_build_id(model, of), bytes);
	mapping.iid = number + 1;
	mapping.has_build_id = build_id.str.len > 0;
	mapping.build_id = number + 1;
	mapping.start = module->start;
	mapping.end = module->end;
	mapping.exact_offset = mapping.start_offset = module->file_offset;
	/* rel_pc is an address as the file numbers it: with the bias between address and offset. */
	mapping.load_bias = module->start - module->bias - module->file_offset;
	mapping.path_string_ids = &path_id;
	mapping.n_path_string_ids = 1;
	data.mapping_paths = folders;
	data.n_mapping_paths = 1;
	data.build_ids = build_ids;
	data.n_build_ids = mapping.has_build_id ? 1 : 0;
	data.mappings = mappings;
	data.n_mappings = 1;
	write_interned(names, &data, sequence, NEEDED);
}

static uint64_t mapping_of(const struct writing *writing, uint32_t module)
{
	for (size_t i = 0; i < writing->space.used_count; i++)
		if (writing->space.order[i] == module)
			return i + 1;
	return 0;
}

static void write_frames(struct names *names, uint32_t sequence)
{
	struct writing *writing = names->writing;
	const struct gg_model *model = writing->extract->model;
	Gg__Perfetto__InternedData data = GG__PERFETTO__INTERNED_DATA__INIT;
	size_t count = names->stacks.count, ignored;
	void **list;
	Gg__Perfetto__Frame *frames = messages(writing, count, sizeof(*frames), &list);

	for (size_t i = 0; i < count && frames != NULL; i++) {
		uint32_t stack = (uint32_t)(names->stacks.items[i] >> 32);
		const struct gg_code_location *place = &gg_model_stack_places(
			model, stack, &ignored)[(uint32_t)names->stacks.items[i]];
		struct gg_model_line line = gg_model_line(model, place->line);
		struct gg_model_spot spot = gg_model_stack_spot(model, stack);
		Gg__Perfetto__Frame *frame = &frames[i];

		gg__perfetto__frame__init(frame);
		frame->iid = i + 1;
		frame->function_name_id = gg_string_table_put(
			&names->functions, gg_model_function(model, place->function).name);
		frame->mapping_id = mapping_of(writing, spot.module);
		frame->has_mapping_id = frame->has_rel_pc = frame->mapping_id != 0;
		frame->rel_pc = spot.address;
		frame->source_path_iid = gg_string_table_put(&names->sources, line.file);
		frame->has_source_path_iid = frame->source_path_iid != 0;
		frame->line_number = line.line;
		frame->has_line_number = line.line != 0;
	}
	data.frames = (Gg__Perfetto__Frame **)list;
	data.n_frames = count;
	if (frames != NULL)
		write_interned(names, &data, sequence, NEEDED);
	free(frames);
	free(list);
}

/* The frames of a stack, outermost first; `frames` is used again for each. */
static void collect_frames(struct names *names, uint32_t stack, struct list *frames)
{
	const struct gg_model *model = names->writing->extract->model;

	frames->count = 0;
	do {
		uint64_t first = gg_map_get(&names->first_frame, frame_key(names, stack));
		size_t count;

		gg_model_stack_places(model, stack, &count);
		for (size_t i = count; i-- > 0;) /* innermost first for now */
			list_put(names->writing, frames, first + i);
		stack = gg_model_stack_parent(model, stack);
	} while (stack != 0);
	for (size_t i = 0; i < frames->count / 2; i++) {
		uint64_t other = frames->items[frames->count - 1 - i];

		frames->items[frames->count - 1 - i] = frames->items[i];
		frames->items[i] = other;
	}
}

static void write_callstacks(struct names *names, uint32_t sequence)
{
	struct list frames = { 0 };

	for (size_t i = 0; i < names->used_count && !names->writing->failed; i++) {
		Gg__Perfetto__InternedData data = GG__PERFETTO__INTERNED_DATA__INIT;
		Gg__Perfetto__Callstack callstack = GG__PERFETTO__CALLSTACK__INIT;
		Gg__Perfetto__Callstack *list[] = { &callstack };

		collect_frames(names, (uint32_t)names->used_stacks[i], &frames);
		callstack.iid = names->used_stacks[i] + 1;
		callstack.frame_ids = frames.items;
		callstack.n_frame_ids = frames.count;
		data.callstacks = list;
		data.n_callstacks = 1;
		write_interned(names, &data, sequence, NEEDED);
	}
	free(frames.items);
}

static uint32_t sequence_of(uint32_t heap)
{
	return heap + FIRST_SEQUENCE;
}

/* Entries [first, end) are one heap's. */
static void write_names(struct writing *writing, size_t first, size_t end)
{
	const struct gg_timeline_entry *entries = writing->steps->entries;
	uint32_t sequence = sequence_of(entries[first].heap);
	uint8_t *is_used = calloc(gg_model_stack_count(writing->extract->model), 1);
	struct names names = { .writing = writing };

	names.used_stacks = calloc(end - first + 1, sizeof(*names.used_stacks));
	if (is_used == NULL || names.used_stacks == NULL)
		writing->failed = true;
	for (size_t i = first; i < end && !writing->failed; i++) {
		if (is_used[entries[i].stack])
			continue; /* of another process */
		is_used[entries[i].stack] = 1;
		add_stack(&names, entries[i].stack);
	}
	if (!writing->failed)
		write_texts(&names, sequence);
	for (size_t i = 0; i < writing->space.used_count && !writing->failed; i++)
		write_mapping(&names, sequence, i);
	if (!writing->failed)
		write_frames(&names, sequence);
	if (!writing->failed)
		write_callstacks(&names, sequence);
	writing->failed |= names.functions.failed || names.sources.failed;
	gg_string_table_done(&names.functions);
	gg_string_table_done(&names.sources);
	gg_map_done(&names.first_frame);
	free(names.stacks.items);
	free(names.used_stacks);
	free(is_used);
}

/* --- dumps ---------------------------------------------------------------------------------- */

static const char *heap_name(const struct writing *writing, uint32_t heap)
{
	const char *name = gg_extract_heap_name(writing->extract, heap);

	return strcmp(name, "malloc") == 0 ? "libc.malloc" : name;
}

/* Changed entries [first, end) are of one heap and process. */
static void write_dump(struct writing *writing, size_t first, size_t end)
{
	const struct gg_timeline_samples *steps = writing->steps;
	const struct gg_timeline_entry *entry = &steps->entries[steps->changed[first]];
	Gg__Perfetto__TracePacket packet = GG__PERFETTO__TRACE_PACKET__INIT;
	Gg__Perfetto__ProfilePacket profile = GG__PERFETTO__PROFILE_PACKET__INIT;
	Gg__Perfetto__ProfilePacket__ProcessHeapSamples
		dump = GG__PERFETTO__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT,
		*dumps[] = { &dump };
	double interval = writing->extract->interval_bytes;
	size_t process_count;
	void **list;
	Gg__Perfetto__ProfilePacket__HeapSample *samples = messages(writing, end - first,
	                                                            sizeof(*samples), &list);

	if (samples == NULL)
		return;
	dump.pid = gg_model_processes(writing->extract->model, &process_count)[entry->process].pid;
	dump.from_startup = 1;
	dump.timestamp = (uint64_t)(START_NS + steps->now_ns);
	dump.heap_name = (char *)heap_name(writing, entry->heap);
	dump.sampling_interval_bytes = interval > 1 ? gg_extract_whole(interval) : 1;
	dump.orig_sampling_interval_bytes = dump.sampling_interval_bytes;
	for (size_t i = first; i < end; i++) {
		Gg__Perfetto__ProfilePacket__HeapSample *sample = &samples[i - first];

		entry = &steps->entries[steps->changed[i]];
		gg__perfetto__profile_packet__heap_sample__init(sample);
		sample->callstack_id = (uint64_t)entry->stack + 1;
		sample->self_allocated = entry->allocated_bytes;
		sample->self_freed = entry->freed_bytes;
		sample->alloc_count = entry->allocated_count;
		sample->free_count = entry->freed_count;
	}
	dump.samples = (Gg__Perfetto__ProfilePacket__HeapSample **)list;
	dump.n_samples = end - first;
	profile.process_dumps = dumps;
	profile.n_process_dumps = 1;
	profile.index = writing->packet_index[entry->heap]++;
	packet.trusted_packet_sequence_id = sequence_of(entry->heap);
	packet.has_sequence_flags = 1;
	packet.sequence_flags = NEEDED;
	packet.has_timestamp = 1;
	packet.timestamp = (uint64_t)(START_NS + steps->now_ns);
	packet.profile_packet = &profile;
	put_packet(writing, &packet);
	free(samples);
	free(list);
}

static void write_step(struct writing *writing)
{
	const struct gg_timeline_samples *steps = writing->steps;

	for (size_t i = 0, end; i < steps->changed_count && !writing->failed; i = end) {
		const struct gg_timeline_entry *first = &steps->entries[steps->changed[i]];

		for (end = i + 1; end < steps->changed_count; end++) {
			const struct gg_timeline_entry *entry =
				&steps->entries[steps->changed[end]];

			if (entry->heap != first->heap || entry->process != first->process)
				break;
		}
		write_dump(writing, i, end);
	}
}

static int write_all(struct writing *writing)
{
	const struct gg_timeline_samples *steps = writing->steps;

	write_clocks(writing);
	write_author(writing);
	write_processes(writing);
	write_rss(writing);
	for (size_t i = 0, end; i < steps->entry_count && !writing->failed; i = end) {
		for (end = i; end < steps->entry_count &&
		              steps->entries[end].heap == steps->entries[i].heap;)
			end++;
		write_names(writing, i, end);
	}
	while (!writing->failed && gg_timeline_samples_next(writing->steps)) {
		if (writing->job->progress != NULL)
			writing->job->progress(writing->job->progress_context, steps->step,
			                       steps->step_count);
		write_step(writing);
	}
	return writing->failed ? gg_export_out_of_memory(writing->job) : 0;
}

static int write_perfetto(const struct gg_export *job)
{
	struct writing writing = { .job = job, .extract = job->extract };
	int code = gg_address_space_make(&writing.space, job->extract, job->error);

	if (code == 0)
		code = gg_timeline_samples_make(&writing.steps, job->extract, STEP_COUNT,
		                                job->error);
	writing.packet_index = calloc(gg_model_heap_count(job->extract->model) + 1,
	                              sizeof(*writing.packet_index));
	if (code == 0 && writing.packet_index == NULL)
		code = gg_export_out_of_memory(job);
	if (code == 0)
		code = write_all(&writing);
	gg_address_space_done(&writing.space);
	gg_timeline_samples_free(writing.steps);
	free(writing.packet_index);
	return code;
}

const struct gg_export_format gg_export_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.is_binary = true,
	.has_both = true,
	.write = write_perfetto,
};
