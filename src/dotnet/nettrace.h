/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nettrace - reads the event streams that .NET's EventPipe and its relatives write ("nettrace").
 *
 *   struct gg_nettrace_head head;
 *   struct gg_nettrace_fault fault;
 *
 *   status = gg_nettrace_read(bytes, length, visit, context, &head, &fault);
 *
 * There are two containers.  Version 4, which the runtime itself writes, is a list of objects with
 * a name each, padded to multiples of four bytes.  Version 6 is a list of blocks with a size and a
 * kind.  Both hold the same things: descriptions of kinds of events (metadata), stacks, events, and
 * sequence points, which end the validity of the numbers of stacks.
 *
 * The visit gets each event in the order of the file.  Events of one thread are in the order of
 * time; those of several threads are not.  All pointers point into the bytes that were given.
 *
 * Cut files    A stream may end anywhere, because its writer was killed.  The reader reads the
 *              complete parts, and sets head->is_cut.
 * Hostile      Every count is bounded by the bytes that are left.  A contradiction is a fault with
 *              its offset, and -EBADMSG.
 * Threads      any; the function keeps nothing.
 * Memory       a few words for each kind of event, thread, and stack between two sequence points.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum gg_nettrace_provider {
	GG_NETTRACE_OTHER,
	GG_NETTRACE_RUNTIME,   /* Microsoft-Windows-DotNETRuntime */
	GG_NETTRACE_RUNDOWN,   /* Microsoft-Windows-DotNETRuntimeRundown */
	GG_NETTRACE_EVENTPIPE, /* Microsoft-DotNETCore-EventPipe */
};

struct gg_nettrace_event {
	enum gg_nettrace_provider provider;
	uint32_t id;           /* within its provider */
	uint64_t process, tid; /* process 0: the one of the head */
	int64_t time_ns;       /* since head.start_wall_ns */
	uint64_t offset;       /* of the payload in the stream, for errors */
	const uint8_t *stack;  /* return addresses, innermost first; not aligned */
	uint32_t stack_bytes;
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/* Facts of the whole stream.  All but the last two are known before the first event. */
struct gg_nettrace_head {
	uint32_t version;       /* 4 or 6 */
	uint32_t pointer_bytes; /* 4 or 8 */
	uint64_t process;       /* 0: unknown */
	uint64_t start_wall_ns; /* since 1970 */
	uint64_t start_ticks;   /* of the runtime's clock: CLOCK_MONOTONIC on Linux */
	uint64_t ticks_per_s;
	uint64_t lost_count; /* events that the writer dropped */
	bool is_cut;
};

struct gg_nettrace_fault {
	uint64_t offset;
	const char *message;
};

/* Returns 0 to go on; any other value ends the reading, which returns it. */
typedef int gg_nettrace_visit(const struct gg_nettrace_event *event,
                              const struct gg_nettrace_head *head, void *context);

/* True if the bytes begin as a stream of either version does. */
bool gg_nettrace_begins(const uint8_t *bytes, size_t length);

/* Returns 0, -EBADMSG with *ret_fault set, -ENOMEM, or the value of the visit. */
GG_MUST_CHECK int gg_nettrace_read(const uint8_t *bytes, size_t length, gg_nettrace_visit *visit,
                                   void *context, struct gg_nettrace_head *ret_head,
                                   struct gg_nettrace_fault *ret_fault);
