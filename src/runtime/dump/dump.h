/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump - writes this process's profile as text, from within: jemalloc's heap_v2, or gperftools'
 * format.
 *
 *   status = gg_agent_dump("/var/tmp/now.heap", GG_AGENT_DUMP_HEAP_V2);
 *
 * The numbers are estimates of the live memory, and of all allocations since the start or the last
 * reset, chosen so that jeprof and google-pprof print them (src/dump/heap_text.h).  The head of
 * heap_v2 has the interval that new samples are drawn with.  The dump lists stacks by thread, with
 * the threads' names, and then /proc/self/maps.  Frames of language runtimes are addresses without
 * code (gg_frame_pc()); an empty stack is one frame at address 1.
 *
 * Caller   is on the sample path (gg_thread_enter, gg_process_ensure_current), so handlers on this
 *          thread keep away.  It may be a signal handler.
 * Others   continue to record.  There is no lock, and only a reset waits for a dump.  Samples that
 *          they record meanwhile may be in the dump or not.
 * Never    allocates except by mmap, uses stdio, or is a cancellation point.  The caller keeps
 *          errno.
 * Memory   64 bytes for each pair of stack and thread, and 100 KiB, mapped while the dump is
 *          written.
 * Full     More than GG_DUMPS_AT_ONCE dumps at a time fail with -EBUSY.
 * Fork     A child has no dump in progress and no reset behind it: inherited samples count.
 */
#pragma once

#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "dump/heap_text.h"

enum { GG_DUMPS_AT_ONCE = 16 };

/* Replaces the file atomically: the path has the whole dump, or the old file.  0 or -Exxx. */
GG_COLD int gg_agent_dump(const char *path, enum gg_agent_dump_form form);

/* Passes the text to flush() instead, which may allocate; its allocations are not sampled. */
GG_COLD int gg_agent_dump_to(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context);

/*
 * Later dumps leave out all samples taken before this call.  The region does not change.
 * 0, -ENOMEM, or -EBUSY if dumps were in progress for ten seconds.
 */
GG_COLD int gg_agent_dump_reset(void);

/* The live memory now, with the numbers that a dump would have. */
struct gg_agent_leak {
	struct gg_dump_amount live;
	uint64_t stack_count; /* stacks with live samples */
};
GG_COLD int gg_agent_dump_live(struct gg_agent_leak *ret_leak);
