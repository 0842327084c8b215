/* SPDX-License-Identifier: Apache-2.0 */
/* stack_bounds - finds the end of a stack, and checks which pages are readable. */
#include "unwind/walk/stack_bounds.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "unwind/arch/arch.h"

/* gg_stack_bounds_init() sets these; 0: unknown. */
static uint64_t main_end;            /* an address above all frames of the main thread */
static uint64_t main_thread_pointer; /* the thread pointer of the main thread */

/* For the kernel, address 0 means "no mask", so the probe would not read it. */
bool gg_stack_bounds_is_readable(uint64_t address)
{
	return address != 0 && gg_arch_probe(address) != -EFAULT;
}

/*
 * Returns the first unreadable page from `page` on, or `end` if all pages before it are readable.
 * After GG_STACK_BOUNDS_SEARCH_PAGES it gives up, as if that page were unreadable.
 */
static uint64_t readable_until(uint64_t page, uint64_t end)
{
	uint64_t limit = page + (uint64_t)GG_STACK_BOUNDS_SEARCH_PAGES * GG_STACK_BOUNDS_PAGE;

	while (page < end && page < limit && gg_stack_bounds_is_readable(page))
		page += GG_STACK_BOUNDS_PAGE;
	return page < end ? page : end;
}

GG_COLD void gg_stack_bounds_init(uint64_t above_main)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);
	uint64_t end = above_main & ~UINT64_C(7);

	/*
	 * If the end of the main stack can be reached from here, this is the main thread, so its
	 * thread pointer tells it from all others.
	 */
	gg_store_relaxed(&main_end, end);
	if (end > here && readable_until(here & -(uint64_t)GG_STACK_BOUNDS_PAGE, end) == end)
		gg_store_relaxed(&main_thread_pointer, gg_arch_thread_pointer());
}

/* Returns the place above sp where the stack of this thread may end, or 0. */
static uint64_t candidate(uint64_t sp)
{
	uint64_t thread_pointer = gg_arch_thread_pointer();
	uint64_t end = gg_load_relaxed(&main_end);
	uint64_t known_main = gg_load_relaxed(&main_thread_pointer);

	/*
	 * With the main thread known, all other threads end at their thread pointer.  Without it,
	 * the nearer of both places is the likely one.
	 */
	if (known_main != 0)
		return thread_pointer == known_main ? end : thread_pointer;
	if (thread_pointer > sp && (end <= sp || thread_pointer < end))
		return thread_pointer;
	return end;
}

static bool is_foreign(const struct gg_stack_bounds_own *own, uint64_t sp)
{
	for (int i = 0; i < GG_STACK_BOUNDS_FOREIGN; i++)
		if (sp - own->foreign[i].begin < own->foreign[i].end - own->foreign[i].begin)
			return true;
	return false;
}

GG_COLD bool gg_stack_bounds_is_own(struct gg_stack_bounds_own *own, uint64_t sp)
{
	uint64_t page = sp & -(uint64_t)GG_STACK_BOUNDS_PAGE;
	uint64_t end = own->high != 0 ? own->low : candidate(sp) & ~UINT64_C(7);
	uint64_t reached;

	if (sp - own->low < own->high - own->low)
		return true;
	if (end <= sp || is_foreign(own, sp))
		return false;
	/*
	 * If the pages reach the end, they belong to the own stack, and the known range grows down
	 * to `page`.  Otherwise the gap proves that they do not, and the place is remembered.
	 */
	reached = readable_until(page, end);
	if (reached == end) {
		if (own->high == 0)
			own->high = end;
		own->low = page;
		return true;
	}
	own->foreign[own->foreign_next % GG_STACK_BOUNDS_FOREIGN].begin = page;
	own->foreign[own->foreign_next % GG_STACK_BOUNDS_FOREIGN].end = reached;
	own->foreign_next++;
	return false;
}
