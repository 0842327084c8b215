/* SPDX-License-Identifier: Apache-2.0 */
/* managed_watch - reads a runtime's events by a thread, and writes what is new. */
#include "record/dotnet/managed_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/time_units.h"
#include "dotnet/dotnet_trace.h"
#include "record/dotnet/diagnostic_port.h"
#include "record/regions/process_alive.h"

/* Events of that age have all arrived: the runtime sends them each 100 ms. */
#define SETTLE_NS (500 * GG_NS_PER_MS)
/* After that time, stacks get addresses if the list of methods has not come. */
#define METHODS_NS (5 * GG_NS_PER_S)

enum {
	REST_FACTOR = 20,
	READ_MS = 100,
	FAILURES_MAX = 5,
	SEARCH_SECONDS_MOST = 10, /* between searches for a runtime */
	WHOLE_BEGIN_BYTES = 4096, /* a stream of so many bytes has its beginning */
	SHORT_SECONDS = 60,       /* sessions that end sooner are followed late */
	SHORT_COUNT_MOST = 6,     /* the next session waits 2^6 s at most */
};

struct gg_managed_watch {
	pid_t pid;
	uint64_t room_bytes;
	pthread_mutex_t mutex; /* guards the ports and read_ns while the thread runs */
	pthread_t thread;
	bool has_thread;
	int wake_fd;                      /* ends the thread */
	struct gg_diagnostic_port events; /* the session of samples */
	struct gg_diagnostic_port methods;
	uint64_t read_ns; /* CLOCK_MONOTONIC: all that had arrived then was read */
	/* The rest is the owner's. */
	uint64_t begin_ns, taken_ns, took_ns; /* CLOCK_MONOTONIC; begin: 0 without a session */
	uint64_t news_bytes, news_ns;         /* of the stream when it had grown last */
	struct gg_dotnet_writtens writtens;
	uint64_t search_ns; /* CLOCK_MONOTONIC: of the next search for a runtime */
	int absent_count;   /* searches that found none */
	int failure_count;  /* of attempts to begin */
	uint64_t end_ns;    /* CLOCK_MONOTONIC: the end of the session was noticed; 0: it runs */
	int64_t end_at_ns;  /* the same in the profile's time */
	char why_ended[80];
	int short_count;      /* sessions in a row that ended soon */
	double earlier_bytes; /* the estimate of what earlier sessions allocated */
	bool has_said_lost, has_said_ended, has_said_damaged, has_failed;
};

/* --- the thread ------------------------------------------------------------------------------- */

static struct gg_followed_runtime *runtime_of(const struct gg_diagnostic_port *port)
{
	return port->runtimes.count > 0 && port->runtimes.items[0]->has_stream
	               ? port->runtimes.items[0]
	               : NULL;
}

/* The list of methods comes at the end of a session, so this one ends as soon as it has begun. */
static void work_on_methods(struct gg_managed_watch *watch)
{
	const struct gg_followed_runtime *runtime = runtime_of(&watch->methods);

	gg_diagnostic_port_work(&watch->methods);
	if (runtime != NULL && runtime->stream.state == GG_EVENT_STREAM_RUNS)
		gg_diagnostic_port_stop(&watch->methods);
}

static void *read_events(void *context)
{
	struct gg_managed_watch *watch = context;
	struct pollfd fds[] = { { .fd = watch->wake_fd, .events = POLLIN },
		                { .fd = watch->events.epoll_fd, .events = POLLIN },
		                { .fd = watch->methods.epoll_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now_ns;

		poll(fds, GG_COUNT(fds), READ_MS);
		if (fds[0].revents != 0)
			return NULL;
		now_ns = gg_clock_monotonic_ns();
		pthread_mutex_lock(&watch->mutex);
		gg_diagnostic_port_work(&watch->events);
		work_on_methods(watch);
		watch->read_ns = now_ns;
		pthread_mutex_unlock(&watch->mutex);
	}
}

/* Signals belong to the threads of the command. */
static bool start_thread(struct gg_managed_watch *watch)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	watch->has_thread = pthread_create(&watch->thread, NULL, read_events, watch) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return watch->has_thread;
}

static void stop_thread(struct gg_managed_watch *watch)
{
	uint64_t one = 1;

	if (!watch->has_thread)
		return;
	watch->has_thread = false;
	(void)!write(watch->wake_fd, &one, sizeof(one));
	pthread_join(watch->thread, NULL);
	(void)!read(watch->wake_fd, &one, sizeof(one)); /* for the next thread */
}

