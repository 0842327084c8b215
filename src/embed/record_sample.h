/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sample - passes a sample of one of the program's heaps to the region and to listeners.
 *
 * It captures the stack, and puts the frames of the language runtime between the native ones.
 *
 * Threads  any, on the thread that allocated.  A call that interrupts another one of its thread is
 *          refused and counted.  Keeps errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/public.h"
#include "stats/sampling/scheme.h"

struct gg_embed_sample {
	const void *object;
	size_t bytes;
	const char *type; /* NULL: not known */
	struct gg_draw draw;
	uint32_t flags;                    /* GEIGER_SAMPLE_... */
	const struct geiger_frame *frames; /* NULL: the heap's provider is called */
	size_t frame_count;
	/*
	 * For an adapter that knows the addresses of its frames (gg_agent_functions.frame): the
	 * whole stack, innermost first, instead of the frames above.  The sample is dropped if
	 * the recording has another generation by now.  NULL: there are frames.
	 */
	const uint64_t *pcs;
	uint32_t pc_count;
	uint32_t pc_generation;
	uint16_t type_number; /* of gg_embed_type_number(); 0: by `type` */
	/* For an overhead that the interval follows (runtime/overhead_budget.h). */
	uint64_t begin_ns; /* when the work for it began, CLOCK_MONOTONIC; 0: with the call */
	bool has_hooks;    /* each allocation of the heap passes through one; false: none does */
};

/*
 * `caller` is the return address of the public function; the stack begins there.  False: neither
 * the region nor a listener got the sample, and a counter records that.
 */
bool gg_embed_record_sample(uint32_t heap, const struct gg_embed_sample *sample,
                            const void *caller);
