/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sample - captures a stack, and passes the sample to the region, listeners and tracers.
 *
 *   1. gg_embed_record_sample()  checks the sample, and enters the library
 *   2. find_stack()       captures native frames, gets the runtime's, and places them
 *   3. record()           lists the addresses of the merged stack, and records the sample
 *   4. call_listeners(), trace()    pass the sample to listeners and tracers, if there are any
 */
#include "embed/record_sample.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "embed/counts.h"
#include "embed/embed_thread.h"
#include "embed/heap.h"
#include "embed/listeners.h"
#include "embed/live_objects.h"
#include "embed/name_ids.h"
#include "embed/public_draw.h"
#include "embed/sampling_settings.h"
#include "embed/stack_merge.h"
#include "embed/usdt_probe.h"
#include "stats/sampling/weight.h"

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* the golden ratio */

/* A sample, with everything that is known of it so far. */
struct sample_report {
	struct gg_embed_thread *t;
	struct gg_embed_heap *heap;
	uint32_t heap_id; /* of the program */
	const struct gg_embed_sample *sample;
	const void *caller;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	struct gg_native_stack stack;
	const struct geiger_frame *frames; /* of the runtime */
	uint32_t frame_count;
};

/*
 * Gets the runtime's frames from the heap's provider, which may return more than there is room for.
 */
static void call_provider(struct sample_report *p)
{
	/* Acquire: pairs with the release of geiger_heap_set_frame_provider(). */
	geiger_frame_provider *provide = gg_load_acquire(&p->heap->provide);
	size_t count;

	if (provide == NULL)
		return;
	memset(p->t->frames, 0, sizeof(p->t->frames[0]));
	count = provide(p->heap->provide_user, p->t->frames, GG_EMBED_FRAMES_MAX);
	p->frames = p->t->frames;
	p->frame_count = count < GG_EMBED_FRAMES_MAX ? (uint32_t)count : GG_EMBED_FRAMES_MAX;
}

/* Frames that the sample brings itself replace those of the provider. */
static void find_stack(struct sample_report *p)
{
	const struct gg_embed_sample *sample = p->sample;

	if (sample->pcs != NULL)
		return;
	if ((sample->flags & GEIGER_SAMPLE_NO_NATIVE) == 0)
		gg_embed_stack_capture(p->t, p->caller, &p->stack);
	if (sample->frames != NULL) {
		p->frames = sample->frames;
		p->frame_count = sample->frame_count < GG_EMBED_FRAMES_MAX
		                         ? (uint32_t)sample->frame_count
		                         : GG_EMBED_FRAMES_MAX;
	} else {
		call_provider(p);
	}
	gg_embed_stack_place(p->t, &p->stack, p->frames, p->frame_count);
}

/*
 * Looks the frame up by its texts, and caches the result.  The entry has a copy of the texts: the
 * runtime may have reused the memory of an earlier frame for others, at the same addresses.
 */
static uint64_t look_up_frame(struct gg_embed_cached_frame *cached,
                              const struct geiger_frame *frame, uint64_t sample)
{
	struct gg_frame_info info = {
		.function = frame->function != NULL ? frame->function : "",
		.file = frame->file != NULL ? frame->file : "",
		.line = frame->line,
	};
	uint64_t pc;

	if (cached->pc != 0 && cached->function == frame->function && cached->file == frame->file &&
	    cached->line == frame->line && strcmp(cached->text, info.function) == 0 &&
	    strcmp(cached->text + cached->file_at, info.file) == 0) {
		cached->sample = sample;
		return cached->pc;
	}
	info.function_bytes = strlen(info.function);
	info.file_bytes = strlen(info.file);
	pc = gg_embed_agent()->frame(&info);
	cached->pc = 0;
	if (info.function_bytes >= sizeof(cached->text) ||
	    info.file_bytes >= sizeof(cached->text) - info.function_bytes - 1)
		return pc;
	cached->function = frame->function;
	cached->file = frame->file;
	cached->line = frame->line;
	cached->file_at = (uint32_t)info.function_bytes + 1;
	cached->sample = sample;
	cached->pc = pc;
	memcpy(cached->text, info.function, info.function_bytes + 1);
	memcpy(cached->text + cached->file_at, info.file, info.file_bytes + 1);
	return pc;
}

