/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump - writes this process's profile as text, from within: heap_v2 of jemalloc, or gperftools'.
 *
 *   status = gg_agent_dump("/var/tmp/now.heap", GG_AGENT_DUMP_HEAP_V2);
 *
 * The numbers are our estimates of what is live and of what was allocated since the start or the last
 * reset, chosen so that jeprof and google-pprof show them (src/dump/heap_text.h); the head of heap_v2 has the
 * sampling interval that new samples are drawn with.  By threads, with their names, as heap_v2 has them;
 * then /proc/self/maps as it is.  Stacks are what the walk found: frames of runtimes are addresses that
 * are none (gg_frame_pc()), a stack of which nothing is known is one frame at address 1.
 *
 * Caller   on the sample path (gg_thread_enter, gg_process_is_ready), so that handlers on this thread
 *          keep away.  May be a signal handler.
 * Others   go on recording; no lock, nothing waits for a dump but a reset.  What they record meanwhile
 *          may or may not be in it.
 * Never    allocates but by mmap, uses stdio, or is a cancellation point.  errno is the caller's to keep.
 * Memory   64 bytes for each pair of stack and thread, and 100 KiB, mapped while it is written.
 * Full     more than GG_DUMPS_AT_ONCE at a time: -EBUSY.
 * Fork     a child has no dump under way, and no reset behind it: what it inherited counts.
 */
#pragma once

#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "dump/heap_text.h"

enum { GG_DUMPS_AT_ONCE = 16 };

/* Atomically: the path has the whole dump, or what it had.  0, or -Exxx. */
GG_COLD int gg_agent_dump(const char *path, enum gg_agent_dump_form form);

/* The same through flush(), which may allocate: unsampled. */
GG_COLD int gg_agent_dump_to(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context);

/*
 * From now on dumps are of samples taken from now on.  The region is as it was.
 * 0, -ENOMEM, or -EBUSY: dumps are being written, for ten seconds at least.
 */
GG_COLD int gg_agent_dump_reset(void);

/* What is live now, as dumps say it. */
struct gg_agent_leak {
	struct gg_dump_amount live;
	uint64_t stack_count; /* with anything live */
};
GG_COLD int gg_agent_dump_live(struct gg_agent_leak *ret_leak);
