/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet_samples - reads the streams of a session, and finds their processes and threads. */
#include "record/dotnet/dotnet_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"
#include "base/time_units.h"
#include "dotnet/dotnet_trace.h"

/* A process that connects while it starts may be in the profile a moment later. */
#define START_SLACK_NS (2 * GG_NS_PER_S)

struct known_process {
	uint32_t id, pid;
	int64_t start_ns, end_ns;
	char exe[GG_DIAGNOSTIC_PORT_EXE_MAX]; /* without its directory; "": unknown */
};

struct samples_writing {
	struct gg_profile_writer *writer;
	GG_ARRAY(struct known_process) processes;
	struct gg_map threads;                    /* process << 32 | tid -> id */
	GG_ARRAY(struct gg_profile_total) totals; /* of stacks that samples of .NET have */
	struct gg_map total_map;
	uint32_t process; /* id of the one that is being written */
	int64_t last_ns;  /* of all samples so far */
};

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct samples_writing *writing = context;
	struct known_process known = { process->id, process->pid, process->start_ns,
		                       process->end_ns, "" };

	if (process->exe != NULL)
		snprintf(known.exe, sizeof(known.exe), "%s", gg_path_base(process->exe));
	return gg_array_push(&writing->processes, known) ? 0 : -ENOMEM;
}

static int take_thread(const struct gg_profile_thread *thread, void *context)
{
	struct samples_writing *writing = context;

	return gg_map_put(&writing->threads, (uint64_t)thread->process << 32 | thread->tid,
	                  thread->id);
}

static bool starts_soon(const struct known_process *known, int64_t time_ns)
{
	int64_t latest_ns;

	if (__builtin_add_overflow(time_ns, START_SLACK_NS, &latest_ns))
		latest_ns = INT64_MAX;
	return known->start_ns > time_ns && known->start_ns <= latest_ns;
}

/*
 * Returns the process of a pid whose stream began at that time, or NULL.  A pid has several
 * processes if it executed another program, or if its number was used again.  The stream belongs to
 * the process that ran at that time; if two did, because an end was noticed late, to the later one.
 * If no process ran, the stream belongs to the next one that starts within START_SLACK_NS.
 */
static const struct known_process *find_process(const struct samples_writing *writing, pid_t pid,
                                                int64_t time_ns)
{
	const struct known_process *running = NULL, *next = NULL;

	for (size_t i = 0; i < writing->processes.count; i++) {
		const struct known_process *known = &writing->processes.items[i];

		if (known->pid != (uint32_t)pid)
			continue;
		if (known->start_ns <= time_ns &&
		    (known->end_ns == GG_TIME_NONE || time_ns < known->end_ns) &&
		    (running == NULL || known->start_ns >= running->start_ns))
			running = known;
		if (starts_soon(known, time_ns) &&
		    (next == NULL || known->start_ns < next->start_ns))
			next = known;
	}
	return running != NULL ? running : next;
}

/* Returns the session's time of a time of a stream; neither clock can be trusted. */
static int64_t session_time(const struct samples_writing *writing, int64_t start_ns,
                            int64_t time_ns)
{
	int64_t sum_ns;

	if (__builtin_add_overflow(start_ns, time_ns, &sum_ns) || sum_ns > writing->writer->now_ns)
		return writing->writer->now_ns;
	return sum_ns > 0 ? sum_ns : 0;
}

/*
 * True if the runtime is in another program than the process of the profile.  Without the agent, a
 * program that a process executes is not in the profile, and has the pid of the one before.
 */
static bool is_another_program(const struct gg_followed_runtime *runtime, const char *exe)
{
	return runtime->exe[0] != '\0' && exe[0] != '\0' && strcmp(runtime->exe, exe) != 0;
}

