/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_unwind - walks the stack of a stopped thread of another process.
 *
 *   struct gg_remote_unwinder unwinder;
 *   struct gg_remote_trace trace;
 *
 *   status = gg_remote_unwinder_init(&unwinder, &memory, &modules, error);
 *   gg_remote_unwinder_walk(&unwinder, &registers, &trace);
 *   if (trace.is_complete && !trace.has_signal_frame)
 *           ...
 *
 * The init function copies the call frame information of all modules, so that a walk reads the
 * stack alone: a thread stands still while it is walked.
 *
 * Hostile  The stack may hold anything.  A walk is bounded by GG_REMOTE_FRAMES_MAX frames, and one
 *          that cannot continue is not complete.
 * Threads  One walk at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/remote_memory.h"
#include "attach/remote_modules.h"
#include "base/error.h"
#include "unwind/cfi/cfi.h"

enum { GG_REMOTE_FRAMES_MAX = 1024, GG_REMOTE_WINDOW_BYTES = 16 << 10 };

/* The call frame information of a module, at its position in the list of modules. */
struct gg_remote_cfi {
	void *copy; /* mapped; NULL: the module has no such information */
	size_t bytes;
	struct gg_cfi_module module;
};

struct gg_remote_unwinder {
	const struct gg_remote_memory *memory;
	const struct gg_remote_modules *modules;
	struct gg_remote_cfi *cfi; /* one for each module */
	uint8_t window[GG_REMOTE_WINDOW_BYTES];
};

struct gg_remote_trace {
	/* Innermost first: where the thread is, then return addresses. */
	uint64_t pcs[GG_REMOTE_FRAMES_MAX];
	uint32_t count;
	bool is_complete;      /* the walk reached the start of the thread */
	bool has_signal_frame; /* a signal handler runs on the stack */
};

GG_MUST_CHECK int gg_remote_unwinder_init(struct gg_remote_unwinder *unwinder,
                                          const struct gg_remote_memory *memory,
                                          const struct gg_remote_modules *modules,
                                          struct gg_error *error);

/* Walks from these registers.  The thread must not run meanwhile. */
void gg_remote_unwinder_walk(struct gg_remote_unwinder *unwinder,
                             const struct gg_cfi_registers *registers,
                             struct gg_remote_trace *ret_trace);