/* --- the session ------------------------------------------------------------------------------ */

int gg_managed_watch_new(struct gg_managed_watch **ret_watch, pid_t pid, uint64_t room_bytes,
                         struct gg_error *error)
{
	struct gg_managed_watch *watch = calloc(1, sizeof(*watch));

	if (watch == NULL)
		return gg_error_memory(error, ".NET's events");
	watch->pid = pid;
	watch->room_bytes = room_bytes;
	watch->events = watch->methods = GG_DIAGNOSTIC_PORT_NONE;
	watch->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->wake_fd < 0) {
		int why = errno;

		free(watch);
		return gg_error_set_errno(error, why, ".NET's events", NULL);
	}
	pthread_mutex_init(&watch->mutex, NULL);
	*ret_watch = watch;
	return 0;
}

static void end_session(struct gg_managed_watch *watch)
{
	stop_thread(watch);
	/* Without its reader, a runtime ends the session itself. */
	gg_diagnostic_port_done(&watch->events, true);
	gg_diagnostic_port_done(&watch->methods, true);
}

void gg_managed_watch_free(struct gg_managed_watch *watch)
{
	if (watch == NULL)
		return;
	end_session(watch);
	close(watch->wake_fd);
	pthread_mutex_destroy(&watch->mutex);
	gg_array_done(&watch->writtens.items);
	free(watch);
}

static void give_up(struct gg_managed_watch *watch, struct gg_profile_writer *writer)
{
	watch->has_failed = true;
	gg_profile_writer_note(writer,
	                       "Process %d runs .NET, and this is malloc's memory alone: the "
	                       "runtime cannot be followed.",
	                       (int)watch->pid);
}

/* Begins the sessions.  -ENOENT: the process has no runtime, which may start late. */
static int begin_sessions(struct gg_managed_watch *watch)
{
	const char *scratch = getenv("TMPDIR");
	int status;

	scratch = scratch != NULL && scratch[0] == '/' ? scratch : "/tmp";
	status = gg_diagnostic_port_attach(&watch->events, watch->pid, scratch, false, NULL);
	watch->events.room_bytes = watch->room_bytes;
	if (status == 0 && runtime_of(&watch->events) == NULL)
		status = watch->events.spool_status < 0 ? watch->events.spool_status : -EPIPE;
	if (status == 0 &&
	    gg_diagnostic_port_attach(&watch->methods, watch->pid, scratch, false, NULL) < 0)
		gg_diagnostic_port_done(&watch->methods, true); /* methods stay without names */
	if (status == 0 && !start_thread(watch))
		status = -EAGAIN;
	if (status < 0) {
		gg_diagnostic_port_done(&watch->events, true);
		gg_diagnostic_port_done(&watch->methods, true);
	}
	return status;
}

/*
 * A runtime that starts has a socket before it answers there, so a failure may pass.  Most
 * processes have no runtime, so searches become rarer.
 */
static void begin(struct gg_managed_watch *watch, struct gg_profile_writer *writer)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	int status;

	if (now_ns < watch->search_ns)
		return;
	status = begin_sessions(watch);
	if (status == -ENOENT || status == -ESRCH) {
		watch->absent_count += watch->absent_count < SEARCH_SECONDS_MOST;
		watch->search_ns = now_ns + (uint64_t)watch->absent_count * (uint64_t)GG_NS_PER_S;
	}
	if (status == 0) {
		watch->begin_ns = gg_clock_monotonic_ns();
		gg_profile_writer_note(
			writer,
			"Process %d runs .NET. Its managed memory is that of objects "
			"which it allocated since geiger began to look.",
			(int)watch->pid);
	} else if (status != -ENOENT && status != -ESRCH &&
	           ++watch->failure_count == FAILURES_MAX) {
		give_up(watch, writer);
	}
}

/* --- the next session ------------------------------------------------------------------------- */

static double bytes_of(const struct gg_managed_watch *watch)
{
	struct gg_tally all = { 0 };

	for (size_t i = 0; i < watch->writtens.items.count; i++) {
		const struct gg_dotnet_written *written = &watch->writtens.items.items[i];

		if (written->id != 0 && gg_draw_is_valid(&written->draw))
			gg_tally_add(&all, &written->draw, written->size_bytes);
	}
	return gg_tally_estimate(&all, GG_BYTES).value;
}

