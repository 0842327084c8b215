/* SPDX-License-Identifier: Apache-2.0 */
/* unwind - sets tags, adds up statistics, and names the endings of walks. */
#include "unwind/unwind.h"

#include "base/atomic.h"

void gg_unwind_set_tag(struct gg_unwind_thread *thread, uint64_t tag)
{
	if (thread->stack_cache != NULL && thread->stack_cache->is_latest)
		thread->stack_cache->tag = tag;
}

/* Adds up the structure as an array of words, so that a new counter needs no line here. */
void gg_unwind_stats_add(struct gg_unwind_stats *sum, const struct gg_unwind_thread *thread)
{
	const uint64_t *from = (const uint64_t *)&thread->stats;
	uint64_t *to = (uint64_t *)sum;

	_Static_assert(sizeof(*sum) % sizeof(*to) == 0, "counters alone");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		/* Independent counters: relaxed loads suffice. */
		to[i] += gg_load_relaxed(&from[i]);
}

const char *gg_unwind_ending_text(enum gg_unwind_ending ending)
{
	static const char *const texts[] = {
		[GG_UNWIND_COMPLETE] = "complete",           [GG_UNWIND_NO_CFI] = "no-cfi",
		[GG_UNWIND_BAD_FRAME] = "bad-frame",         [GG_UNWIND_TOO_DEEP] = "too-deep",
		[GG_UNWIND_FOREIGN_STACK] = "foreign-stack",
	};

	return ending < GG_UNWIND_ENDINGS ? texts[ending] : "unknown";
}
