/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_walks - compares the cost of a walk with a share of time (process/heap_walks.h).
 */
#include "record/process/heap_walks.h"

#include "base/time_units.h"

enum {
	HEAP_WALK_PART = 100,
	YOUNG_HEAP_PART = 25,
	REPEAT_PART = 5,
	LEAST_BYTES = 1 << 20, /* a shorter walk says little about longer ones */
};

#define YOUNG_NS (10 * GG_NS_PER_S)
#define TRIAL_NS (100 * GG_NS_PER_MS)
#define MOST_NS  (500 * GG_NS_PER_MS)

/* The processor time that all walks together may have taken at that age. */
static int64_t share_of(int64_t age_ns)
{
	int64_t young_ns = age_ns < YOUNG_NS ? age_ns : YOUNG_NS;

	return young_ns / YOUNG_HEAP_PART + (age_ns - young_ns) / HEAP_WALK_PART;
}

static uint64_t expected_ns(const struct gg_heap_walks *walks)
{
	uint64_t cost_ns = gg_heap_walk_guess_ns(walks->heap_bytes, walks->ns_per_byte);

	return walks->ns_per_byte == 0 && cost_ns > TRIAL_NS ? TRIAL_NS : cost_ns;
}

bool gg_heap_walks_has_costly_totals(const struct gg_heap_walks *walks)
{
	return walks->has_totals && walks->extra_ns > 0;
}

void gg_heap_walks_pass(struct gg_heap_walks *walks, int64_t age_ns, double frugality)
{
	int64_t more_ns = share_of(age_ns) - share_of(walks->from_ns);

	if (age_ns <= walks->from_ns)
		return;
	walks->allowance_ns += (int64_t)((double)more_ns / frugality);
	walks->from_ns = age_ns;
}

uint64_t gg_heap_walks_budget(const struct gg_heap_walks *walks)
{
	int64_t budget_ns = walks->allowance_ns;

	if (walks->has_totals)
		budget_ns /= REPEAT_PART;
	if (walks->heap_bytes == 0 || (walks->has_totals && walks->extra_ns == 0))
		return 0;
	if (budget_ns > (int64_t)MOST_NS)
		budget_ns = MOST_NS;
	return budget_ns > 0 && expected_ns(walks) <= (uint64_t)budget_ns ? (uint64_t)budget_ns : 0;
}

void gg_heap_walks_note(struct gg_heap_walks *walks, const struct gg_heap_walk *walk,
                        uint64_t budget_ns)
{
	int64_t left_ns = walks->allowance_ns - (budget_ns > 0 ? (int64_t)walk->cost_ns : 0);

	walks->heap_bytes = walk->heap_bytes;
	walks->has_totals = walk->heap_bytes > 0 && walk->walked_bytes == walk->heap_bytes;
	walks->extra_ns = budget_ns > 0 ? walk->cost_ns : 0;
	/* A surplus is lost, because the next walk is paid by the time after this one. */
	if (walk->cost_ns > 0)
		walks->allowance_ns = left_ns < 0 ? left_ns : 0;
	if (walk->walked_bytes >= LEAST_BYTES)
		walks->ns_per_byte = (double)walk->cost_ns / (double)walk->walked_bytes;
}