/* Nobody tells any more when the objects of an ended session die, so they are live no longer. */
static void end_objects(struct gg_managed_watch *watch, struct gg_profile_writer *writer)
{
	const struct gg_profile_sample_end end = { .free_ns = writer->now_ns, .lost = true };

	watch->earlier_bytes += bytes_of(watch);
	for (size_t i = 0; i < watch->writtens.items.count; i++) {
		const struct gg_dotnet_written *written = &watch->writtens.items.items[i];

		if (written->id != 0 && written->is_live)
			gg_profile_writer_end(writer, written->id, &end);
	}
	watch->writtens.items.count = 0;
}

/*
 * geiger asks a runtime that ends each session at once less and less often.  Until the next session
 * runs, the objects of the last one stay as they were.
 */
static void begin_again(struct gg_managed_watch *watch, struct gg_profile_writer *writer)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (now_ns < watch->search_ns || !gg_process_alive((uint32_t)watch->pid, 0))
		return;
	if (!watch->has_said_ended) {
		watch->has_said_ended = true;
		gg_profile_writer_note(
			writer,
			"The session with the .NET runtime of process %d ended %.0f s after the "
			"beginning: %s. Managed memory is as of then until another session begins; "
			"then objects from before it are missing in live memory. Each session "
			"that ends does the same.",
			(int)watch->pid, (double)watch->end_at_ns / (double)GG_NS_PER_S,
			watch->why_ended);
	}
	end_session(watch);
	if (begin_sessions(watch) < 0) {
		watch->short_count += watch->short_count < SHORT_COUNT_MOST;
		watch->search_ns = now_ns + ((uint64_t)GG_NS_PER_S << watch->short_count);
		return;
	}
	end_objects(watch, writer);
	watch->begin_ns = gg_clock_monotonic_ns();
	watch->end_ns = watch->news_bytes = watch->news_ns = 0;
	watch->taken_ns = watch->took_ns = 0;
	watch->has_said_damaged = false;
}

/* Notes that the session has ended.  The next call begins another one, if the process lives. */
static void note_end(struct gg_managed_watch *watch, const struct gg_profile_writer *writer)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	bool is_short = now_ns - watch->begin_ns < SHORT_SECONDS * (uint64_t)GG_NS_PER_S;

	watch->end_ns = now_ns;
	watch->end_at_ns = writer->now_ns;
	watch->search_ns = now_ns;
	if (!is_short)
		watch->short_count = 0;
	else if (watch->short_count > 0)
		watch->search_ns += (uint64_t)GG_NS_PER_S << watch->short_count;
	if (is_short && watch->short_count < SHORT_COUNT_MOST)
		watch->short_count++;
}

/* --- the profile ------------------------------------------------------------------------------ */

struct watch_part {
	struct gg_profile_writer *writer;
	uint32_t process;
	struct gg_map threads; /* tid -> id */
};

static int take_thread(const struct gg_profile_thread *thread, void *context)
{
	struct watch_part *part = context;

	return thread->process == part->process
	               ? gg_map_put(&part->threads, thread->tid, thread->id)
	               : 0;
}

static int give_process(void *context, uint64_t pid, uint32_t *ret_process)
{
	const struct watch_part *part = context;

	(void)pid; /* of its own pid namespace; a stream is of one process */
	*ret_process = part->process;
	return 0;
}

/* A thread that the region does not have, because it never allocated by malloc, stays unknown. */
static int give_thread(void *context, uint32_t process, uint64_t tid, uint32_t *ret_thread)
{
	const struct watch_part *part = context;
	uint64_t id = gg_map_get(&part->threads, tid);

	(void)process;
	*ret_thread = id != GG_MAP_NONE ? (uint32_t)id : 0;
	return 0;
}

static int add_sample(void *context, struct gg_profile_sample *sample)
{
	const struct watch_part *part = context;

	sample->id = gg_profile_writer_sample(part->writer, sample);
	return part->writer->status;
}

static int end_sample(void *context, uint64_t id, const struct gg_profile_sample_end *end)
{
	const struct watch_part *part = context;

	return gg_profile_writer_end(part->writer, id, end);
}

/* Names frames of native stacks that are compiled methods. */
static int name_native_frames(const struct watch_part *part, struct gg_dotnet_trace *trace,
                              const struct gg_dotnet_sink *sink)
{
	struct gg_jit_names *jit = &part->writer->jit;
	int status = 0;

	for (size_t i = 0; i < jit->frames.count && status == 0; i++) {
		struct gg_jit_names_frame *noted = &jit->frames.items[i];

		if (noted->process == part->process && !noted->is_shared && !noted->is_named)
			status = gg_dotnet_trace_name(trace, sink, noted->frame, noted->address,
			                              &noted->is_named);
	}
	return status;
}

