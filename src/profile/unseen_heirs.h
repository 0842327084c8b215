/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heirs - processes that held inherited blocks of which nobody knows that they held them.
 *
 * A forked process may free inherited blocks before the recorder sees them.  Its region only counts
 * such blocks ("samples inherited").  Then a block that its ancestor freed may have lived on in the
 * heir, until the heir's end at the latest.  Upper bounds of live memory include that.  The same is
 * true of a child that never had a region (record/process/idle_children.h).  Such a child frees
 * nothing, so it leaves at its end what it held.  A process with exact counts may leave what it
 * inherited as well, because nobody knows which of these blocks it freed.
 *
 * This is the one rule for such heirs.  Reports apply it to a model (query/model_heirs.h), and a
 * merge applies it to a profile (format/merge/merge_heirs.h).  The view v_timeline has it in SQL.
 *
 *   for each counter and inherited sample:    gg_fork_facts_take_...(&facts[process])
 *   status = gg_unseen_heirs_find(&heirs, facts, count, NULL, end_ns);
 *   for each inherited sample:    status = gg_unseen_heirs_note_held(&heirs, process, block);
 *   gg_unseen_heirs_until(&heirs, process, block, from_ns, until_ns);
 *   gg_unseen_heirs_done(&heirs);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/map.h"
#include "profile/records.h"

/* A process and its fork, as a profile has them.  All-zero: nothing is known of it. */
struct gg_fork_facts {
	uint32_t parent; /* 0: none */
	int64_t start_ns, end_ns;
	int64_t end_least_ns;     /* the earliest time at which it may have ended */
	bool lives_on;            /* what it held then is live at the end (live_at_end.h) */
	uint64_t inherited_count; /* blocks that it inherited ... */
	uint64_t seen_count;      /* ... of which the profile has so many */
	bool has_alloc;           /* some inherited block is known */
	int64_t alloc_ns;         /* the last allocation of such a block */
	bool is_idle;             /* it began with its fork, and never had a region */
	bool is_exact;            /* its counts do not tell which blocks it inherited */
	bool has_unnoted_children;
};

/* Takes a counter of the process.  False: it says nothing of forks. */
bool gg_fork_facts_take_counter(struct gg_fork_facts *facts, const char *name, uint64_t value);
/* Takes an inherited sample that was allocated by an ancestor at that time. */
void gg_fork_facts_take_inherited(struct gg_fork_facts *facts, int64_t alloc_ns);

struct gg_unseen_heir; /* one pair of an ancestor and an heir */

/* An all-zero one is empty. */
struct gg_unseen_heirs {
	GG_ARRAY(struct gg_unseen_heir) pairs; /* sorted by ancestor, then by the heir's start */
	struct gg_map held;                    /* the blocks that heirs are known to have held */
	uint8_t *is_heir; /* by process, also of those that are not selected; NULL: none is */
};

/*
 * Finds the heirs among the selected processes (is_in by process; NULL: all).  facts[0] is of no
 * process.  end_ns: the end of the profile.  -ENOMEM.  After a failure there is nothing to free.
 */
GG_MUST_CHECK int gg_unseen_heirs_find(struct gg_unseen_heirs *ret_heirs,
                                       const struct gg_fork_facts *facts, size_t process_count,
                                       const uint8_t *is_in, int64_t end_ns);
void gg_unseen_heirs_done(struct gg_unseen_heirs *heirs);

/* Notes that the process is known to have held the block, whose number is below 2^32 - 1. */
GG_MUST_CHECK int gg_unseen_heirs_note_held(struct gg_unseen_heirs *heirs, uint32_t process,
                                            uint64_t block);

/* How long heirs may have held a block that their ancestor held. */
struct gg_heir_times {
	int64_t until_ns; /* the latest time; INT64_MIN: no heir may have held it */
	/*
	 * Bounds of the ends of heirs that have ended, and may have left it then.
	 * INT64_MAX and INT64_MIN: no heir may have.
	 */
	int64_t left_least_ns, left_most_ns;
};

/*
 * Returns the times of heirs that may have held a block which `process` held from from_ns until
 * until_ns.  block: its number, for which heirs that are known to have held it do not count;
 * UINT32_MAX: blocks without numbers.
 */
struct gg_heir_times gg_unseen_heirs_until(const struct gg_unseen_heirs *heirs, uint32_t process,
                                           uint64_t block, int64_t from_ns, int64_t until_ns);

static inline struct gg_heir_times gg_heir_times_none(void)
{
	return (struct gg_heir_times){ INT64_MIN, INT64_MAX, INT64_MIN };
}

/* Joins the times of heirs of several holders of one block. */
struct gg_heir_times gg_heir_times_of_both(struct gg_heir_times a, struct gg_heir_times b);
