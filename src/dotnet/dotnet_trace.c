/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet_trace - collects the events of samples, methods and collections, and writes samples. */
#include "dotnet/dotnet_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/map.h"
#include "dotnet/byte_cursor.h"
#include "dotnet/dotnet_names.h"
#include "dotnet/method_table.h"
#include "dotnet/object_lives.h"

enum {
	RUNTIME_ALLOCATION_TICK = 10,
	RUNTIME_METHOD_LOADED = 143,
	RUNTIME_METHOD_UNLOADED = 144,
	RUNTIME_DOMAIN_MODULE_LOADED = 151,
	RUNTIME_MODULE_LOADED = 152,
	RUNTIME_ALLOCATION_SAMPLED = 303,
	RUNDOWN_METHOD_START = 143,
	RUNDOWN_METHOD_END = 144,
	RUNDOWN_DOMAIN_MODULE_START = 151,
	RUNDOWN_DOMAIN_MODULE_END = 152,
	RUNDOWN_MODULE_START = 153,
	RUNDOWN_MODULE_END = 154,
	EVENTPIPE_PROCESS_INFO = 1,
};

enum {
	HEAP_COUNT = 3,
	PROCESSES_MAX = 1024, /* of one stream; events of more are left out */
};

static const char *const heap_names[HEAP_COUNT] = { ".NET", ".NET large", ".NET pinned" };

/* The largest size of an object that an address space has room for. */
#define OBJECT_BYTES_MAX (UINT64_C(1) << 47)

struct dotnet_allocation {
	uint64_t process, tid;
	int64_t time_ns, end_ns;
	const uint8_t *stack;
	uint32_t stack_bytes;
	uint32_t heap; /* index of heap_names */
	struct gg_byte_cursor type;
	uint64_t address, size_bytes, offset_bytes;
	bool is_tick;
	/* Allocated since the last tick, if the tick lacks the size of its object; or else 0. */
	uint64_t amount_bytes;
};

/* The collections and objects of a process. */
struct process_lives {
	uint64_t process;
	struct gg_object_lives lives;
};

struct tick_sum {
	uint32_t process, thread, stack;
	double bytes;
	uint64_t count;
	int64_t last_ns;
};

struct gg_dotnet_trace {
	struct gg_dotnet_facts facts;
	struct gg_method_table methods;
	GG_ARRAY(struct dotnet_allocation) allocations;
	GG_ARRAY(struct process_lives) lives;
	struct gg_buf command;
	uint64_t sum_count;  /* ticks that do not tell the size of their object */
	uint64_t odd_count;  /* events that are too short, or impossible */
	bool is_over_budget; /* there were too many collections to follow the objects */
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns 0, or -ENOMEM; *ret_lives is NULL if there are too many processes. */
static int find_lives(struct gg_dotnet_trace *trace, uint64_t process,
                      struct gg_object_lives **ret_lives)
{
	struct process_lives *added;

	*ret_lives = NULL;
	for (size_t i = 0; i < trace->lives.count; i++)
		if (trace->lives.items[i].process == process) {
			*ret_lives = &trace->lives.items[i].lives;
			return 0;
		}
	if (trace->lives.count == PROCESSES_MAX) {
		trace->odd_count++;
		return 0;
	}
	added = gg_array_add(&trace->lives);
	if (added == NULL)
		return -ENOMEM;
	added->process = process;
	*ret_lives = &added->lives;
	return 0;
}

static int add_allocation(struct gg_dotnet_trace *trace, struct dotnet_allocation *allocation)
{
	struct gg_object_lives *lives;
	struct gg_sampled_object object = {
		.born_ns = allocation->time_ns,
		.end_ns = INT64_MAX,
		.address = allocation->address,
		.sample = trace->allocations.count,
	};
	int status;

	status = find_lives(trace, allocation->process, &lives);
	if (status < 0 || lives == NULL)
		return status;
	if (!gg_array_push(&trace->allocations, *allocation))
		return -ENOMEM;
	trace->facts.sample_count += !allocation->is_tick;
	trace->facts.tick_count += allocation->is_tick;
	trace->sum_count += allocation->amount_bytes > 0;
	if (allocation->amount_bytes > 0)
		return 0; /* an object of an unknown size */
	return gg_object_lives_add(lives, &object);
}

static int read_sample(struct gg_dotnet_trace *trace, struct dotnet_allocation allocation,
                       struct gg_byte_cursor payload, uint32_t pointer_bytes)
{
	uint64_t heap = gg_byte_cursor_number(&payload, 4);