/* The address that stands for the frame in the region; 0: the table is full. */
static uint64_t find_frame(struct gg_embed_thread *t, const struct geiger_frame *frame)
{
	uint64_t key = (uint64_t)(uintptr_t)frame->function + frame->line * HASH_FACTOR;
	struct gg_embed_cached_frame *cached =
		&t->frame_cache[key * HASH_FACTOR >> (64 - GG_EMBED_FRAME_CACHE_BITS)];

	/* Within one sample, equal addresses mean equal texts, so recursion costs no comparison. */
	if (gg_likely(cached->sample == t->sample_count && cached->pc != 0 &&
	              cached->function == frame->function && cached->file == frame->file &&
	              cached->line == frame->line))
		return cached->pc;
	return look_up_frame(cached, frame, t->sample_count);
}

static void forget_frames(struct gg_embed_thread *t, uint32_t generation)
{
	for (size_t i = 0; i < GG_COUNT(t->frame_cache); i++)
		t->frame_cache[i].pc = 0;
	t->frame_generation = generation;
}

/*
 * Lists the addresses of the merged stack; returns their number.  Frames without an address are
 * left out.
 */
static uint32_t list_pcs(struct sample_report *p)
{
	struct gg_embed_thread *t = p->t;
	uint32_t native = 0, generation = gg_load_relaxed(&gg_embed_settings.generation);
	uint64_t *to = t->pcs;

	if (gg_unlikely(t->frame_generation != generation))
		forget_frames(t, generation);
	gg_assert(p->frame_count <= GG_EMBED_FRAMES_MAX && p->stack.count <= GG_UNWIND_KEEP);
	t->sample_count++;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		uint64_t pc = find_frame(t, &p->frames[i]);

		while (native < t->targets[i])
			*to++ = p->stack.pcs[native++];
		if (gg_likely(pc != 0))
			*to++ = pc;
		else
			gg_embed_count(GG_EMBED_NAMES_DROPPED);
	}
	while (native < p->stack.count)
		*to++ = p->stack.pcs[native++];
	gg_assert(native == p->stack.count && to - t->pcs <= GG_EMBED_STACK_FRAMES_MAX);
	return (uint32_t)(to - t->pcs);
}

/* False: the heap or the region has no room for the sample. */
static bool record(struct sample_report *p)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	const struct gg_embed_sample *sample = p->sample;
	struct gg_agent_sample record = {
		.size_bytes = sample->bytes,
		.draw = sample->draw,
		.pcs = p->t->pcs,
		.heap = (uint16_t)gg_embed_heap_number(p->heap),
		.flags = (sample->flags & GEIGER_SAMPLE_OLD) != 0 ? GG_REGION_SAMPLE_OLD : 0,
	};
	uint64_t id;

	if (record.heap == 0)
		return false;
	record.type = sample->type_number != 0 ? sample->type_number
	                                       : gg_embed_type_number(sample->type);
	record.key = gg_agent_key(record.heap, (uint64_t)(uintptr_t)sample->object);
	if (sample->pcs != NULL) {
		if (sample->pc_generation != gg_load_relaxed(&gg_embed_settings.generation))
			return false;
		record.pcs = sample->pcs;
		record.pc_count = sample->pc_count;
	} else {
		record.pc_count = list_pcs(p);
	}
	id = agent->record_timed(&record, p->begin_ns, sample->has_hooks);
	if (id != 0)
		gg_embed_live_objects_add(&p->heap->live_objects,
		                          gg_load_relaxed(&gg_embed_settings.generation),
		                          record.key, id, record.flags != 0);
	return id != 0;
}

/* Passes the sample to the listeners, with the frames' texts instead of their numbers. */
static void call_listeners(struct sample_report *p)
{
	const struct gg_embed_sample *sample = p->sample;
	struct gg_weight weight = gg_weight_of(&sample->draw, sample->bytes);
	uint32_t count = gg_embed_stack_merge(p->t, &p->stack, p->frame_count);
	struct geiger_event event = {
		.heap = p->heap_id,
		.heap_name = p->heap->name,
		.type = sample->type != NULL ? sample->type : "",
		.object = sample->object,
		.bytes = sample->bytes,
		.offset = (size_t)sample->draw.offset_bytes,
		.interval_bytes = (uint64_t)sample->draw.sampling_interval,
		.sample_points = sample->draw.sample_point_count,
		.scheme = gg_embed_public_scheme(sample->draw.scheme),
		.weight_bytes = weight.bytes,
		.weight_count = weight.count,
		.frames = p->t->event_frames,
		.frame_count = count,
	};

	for (uint32_t i = 0; i < count; i++) {
		const struct gg_embed_merged_frame *merged = &p->t->merged_frames[i];
		struct geiger_event_frame *to = &p->t->event_frames[i];

		if (merged->is_native)
			*to = (struct geiger_event_frame){ .pc = p->stack.pcs[merged->index] };
		else
			*to = (struct geiger_event_frame){
				.function = p->frames[merged->index].function,
				.file = p->frames[merged->index].file,
				.line = p->frames[merged->index].line
			};
	}
	gg_embed_listeners_call(&event);
}