static int write_part(struct gg_managed_watch *watch, struct watch_part *part,
                      struct gg_dotnet_trace *trace)
{
	const struct gg_dotnet_facts *facts = gg_dotnet_trace_facts(trace);
	struct gg_profile_writer *writer = part->writer;
	const struct gg_dotnet_sink sink = {
		.profile = writer->profile,
		.error = writer->error,
		.shift_ns = (int64_t)(facts->head.start_ticks - writer->start_ns),
		.last_ns = writer->now_ns,
		.process = give_process,
		.thread = give_thread,
		.add = add_sample,
		.end = end_sample,
		.context = part,
	};
	int status = gg_profile_each_thread(writer->profile, take_thread, part, writer->error);

	if (status == -ENOMEM)
		gg_error_memory(writer->error, ".NET's events");
	if (status == 0)
		status = gg_dotnet_trace_write_part(trace, &sink, &watch->writtens);
	if (status == 0)
		status = name_native_frames(part, trace, &sink);
	if (status == 0 && facts->head.lost_count > 0 && !watch->has_said_lost) {
		watch->has_said_lost = true;
		gg_profile_writer_note(writer,
		                       "The .NET runtime of process %d dropped events, so geiger "
		                       "does not know which managed objects are live.",
		                       (int)watch->pid);
	}
	gg_map_done(&part->threads);
	return status;
}

/* The bytes that the thread has read so far. */
struct read_so_far {
	const uint8_t *events, *methods;
	size_t event_bytes, method_bytes;
	uint64_t read_ns;
	bool has_ended, is_refused;
};

/* Events count SETTLE_NS after their arrival, so the look after the last news comes twice. */
static bool has_news(struct gg_managed_watch *watch, const struct gg_event_stream *stream)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (stream->bytes != watch->news_bytes) {
		watch->news_bytes = stream->bytes;
		watch->news_ns = now_ns;
	}
	return watch->taken_ns < watch->news_ns + 2 * SETTLE_NS;
}

/* An ended stream has its last look at once: only one more comes. */
static bool has_stream_ended(struct gg_managed_watch *watch)
{
	const struct gg_followed_runtime *events;
	bool has_ended;

	pthread_mutex_lock(&watch->mutex);
	events = runtime_of(&watch->events);
	has_ended = events != NULL && events->stream.state == GG_EVENT_STREAM_ENDED;
	pthread_mutex_unlock(&watch->mutex);
	return has_ended;
}

/* Says why the stream has ended. */
static void say_why(struct gg_managed_watch *watch, const struct gg_event_stream *stream)
{
	if (stream->is_full)
		snprintf(watch->why_ended, sizeof(watch->why_ended),
		         "its events take %" PRIu64 " MiB, and geiger keeps no more",
		         watch->room_bytes >> 20);
	else if (stream->status < 0)
		snprintf(watch->why_ended, sizeof(watch->why_ended),
		         "its events cannot be written (errno %d)", -stream->status);
	else
		snprintf(watch->why_ended, sizeof(watch->why_ended), "the runtime ended it");
}

/* Returns false if there is nothing new, or the list of methods must come first. */
static bool look(struct gg_managed_watch *watch, struct read_so_far *ret)
{
	const struct gg_followed_runtime *events, *methods;
	bool waits, is_new = false;

	*ret = (struct read_so_far){ 0 };
	pthread_mutex_lock(&watch->mutex);
	events = runtime_of(&watch->events);
	methods = runtime_of(&watch->methods);
	waits = methods != NULL && methods->stream.state <= GG_EVENT_STREAM_RUNS &&
	        gg_clock_monotonic_ns() - watch->begin_ns < METHODS_NS;
	if (events != NULL && !waits && events->stream.state != GG_EVENT_STREAM_REFUSED &&
	    has_news(watch, &events->stream)) {
		is_new = gg_event_stream_peek(&events->stream, &ret->events, &ret->event_bytes) ==
		                 0 &&
		         ret->events != NULL;
		if (methods != NULL && is_new &&
		    gg_event_stream_peek(&methods->stream, &ret->methods, &ret->method_bytes) < 0)
			ret->methods = NULL;
	}
	/* No bytes follow those that were read. */
	ret->has_ended = events != NULL && !waits && events->stream.state == GG_EVENT_STREAM_ENDED;
	if (ret->has_ended)
		say_why(watch, &events->stream);
	/* After a refusal, the port asks an old runtime for ticks. */
	ret->is_refused = events == NULL ||
	                  (events->stream.state == GG_EVENT_STREAM_REFUSED &&
	                   (events->events == GG_DOTNET_TICKS || events->stream.reply_bytes == 0));
	ret->read_ns = watch->read_ns;
	pthread_mutex_unlock(&watch->mutex);
	return is_new;
}