	gg_byte_cursor_take(&payload,
	                    2 + pointer_bytes); /* the runtime, and a number of the type */
	allocation.type = gg_byte_cursor_utf16(&payload);
	allocation.address = gg_byte_cursor_number(&payload, pointer_bytes);
	allocation.size_bytes = gg_byte_cursor_number(&payload, 8);
	allocation.offset_bytes = gg_byte_cursor_number(&payload, 8);
	if (payload.failed || allocation.size_bytes == 0 ||
	    allocation.size_bytes > OBJECT_BYTES_MAX ||
	    allocation.offset_bytes >= allocation.size_bytes) {
		trace->odd_count++;
		return 0;
	}
	allocation.heap = heap < HEAP_COUNT ? (uint32_t)heap : 0;
	return add_allocation(trace, &allocation);
}

static int read_tick(struct gg_dotnet_trace *trace, struct dotnet_allocation allocation,
                     struct gg_byte_cursor payload, uint32_t pointer_bytes)
{
	uint64_t amount = gg_byte_cursor_number(&payload, 4);
	uint64_t heap = gg_byte_cursor_number(&payload, 4), size;

	if (payload.failed || amount == 0) {
		trace->odd_count++;
		return 0;
	}
	allocation.amount_bytes = amount;
	allocation.heap = heap < HEAP_COUNT ? (uint32_t)heap : 0;
	allocation.is_tick = true;
	gg_byte_cursor_take(&payload, 2);
	amount = gg_byte_cursor_number(&payload, 8); /* the next fields came with later versions */
	gg_byte_cursor_take(&payload, pointer_bytes);
	if (!payload.failed) {
		if (amount > 0 && amount <= OBJECT_BYTES_MAX)
			allocation.amount_bytes = amount;
		allocation.type = gg_byte_cursor_utf16(&payload);
		gg_byte_cursor_take(&payload, 4); /* the processor's heap */
		allocation.address = gg_byte_cursor_number(&payload, pointer_bytes);
		size = gg_byte_cursor_number(&payload, 8); /* since .NET 6 */
		if (!payload.failed && size > 0 && size <= OBJECT_BYTES_MAX) {
			allocation.size_bytes = size;
			allocation.amount_bytes = 0;
		}
	}
	return add_allocation(trace, &allocation);
}

static int read_runtime_event(struct gg_dotnet_trace *trace, const struct gg_nettrace_event *event,
                              uint64_t process, uint32_t pointer_bytes)
{
	struct gg_byte_cursor payload = gg_byte_cursor_of(event->payload, event->payload_bytes);
	struct dotnet_allocation allocation = { .process = process,
		                                .tid = event->tid,
		                                .time_ns = event->time_ns,
		                                .stack = event->stack,
		                                .stack_bytes = event->stack_bytes };
	struct gg_object_lives *lives;
	int status;

	switch (event->id) {
	case RUNTIME_ALLOCATION_SAMPLED:
		return read_sample(trace, allocation, payload, pointer_bytes);
	case RUNTIME_ALLOCATION_TICK:
		return read_tick(trace, allocation, payload, pointer_bytes);
	case RUNTIME_METHOD_LOADED:
		return gg_method_table_add(&trace->methods, process, event->time_ns, false,
		                           payload);
	case RUNTIME_METHOD_UNLOADED:
		return gg_method_table_end(&trace->methods, process, event->time_ns, payload);
	case RUNTIME_DOMAIN_MODULE_LOADED:
	case RUNTIME_MODULE_LOADED:
		return gg_method_table_add_module(&trace->methods, process,
		                                  event->id == RUNTIME_DOMAIN_MODULE_LOADED,
		                                  payload);
	case GG_DOTNET_GC_START:
	case GG_DOTNET_GC_END:
	case GG_DOTNET_GC_SURVIVED:
	case GG_DOTNET_GC_MOVED:
	case GG_DOTNET_GC_RANGE:
	case GG_DOTNET_GC_HISTORY:
		status = find_lives(trace, process, &lives);
		return status < 0 || lives == NULL
		               ? status
		               : gg_object_lives_event(lives, event->time_ns, event->id, payload);
	default:
		return 0;
	}
}

static int read_rundown_event(struct gg_dotnet_trace *trace, const struct gg_nettrace_event *event,
                              uint64_t process)
{
	struct gg_byte_cursor payload = gg_byte_cursor_of(event->payload, event->payload_bytes);

	switch (event->id) {
	case RUNDOWN_METHOD_START:
	case RUNDOWN_METHOD_END:
		return gg_method_table_add(&trace->methods, process, event->time_ns, true, payload);
	case RUNDOWN_DOMAIN_MODULE_START:
	case RUNDOWN_DOMAIN_MODULE_END:
	case RUNDOWN_MODULE_START:
	case RUNDOWN_MODULE_END:
		return gg_method_table_add_module(&trace->methods, process,
		                                  event->id <= RUNDOWN_DOMAIN_MODULE_END, payload);
	default:
		return 0;
	}
}

static int read_event(const struct gg_nettrace_event *event, const struct gg_nettrace_head *head,
                      void *context)
{
	struct gg_dotnet_trace *trace = context;
	uint64_t process = event->process != 0 ? event->process : head->process;

	if (event->provider == GG_NETTRACE_RUNTIME) {
		if (event->time_ns > trace->facts.end_ns)
			trace->facts.end_ns = event->time_ns;
		return read_runtime_event(trace, event, process, head->pointer_bytes);
	}
	if (event->provider == GG_NETTRACE_RUNDOWN)
		return read_rundown_event(trace, event, process);
	if (event->provider == GG_NETTRACE_EVENTPIPE && event->id == EVENTPIPE_PROCESS_INFO &&
	    trace->command.length == 0) {
		struct gg_byte_cursor payload = gg_byte_cursor_of(event->payload,
		                                                  event->payload_bytes);

		gg_dotnet_utf8(&trace->command, gg_byte_cursor_utf16(&payload));
		if (trace->command.failed)
			return -ENOMEM;
	}
	return 0;
}

/* Sets the ends of all samples, if the stream can tell them. */
static int follow_lives(struct gg_dotnet_trace *trace, size_t stream_bytes, bool has_collections,
                        int64_t settled_ns)
{
	uint64_t steps = GG_OBJECT_LIVES_STEPS_LEAST +
	                 (uint64_t)stream_bytes * GG_OBJECT_LIVES_STEPS_PER_BYTE;
	uint64_t collections = 0, unknown = 0;
	int status = 0;

	for (size_t i = 0; i < trace->lives.count && status == 0; i++) {
		struct gg_object_lives *lives = &trace->lives.items[i].lives;

		lives->settled_ns = settled_ns;
		status = gg_object_lives_follow(lives, trace->facts.head.pointer_bytes, &steps);
		collections += lives->collection_count;
		unknown += lives->unknown_count;
		trace->is_over_budget = trace->is_over_budget || lives->is_over_budget;
	}
	/* A report of survivors that was lost would end objects that live. */
	trace->facts.has_lives = (collections > 0 || has_collections) && unknown == 0 &&
	                         trace->facts.head.lost_count == 0 && !trace->is_over_budget;
	for (size_t i = 0; i < trace->lives.count && status == 0; i++) {
		const struct gg_object_lives *lives = &trace->lives.items[i].lives;

		for (size_t j = 0; j < lives->objects.count; j++) {
			const struct gg_sampled_object *object = &lives->objects.items[j];
			struct dotnet_allocation *allocation =
				&trace->allocations.items[object->sample];

			allocation->end_ns = trace->facts.has_lives ? object->end_ns
			                                            : object->born_ns;
		}
	}
	return status;
}

/* Returns the time of the stream from which on collections do not count; 0: all count. */
static int64_t settled_ns_of(const struct gg_nettrace_head *head, uint64_t settled_ticks)
{
	int64_t settled_ns = (int64_t)(settled_ticks - head->start_ticks);

	if (settled_ticks == 0)
		return 0;
	return settled_ns > 0 ? settled_ns : 1;
}

static int read_trace(struct gg_dotnet_trace **ret_trace, const uint8_t *bytes, size_t length,
                      bool has_collections, uint64_t settled_ticks,
                      struct gg_nettrace_fault *ret_fault)
{
	struct gg_dotnet_trace *trace = calloc(1, sizeof(*trace));
	int status;

