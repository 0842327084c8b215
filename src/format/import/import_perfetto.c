/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_perfetto - heap profiles in Perfetto traces, as heapprofd and geiger write them.
 *
 * A trace is a list of packets.  Packets define callstacks (perfetto_definitions.h), and dumps
 * refer to them by number.  A dump holds, for a process and a heap, the allocated and freed memory
 * of each callstack since the start.  The importer keeps only the last value of each, so the
 * profile has no history.
 *
 * Callstacks.  The number within a sequence identifies a callstack, not its frames: two call sites
 * on one line are two callstacks with equal names, whose values add up.  When a sequence begins
 * anew, its old numbers lose their meaning.  A callstack then replaces those that had the same
 * frames and addresses before.
 *
 * Errors.  heapprofd counts a mean sampling interval for each sample point, or the allocation's
 * size if it is many intervals long.  So the variance of B bytes is at most B times the interval.
 * Its numbers of objects are numbers of samples, and their error is unknown.  geiger writes
 * estimates of both numbers, with the errors of a pprof file (row_sums.h).
 *
 * The importer ignores symbols that were added to a trace later (module_symbols).
 */
#include <errno.h>
#include <stdio.h>

#include "base/hash.h"
#include "format/codec/line_parser.h"
#include "format/import/perfetto_definitions.h"

enum {
	TRACE_MAX = 512 << 20, /* bytes */
	COMMAND_MAX = 256,
};

/* The memory of a callstack in a heap of a process, as in the last dump. */
struct stack_value {
	uint32_t stack, process;
	uint64_t generation; /* how often its sequence had begun anew */
	uint64_t next; /* the next value with these frames and this generation, or GG_MAP_NONE */
	uint64_t allocated, freed, allocated_count, freed_count, interval_bytes;
};

struct perfetto_import {
	struct gg_import *import;
	struct gg_perfetto_definitions trace;
	GG_ARRAY(struct stack_value) values;
	struct gg_map value_of_number; /* hash of process, heap and callstack's number -> index */
	struct gg_map value_of_frames; /* hash of process, heap and frames -> newest index */
	struct gg_map processes;       /* pid -> id */
	struct gg_map names;           /* pid -> index of process_names */
	GG_ARRAY(struct gg_wire) process_names;
	bool written_by_geiger;
};

static int no_memory(const struct perfetto_import *job)
{
	return gg_import_no_memory(job->import);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static int find_process(struct perfetto_import *job, uint64_t pid, uint64_t interval,
                        uint32_t *ret_process)
{
	struct gg_import *import = job->import;
	uint64_t id = gg_map_get(&job->processes, pid);
	uint64_t index = gg_map_get(&job->names, pid);
	struct gg_wire name = { 0 };
	char command[COMMAND_MAX];
	int status;

	*ret_process = (uint32_t)id;
	if (id != GG_MAP_NONE)
		return 0;
	if (index != GG_MAP_NONE)
		name = job->process_names.items[index];
	gg_text_line_copy(&(struct gg_text_line){ (const char *)name.at, gg_wire_length(&name) },
	                  command, sizeof(command));
	import->result->interval_bytes = (double)interval;
	import->result->scheme = interval > 1 && !job->written_by_geiger ? GG_SCHEME_POISSON_COUNT
	                                                                 : GG_SCHEME_POISSON;
	if (import->result->command[0] == '\0')
		memcpy(import->result->command, command, sizeof(command));
	status = gg_import_next_process(import, pid <= UINT32_MAX ? (uint32_t)pid : 0,
	                                command[0] != '\0' ? command : NULL);
	*ret_process = import->process;
	if (status == 0 && gg_map_put(&job->processes, pid, import->process) < 0)
		status = no_memory(job);
	return status;
}

/*
 * Adds the first value of its callstack's number.  Older values with the same frames belong to the
 * same callstack, from before the sequence began anew, so the new value replaces them.
 */
static int add_value(struct perfetto_import *job, const struct stack_value *value, uint64_t key,
                     uint64_t frames_key)
{
	uint64_t same = gg_map_get(&job->value_of_frames, frames_key);
	struct stack_value *added = gg_array_add(&job->values), *values = job->values.items;
	uint64_t index = job->values.count - 1;

	if (added == NULL)
		return no_memory(job);
	*added = *value;
	added->next = GG_MAP_NONE;
	if (same != GG_MAP_NONE && values[same].generation == value->generation) {
		added->next = same;
		same = GG_MAP_NONE;
	}
	for (; same != GG_MAP_NONE; same = values[same].next)
		values[same].allocated = values[same].freed = values[same].allocated_count =
			values[same].freed_count = 0;
	return gg_map_put(&job->value_of_number, key, index) < 0 ||
	                       gg_map_put(&job->value_of_frames, frames_key, index) < 0
	               ? no_memory(job)
	               : 0;
}

/* Gives a callstack of a heap its newest value.  `value` has the properties of the dump. */
static int put_value(struct perfetto_import *job, const struct gg_perfetto_callstack *callstack,
                     uint64_t number, uint64_t heap, const struct stack_value *value)
{
	uint64_t key = gg_hash_integer(
		gg_perfetto_definitions_callstack_key(&job->trace, number) + value->process, heap);
	uint64_t index = gg_map_get(&job->value_of_number, key), next;

	if (index == GG_MAP_NONE)
		return add_value(job, value, key,
		                 gg_hash_integer(callstack->frames + value->process,
		                                 gg_hash_integer(job->trace.sequence, heap)));
	gg_assert(index < job->values.count);
	next = job->values.items[index].next;
	job->values.items[index] = *value;
	job->values.items[index].next = next;
	return 0;
}

static int read_heap_sample(struct perfetto_import *job, struct gg_wire message, uint64_t heap,
                            const struct stack_value *of)
{
	struct perfetto_heap {
		uint64_t callstack, allocated, freed, allocated_count, freed_count;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_heap, 1, callstack),
		GG_WIRE_NUMBER(struct perfetto_heap, 2, allocated),
		GG_WIRE_NUMBER(struct perfetto_heap, 3, freed),
		GG_WIRE_NUMBER(struct perfetto_heap, 5, allocated_count),
		GG_WIRE_NUMBER(struct perfetto_heap, 6, freed_count),
	};
	const uint8_t *start = message.at;
	const struct gg_perfetto_callstack *callstack;
	struct stack_value value = *of;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_perfetto_definitions_wrong(&job->trace, message.at,
		                                     "a sample is damaged");
	callstack = gg_perfetto_definitions_callstack(&job->trace, record.callstack);
	if (callstack == NULL)
		return gg_perfetto_definitions_wrong(
			&job->trace, start,
			"a sample refers to callstack %llu, which is not defined",
			(unsigned long long)record.callstack);
	if (record.freed > record.allocated || record.freed_count > record.allocated_count)
		return gg_perfetto_definitions_wrong(
			&job->trace, start, "a sample has freed more than it has allocated");
	value.stack = callstack->stack;
	value.generation = job->trace.generation;
	value.allocated = record.allocated;
	value.freed = record.freed;
	value.allocated_count = record.allocated_count;
	value.freed_count = record.freed_count;
	return put_value(job, callstack, record.callstack, heap, &value);
}

