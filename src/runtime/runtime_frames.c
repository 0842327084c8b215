/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_frames - asks the source, places its frames, and lists the merged stack. */
#include "runtime/runtime_frames.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "runtime/process.h"

const struct gg_agent_frame_source *gg_runtime_frames_source;

void gg_runtime_frames_set_source(const struct gg_agent_frame_source *source)
{
	/* Release: pairs with the acquire in gg_runtime_frames_merge(). */
	gg_store_release(&gg_runtime_frames_source, source);
}

/* Hashes the address of the function's name and the line: runtimes rarely move their functions. */
static struct gg_thread_cached_frame *cached_frame_of(struct gg_thread_block *block,
                                                      const struct gg_frame_info *info)
{
	uint64_t key = (uint64_t)(uintptr_t)info->function +
	               info->line * UINT64_C(0x9e3779b97f4a7c15);

	return &block->frames[key * UINT64_C(0xff51afd7ed558ccd) >> 58];
}
_Static_assert(GG_THREAD_FRAMES == 1 << (64 - 58), "the shift above");

static bool is_cached_frame(const struct gg_thread_cached_frame *cached,
                            const struct gg_frame_info *info)
{
	return cached->pc != 0 && cached->line == info->line &&
	       cached->function_bytes == info->function_bytes &&
	       cached->file_bytes == info->file_bytes &&
	       memcmp(cached->text, info->function, info->function_bytes) == 0 &&
	       memcmp(cached->text + info->function_bytes, info->file, info->file_bytes) == 0;
}

static void cache_frame(struct gg_thread_cached_frame *cached, const struct gg_frame_info *info,
                        uint64_t pc)
{
	if (info->function_bytes > GG_THREAD_TEXT ||
	    info->file_bytes > GG_THREAD_TEXT - info->function_bytes)
		return;
	cached->pc = pc;
	cached->line = info->line;
	cached->function_bytes = (uint16_t)info->function_bytes;
	cached->file_bytes = (uint16_t)info->file_bytes;
	memcpy(cached->text, info->function, info->function_bytes);
	memcpy(cached->text + info->function_bytes, info->file, info->file_bytes);
}

uint64_t gg_runtime_frames_intern(struct gg_thread_block *block, const struct gg_frame_info *info)
{
	struct gg_thread_cached_frame *cached = cached_frame_of(block, info);
	uint64_t pc;

	if (is_cached_frame(cached, info))
		return cached->pc;
	pc = gg_region_intern_frame(&gg_process.region, info);
	if (pc != 0)
		cache_frame(cached, info, pc);
	return pc;
}

/* The frame's address in stacks; 0: there is no room for its texts, and a counter records it. */
static uint64_t pc_of(struct gg_thread_block *block, const struct gg_agent_frame *frame)
{
	const struct gg_frame_info info = {
		.function = frame->function,
		.file = frame->file,
		.function_bytes = strlen(frame->function),
		.file_bytes = strlen(frame->file),
		.line = frame->line,
	};

	return gg_runtime_frames_intern(block, &info);
}

uint32_t gg_runtime_frames_merge(struct gg_thread_block *block, const struct gg_native_stack *stack)
{
	/* Acquire: pairs with the release in gg_runtime_frames_set_source(). */
	const struct gg_agent_frame_source *source = gg_load_acquire(&gg_runtime_frames_source);
	struct gg_thread_merge *merge = &block->merge;
	uint64_t *to = merge->pcs;
	uint32_t native = 0;
	size_t count;

	if (source == NULL)
		return 0;
	count = source->read(merge->frames, GG_THREAD_MERGE_FRAMES, merge->texts,
	                     sizeof(merge->texts));
	if (count == 0)
		return 0;
	gg_assert(count <= GG_THREAD_MERGE_FRAMES && stack->count <= GG_UNWIND_KEEP);
	for (size_t i = 0; i < count; i++)
		merge->natives[i] = merge->frames[i].native;
	gg_frame_places_find(merge->targets, stack, merge->natives, (uint32_t)count, &source->loop);
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = pc_of(block, &merge->frames[i]);

		while (native < merge->targets[i])
			*to++ = stack->pcs[native++];
		if (pc != 0)
			*to++ = pc;
	}
	while (native < stack->count)
		*to++ = stack->pcs[native++];
	return (uint32_t)(to - merge->pcs);
}