	if (trace == NULL)
		return -ENOMEM;
	status = gg_nettrace_read(bytes, length, read_event, trace, &trace->facts.head, ret_fault);
	if (status == 0)
		status = follow_lives(trace, length, has_collections,
		                      settled_ns_of(&trace->facts.head, settled_ticks));
	if (status < 0) {
		gg_dotnet_trace_free(trace);
		return status;
	}
	trace->facts.command = gg_buf_text(&trace->command);
	*ret_trace = trace;
	return 0;
}

int gg_dotnet_trace_read(struct gg_dotnet_trace **ret_trace, const uint8_t *bytes, size_t length,
                         bool has_collections, struct gg_nettrace_fault *ret_fault)
{
	return read_trace(ret_trace, bytes, length, has_collections, 0, ret_fault);
}

int gg_dotnet_trace_read_part(struct gg_dotnet_trace **ret_trace, const uint8_t *bytes,
                              size_t length, uint64_t settled_ticks,
                              struct gg_nettrace_fault *ret_fault)
{
	return read_trace(ret_trace, bytes, length, true, settled_ticks, ret_fault);
}

/* Takes the methods alone: the times of that stream have another beginning. */
static int read_method_event(const struct gg_nettrace_event *event,
                             const struct gg_nettrace_head *head, void *trace)
{
	return event->provider == GG_NETTRACE_RUNDOWN
	               ? read_rundown_event(trace, event,
	                                    event->process != 0 ? event->process : head->process)
	               : 0;
}

int gg_dotnet_trace_add_methods(struct gg_dotnet_trace *trace, const uint8_t *bytes, size_t length,
                                struct gg_nettrace_fault *ret_fault)
{
	struct gg_nettrace_head head;