/* Adds a process that ran without the agent. */
static int add_process(struct samples_writing *writing, const struct gg_followed_runtime *runtime,
                       const struct gg_dotnet_facts *facts, int64_t start_ns)
{
	struct gg_profile_writer *writer = writing->writer;
	bool has_ended = kill(runtime->pid, 0) < 0 && errno == ESRCH;
	struct gg_profile_process process = {
		.pid = (uint32_t)runtime->pid,
		.start_ns = session_time(writing, start_ns, 0),
		.end_ns = has_ended ? session_time(writing, start_ns, facts->end_ns) : GG_TIME_NONE,
		.command = facts->command[0] != '\0' ? facts->command : NULL,
		.interval_bytes = GG_DOTNET_INTERVAL_BYTES,
		.scheme = GG_SCHEME_BERNOULLI,
	};
	int status;

	status = gg_profile_add_process(writer->profile, &process, &writing->process,
	                                writer->error);
	process.id = writing->process;
	if (status == 0 && take_process(&process, writing) < 0)
		status = gg_error_memory(writer->error, ".NET's events");
	writer->counts.process_count += status == 0;
	return status;
}

/* --- the functions of the sink ---------------------------------------------------------------- */

static int give_process(void *context, uint64_t pid, uint32_t *ret_process)
{
	const struct samples_writing *writing = context;

	(void)pid; /* of its own pid namespace; a stream is of one process */
	*ret_process = writing->process;
	return 0;
}

static int give_thread(void *context, uint32_t process, uint64_t tid, uint32_t *ret_thread)
{
	struct samples_writing *writing = context;
	struct gg_profile_writer *writer = writing->writer;
	uint64_t key = (uint64_t)process << 32 | (uint32_t)tid;
	uint64_t id = gg_map_get(&writing->threads, key);
	struct gg_profile_thread thread = { .process = process,
		                            .tid = (uint32_t)tid,
		                            .end_ns = GG_TIME_NONE };
	int status;

	*ret_thread = (uint32_t)id;
	if (id != GG_MAP_NONE)
		return 0;
	status = gg_profile_add_thread(writer->profile, &thread, ret_thread, writer->error);
	if (status == 0 && gg_map_put(&writing->threads, key, *ret_thread) < 0)
		status = gg_error_memory(writer->error, ".NET's events");
	return status;
}

/* --- totals ----------------------------------------------------------------------------------- */

struct total_key {
	const struct samples_writing *writing;
	uint32_t process, thread, stack;
};

static bool total_is(uint64_t value, const void *context)
{
	const struct total_key *key = context;
	const struct gg_profile_total *total = &key->writing->totals.items[value];

	return total->process == key->process && total->thread == key->thread &&
	       total->stack == key->stack;
}

/* Returns the total of a stack and thread, which may be new; NULL: no memory. */
static struct gg_profile_total *find_total(struct samples_writing *writing, uint32_t process,
                                           uint32_t thread, uint32_t stack)
{
	struct total_key key = { writing, process, thread, stack };
	uint64_t seed = gg_map_seed(&writing->total_map);
	uint64_t hash = gg_hash_integer((uint64_t)process << 32 | thread,
	                                gg_hash_integer(stack, seed));
	uint64_t index = gg_map_find(&writing->total_map, hash, total_is, &key);
	struct gg_profile_total *total;

	if (index != GG_MAP_NONE)
		return &writing->totals.items[index];
	total = gg_array_add(&writing->totals);
	if (total == NULL ||
	    gg_map_insert(&writing->total_map, hash, writing->totals.count - 1) < 0)
		return NULL;
	total->process = process;
	total->thread = thread;
	total->stack = stack;
	return total;
}

/*
 * Native samples without a stack have a total as well.  It would be replaced by that of managed
 * samples without a stack, so the two are added.
 */
static int take_total(const struct gg_profile_total *total, void *context)
{
	struct gg_profile_total *mine;

	if (total->stack != 0)
		return 0;
	mine = find_total(context, total->process, total->thread, 0);
	if (mine == NULL)
		return -ENOMEM;
	*mine = *total;
	return 0;
}

