/* SPDX-License-Identifier: Apache-2.0 */
/* exact_hooks - counts each allocation and free around the real call. */
#include "preload/exact_hooks.h"

#include <errno.h>
#include <stdint.h>

#include "base/fast_clock.h"
#include "preload/capture.h"
#include "runtime/exact_mode.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/process_settings.h"
#include "runtime/start.h"
#include "runtime/thread.h"

/* As in sample.c: LeakSanitizer finds the caller by it. */
#define KEEP_FRAME_POINTER() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

enum { HEAD_BYTES = 16 /* of a block, in front of it, in most allocators */ };

/* Puts the thread on the sample path with its block.  NULL: it cannot count now. */
static inline struct gg_thread_block *enter(struct gg_thread *t)
{
	struct gg_thread_block *block;

	if (gg_unlikely(!gg_thread_enter(t)))
		return NULL;
	if (gg_likely(gg_process_ensure_current())) {
		if (gg_unlikely(t->busy_count != 0)) {
			gg_region_count(&gg_process.region, GG_COUNT_DROP_BUSY, t->busy_count);
			t->busy_count = 0;
		}
		block = gg_thread_block_at_hand(t);
		if (gg_likely(block != NULL))
			return block;
		gg_region_count(&gg_process.region, GG_COUNT_DROP_MEMORY, 1);
	}
	gg_thread_leave(t);
	return NULL;
}

static inline void leave(struct gg_thread *t, struct gg_thread_block *block)
{
	gg_thread_put_block_at_hand(t, block);
	gg_thread_leave(t);
}

static inline void count(struct gg_thread_block *block, void *p, size_t bytes)
{
	uint64_t now_ns = gg_fast_clock_ns(&block->clock);
	uint32_t stack;

	gg_process_settings_refresh();
	if (gg_unlikely(gg_load_relaxed(&gg_process.is_active) == 0))
		return;
	/* While the stack is walked, the processor fetches the slot. */
	gg_exact_live_prefetch(&gg_exact_mode.live, (uintptr_t)p);
	stack = gg_capture_stack(block, now_ns);
	gg_exact_allocated(&gg_exact_mode, &block->record, p, bytes, stack, now_ns);
	block->last_address = (uintptr_t)p;
	block->exact_count++;
}

void gg_exact_hooks_record(void *p, size_t bytes)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;

	if (gg_unlikely(p == NULL))
		return;
	block = enter(t);
	if (gg_unlikely(block == NULL))
		return;
	count(block, p, bytes);
	leave(t, block);
}

static inline void count_free(struct gg_thread_block *block, const struct gg_exact_block *freed)
{
	bool is_temporary = freed->address == block->last_address;

	block->last_address = 0;
	gg_exact_freed(&gg_exact_mode, &block->record, freed, is_temporary,
	               gg_fast_clock_ns(&block->clock));
}

void gg_exact_hooks_close(void *p)
{
	struct gg_thread *t = &gg_thread;
	struct gg_exact_block freed;
	struct gg_thread_block *block;

	if (gg_unlikely(p == NULL))
		return;
	/* The slot, and the head of the block, which the real free() reads: both at once. */
	gg_exact_live_prefetch(&gg_exact_mode.live, (uintptr_t)p);
	__builtin_prefetch((const char *)p - HEAD_BYTES, 1);
	block = enter(t);
	if (gg_unlikely(block == NULL))
		return;
	if (gg_likely(gg_exact_take(&gg_exact_mode, p, &freed)))
		count_free(block, &freed);
	leave(t, block);
}

void *gg_exact_hooks_malloc(size_t bytes)
{
	void *p = gg_real.malloc(bytes);

	KEEP_FRAME_POINTER();
	gg_exact_hooks_record(p, bytes);
	return p;
}

void *gg_exact_hooks_calloc(size_t count, size_t bytes)
{
	void *p = gg_real.calloc(count, bytes);

	KEEP_FRAME_POINTER();
	gg_exact_hooks_record(p, count * bytes);
	return p;
}

int gg_exact_hooks_posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	int status = gg_real.posix_memalign(ret_p, alignment, bytes);

	KEEP_FRAME_POINTER();
	if (status == 0)
		gg_exact_hooks_record(*ret_p, bytes);
	return status;
}

void *gg_exact_hooks_aligned(void *(*real)(size_t, size_t), size_t alignment, size_t bytes)
{
	void *p = real(alignment, bytes);

	KEEP_FRAME_POINTER();
	gg_exact_hooks_record(p, bytes);
	return p;
}

void *gg_exact_hooks_whole_pages(void *(*real)(size_t), size_t bytes)
{
	void *p = real(bytes);

	KEEP_FRAME_POINTER();
	gg_exact_hooks_record(p, bytes);
	return p;
}

