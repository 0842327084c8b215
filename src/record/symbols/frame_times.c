/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_times - widens the spans of stacks by samples, and then those of callers and frames.
 *
 * The parent of a stack has a smaller id, so one walk from the largest id down reaches all callers.
 */
#include "record/symbols/frame_times.h"

#include <stdlib.h>

static const struct gg_frame_span nothing = { INT64_MAX, INT64_MIN };

struct timed_stack {
	struct gg_frame_span span;
	uint32_t parent, frame;
};

struct times_reader {
	struct gg_frame_times *times;
	GG_ARRAY(struct timed_stack) stacks; /* by id */
	struct gg_error *error;
};

static void widen(struct gg_frame_span *span, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < span->from_ns)
		span->from_ns = from_ns;
	if (to_ns > span->to_ns)
		span->to_ns = to_ns;
}

static int take_stack(const struct gg_profile_stack *stack, void *context)
{
	struct times_reader *reader = context;
	size_t count = reader->stacks.count;

	if (!gg_array_extend(&reader->stacks, (size_t)stack->id + 1))
		return gg_error_memory(reader->error, "resolving symbols");
	for (; count < reader->stacks.count; count++)
		reader->stacks.items[count].span = nothing;
	reader->stacks.items[stack->id].parent = stack->parent;
	reader->stacks.items[stack->id].frame = stack->frame;
	return 0;
}

static void widen_stack(struct times_reader *reader, uint32_t stack, int64_t from_ns, int64_t to_ns)
{
	if (stack < reader->stacks.count)
		widen(&reader->stacks.items[stack].span, from_ns, to_ns);
}

static int take_sample(const struct gg_profile_sample *sample, void *context)
{
	widen_stack(context, sample->stack, sample->origin != 0 ? 0 : sample->alloc_ns,
	            sample->alloc_ns);
	if (sample->free_stack != 0)
		widen_stack(context, sample->free_stack, sample->alloc_ns, sample->free_ns);
	return 0;
}

static int take_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	widen_stack(context, aggregate->stack, aggregate->is_shared ? 0 : aggregate->from_ns,
	            aggregate->to_ns);
	return 0;
}

/* Gives the spans of stacks to their callers and to their frames. */
static int spread(struct times_reader *reader)
{
	struct gg_frame_times *times = reader->times;

	for (size_t i = reader->stacks.count; i-- > 1;) {
		const struct timed_stack *stack = &reader->stacks.items[i];
		size_t count = times->frames.count;

		if (stack->span.from_ns > stack->span.to_ns)
			continue;
		if (stack->parent < i)
			widen_stack(reader, stack->parent, stack->span.from_ns, stack->span.to_ns);
		if (!gg_array_extend(&times->frames, (size_t)stack->frame + 1))
			return gg_error_memory(reader->error, "resolving symbols");
		for (; count < times->frames.count; count++)
			times->frames.items[count] = nothing;
		widen(&times->frames.items[stack->frame], stack->span.from_ns, stack->span.to_ns);
	}
	return 0;
}

int gg_frame_times_read(struct gg_frame_times *times, struct gg_profile *profile,
                        struct gg_error *error)
{
	struct times_reader reader = { .times = times, .error = error };
	int status = gg_profile_each_stack(profile, take_stack, &reader, error);

	if (status == 0)
		status = gg_profile_each_sample(profile, take_sample, &reader, error);
	if (status == 0)
		status = gg_profile_each_aggregate(profile, take_aggregate, &reader, error);
	if (status == 0)
		status = spread(&reader);
	gg_array_done(&reader.stacks);
	return status;
}

struct gg_frame_span gg_frame_times_span(const struct gg_frame_times *times, uint32_t frame)
{
	return frame < times->frames.count ? times->frames.items[frame] : nothing;
}

void gg_frame_times_done(struct gg_frame_times *times)
{
	gg_array_done(&times->frames);
}