/* Passes the native frames to tracers. */
static void trace(struct sample_report *p)
{
	uint32_t count = p->stack.count < GG_EMBED_STACK_FRAMES_MAX - 1
	                         ? p->stack.count
	                         : GG_EMBED_STACK_FRAMES_MAX - 1;

	if (count > 0)
		memcpy(p->t->pcs, p->stack.pcs, count * sizeof(*p->t->pcs));
	p->t->pcs[count] = 0;
	gg_embed_probe(p->heap->name, p->sample->type != NULL ? p->sample->type : "",
	               p->sample->bytes, (size_t)p->sample->draw.offset_bytes,
	               (uint64_t)p->sample->draw.sampling_interval, p->t->pcs);
}

/* Prefetches the parts of the region that record() needs, while the stack is captured. */
static void prefetch(const struct sample_report *p)
{
	uint32_t number = gg_load_relaxed(&p->heap->number);

	if (number != 0 && gg_embed_is_recording())
		gg_embed_agent()->prefetch_record(
			gg_agent_key(number, (uint64_t)(uintptr_t)p->sample->object));
}

/* True if the sample was recorded.  Without a recording, listeners and tracers still receive it. */
static bool pass(struct sample_report *p)
{
	bool is_recorded, has_listeners = gg_load_relaxed(&gg_embed_settings.listener_count) != 0;

	if (gg_embed_agent() == NULL)
		return false;
	prefetch(p);
	find_stack(p);
	is_recorded = gg_embed_is_recording() && record(p);
	if (gg_embed_is_recording() && !is_recorded)
		gg_embed_count(GG_EMBED_DROPPED);
	if (has_listeners)
		call_listeners(p);
	if (gg_embed_probe_is_on())
		trace(p);
	if (is_recorded || has_listeners)
		gg_embed_count(GG_EMBED_SAMPLES);
	return is_recorded;
}

/* The sample may come from the embedder's own sampler, so any member may be wrong. */
static bool is_good(const struct gg_embed_sample *sample)
{
	uint64_t object = (uint64_t)(uintptr_t)sample->object;

	return object != 0 && object >> GG_AGENT_KEY_BITS == 0 &&
	       sample->bytes >> GG_SAMPLE_SIZE_BITS == 0 && gg_draw_is_valid(&sample->draw) &&
	       (sample->draw.offset_bytes < sample->bytes || sample->draw.offset_bytes == 0);
}

bool gg_embed_record_sample(uint32_t heap, const struct gg_embed_sample *sample, const void *caller)
{
	struct sample_report report = {
		.t = gg_embed_thread(),
		.heap = gg_embed_heap_of(heap),
		.heap_id = heap,
		.sample = sample,
		.caller = caller,
		.begin_ns = sample->begin_ns,
	};
	int saved_errno = errno;
	bool done;

	if (report.heap == NULL)
		return false;
	if (!is_good(sample)) {
		gg_embed_count(GG_EMBED_BAD_SAMPLES);
		return false;
	}
	if (report.t == NULL || !gg_embed_enter(report.t))
		return false;
	if (report.begin_ns == 0)
		report.begin_ns = gg_clock_monotonic_ns();
	done = pass(&report);
	gg_embed_leave(report.t);
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
		.draw = { .sampling_interval = (double)sample->interval_bytes,
		          .offset_bytes = sample->offset,
		          .sample_point_count = sample->sample_points,
		          .scheme = (sample->flags & GEIGER_SAMPLE_BIASED) != 0
		                            ? GG_SCHEME_BIASED
		                            : (enum gg_scheme)gg_embed_scheme(sample->scheme) },
		.flags = sample->flags,
		.frames = sample->frames,
		.frame_count = sample->frame_count,
	};
	return gg_embed_record_sample(heap, &internal, __builtin_return_address(0));
}