/* The allocator's own operator calls its malloc(): the hook of the operator counts the block. */
void *gg_exact_hooks_allocate(gg_extra_functions_allocate *real, size_t bytes, uintptr_t second,
                              uintptr_t third)
{
	void *p = real(bytes, second, third); /* may throw */

	gg_exact_hooks_record(p, bytes);
	return p;
}

/* The old block, out of the live ones while the real call is under way. */
struct reallocation {
	struct gg_exact_block old;
	bool has_old;
	int errno_before;
};

static struct reallocation begin_change(void *p, size_t bytes)
{
	struct reallocation change = { .errno_before = errno };
	struct gg_thread *t = &gg_thread;

	if (p != NULL && gg_thread_enter(t)) {
		if (gg_process_ensure_current())
			change.has_old = gg_exact_take(&gg_exact_mode, p, &change.old);
		gg_thread_leave(t);
	}
	/* For size 0, NULL means a failure or a free; errno tells which, so it must be 0 before. */
	if (bytes == 0)
		errno = 0;
	return change;
}

static void end_change(struct reallocation *change, void *p, size_t bytes, void *moved)
{
	bool is_freed = moved == NULL && p != NULL && bytes == 0 && errno != ENOMEM;
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;

	if (bytes == 0 && errno == 0)
		errno = change->errno_before;
	block = enter(t);
	if (block == NULL)
		return;
	if (change->has_old && (moved != NULL || is_freed))
		count_free(block, &change->old);
	else if (change->has_old)
		gg_exact_put_back(&gg_exact_mode, &change->old);
	if (moved != NULL)
		count(block, moved, bytes);
	leave(t, block);
}

void *gg_exact_hooks_realloc(void *p, size_t bytes)
{
	struct reallocation change = begin_change(p, bytes);
	void *moved;

	KEEP_FRAME_POINTER();
	moved = gg_real.realloc(p, bytes);
	end_change(&change, p, bytes, moved);
	return moved;
}

void *gg_exact_hooks_rallocx(void *p, size_t bytes, int flags)
{
	struct reallocation change = begin_change(p, bytes);
	void *moved = gg_extra_functions.rallocx(p, bytes, flags);

	end_change(&change, p, bytes, moved);
	return moved;
}

void gg_exact_hooks_resized(void *p, size_t bytes)
{
	gg_exact_hooks_close(p);
	gg_exact_hooks_record(p, bytes);
}

/* --- blocks of adapters --- */

enum { DEBUG_HEAD_BYTES = 64 /* more than an allocator's debug hooks put in front of a block */ };

static uint64_t adapter_begin(void)
{
	return gg_thread.block != NULL ? gg_thread.block->exact_count : 0;
}

/* True if a live block of malloc begins here, or shortly before, and reaches beyond `p`. */
static bool is_in_block(const void *p)
{
	struct gg_exact_block around;

	for (uintptr_t head = 0; head < DEBUG_HEAD_BYTES; head += sizeof(void *))
		if (gg_exact_live_find(&gg_exact_mode.live, (uintptr_t)p - head, &around) &&
		    (head == 0 || around.size_bytes > head))
			return true;
	return false;
}

/*
 * True if malloc has served the block, or one around it, since the call began.  That is most often
 * the thread's last block.  But tracemalloc, for example, allocates its own record after it.
 */
static bool was_counted(const struct gg_thread_block *block, uint64_t begun, const void *p)
{
	return block->exact_count != begun &&
	       ((uintptr_t)p - block->last_address < DEBUG_HEAD_BYTES || is_in_block(p));
}

static void adapter_allocated(uint64_t begun, void *p, size_t bytes)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;

	if (p == NULL)
		return;
	block = enter(t);
	if (block == NULL)
		return;
	if (!was_counted(block, begun, p))
		count(block, p, bytes);
	leave(t, block);
}

static void *adapter_resize(gg_agent_resize *resize, void *context, void *p, size_t bytes)
{
	struct reallocation change = begin_change(p, 1);
	uint64_t begun = adapter_begin();
	void *moved = resize(context, p, bytes);
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	bool counted;

	if (block == NULL)
		return moved;
	counted = moved != NULL && was_counted(block, begun, moved);
	if (change.has_old && moved != NULL) {
		uint64_t last = block->last_address;

		count_free(block, &change.old);
		if (counted)
			block->last_address = last;
	} else if (change.has_old) {
		gg_exact_put_back(&gg_exact_mode, &change.old);
	}
	if (moved != NULL && !counted)
		count(block, moved, bytes);
	leave(t, block);
	return moved;
}

const struct gg_exact_calls gg_exact_calls = {
	.is_on = gg_exact_mode_is_on,
	.begin = adapter_begin,
	.allocated = adapter_allocated,
	.freed = gg_exact_hooks_close,
	.resize = adapter_resize,
};
