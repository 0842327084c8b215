/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregates - sums of the blocks that were allocated and freed without any event arriving.
 *
 * A region counts every sample in its site totals, also those whose events the ring lost.  The
 * totals minus the known samples are such blocks.  They become aggregates (profile/records.h),
 * which say between which times the blocks lived.
 *
 * Forked    a process may free inherited blocks before the recorder sees them.  The ancestor's
 *           samples stand for these, so aggregates leave out the totals of inherited blocks.  In
 *           regions of agents before 0.1.0, the totals add such blocks to those that the process
 *           allocated and freed itself, and nobody can tell which is which.
 */
#pragma once

#include "record/process/target.h"

/*
 * Writes one aggregate for each stack and thread of the view.
 *
 *   1. Each row of the totals is compared with the known samples of its stack and thread.  If two
 *      rows have the same key, only the first is: `used` keeps samples from being subtracted twice.
 *   2. Known samples without a row are in a folded row, so they enter with a negative count.
 *   3. Sorting brings the threads of a stack together, because only their sum may be right.
 */
int gg_aggregates_write(struct gg_target *target, const struct gg_region_view *view,
                        const struct gg_span *span);

/*
 * Returns how many inherited samples may be in the totals without being known: those that a forked
 * process freed before the recorder saw them.  0 if the region tells inherited blocks apart.
 */
uint64_t gg_aggregates_inherited_unseen(const struct gg_target *target,
                                        const struct gg_region_view *view);

/* Counts what gg_aggregates_write() would write as seen, so that nothing ever writes it. */
int gg_aggregates_leave_out(struct gg_target *target, const struct gg_region_view *view);

/* True if inherited blocks are all that the totals have beyond the known samples. */
bool gg_aggregates_rest_is_inherited(const struct gg_target *target,
                                     const struct gg_region_view *view);

/*
 * True if the totals exceed the known samples only by inherited blocks that the process freed
 * before the recorder saw them.  The ancestor's samples stand for these, so an aggregate would
 * count them twice.  If other blocks are among them, nobody can tell which: then the aggregates are
 * marked as shared (struct gg_profile_aggregate).
 */
bool gg_aggregates_has_only_inherited(struct gg_target *target, const struct gg_region_view *view);
