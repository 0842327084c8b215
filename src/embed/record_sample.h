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
};

/*
 * `caller` is the return address of the public function; the stack begins there.  False: neither
 * the region nor a listener got the sample, and a counter records that.
 */
bool gg_embed_record_sample(uint32_t heap, const struct gg_embed_sample *sample,
                            const void *caller);