static int read_dump(struct perfetto_import *job, struct gg_wire message)
{
	struct perfetto_dump {
		uint64_t pid, interval_bytes;
		struct gg_wire heap;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_dump, 1, pid),
		GG_WIRE_SPAN(struct perfetto_dump, 11, heap),
		GG_WIRE_NUMBER(struct perfetto_dump, 12, interval_bytes),
	};
	struct gg_wire samples = message;
	struct gg_wire_field field;
	uint64_t heap = job->trace.seed;
	struct stack_value value = { 0 };
	int status;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_perfetto_definitions_wrong(&job->trace, message.at, "a dump is damaged");
	if (record.heap.at != NULL)
		heap = gg_hash_bytes(record.heap.at, gg_wire_length(&record.heap), heap);
	value.interval_bytes = record.interval_bytes < UINT64_C(1) << 48 ? record.interval_bytes
	                                                                 : 0;
	status = find_process(job, record.pid, value.interval_bytes, &value.process);
	while (status == 0 && gg_wire_next(&samples, &field) > 0)
		if (field.number == 2 && field.type == GG_WIRE_BYTES)
			status = read_heap_sample(job, field.bytes, heap, &value);
	return status;
}

static int read_dumps(struct perfetto_import *job, struct gg_wire message)
{
	struct gg_wire_field field;
	int status;

	while ((status = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 5 && field.type == GG_WIRE_BYTES)
			status = read_dump(job, field.bytes);
		if (status < 0)
			return status;
	}
	return status < 0 ? gg_perfetto_definitions_wrong(&job->trace, message.at,
	                                                  "a heap profile is damaged")
	                  : 0;
}

/* Returns the first word of a process's command line, or an empty range without a command line. */
static struct gg_wire first_word(struct gg_wire process)
{
	struct gg_wire_field field;

	while (gg_wire_next(&process, &field) > 0)
		if (field.number == 3 && field.type == GG_WIRE_BYTES)
			return field.bytes;
	return (struct gg_wire){ 0 };
}

/* Reads the names of processes. */
static int read_processes(struct perfetto_import *job, struct gg_wire tree)
{
	struct perfetto_process {
		uint64_t pid;
	};
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct perfetto_process, 1, pid),
	};
	struct gg_wire_field field;

	while (gg_wire_next(&tree, &field) > 0) {
		struct perfetto_process record = { 0 };
		struct gg_wire name;

		if (field.number != 1 || field.type != GG_WIRE_BYTES)
			continue;
		name = first_word(field.bytes);
		if (name.at == NULL)
			continue;
		/* A damaged message has the fields before the damage. */
		(void)gg_wire_read(&field.bytes, members, GG_COUNT(members), &record);
		if (!gg_array_push(&job->process_names, name) ||
		    gg_map_put(&job->names, record.pid, job->process_names.count - 1) < 0)
			return no_memory(job);
	}
	return 0;
}

/* --- packets ---------------------------------------------------------------------------------- */

