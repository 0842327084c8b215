/* SPDX-License-Identifier: Apache-2.0 */
/* capture - walks and interns the stack of a call of the program. */
#include "preload/capture.h"

#include <link.h>

#include "base/atomic.h"
#include "base/single_thread.h"
#include "region/writer/site_totals.h"
#include "region/writer/stack_table.h"
#include "runtime/frame_places.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/modules/module_table.h"
#include "runtime/process.h"
#include "runtime/runtime_frames.h"

#ifdef GG_STATIC
/* In a program that is linked statically, the agent's code has a section of its own. */
extern const char our_begin[] __asm__("__start_geiger_text") __attribute__((visibility("hidden")));
extern const char our_end[] __asm__("__stop_geiger_text") __attribute__((visibility("hidden")));
#else
/* This library's code is between its ELF header and its dynamic section. */
extern const char our_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
#define our_end _DYNAMIC
#endif

bool gg_capture_is_our_code(uint64_t pc)
{
	return pc - (uint64_t)(uintptr_t)our_begin <
	       (uint64_t)(uintptr_t)our_end - (uint64_t)(uintptr_t)our_begin;
}

/*
 * Interns the stack with the frames of the language runtime.  It returns false if the thread has
 * no such frames.  The next stack must not reuse a prefix of this one, because its frames are not
 * all native.
 */
static bool capture_merged(struct gg_thread_block *block, const struct gg_unwind_stack *stack,
                           uint32_t skipped, uint64_t now_ns, uint32_t *ret_id)
{
	struct gg_native_stack native = { .pcs = stack->frames + skipped,
		                          .count = stack->count - skipped,
		                          .sp_first = stack->count - skipped };
	uint32_t count;

	if (stack->cut_at == stack->count)
		gg_frame_places_use_cache(&native, &block->stack_cache);
	count = gg_runtime_frames_merge(block, &native);
	if (count == 0)
		return false;
	*ret_id = gg_region_intern(&gg_process.region, &block->record, block->merge.pcs, count);
	block->stack_tag += 1;
	gg_module_table_register(*ret_id, block->merge.pcs, count, now_ns);
	return true;
}

uint32_t gg_capture_stack(struct gg_thread_block *block, uint64_t now_ns)
{
	struct gg_region *region = &gg_process.region;
	struct gg_unwind_stack stack;
	uint32_t ours = 0, known = 0, count, id;
	bool is_merged;

	gg_mapped_modules_refresh();
	is_merged = gg_load_relaxed(&gg_runtime_frames_source) != NULL;
	block->unwind.known_tag = is_merged ? 0 : block->stack_tag;
	gg_unwind_capture(&block->unwind, block->pcs, GG_COUNT(block->pcs), 0, &stack);
	gg_add_alone_or_relaxed(&region->header->unwind_endings[stack.ending], 1);
	if (stack.is_repeated && stack.reused_tag == block->stack_tag && !is_merged) {
		gg_region_site_total_prefetch(region, block->last_stack);
		return block->last_stack;
	}
	while (ours < stack.count && gg_capture_is_our_code(stack.frames[ours]))
		ours++;
	count = stack.count - ours;
	if (gg_unlikely(is_merged) && capture_merged(block, &stack, ours, now_ns, &id))
		return id;
	/*
	 * The unwinder copied its outer frames from the stack that was interned last, if both tags
	 * are equal.  Those frames need no look-up.
	 */
	if (gg_likely(stack.reused_tag == block->stack_tag && stack.cut_at == stack.count))
		known = stack.reused_count < count ? stack.reused_count : count;
	id = gg_region_intern_next(region, &block->record, stack.frames + ours, count, known);
	/*
	 * A truncated stack ends at a different frame, so the next sample must not reuse its
	 * prefix.
	 */
	block->stack_tag += 1;
	block->last_stack = id;
	/* A stack that was not placed is interned again, so that each of its samples is counted. */
	if (gg_likely(count > 0 && count <= region->max_frames && stack.cut_at == stack.count &&
	              id != GG_STACK_OVERFLOW))
		gg_unwind_set_tag(&block->unwind, block->stack_tag);
	/* The modules of the reused frames were registered when that stack was interned. */
	gg_module_table_register(id, stack.frames + ours, count - known, now_ns);
	return id;
}

uint32_t gg_capture_frames(struct gg_thread_block *block, uint64_t now_ns, uint64_t from_pc,
                           uint64_t *ret_pcs, uint32_t most, uint32_t *ret_count)
{
	struct gg_unwind_stack stack;
	uint32_t first = 0, count, id;
	uint64_t *frames;

	gg_mapped_modules_refresh();
	block->unwind.known_tag = 0; /* the caller needs the frames */
	gg_unwind_capture(&block->unwind, block->pcs, GG_COUNT(block->pcs), 0, &stack);
	frames = block->pcs + (stack.frames - block->pcs);
	while (first < stack.count &&
	       (from_pc != 0 ? frames[first] != from_pc : gg_capture_is_our_code(frames[first])))
		first++;
	count = stack.count - first;
	if (from_pc != 0 && count == 0) { /* the walk did not get there */
		frames[0] = from_pc;
		first = 0;
		count = 1;
	}
	/* Readers subtract 1 from a frame, because most are return addresses. */
	if (from_pc != 0)
		frames[first] = from_pc + 1;
	id = gg_region_intern(&gg_process.region, &block->record, frames + first, count);
	/* The next stack must not reuse a prefix of this one: see gg_capture_stack(). */
	block->stack_tag += 1;
	gg_module_table_register(id, frames + first, count, now_ns);
	*ret_count = count < most ? count : most;
	for (uint32_t i = 0; i < *ret_count; i++)
		ret_pcs[i] = frames[first + i];
	return id;
}
