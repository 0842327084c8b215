/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_trace - the samples of .NET's runtime in an event stream, written into a profile.
 *
 *   struct gg_dotnet_trace *trace;
 *
 *   gg_dotnet_trace_read(&trace, bytes, length, false, &fault);    the bytes must outlive it
 *   gg_dotnet_trace_write(trace, &sink);
 *   gg_dotnet_trace_free(trace);
 *
 * A stream that goes on is read from its beginning each time, and what is new is written:
 *
 *   gg_dotnet_trace_read_part(&trace, bytes, length, settled_ticks, &fault);
 *   gg_dotnet_trace_write_part(trace, &sink, &writtens);
 *
 * From .NET 10 on the runtime draws a byte of each 102 400 at random, by itself: each event is a
 * sample of the scheme `bernoulli` with that interval, a type, and the offset of the byte that was
 * drawn.  Earlier runtimes report an object whenever 100 KiB were allocated since the last report
 * (a tick).  Nothing about ticks is random, so they have no error that could be stated: they become
 * samples of the scheme `biased`.  Ticks before .NET 6 lack the size of their object; they become
 * aggregates whose error is unknown, and the type is the innermost frame of their stack.
 *
 * Lives  If the stream has the events of collections (object_lives.h) and lost none, samples end
 *        with the collection that found them dead.  Otherwise nothing is known of their ends; they
 *        end as they begin, so that they count as allocated and never as live, and a note says so.
 * Notes  A stream that was cut, lost events, or has no list of methods leaves a note.
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "dotnet/nettrace.h"
#include "profile/profile.h"

struct gg_dotnet_trace;

/* Facts of a stream that was read.  Samples that are left out do not count any more. */
struct gg_dotnet_facts {
	struct gg_nettrace_head head;
	const char *command; /* "": unknown */
	uint64_t sample_count, tick_count;
	bool has_lives;
	int64_t end_ns; /* the time of the last event, since the start of the stream */
};

/* The mean of bytes between the sample points, which is a constant of the runtime. */
#define GG_DOTNET_INTERVAL_BYTES 102400

struct gg_dotnet_sink {
	struct gg_profile *profile;
	struct gg_error *error;
	int64_t shift_ns; /* added to the times of the stream */
	/* No sample begins or ends outside of these times. */
	int64_t first_ns, last_ns;
	/*
	 * The end of the recording, and the time until which the runtime may have gone on.  Samples
	 * that begin between them are left out, and objects that end between them are live.
	 */
	int64_t late_from_ns, late_to_ns;
	/* Give the ids of a process and of a thread in it, and return 0 or -Exxx. */
	int (*process)(void *context, uint64_t pid, uint32_t *ret_process);
	int (*thread)(void *context, uint32_t process, uint64_t tid, uint32_t *ret_thread);
	/* Is told of each sample that was written, unless it is NULL; returns 0 or -Exxx. */
	int (*written)(void *context, const struct gg_profile_sample *sample);
	/*
	 * Add and end a sample for a profile whose owner hands out the ids; NULL: the profile does.
	 * add() sets the id.
	 */
	int (*add)(void *context, struct gg_profile_sample *sample);
	int (*end)(void *context, uint64_t id, const struct gg_profile_sample_end *end);
	void *context;
};

/*
 * `has_collections`: the stream would have the events of collections if there were any, so without
 * any all objects live.  Returns 0, -EBADMSG with *ret_fault set, or -ENOMEM.
 */
GG_MUST_CHECK int gg_dotnet_trace_read(struct gg_dotnet_trace **ret_trace, const uint8_t *bytes,
                                       size_t length, bool has_collections,
                                       struct gg_nettrace_fault *ret_fault);
/*
 * Reads what has arrived of a stream that goes on, and that would have collections.  Those that end
 * after settled_ticks, by the clock of the stream, do not count yet (object_lives.h).
 */
GG_MUST_CHECK int gg_dotnet_trace_read_part(struct gg_dotnet_trace **ret_trace,
                                            const uint8_t *bytes, size_t length,
                                            uint64_t settled_ticks,
                                            struct gg_nettrace_fault *ret_fault);
/*
 * Adds the methods that another stream of the same process lists.  Its bytes must outlive the
 * trace.
 */
GG_MUST_CHECK int gg_dotnet_trace_add_methods(struct gg_dotnet_trace *trace, const uint8_t *bytes,
                                              size_t length, struct gg_nettrace_fault *ret_fault);
void gg_dotnet_trace_free(struct gg_dotnet_trace *trace); /* NULL is fine */
const struct gg_dotnet_facts *gg_dotnet_trace_facts(const struct gg_dotnet_trace *trace);

/* Writes samples, frames, types and notes. */
GG_MUST_CHECK int gg_dotnet_trace_write(struct gg_dotnet_trace *trace,
                                        const struct gg_dotnet_sink *sink);

/* An allocation of a stream that goes on, and that is in the profile. */
struct gg_dotnet_written {
	uint64_t id; /* of the sample; 0: it is part of a sum */
	uint64_t size_bytes;
	struct gg_draw draw;
	bool is_live;
};

struct gg_dotnet_writtens {
	GG_ARRAY(struct gg_dotnet_written) items; /* in the order of the stream */
};

/*
 * Writes what is new since the last part of the same stream: samples, and the ends of those that
 * are in the profile.  It writes no notes.
 */
GG_MUST_CHECK int gg_dotnet_trace_write_part(struct gg_dotnet_trace *trace,
                                             const struct gg_dotnet_sink *sink,
                                             struct gg_dotnet_writtens *writtens);

/*
 * Names a frame of a native stack if its address is in a method of the stream's own process.  Call
 * it after gg_dotnet_trace_write().
 */
GG_MUST_CHECK int gg_dotnet_trace_name(struct gg_dotnet_trace *trace,
                                       const struct gg_dotnet_sink *sink, uint32_t frame,
                                       uint64_t address, bool *ret_is_named);
