/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_times - when samples had each frame of a profile, for code whose name depends on the time.
 *
 *   struct gg_frame_times times = { 0 };
 *
 *   status = gg_frame_times_read(&times, profile, error);
 *   span = gg_frame_times_span(&times, frame);
 *   gg_frame_times_done(&times);
 *
 * A frame has the span from its first sample to its last one: allocations, and frees whose stack is
 * known.  An aggregate widens it by its own span.  A sample that the process inherited may have
 * been allocated at any time before.
 *
 * Cost     a pass over the samples, aggregates and stacks of the profile.
 * Memory   16 bytes for each stack and each frame.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "profile/profile.h"

/* In the session's time; from_ns > to_ns: no sample had it. */
struct gg_frame_span {
	int64_t from_ns, to_ns;
};

struct gg_frame_times {
	GG_ARRAY(struct gg_frame_span) frames; /* by id */
};

/* The errors of reading the profile, or -ENOMEM. */
GG_MUST_CHECK int gg_frame_times_read(struct gg_frame_times *times, struct gg_profile *profile,
                                      struct gg_error *error);
struct gg_frame_span gg_frame_times_span(const struct gg_frame_times *times, uint32_t frame);
void gg_frame_times_done(struct gg_frame_times *times);
