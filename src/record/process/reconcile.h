/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile - compares the live set of a target with its region, and corrects what the ring lost.
 */
#pragma once

#include "record/process/target.h"

/*
 * Reconciles with the region if events were lost, and notes the time range of the loss.  That reads
 * the whole region, so it takes a tenth of the time at most.
 */
int gg_reconcile_if_lossy(struct gg_target *target);

/* Reconciles at once.  Without a loss it only adds unknown live samples. */
int gg_reconcile(struct gg_target *target);

/* True if events were lost since the target was last reconciled. */
bool gg_reconcile_is_lossy(const struct gg_target *target);

/* Reads a view of the target's region.  -EBADMSG: the region claims what it cannot hold. */
GG_MUST_CHECK int gg_reconcile_read_view(struct gg_target *target, struct gg_region_view *ret_view,
                                         struct gg_error *error);

/*
 * Makes the known live samples equal to those of the view: ends known samples that the view lacks,
 * and adds unknown ones.  It spares samples with ids from `before_id` on.  Those arrived after the
 * view was taken, so their absence proves nothing.  `end_ns` is the latest time at which the blocks
 * can have been freed.
 */
int gg_reconcile_samples(struct gg_target *target, const struct gg_region_view *view,
                         uint64_t before_id, int64_t end_ns);

/* Writes the two events that bound a loss: when the history was last complete, and end_ns. */
void gg_reconcile_write_loss(struct gg_target *target, uint64_t drop_count, int64_t end_ns);
