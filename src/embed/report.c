/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/report.h"

#include <errno.h>
#include <string.h>

#include "embed/counts.h"
#include "embed/draw.h"
#include "embed/heap.h"
#include "embed/name.h"
#include "embed/settings.h"
#include "embed/thread.h"

enum {
	OUR_FRAMES_MAX = 16 /* between the capture and the program */
};

/* The stack from `caller` on: *ret_pcs, innermost first. */
static uint32_t capture(struct gg_embed_thread *t, const void *caller, const uint64_t **ret_pcs)
{
	struct gg_unwind_stack stack;
	uint32_t ours = 0;

	gg_unwind_capture(&t->unwind, t->native_pcs, GG_COUNT(t->native_pcs), 0, &stack);
	while (ours < stack.count && ours < OUR_FRAMES_MAX &&
	       stack.frames[ours] != (uint64_t)(uintptr_t)caller)
		ours++;
	/* Where it is not found (another stack), all of it is better than nothing. */
	if (ours == stack.count || ours == OUR_FRAMES_MAX)
		ours = 0;
	*ret_pcs = stack.frames + ours;
	return stack.count - ours;
}

static bool is_good(const struct gg_embed_sample *sample)
{
	uint64_t object = (uint64_t)(uintptr_t)sample->object;

	return object != 0 && object >> GG_AGENT_KEY_BITS == 0 && sample->bytes <= PTRDIFF_MAX &&
	       gg_draw_is_valid(&sample->draw) &&
	       (sample->draw.offset_bytes < sample->bytes || sample->draw.offset_bytes == 0);
}

static bool report(struct gg_embed_thread *t, uint32_t heap, struct gg_embed_heap *of,
                   const struct gg_embed_sample *sample, const void *caller)
{
	const struct gg_agent_interface *agent = gg_embed_agent();
	struct gg_agent_sample record = { .size_bytes = sample->bytes, .draw = sample->draw };
	uint64_t id = 0;

	(void)heap;
	if (agent == NULL || !gg_embed_is_recording())
		return false;
	record.heap = (uint16_t)gg_embed_heap_number(of);
	record.type = gg_embed_type_number(sample->type);
	record.key = gg_agent_key(record.heap, (uint64_t)(uintptr_t)sample->object);
	record.pc_count = capture(t, caller, &record.pcs);
	if (record.heap != 0)
		id = agent->record(&record);
	gg_embed_count(id != 0 ? GG_EMBED_SAMPLES : GG_EMBED_DROPPED);
	return id != 0;
}

bool gg_embed_report(uint32_t heap, const struct gg_embed_sample *sample, const void *caller)
{
	struct gg_embed_heap *of = gg_embed_heap_of(heap);
	struct gg_embed_thread *t = gg_embed_thread();
	int saved_errno = errno;
	bool done;

	if (of == NULL)
		return false;
	if (!is_good(sample)) {
		gg_embed_count(GG_EMBED_BAD_SAMPLES);
		return false;
	}
	if (t == NULL || !gg_embed_enter(t))
		return false;
	done = report(t, heap, of, sample, caller);
	gg_embed_leave(t);
	errno = saved_errno;
	return done;
}

bool geiger_record(uint32_t heap, const struct geiger_sample *sample)
{
	struct gg_embed_sample internal;

	if (sample == NULL || gg_embed_scheme(sample->scheme) < 0) {
		gg_embed_count(GG_EMBED_BAD_SAMPLES);
		return false;
	}
	internal = (struct gg_embed_sample){
		.object = sample->object,
		.bytes = sample->bytes,
		.type = sample->type,
		.draw = { .interval = (double)sample->interval_bytes,
		          .offset_bytes = sample->offset,
		          .mark_count = sample->marks,
		          .scheme = (enum gg_scheme)gg_embed_scheme(sample->scheme) },
		.flags = sample->flags,
		.frames = sample->frames,
		.frame_count = sample->frame_count,
	};
	return gg_embed_report(heap, &internal, __builtin_return_address(0));
}