	return gg_nettrace_read(bytes, length, read_method_event, trace, &head, ret_fault);
}

void gg_dotnet_trace_free(struct gg_dotnet_trace *trace)
{
	if (trace == NULL)
		return;
	for (size_t i = 0; i < trace->lives.count; i++)
		gg_object_lives_done(&trace->lives.items[i].lives);
	gg_array_done(&trace->lives);
	gg_array_done(&trace->allocations);
	gg_method_table_done(&trace->methods);
	gg_buf_done(&trace->command);
	free(trace);
}

const struct gg_dotnet_facts *gg_dotnet_trace_facts(const struct gg_dotnet_trace *trace)
{
	return &trace->facts;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct writing {
	struct gg_dotnet_trace *trace;
	const struct gg_dotnet_sink *sink;
	struct gg_dotnet_writtens *writtens; /* NULL: the stream is complete */
	uint32_t heaps[HEAP_COUNT];          /* ids */
	GG_ARRAY(struct tick_sum) ticks;
	struct gg_map tick_map;
	uint64_t frame_count, unnamed_count;
};

static int no_memory(const struct writing *writing)
{
	return gg_error_memory(writing->sink->error, ".NET's events");
}

/*
 * Makes the stack of an allocation.  The call that starts the body of an async method is left out,
 * and so is the method's own frame below it: the body bears the same name.
 */
static int make_stack(struct writing *writing, const struct dotnet_allocation *allocation,
                      uint32_t *ret_stack)
{
	const struct gg_dotnet_sink *sink = writing->sink;
	uint32_t pointer_bytes = writing->trace->facts.head.pointer_bytes;
	uint32_t stack = 0, caller = 0;
	bool after_start = false;

	for (uint32_t i = allocation->stack_bytes / pointer_bytes; i > 0; i--) {
		struct gg_byte_cursor at = gg_byte_cursor_of(
			allocation->stack + (size_t)(i - 1) * pointer_bytes, pointer_bytes);
		uint64_t address = gg_byte_cursor_number(&at, pointer_bytes);
		struct gg_method_frame frame;
		int status;

		if (address == 0)
			continue;
		/* A return address less 1 is in the call. */
		status = gg_method_table_frame(&writing->trace->methods, sink->profile,
		                               allocation->process, address - 1,
		                               allocation->time_ns, &frame, sink->error);
		if (status < 0)
			return status;
		writing->frame_count++;
		writing->unnamed_count += !frame.is_named;
		if (frame.is_hidden) {
			after_start = true;
			continue;
		}
		if (after_start && frame.is_body)
			stack = caller;
		after_start = false;
		caller = stack;
		status = gg_profile_intern_stack(sink->profile, stack, frame.id, &stack,
		                                 sink->error);
		if (status < 0)
			return status;
	}
	*ret_stack = stack;
	return 0;
}

/* Writes the readable name of a type into a buffer, which must be empty. */
static void name_type(struct gg_buf *name, const struct dotnet_allocation *allocation)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf raw = { 0 };

	gg_dotnet_utf8(&raw, allocation->type);
	gg_dotnet_type_name(name, gg_buf_text(&raw));
	name->failed = name->failed || raw.failed;
}

/* True for a time after the recording, at which the runtime had not stopped yet. */
static bool is_late(const struct gg_dotnet_sink *sink, int64_t time_ns)
{
	int64_t shifted_ns;

	return !__builtin_add_overflow(time_ns, sink->shift_ns, &shifted_ns) &&
	       shifted_ns > sink->late_from_ns && shifted_ns <= sink->late_to_ns;
}

/* Returns the time that the profile has for one of the stream. */
static int64_t time_in(const struct gg_dotnet_sink *sink, int64_t time_ns)
{
	int64_t shifted_ns;

	if (__builtin_add_overflow(time_ns, sink->shift_ns, &shifted_ns) ||
	    shifted_ns > sink->last_ns)
		return sink->last_ns;
	return shifted_ns < sink->first_ns ? sink->first_ns : shifted_ns;
}

static int write_sample(struct writing *writing, const struct dotnet_allocation *allocation,
                        struct gg_profile_sample *sample)
{
	const struct gg_dotnet_sink *sink = writing->sink;
	GG_CLEANUP(gg_buf_done) struct gg_buf type = { 0 };
	uint32_t *heap = &writing->heaps[allocation->heap];
	int status = 0;