struct packet {
	struct gg_wire interned, profile, processes, system, compressed;
	uint64_t sequence, flags, cleared;
};

static int read_packet_fields(const struct perfetto_import *job, struct gg_wire message,
                              struct packet *ret_packet)
{
	static const struct gg_wire_member members[] = {
		GG_WIRE_SPAN(struct packet, 2, processes),
		GG_WIRE_NUMBER(struct packet, 10, sequence),
		GG_WIRE_SPAN(struct packet, 12, interned),
		GG_WIRE_NUMBER(struct packet, 13, flags),
		GG_WIRE_SPAN(struct packet, 37, profile),
		GG_WIRE_NUMBER(struct packet, 41, cleared),
		GG_WIRE_SPAN(struct packet, 45, system),
		GG_WIRE_SPAN(struct packet, 50, compressed),
	};
	const uint8_t *start = message.at;

	*ret_packet = (struct packet){ 0 };
	if (gg_wire_read(&message, members, GG_COUNT(members), ret_packet) < 0)
		return gg_perfetto_definitions_wrong(&job->trace, message.at,
		                                     "a packet is damaged");
	if (ret_packet->compressed.at != NULL)
		return gg_perfetto_definitions_wrong(
			&job->trace, start,
			"the trace has compressed packets: decompress it with traceconv first");
	return 0;
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

static int read_packet(struct perfetto_import *job, struct gg_wire message)
{
	struct packet packet;
	int status = read_packet_fields(job, message, &packet);

	if (status < 0)
		return status;
	status = gg_perfetto_definitions_begin_packet(
		&job->trace, packet.sequence, (packet.flags & 1) != 0 || packet.cleared != 0);
	job->written_by_geiger |= names_us(packet.system);
	if (status == 0)
		status = read_processes(job, packet.processes);
	if (status == 0)
		status = gg_perfetto_definitions_read(&job->trace, packet.interned);
	return status == 0 ? read_dumps(job, packet.profile) : status;
}

static int write_value(struct perfetto_import *job, const struct stack_value *value)
{
	double interval = (double)value->interval_bytes;
	double live_count = (double)(value->allocated_count - value->freed_count);
	double live_bytes = (double)(value->allocated - value->freed);
	struct gg_row_weighing how = { job->written_by_geiger ? GG_ROW_WEIGHING_SCALED
		                                              : GG_ROW_WEIGHING_SAMPLE_POINTS,
		                       interval, true };
	struct gg_row_sums live, freed;

	if (value->interval_bytes <= 1)
		how.kind = value->interval_bytes == 1 ? GG_ROW_WEIGHING_EXACT
		                                      : GG_ROW_WEIGHING_UNKNOWN;
	live = gg_row_weighing(&how, live_count, live_bytes);
	if (how.kind ==
	    GG_ROW_WEIGHING_SCALED) { /* as in a pprof file, one scheme weighted all numbers */
		struct gg_row_sums ever = gg_row_weighing(&how, (double)value->allocated_count,
		                                          (double)value->allocated);

		freed = gg_row_sums_rest(&ever, &live);
	} else {
		freed = gg_row_weighing(&how, (double)value->freed_count, (double)value->freed);
	}
	job->import->process = value->process;
	job->import->result->interval_bytes = interval;
	return gg_import_row(job->import, 0, value->stack, &live, &freed);
}

static int write_values(struct perfetto_import *job)
{
	int status = 0;

	for (size_t i = 0; i < job->values.count && status == 0; i++)
		status = write_value(job, &job->values.items[i]);
	return status;
}

static int read_trace(struct perfetto_import *job)
{
	struct gg_wire_field field;
	struct gg_wire wire;
	const uint8_t *file;
	size_t length;
	int status = gg_input_all(job->import->input, TRACE_MAX, &file, &length,
	                          job->import->error);

	if (status == 0)
		status = gg_perfetto_definitions_init(&job->trace, job->import, file, length);
	if (status < 0)
		return status;
	wire = gg_wire_of(file, length);
	while ((status = gg_wire_next(&wire, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_BYTES)
			status = read_packet(job, field.bytes);
		if (status < 0)
			return status;
	}
	if (status < 0)
		return gg_perfetto_definitions_wrong(
			&job->trace, wire.at,
			"the bytes here are no packet of a trace: the file is "
			"truncated or damaged");
	if (job->processes.used_count == 0)
		return gg_perfetto_definitions_wrong(
			&job->trace, wire.at,
			"the trace has no heap profile: record it with "
			"heapprofd");
	return write_values(job);
}

static int read_perfetto(struct gg_import *import)
{
	struct perfetto_import job = { .import = import };
	int status = read_trace(&job);

	if (status == 0)
		status = gg_import_note(
			import, "The importer reads only the state at the end of the trace: the "
				"memory that was live then, and all that was allocated before.");
	gg_perfetto_definitions_done(&job.trace);
	gg_array_done(&job.values);
	gg_array_done(&job.process_names);
	gg_map_done(&job.value_of_frames);
	gg_map_done(&job.value_of_number);
	gg_map_done(&job.processes);
	gg_map_done(&job.names);
	return status;
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
