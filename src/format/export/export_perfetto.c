/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_perfetto - a Perfetto trace with a heap profile of each process in 60 dumps.
 *
 * A dump holds, for each stack, the memory allocated and freed since the start.  The difference of
 * two dumps shows the activity between them.  A dump lists only the stacks that changed, and the
 * last dump is at the end of the window.
 *
 * If a trace breaks one of these rules, readers lose or mix up its data without a message:
 *
 *   1. Clocks.  A dump has a time of CLOCK_MONOTONIC_COARSE, and its packet one of the boot
 *      clock.  A clock snapshot relates the two.  Without it, readers drop every dump.
 *   2. Names.  A dump refers to a stack by its number, and packets of the same sequence define
 *      these numbers (perfetto_names.c).  The first packet of a sequence must have the flag
 *      GG_SEQUENCE_CLEARED, and each packet that uses the numbers GG_SEQUENCE_NEEDED.
 *   3. Heaps.  The trace_processor identifies a stack of an earlier dump by process and stack
 *      alone, so it would confuse two heaps on one sequence.  So each heap has a sequence with
 *      names of its own.
 *   4. Indices.  The dumps of a sequence have consecutive numbers, because a gap means lost
 *      packets.
 *
 * So the trace begins with the clocks, the author, the processes and their RSS.  Then come the
 * names of all heaps, and then the dumps, step by step.
 */
#include <stdlib.h>
#include <string.h>

#include "format/export/perfetto_writer.h"

enum { STEP_COUNT = 60, FIRST_SEQUENCE = 2, HEAD_SEQUENCE = 1 };
enum { REAL_TIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4, BOOT_TIME = 6 };

/* Time 0 of the profile on all clocks except the wall clock.  A time of 0 would mean "not set". */
#define START_NS INT64_C(1000000000)

/* Field numbers of messages. */
enum {
	SYSTEM_INFO_VERSION = 4, /* "geiger 0.9": all numbers are estimates */

	SNAPSHOT_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_TIME_NS = 2,

	TREE_PROCESS = 1,
	TREE_THREAD = 2,
	PROCESS_PID = 1,
	PROCESS_PARENT_PID = 2,
	PROCESS_COMMAND = 3,
	THREAD_TID = 1,
	THREAD_NAME = 2, /* optional */
	THREAD_PID = 3,

	STATS_PROCESS = 1,
	STATS_PID = 1,
	STATS_RSS_KB = 3,

	PROFILE_DUMP = 5,
	PROFILE_INDEX = 7, /* consecutive in its sequence */
	DUMP_PID = 1,
	DUMP_SAMPLE = 2,
	DUMP_FROM_STARTUP = 3,
	DUMP_TIME_NS = 9, /* of CLOCK_MONOTONIC_COARSE */
	DUMP_HEAP_NAME = 11,
	DUMP_INTERVAL_BYTES = 12,
	DUMP_FIRST_INTERVAL_BYTES = 13,
	SAMPLE_STACK = 1, /* numbers of a sample are sums since the start */
	SAMPLE_ALLOCATED_BYTES = 2,
	SAMPLE_FREED_BYTES = 3,
	SAMPLE_ALLOCATED_COUNT = 5,
	SAMPLE_FREED_COUNT = 6,
};

size_t gg_perfetto_writer_begin(struct gg_perfetto_writer *writer, uint32_t sequence,
                                uint32_t flags, uint64_t time_ns)
{
	struct gg_buf *out = writer->job->out;
	size_t packet = gg_wire_begin(out, GG_TRACE_PACKET);

	if (time_ns != 0)
		gg_wire_put_number(out, GG_PACKET_TIME_NS, time_ns);
	gg_wire_put_number(out, GG_PACKET_SEQUENCE, sequence);
	if (flags != 0)
		gg_wire_put_number(out, GG_PACKET_FLAGS, flags);
	return packet;
}

uint32_t gg_perfetto_writer_sequence(uint32_t heap)
{
	return heap + FIRST_SEQUENCE;
}

/* Writes a pid as an int32 of protocol buffers. */
static void put_pid(struct gg_buf *out, uint32_t field, int64_t pid)
{
	gg_wire_put_number(out, field, (uint64_t)(int64_t)(int32_t)pid);
}

/* --- processes and clocks --------------------------------------------------------------------- */