static int take_sample(void *context, const struct gg_profile_sample *sample)
{
	struct samples_writing *writing = context;
	struct gg_profile_total *total = find_total(writing, sample->process, sample->thread,
	                                            sample->stack);
	struct gg_sums sums = gg_sums_of(&sample->draw, sample->size_bytes);

	if (total == NULL)
		return gg_error_memory(writing->writer->error, ".NET's events");
	if (sample->alloc_ns > writing->last_ns)
		writing->last_ns = sample->alloc_ns;
	gg_sums_add(&total->allocated, &sums);
	if (sample->free_ns == GG_TIME_NONE)
		return 0;
	if (sample->free_ns > writing->last_ns)
		writing->last_ns = sample->free_ns;
	gg_sums_add(&total->freed, &sums);
	total->lifetimes[gg_lifetime_index((uint64_t)(sample->free_ns - sample->alloc_ns))]++;
	return 0;
}

static int write_totals(struct samples_writing *writing)
{
	struct gg_profile_writer *writer = writing->writer;
	int status = 0;

	for (size_t i = 0; i < writing->totals.count && status == 0; i++)
		status = gg_profile_put_total(writer->profile, &writing->totals.items[i],
		                              writer->error);
	return status;
}

/* --- a stream --------------------------------------------------------------------------------- */

/* Names the frames of the process's native stacks that are compiled methods. */
static int name_native_frames(struct samples_writing *writing, struct gg_dotnet_trace *trace,
                              const struct gg_dotnet_sink *sink)
{
	struct gg_jit_names *jit = &writing->writer->jit;
	bool is_named;
	int status = 0;

	for (size_t i = 0; i < jit->frames.count && status == 0; i++) {
		struct gg_jit_names_frame *noted = &jit->frames.items[i];

		if (noted->process != writing->process || noted->is_shared)
			continue;
		status = gg_dotnet_trace_name(trace, sink, noted->frame, noted->address, &is_named);
		noted->is_named = noted->is_named || is_named;
	}
	return status;
}

static int write_trace(struct samples_writing *writing, const struct gg_followed_runtime *runtime,
                       struct gg_dotnet_trace *trace)
{
	const struct gg_dotnet_facts *facts = gg_dotnet_trace_facts(trace);
	struct gg_profile_writer *writer = writing->writer;
	int64_t start_ns = (int64_t)(facts->head.start_ticks - writer->start_ns);
	const struct known_process *known = find_process(writing, runtime->pid, start_ns);
	struct gg_dotnet_sink sink = { .profile = writer->profile,
		                       .error = writer->error,
		                       .process = give_process,
		                       .thread = give_thread,
		                       .written = take_sample,
		                       .context = writing };
	int status;

	if (facts->head.ticks_per_s != (uint64_t)GG_NS_PER_S) {
		gg_profile_writer_note(writer,
		                       "The clock of a .NET runtime is not this session's, so its "
		                       "samples are left out.");
		return writer->status;
	}
	if (known == NULL || is_another_program(runtime, known->exe)) {
		status = add_process(writing, runtime, facts, start_ns);
		if (status < 0)
			return status;
		known = &writing->processes.items[writing->processes.count - 1];
	}
	writing->process = known->id;
	sink.shift_ns = start_ns;
	/* A stream begins before the recording ends, unless its clock is wrong. */
	if (start_ns <= writer->now_ns) {
		sink.late_from_ns = writer->now_ns;
		sink.late_to_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	}
	sink.first_ns = known->start_ns;
	sink.last_ns = known->end_ns != GG_TIME_NONE && known->end_ns < writer->now_ns
	                       ? known->end_ns
	                       : writer->now_ns;
	status = gg_dotnet_trace_write(trace, &sink);
	if (status == 0)
		status = name_native_frames(writing, trace, &sink);
	writer->counts.sample_count += facts->sample_count;
	writer->counts.taken_count += facts->sample_count + facts->tick_count;
	return status;
}

