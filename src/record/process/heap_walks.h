/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_walks - what walks through the heap of a process may cost.
 *
 *   gg_heap_walks_pass(&walks, age_ns, frugality); in each round
 *   budget_ns = gg_heap_walks_budget(&walks);
 *   ...                                            a look with that budget
 *   gg_heap_walks_note(&walks, &look.blocks.heap_walk, budget_ns);
 *
 * A walk gives a look exact totals of free memory, but takes some 0.25 ms for each MiB, and the
 * budget of a look pays for 100 MiB at most.  So walks through larger heaps have a budget of their
 * own while the process is quiet: 1 % of the time since the last walk, and 4 % of the first 10 s of
 * a process, as looks have.  A walk begins when its expected cost fits into that.  The last walk
 * tells the cost of a byte, even one that ended early.  Before that, a walk of 100 ms finds out.
 *
 * A session that holds an overhead has a frugality, by which it divides these shares.  It changes
 * while the session runs, so each span of time counts with the frugality that it had.
 *
 * The recorder reads no rings during a walk, and a ring holds the events of a second or more.  So
 * no walk takes longer than half a second, and a heap that needs more has no totals.
 *
 * After a walk, the process is walked again after five times that time, because it is quiet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/block_looks.h"

/* All zero: there was no look yet. */
struct gg_heap_walks {
	uint64_t heap_bytes; /* of the last look; 0: there is nothing to walk */
	bool has_totals;     /* the last look has a complete walk */
	uint64_t extra_ns;   /* processor time of that walk, if it had a budget of its own */
	/* The allowance counts up to this age; at first, that when the recording began. */
	int64_t from_ns;
	int64_t allowance_ns; /* processor time of walks that is due; < 0: one took more */
	double ns_per_byte;   /* processor time of the last walk; 0: unknown */
};

/* Lets the process grow that old, with the share of its time divided by `frugality` (>= 1). */
void gg_heap_walks_pass(struct gg_heap_walks *walks, int64_t age_ns, double frugality);

/* Returns the budget of a walk now, in processor time; 0: no walk, or only inside of a look. */
uint64_t gg_heap_walks_budget(const struct gg_heap_walks *walks);

/* True if the last look has totals that were too expensive for the budget of a look. */
bool gg_heap_walks_has_costly_totals(const struct gg_heap_walks *walks);

/* Notes what a look found.  budget_ns: as gg_heap_walks_budget() returned it. */
void gg_heap_walks_note(struct gg_heap_walks *walks, const struct gg_heap_walk *walk,
                        uint64_t budget_ns);