static void write_clocks(struct gg_perfetto_writer *writer)
{
	static const uint32_t ids[] = { REAL_TIME, MONOTONIC, MONOTONIC_COARSE, BOOT_TIME };
	const struct gg_model *model = writer->extract->model;
	struct gg_buf *out = writer->job->out;
	size_t packet = gg_perfetto_writer_begin(writer, HEAD_SEQUENCE, 0, 0);
	size_t snapshot = gg_wire_begin(out, GG_PACKET_CLOCK_SNAPSHOT);

	for (size_t i = 0; i < GG_COUNT(ids); i++) {
		size_t clock = gg_wire_begin(out, SNAPSHOT_CLOCK);
		uint64_t time_ns = START_NS;

		if (ids[i] == REAL_TIME && model->session_count > 0)
			time_ns = model->sessions[0].start_wall_ns;
		gg_wire_put_number(out, CLOCK_ID, ids[i]);
		gg_wire_put_number(out, CLOCK_TIME_NS, time_ns);
		gg_wire_end(out, clock);
	}
	gg_wire_end(out, snapshot);
	gg_wire_end(out, packet);
}

static bool is_wanted(const struct gg_perfetto_writer *writer,
                      const struct gg_profile_process *process)
{
	return writer->extract->query.pid == 0 || writer->extract->query.pid == process->pid;
}

static void write_processes(struct gg_perfetto_writer *writer)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_buf *out = writer->job->out;
	const struct gg_profile_process *of = model->processes;
	const struct gg_profile_thread *threads = model->threads;
	size_t packet = gg_perfetto_writer_begin(writer, HEAD_SEQUENCE, 0, START_NS);
	size_t tree = gg_wire_begin(out, GG_PACKET_PROCESS_TREE), message;

	for (size_t i = 1; i < model->process_count; i++) {
		const char *command = of[i].command != NULL ? of[i].command : of[i].exe;

		if (!is_wanted(writer, &of[i]))
			continue;
		message = gg_wire_begin(out, TREE_PROCESS);
		put_pid(out, PROCESS_PID, of[i].pid);
		put_pid(out, PROCESS_PARENT_PID, of[of[i].parent].pid);
		gg_wire_put_text(out, PROCESS_COMMAND, command != NULL ? command : "");
		gg_wire_end(out, message);
	}
	for (size_t i = 1; i < model->thread_count; i++) {
		if (!is_wanted(writer, &of[threads[i].process]))
			continue;
		message = gg_wire_begin(out, TREE_THREAD);
		put_pid(out, THREAD_TID, threads[i].tid);
		if (threads[i].name != NULL)
			gg_wire_put_text(out, THREAD_NAME, threads[i].name);
		put_pid(out, THREAD_PID, of[threads[i].process].pid);
		gg_wire_end(out, message);
	}
	gg_wire_end(out, tree);
	gg_wire_end(out, packet);
}

/* Writes readings of RSS as counters of their processes. */
static void write_rss(struct gg_perfetto_writer *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_buf *out = writer->job->out;
	size_t packet, stats, message;
	const struct gg_profile_memory *memory = extract->model->memory;
	const struct gg_profile_process *processes = extract->model->processes;

	for (size_t i = 0; i < extract->model->memory_count; i++) {
		const struct gg_profile_process *process = &processes[memory[i].process];

		if (memory[i].process == 0 || memory[i].rss_bytes < 0 ||
		    !is_wanted(writer, process) || memory[i].time_ns < extract->start_ns ||
		    memory[i].time_ns > extract->end_ns)
			continue;
		packet = gg_perfetto_writer_begin(writer, HEAD_SEQUENCE, 0,
		                                  (uint64_t)(START_NS + memory[i].time_ns));
		stats = gg_wire_begin(out, GG_PACKET_PROCESS_STATS);
		message = gg_wire_begin(out, STATS_PROCESS);
		put_pid(out, STATS_PID, process->pid);
		gg_wire_put_number(out, STATS_RSS_KB, (uint64_t)memory[i].rss_bytes / 1024);
		gg_wire_end(out, message);
		gg_wire_end(out, stats);
		gg_wire_end(out, packet);
	}
}

/* Tells readers that know geiger that all numbers are estimates. */
static void write_author(struct gg_perfetto_writer *writer)
{
	struct gg_buf *out = writer->job->out;
	size_t packet = gg_perfetto_writer_begin(writer, HEAD_SEQUENCE, 0, 0);
	size_t info = gg_wire_begin(out, GG_PACKET_SYSTEM_INFO);

	gg_wire_put_text(out, SYSTEM_INFO_VERSION, "geiger " GG_VERSION);
	gg_wire_end(out, info);
	gg_wire_end(out, packet);
}

/* --- dumps ---------------------------------------------------------------------------------- */

static const char *heap_name(const struct gg_perfetto_writer *writer, uint32_t heap)
{
	const char *name = gg_extract_heap_name(writer->extract, heap);

	return strcmp(name, "malloc") == 0 ? "libc.malloc" : name;
}