static int write_stream(struct samples_writing *writing, struct gg_followed_runtime *runtime)
{
	struct gg_profile_writer *writer = writing->writer;
	struct gg_event_stream *stream = &runtime->stream;
	struct gg_nettrace_fault fault;
	struct gg_dotnet_trace *trace;
	const uint8_t *bytes;
	int status = gg_event_stream_map(stream, &bytes, writer->error);

	if (status < 0 || bytes == NULL)
		return status;
	status = gg_dotnet_trace_read(&trace, bytes, stream->bytes, true, &fault);
	if (status == -EBADMSG) {
		gg_profile_writer_note(writer,
		                       "The events of .NET's process %d are damaged (%s), so its "
		                       "managed memory is missing.",
		                       (int)runtime->pid, fault.message);
		status = writer->status;
	} else if (status < 0) {
		status = gg_error_memory(writer->error, ".NET's events");
	} else {
		status = write_trace(writing, runtime, trace);
		gg_dotnet_trace_free(trace);
	}
	if (status == 0 && (stream->is_full || stream->status < 0))
		gg_profile_writer_note(writer,
		                       "The events of .NET's process %d end early: there was no "
		                       "room for more.",
		                       (int)runtime->pid);
	return status;
}

static int write_streams(struct samples_writing *writing, const struct gg_diagnostic_port *port)
{
	struct gg_profile_writer *writer = writing->writer;
	int status = gg_profile_each_process(writer->profile, take_process, writing, writer->error);

	if (status == 0)
		status = gg_profile_each_thread(writer->profile, take_thread, writing,
		                                writer->error);
	if (status == 0)
		status = gg_profile_each_total(writer->profile, take_total, writing, writer->error);
	if (status == -ENOMEM)
		gg_error_memory(writer->error, ".NET's events");
	for (size_t i = 0; i < port->runtimes.count && status == 0; i++)
		if (port->runtimes.items[i]->has_stream)
			status = write_stream(writing, port->runtimes.items[i]);
	if (status == 0)
		status = write_totals(writing);
	return status;
}

/* Adds notes about runtimes of which there is no stream. */
static void note_missing(struct gg_profile_writer *writer, const struct gg_diagnostic_port *port)
{
	if (port->open_status < 0)
		gg_profile_writer_note(writer,
		                       "The managed memory of .NET's runtimes is missing: the "
		                       "socket to which they connect cannot be made (%s).",
		                       strerror(-port->open_status));
	if (port->left_out.count > 0)
		gg_profile_writer_note(writer,
		                       "The managed memory of %zu .NET process%s is missing: there "
		                       "were too many, or too few descriptors (ulimit -n).",
		                       port->left_out.count, port->left_out.count == 1 ? "" : "es");
	if (port->spool_status < 0)
		gg_profile_writer_note(writer,
		                       "The managed memory of a .NET process is missing: no file "
		                       "for its events can be made in %s (%s).",
		                       port->spool, strerror(-port->spool_status));
	if (port->unread_count > 0)
		gg_profile_writer_note(writer,
		                       "The managed memory of %" PRIu64
		                       " .NET runtime%s is missing: "
		                       "the recorder's file of events cannot be read (%s).",
		                       port->unread_count, port->unread_count == 1 ? "" : "s",
		                       strerror(-port->unread_status));
	if (port->old_count > 0)
		gg_profile_writer_note(
			writer,
			"The managed memory of %" PRIu64 " .NET runtime%s is missing: "
			"the events are from before this boot, whose clock they lack.",
			port->old_count, port->old_count == 1 ? "" : "s");
}

int gg_dotnet_samples_write(const struct gg_diagnostic_port *port, struct gg_profile_writer *writer,
                            int64_t *ret_last_ns)
{
	struct samples_writing writing = { .writer = writer };

	if (writer->status < 0)
		return writer->status;
	note_missing(writer, port);
	if (port->runtimes.count == 0)
		return writer->status;
	/* Samples that wait get their ids before those that follow. */
	if (gg_profile_writer_commit(writer) == 0)
		gg_profile_writer_keep(writer, write_streams(&writing, port));
	gg_array_done(&writing.processes);
	gg_map_done(&writing.threads);
	gg_array_done(&writing.totals);
	gg_map_done(&writing.total_map);
	if (ret_last_ns != NULL)
		*ret_last_ns = writing.last_ns;
	return writer->status;
}