	name_type(&type, allocation);
	if (type.failed)
		return no_memory(writing);
	if (*heap == 0)
		status = gg_profile_intern_name(sink->profile, GG_NAME_HEAP,
		                                heap_names[allocation->heap], heap, sink->error);
	if (status == 0 && type.length > 0)
		status = gg_profile_intern_name(sink->profile, GG_NAME_TYPE, gg_buf_text(&type),
		                                &sample->type, sink->error);
	if (status < 0)
		return status;
	sample->heap = *heap;
	sample->alloc_ns = time_in(sink, allocation->time_ns);
	sample->free_ns = allocation->end_ns == INT64_MAX || is_late(sink, allocation->end_ns)
	                          ? GG_TIME_NONE
	                          : time_in(sink, allocation->end_ns);
	sample->size_bytes = sample->usable_bytes = allocation->size_bytes;
	sample->address = allocation->address;
	sample->draw = (struct gg_draw){
		.sampling_interval = GG_DOTNET_INTERVAL_BYTES,
		.offset_bytes = allocation->offset_bytes,
		.sample_point_count = 1,
		.scheme = allocation->is_tick ? GG_SCHEME_BIASED : GG_SCHEME_BERNOULLI,
	};
	status = sink->add != NULL
	                 ? sink->add(sink->context, sample)
	                 : gg_profile_add_sample(sink->profile, sample, &sample->id, sink->error);
	return status < 0 || sink->written == NULL ? status : sink->written(sink->context, sample);
}

/* --- ticks ------------------------------------------------------------------------------------ */

struct tick_key {
	const struct writing *writing;
	const struct tick_sum *wanted;
};

static bool tick_is_equal(uint64_t value, const void *context)
{
	const struct tick_key *key = context;
	const struct tick_sum *sum = &key->writing->ticks.items[value];

	return sum->process == key->wanted->process && sum->thread == key->wanted->thread &&
	       sum->stack == key->wanted->stack;
}

/* Adds the type of a tick to its stack, as the innermost frame. */
static int add_type_frame(struct writing *writing, const struct dotnet_allocation *allocation,
                          uint32_t *stack)
{
	const struct gg_dotnet_sink *sink = writing->sink;
	GG_CLEANUP(gg_buf_done) struct gg_buf type = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_profile_line line = { 0 };
	uint64_t address;
	int status;

	name_type(&type, allocation);
	gg_buf_printf(&text, "new %s", type.length > 0 ? gg_buf_text(&type) : "[unknown type]");
	if (type.failed || text.failed)
		return no_memory(writing);
	address = gg_hash_bytes(text.data, text.length, 0) | UINT64_C(1) << 63;
	status = gg_profile_intern_frame(sink->profile, 0, address, &line.frame, sink->error);
	line.function = gg_buf_text(&text);
	if (status == 0)
		status = gg_profile_put_lines(sink->profile, line.frame, &line, 1, sink->error);
	return status < 0 ? status
	                  : gg_profile_intern_stack(sink->profile, *stack, line.frame, stack,
	                                            sink->error);
}

static int add_tick(struct writing *writing, const struct dotnet_allocation *allocation,
                    const struct gg_profile_sample *place)
{
	struct tick_sum wanted = { place->process, place->thread, place->stack, 0, 0, 0 };
	struct tick_key key = { writing, &wanted };
	uint64_t seed = gg_map_seed(&writing->tick_map), hash, index;
	struct tick_sum *sum;
	int status = add_type_frame(writing, allocation, &wanted.stack);

	if (status < 0)
		return status;
	hash = gg_hash_integer((uint64_t)wanted.stack << 32 | wanted.thread, seed + wanted.process);
	index = gg_map_find(&writing->tick_map, hash, tick_is_equal, &key);
	if (index == GG_MAP_NONE) {
		index = writing->ticks.count;
		if (!gg_array_push(&writing->ticks, wanted) ||
		    gg_map_insert(&writing->tick_map, hash, index) < 0)
			return no_memory(writing);
	}
	sum = &writing->ticks.items[index];
	sum->bytes += (double)allocation->amount_bytes;
	sum->count++;
	if (allocation->time_ns > sum->last_ns)
		sum->last_ns = allocation->time_ns;
	return 0;
}

/* Each tick stands for the bytes since the one before; of how many objects, nobody knows. */
static int write_ticks(struct writing *writing)
{
	const struct gg_dotnet_sink *sink = writing->sink;
	int status = 0;

	for (size_t i = 0; i < writing->ticks.count && status == 0; i++) {
		const struct tick_sum *sum = &writing->ticks.items[i];
		struct gg_profile_aggregate aggregate = {
			.process = sum->process,
			.thread = sum->thread,
			.stack = sum->stack,
			.to_ns = time_in(sink, sum->last_ns),
			.size_class = 255,
			.sums = { .sample_count = sum->count,
			          .count = gg_fixed_from((double)sum->count),
			          .bytes = gg_fixed_from(sum->bytes) },
			.unknown_errors = 3,
		};

		status = gg_profile_add_aggregate(sink->profile, &aggregate, sink->error);
	}
	return status;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int add_note(const struct gg_dotnet_sink *sink, const char *text)
{
	return gg_profile_add_note(sink->profile, text, sink->error);
}

static int write_notes(const struct writing *writing)
{
	const struct gg_dotnet_facts *facts = &writing->trace->facts;
	const struct gg_dotnet_sink *sink = writing->sink;
	char text[256];
	int status = 0;

	if (facts->head.is_cut)
		status = add_note(sink, "The stream of .NET's events was cut: its end is missing.");
	if (status == 0 && facts->head.lost_count > 0) {
		snprintf(text, sizeof(text),
		         ".NET's runtime dropped %" PRIu64
		         " events, and samples may be among them: numbers may be too small.",
		         facts->head.lost_count);
		status = add_note(sink, text);
	}
	if (status == 0 && writing->trace->odd_count > 0) {
		snprintf(text, sizeof(text),
		         "%" PRIu64 " of .NET's events were damaged and are left out.",
		         writing->trace->odd_count);
		status = add_note(sink, text);
	}
	if (status == 0 && facts->tick_count > writing->trace->sum_count)
		status = add_note(
			sink, ".NET's allocation ticks name one object for each 100 KiB. They are "
			      "no random samples, so numbers that they are part of have no "
			      "confidence interval. .NET 10 can sample at random.");
	if (status == 0 && writing->trace->sum_count > 0)
		status = add_note(
			sink, "Rows that begin with 'new' are from .NET's allocation ticks, one "
			      "for each 100 KiB. Ticks are no random samples, so these rows have "
			      "no confidence interval, and their numbers of allocations are "
			      "numbers of ticks. .NET 10 can sample at random.");
	if (status == 0 && facts->sample_count + facts->tick_count > writing->trace->sum_count &&
	    !facts->has_lives)
		status = add_note(
			sink,
			facts->head.lost_count > 0
				? "Because events were lost, geiger does not know which "
				  ".NET objects are live: use --metric allocated."
			: writing->trace->is_over_budget
				? "There were too many collections of .NET to follow each sampled "
				  "object, so geiger does not know which are live: use --metric "
				  "allocated."
				: "The events of .NET do not tell which objects are live: "
				  "use --metric allocated.");
	if (status == 0 && writing->frame_count > 0 &&
	    writing->unnamed_count * 2 > writing->frame_count)
		status = add_note(sink, "Most .NET methods have no name, because the stream lacks "
		                        "the list of methods that the runtime writes at its end.");
	return status;
}

/* Forgets an allocation in the facts. */
static void leave_out(struct gg_dotnet_trace *trace, const struct dotnet_allocation *allocation)
{
	trace->facts.sample_count -= !allocation->is_tick;
	trace->facts.tick_count -= allocation->is_tick;
	trace->sum_count -= allocation->amount_bytes > 0;
}

/* Ends a sample that is in the profile, if a collection has found it dead since. */
static int write_end(struct writing *writing, const struct dotnet_allocation *allocation,
                     struct gg_dotnet_written *written)
{
	const struct gg_dotnet_sink *sink = writing->sink;
	const struct gg_profile_sample_end end = { .free_ns = time_in(sink, allocation->end_ns) };

	if (written->id == 0 || !written->is_live || allocation->end_ns == INT64_MAX)
		return 0;
	written->is_live = false;
	return sink->end != NULL
	               ? sink->end(sink->context, written->id, &end)
	               : gg_profile_end_sample(sink->profile, written->id, &end, sink->error);
}

static int note_written(struct writing *writing, const struct gg_profile_sample *sample)
{
	const struct gg_dotnet_written written = {
		.id = sample->id,
		.size_bytes = sample->size_bytes,
		.draw = sample->draw,
		.is_live = sample->id != 0 && sample->free_ns == GG_TIME_NONE,
	};

	if (writing->writtens == NULL || gg_array_push(&writing->writtens->items, written))
		return 0;
	return no_memory(writing);
}

static int write_allocations(struct writing *writing)
{
	struct gg_dotnet_trace *trace = writing->trace;
	const struct gg_dotnet_sink *sink = writing->sink;
	int status = 0;

	for (size_t i = 0; i < trace->allocations.count && status == 0; i++) {
		const struct dotnet_allocation *allocation = &trace->allocations.items[i];
		struct gg_profile_sample sample = { 0 };

		if (writing->writtens != NULL && i < writing->writtens->items.count) {
			status = write_end(writing, allocation, &writing->writtens->items.items[i]);
			continue;
		}
		if (is_late(sink, allocation->time_ns)) {
			leave_out(trace, allocation);
			continue;
		}
		status = sink->process(sink->context, allocation->process, &sample.process);
		if (status == 0)
			status = sink->thread(sink->context, sample.process, allocation->tid,
			                      &sample.thread);
		if (status == 0)
			status = make_stack(writing, allocation, &sample.stack);
		if (status == 0)
			status = allocation->amount_bytes > 0
			                 ? add_tick(writing, allocation, &sample)
			                 : write_sample(writing, allocation, &sample);
		if (status == 0)
			status = note_written(writing, &sample);
	}
	return status;
}

static int write_trace(struct writing *writing)
{
	int status;

	gg_method_table_sort(&writing->trace->methods);
	status = write_allocations(writing);
	if (status == 0)
		status = write_ticks(writing);
	if (status == 0 && writing->writtens == NULL)
		status = write_notes(writing);
	gg_array_done(&writing->ticks);
	gg_map_done(&writing->tick_map);
	return status;
}

int gg_dotnet_trace_write(struct gg_dotnet_trace *trace, const struct gg_dotnet_sink *sink)
{
	return write_trace(&(struct writing){ .trace = trace, .sink = sink });
}

int gg_dotnet_trace_write_part(struct gg_dotnet_trace *trace, const struct gg_dotnet_sink *sink,
                               struct gg_dotnet_writtens *writtens)
{
	return write_trace(&(struct writing){ .trace = trace, .sink = sink, .writtens = writtens });
}

int gg_dotnet_trace_name(struct gg_dotnet_trace *trace, const struct gg_dotnet_sink *sink,
                         uint32_t frame, uint64_t address, bool *ret_is_named)
{
	return gg_method_table_name(&trace->methods, sink->profile, trace->facts.head.process,
	                            frame, address, ret_is_named, sink->error);
}
