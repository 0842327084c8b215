/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/report.h"

#include <errno.h>
#include <string.h>

#include "embed/counts.h"
#include "embed/draw.h"
#include "embed/frames.h"
#include "embed/heap.h"
#include "embed/listen.h"
#include "embed/name.h"
#include "embed/probe.h"
#include "embed/settings.h"
#include "embed/thread.h"
#include "embed/track.h"
#include "stats/weight.h"

/* A sample on its way. */
struct passage {
	struct gg_embed_thread *t;
	struct gg_embed_heap *heap;
	uint32_t heap_id; /* of the program */
	const struct gg_embed_sample *sample;
	const void *caller;
	struct gg_embed_stack stack;
	const struct geiger_frame *frames; /* of the runtime */
	uint32_t frame_count;
	uint32_t count; /* of the places in t */
};

static void ask_provider(struct passage *p)
{
	/* Acquire: pairs with the release of geiger_heap_frames(). */
	size_t (*provide)(void *, struct geiger_frame *,
	                  size_t) = gg_load_acquire(&p->heap->provide);
	size_t count;

	if (provide == NULL)
		return;
	memset(p->t->frames, 0, sizeof(p->t->frames[0]));
	count = provide(p->heap->provide_user, p->t->frames, GG_EMBED_FRAMES);
	p->frames = p->t->frames;
	p->frame_count = count < GG_EMBED_FRAMES ? (uint32_t)count : GG_EMBED_FRAMES;
}

static void find_stack(struct passage *p)
{
	const struct gg_embed_sample *sample = p->sample;

	if ((sample->flags & GEIGER_SAMPLE_NO_NATIVE) == 0)
		gg_embed_capture(p->t, p->caller, &p->stack);
	if (sample->frames != NULL) {
		p->frames = sample->frames;
		p->frame_count = sample->frame_count < GG_EMBED_FRAMES
		                         ? (uint32_t)sample->frame_count
		                         : GG_EMBED_FRAMES;
	} else {
		ask_provider(p);
	}
	p->count = gg_embed_mix(p->t, &p->stack, p->frames, p->frame_count);
}

/* The stack as the region takes it; its length.  A frame that finds no place is left out. */
static uint32_t list_pcs(struct passage *p)
{
	const struct gg_agent_interface *agent = gg_embed_agent();
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct gg_embed_place *place = &p->t->places[i];
		const struct geiger_frame *frame = &p->frames[place->index];
		struct gg_frame_info info = { .function = "", .file = "" };
		uint64_t pc;

		if (place->is_native) {
			p->t->pcs[count++] = p->stack.pcs[place->index];
			continue;
		}
		if (frame->function != NULL)
			info.function = frame->function;
		if (frame->file != NULL)
			info.file = frame->file;
		info.function_bytes = strlen(info.function);
		info.file_bytes = strlen(info.file);
		info.line = frame->line;
		pc = agent->frame(&info);
		if (pc != 0)
			p->t->pcs[count++] = pc;
		else
			gg_embed_count(GG_EMBED_NAMES_DROPPED);
	}
	return count;
}

static bool record(struct passage *p)
{
	const struct gg_agent_interface *agent = gg_embed_agent();
	const struct gg_embed_sample *sample = p->sample;
	struct gg_agent_sample record = {
		.size_bytes = sample->bytes,
		.draw = sample->draw,
		.pcs = p->t->pcs,
		.heap = (uint16_t)gg_embed_heap_number(p->heap),
		.flags = (sample->flags & GEIGER_SAMPLE_OLD) != 0 ? GG_SAMPLE_OLD : 0,
	};
	uint64_t id;

	if (record.heap == 0)
		return false;
	record.type = gg_embed_type_number(sample->type);
	record.key = gg_agent_key(record.heap, (uint64_t)(uintptr_t)sample->object);
	record.pc_count = list_pcs(p);
	id = agent->record(&record);
	if (id != 0)
		gg_embed_track(p->heap, record.key, id, record.flags != 0);
	return id != 0;
}

static void tell(struct passage *p)
{
	const struct gg_embed_sample *sample = p->sample;
	struct gg_weight weight = gg_weight_of(&sample->draw, sample->bytes);
	struct geiger_event event = {
		.heap = p->heap_id,
		.heap_name = p->heap->name,
		.type = sample->type != NULL ? sample->type : "",
		.object = sample->object,
		.bytes = sample->bytes,
		.offset = (size_t)sample->draw.offset_bytes,
		.interval_bytes = (uint64_t)sample->draw.interval,
		.marks = sample->draw.mark_count,
		.scheme = gg_embed_public_scheme(sample->draw.scheme),
		.weight_bytes = weight.bytes,
		.weight_count = weight.count,
		.frames = p->t->event_frames,
		.frame_count = p->count,
	};

	for (uint32_t i = 0; i < p->count; i++) {
		const struct gg_embed_place *place = &p->t->places[i];
		struct geiger_event_frame *to = &p->t->event_frames[i];

		if (place->is_native)
			*to = (struct geiger_event_frame){ .pc = p->stack.pcs[place->index] };
		else
			*to = (struct geiger_event_frame){
				.function = p->frames[place->index].function,
				.file = p->frames[place->index].file,
				.line = p->frames[place->index].line
			};
	}
	gg_embed_tell(&event);
}

static void trace(struct passage *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->count && count < GG_EMBED_STACK - 1; i++)
		if (p->t->places[i].is_native)
			p->t->pcs[count++] = p->stack.pcs[p->t->places[i].index];
	p->t->pcs[count] = 0;
	gg_embed_probe(p->heap->name, p->sample->type != NULL ? p->sample->type : "",
	               p->sample->bytes, (size_t)p->sample->draw.offset_bytes,
	               (uint64_t)p->sample->draw.interval, p->t->pcs);
}

static bool pass(struct passage *p)
{
	bool is_recorded, is_heard = gg_load_relaxed(&gg_embed_settings.listener_count) != 0;

	if (gg_embed_agent() == NULL)
		return false;
	find_stack(p);
	is_recorded = gg_embed_is_recording() && record(p);
	if (gg_embed_is_recording() && !is_recorded)
		gg_embed_count(GG_EMBED_DROPPED);
	if (is_heard)
		tell(p);
	if (gg_embed_probe_is_on())
		trace(p);
	if (is_recorded || is_heard)
		gg_embed_count(GG_EMBED_SAMPLES);
	return is_recorded;
}

static bool is_good(const struct gg_embed_sample *sample)
{
	uint64_t object = (uint64_t)(uintptr_t)sample->object;

	return object != 0 && object >> GG_AGENT_KEY_BITS == 0 &&
	       sample->bytes >> GG_SAMPLE_SIZE_BITS == 0 && gg_draw_is_valid(&sample->draw) &&
	       (sample->draw.offset_bytes < sample->bytes || sample->draw.offset_bytes == 0);
}

bool gg_embed_report(uint32_t heap, const struct gg_embed_sample *sample, const void *caller)
{
	struct passage passage = {
		.t = gg_embed_thread(),
		.heap = gg_embed_heap_of(heap),
		.heap_id = heap,
		.sample = sample,
		.caller = caller,
	};
	int saved_errno = errno;
	bool done;

	if (passage.heap == NULL)
		return false;
	if (!is_good(sample)) {
		gg_embed_count(GG_EMBED_BAD_SAMPLES);
		return false;
	}
	if (passage.t == NULL || !gg_embed_enter(passage.t))
		return false;
	done = pass(&passage);
	gg_embed_leave(passage.t);
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