static void forget(struct gg_managed_watch *watch, const struct read_so_far *read)
{
	pthread_mutex_lock(&watch->mutex);
	gg_event_stream_forget(&runtime_of(&watch->events)->stream, read->events,
	                       read->event_bytes);
	if (read->methods != NULL)
		gg_event_stream_forget(&runtime_of(&watch->methods)->stream, read->methods,
		                       read->method_bytes);
	pthread_mutex_unlock(&watch->mutex);
}

/* A stream whose clock is not this one has no times here. */
static bool is_of_this_clock(const struct gg_nettrace_head *head)
{
	return head->ticks_per_s == (uint64_t)GG_NS_PER_S;
}

static void write_news(struct gg_managed_watch *watch, struct gg_profile_writer *writer,
                       uint32_t process, const struct read_so_far *read)
{
	struct watch_part part = { .writer = writer, .process = process };
	struct gg_nettrace_fault fault;
	struct gg_nettrace_head head = { 0 };
	struct gg_dotnet_trace *trace;
	int status = gg_dotnet_trace_read_part(&trace, read->events, read->event_bytes,
	                                       read->read_ns - SETTLE_NS, &fault);

	if (status == -EBADMSG) {
		if (read->event_bytes >= WHOLE_BEGIN_BYTES && !watch->has_said_damaged)
			gg_profile_writer_note(writer,
			                       "The events of .NET's process %d are damaged (%s), "
			                       "so its managed memory is missing.",
			                       (int)watch->pid, fault.message);
		watch->has_said_damaged = read->event_bytes >= WHOLE_BEGIN_BYTES;
		return;
	}
	if (status == 0) {
		head = gg_dotnet_trace_facts(trace)->head;
		if (read->methods != NULL)
			status = gg_dotnet_trace_add_methods(trace, read->methods,
			                                     read->method_bytes, &fault);
		if (status == -EBADMSG) /* methods stay without names */
			status = 0;
		if (status == 0 && is_of_this_clock(&head))
			status = write_part(watch, &part, trace);
		gg_dotnet_trace_free(trace);
	}
	if (status == -ENOMEM)
		gg_error_memory(writer->error, ".NET's events");
	gg_profile_writer_keep(writer, status);
}

void gg_managed_watch_take(struct gg_managed_watch *watch, struct gg_profile_writer *writer,
                           uint32_t process)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct read_so_far read;

	if (writer->status < 0 || watch->has_failed)
		return;
	if (watch->begin_ns == 0)
		begin(watch, writer);
	else if (watch->end_ns != 0)
		begin_again(watch, writer);
	if (watch->end_ns != 0)
		return;
	if (!watch->has_thread ||
	    (now_ns - watch->taken_ns < REST_FACTOR * watch->took_ns && !has_stream_ended(watch)))
		return;
	if (!look(watch, &read)) {
		if (read.is_refused)
			give_up(watch, writer);
		else if (read.has_ended)
			note_end(watch, writer);
		return;
	}
	watch->taken_ns = now_ns;
	write_news(watch, writer, process, &read);
	forget(watch, &read);
	if (read.has_ended)
		note_end(watch, writer);
	watch->took_ns = gg_clock_monotonic_ns() - now_ns;
}

bool gg_managed_watch_follows(const struct gg_managed_watch *watch)
{
	return watch->begin_ns != 0 && !watch->has_failed;
}

const char *gg_managed_watch_why_ended(const struct gg_managed_watch *watch)
{
	return watch->end_ns != 0 ? watch->why_ended : NULL;
}

bool gg_managed_watch_was_short(const struct gg_managed_watch *watch)
{
	return watch->end_ns - watch->begin_ns < SHORT_SECONDS * (uint64_t)GG_NS_PER_S;
}

void gg_managed_watch_tally(const struct gg_managed_watch *watch, struct gg_tally *live,
                            double *allocated_bytes)
{
	for (size_t i = 0; i < watch->writtens.items.count; i++) {
		const struct gg_dotnet_written *written = &watch->writtens.items.items[i];

		if (written->id != 0 && written->is_live && gg_draw_is_valid(&written->draw))
			gg_tally_add(live, &written->draw, written->size_bytes);
	}
	*allocated_bytes += watch->earlier_bytes + bytes_of(watch);
}
