/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_sample - a sample of one of the program's heaps goes where samples go: its stack is captured, the
 * runtime's frames are put between the native ones, the region and the listeners get it.
 *
 * Threads  any, on the thread that allocated; one that is inside already is refused and counted.
 *          Keeps errno.
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
	const struct geiger_frame *frames; /* NULL: the heap's provider is asked */
	size_t frame_count;
};

/*
 * `caller`: where the library's function that the program called returns to: the stack begins there.
 * False: it is nowhere, and counted.
 */
bool gg_embed_report(uint32_t heap, const struct gg_embed_sample *sample, const void *caller);