static void write_sample(struct gg_buf *out, const struct gg_timeline_entry *entry)
{
	size_t sample = gg_wire_begin(out, DUMP_SAMPLE);

	gg_wire_put_number(out, SAMPLE_STACK, (uint64_t)entry->stack + 1);
	gg_wire_put_number(out, SAMPLE_ALLOCATED_BYTES, entry->allocated_bytes);
	gg_wire_put_number(out, SAMPLE_FREED_BYTES, entry->freed_bytes);
	gg_wire_put_number(out, SAMPLE_ALLOCATED_COUNT, entry->allocated_count);
	gg_wire_put_number(out, SAMPLE_FREED_COUNT, entry->freed_count);
	gg_wire_end(out, sample);
}

/* Writes one dump: the changed entries [first, end), which belong to one heap and process. */
static void write_dump(struct gg_perfetto_writer *writer, size_t first, size_t end)
{
	const struct gg_timeline_samples *steps = writer->steps;
	const struct gg_timeline_entry *entry = &steps->entries[steps->changed[first]];
	double interval = writer->extract->interval_bytes;
	uint64_t interval_bytes = interval > 1 ? (uint64_t)gg_extract_whole(interval) : 1;
	uint64_t time_ns = (uint64_t)(START_NS + steps->now_ns);
	struct gg_buf *out = writer->job->out;
	size_t packet, profile, dump;

	packet = gg_perfetto_writer_begin(writer, gg_perfetto_writer_sequence(entry->heap),
	                                  GG_SEQUENCE_NEEDED, time_ns);
	profile = gg_wire_begin(out, GG_PACKET_PROFILE);
	dump = gg_wire_begin(out, PROFILE_DUMP);
	gg_wire_put_number(out, DUMP_PID,
	                   (uint64_t)writer->extract->model->processes[entry->process].pid);
	for (size_t i = first; i < end; i++)
		write_sample(out, &steps->entries[steps->changed[i]]);
	gg_wire_put_number(out, DUMP_FROM_STARTUP, 1);
	gg_wire_put_number(out, DUMP_TIME_NS, time_ns);
	gg_wire_put_text(out, DUMP_HEAP_NAME, heap_name(writer, entry->heap));
	gg_wire_put_number(out, DUMP_INTERVAL_BYTES, interval_bytes);
	gg_wire_put_number(out, DUMP_FIRST_INTERVAL_BYTES, interval_bytes);
	gg_wire_end(out, dump);
	gg_wire_put_number(out, PROFILE_INDEX, writer->packet_index[entry->heap]++);
	gg_wire_end(out, profile);
	gg_wire_end(out, packet);
}

/* Writes the dumps of a step: one for each heap and process with a changed stack. */
static void write_step(struct gg_perfetto_writer *writer)
{
	const struct gg_timeline_samples *steps = writer->steps;

	for (size_t i = 0, end; i < steps->changed_count && !writer->failed; i = end) {
		const struct gg_timeline_entry *first = &steps->entries[steps->changed[i]];

		for (end = i + 1; end < steps->changed_count; end++) {
			const struct gg_timeline_entry *entry =
				&steps->entries[steps->changed[end]];

			if (entry->heap != first->heap || entry->process != first->process)
				break;
		}
		write_dump(writer, i, end);
	}
}

static int write_all(struct gg_perfetto_writer *writer)
{
	const struct gg_timeline_samples *steps = writer->steps;

	write_clocks(writer);
	write_author(writer);
	write_processes(writer);
	write_rss(writer);
	for (size_t i = 0, end; i < steps->entry_count && !writer->failed; i = end) {
		for (end = i; end < steps->entry_count &&
		              steps->entries[end].heap == steps->entries[i].heap;)
			end++;
		gg_perfetto_names_put(writer, i, end);
	}
	while (!writer->failed && gg_timeline_samples_next(writer->steps)) {
		gg_progress_report(writer->job->progress, steps->step, steps->step_count,
		                   "exporting");
		write_step(writer);
	}
	return writer->failed ? gg_export_out_of_memory(writer->job) : 0;
}

static int write_perfetto(const struct gg_export *job)
{
	struct gg_perfetto_writer writer = { .job = job, .extract = job->extract };
	int status = gg_address_space_make(&writer.space, job->extract, job->error);

	if (status == 0)
		status = gg_timeline_samples_make(&writer.steps, job->extract, STEP_COUNT,
		                                  job->error);
	writer.packet_index = calloc(job->extract->model->heap_count + 1,
	                             sizeof(*writer.packet_index));
	if (status == 0 && writer.packet_index == NULL)
		status = gg_export_out_of_memory(job);
	if (status == 0)
		status = write_all(&writer);
	gg_address_space_done(&writer.space);
	gg_timeline_samples_free(writer.steps);
	free(writer.packet_index);
	return status;
}

const struct gg_export_format gg_export_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.is_binary = true,
	.has_both = true,
	.write = write_perfetto,
};
