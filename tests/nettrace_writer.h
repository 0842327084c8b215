/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nettrace_writer - writes event streams of .NET, of both versions, for tests.
 *
 *   struct nettrace_writer writer = { .version = 4, .is_compressed = true };
 *
 *   nettrace_begin(&writer, 4711);
 *   nettrace_stack(&writer, 1, addresses, 2);
 *   nettrace_sample(&writer, tid, time_ns, 1, "System.String", address, size, offset);
 *   nettrace_method(&writer, tid, time_ns, true, start, size, "Shop.Cart", "Add", "void  (int32)");
 *   nettrace_flush(&writer);                       ends the block of events
 *   nettrace_end(&writer);                         the bytes are in writer.file
 *   nettrace_done(&writer);
 *
 * Times are ns since the start of the stream; texts are ASCII.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { NETTRACE_THREADS_MAX = 16 };

struct nettrace_writer {
	int version;          /* 4 or 6 */
	bool is_compressed;   /* headers of events */
	uint64_t start_ticks; /* of the stream, by CLOCK_MONOTONIC in ns; 0: the same each time */
	struct gg_buf file, events;
	/* The next compressed header carries on from these values. */
	struct {
		uint32_t metadata, sequence, stack, payload;
		uint64_t thread, capture, ticks;
	} last;
	uint64_t threads
		[NETTRACE_THREADS_MAX]; /* tids; a thread's index in version 6 is its place */
	uint32_t sequences[NETTRACE_THREADS_MAX];
	size_t thread_count;
	uint64_t pid;
};

void nettrace_begin(struct nettrace_writer *writer, uint32_t pid);
void nettrace_end(struct nettrace_writer *writer);
void nettrace_done(struct nettrace_writer *writer);
void nettrace_flush(struct nettrace_writer *writer);
/* Also flushes; numbers of stacks begin anew. */
void nettrace_sequence_point(struct nettrace_writer *writer);
void nettrace_stack(struct nettrace_writer *writer, uint32_t id, const uint64_t *addresses,
                    uint32_t count);
/* So many events of the thread are missing in the stream. */
void nettrace_drop(struct nettrace_writer *writer, uint64_t tid, uint32_t count);

enum nettrace_metadata {
	NETTRACE_SAMPLED = 1,
	NETTRACE_TICK,
	NETTRACE_METHOD_LOADED,
	NETTRACE_METHOD_UNLOADED,
	NETTRACE_METHOD_RUNDOWN,
	NETTRACE_MODULE_RUNDOWN,
	NETTRACE_GC_START,
	NETTRACE_GC_END,
	NETTRACE_GC_SURVIVED,
	NETTRACE_GC_MOVED,
	NETTRACE_GC_RANGE,
	NETTRACE_GC_HISTORY,
	NETTRACE_PROCESS_INFO,
	NETTRACE_METADATA_COUNT,
};

void nettrace_event(struct nettrace_writer *writer, enum nettrace_metadata metadata, uint64_t tid,
                    int64_t time_ns, uint32_t stack, const struct gg_buf *payload);

/* Little-endian numbers and UTF-16 texts of payloads. */
void nettrace_put(struct gg_buf *out, uint64_t value, unsigned bytes);
void nettrace_put_text(struct gg_buf *out, const char *text);

void nettrace_sample(struct nettrace_writer *writer, uint64_t tid, int64_t time_ns, uint32_t stack,
                     const char *type, uint64_t address, uint64_t size, uint64_t offset);
/* size 0: of a runtime that does not tell the size of the object. */
void nettrace_tick(struct nettrace_writer *writer, uint64_t tid, int64_t time_ns, uint32_t stack,
                   const char *type, uint64_t amount, uint64_t size);
void nettrace_method(struct nettrace_writer *writer, enum nettrace_metadata kind, int64_t time_ns,
                     uint64_t start, uint32_t size, const char *type, const char *method,
                     const char *signature);
void nettrace_module(struct nettrace_writer *writer, int64_t time_ns, const char *path);
