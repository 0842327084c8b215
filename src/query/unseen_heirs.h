/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heirs - processes that held inherited blocks of which nobody knows that they held them.
 *
 * A forked process may free inherited blocks before the recorder sees them.  Its region only counts
 * such blocks ("samples inherited").  Then a block that its ancestor freed may have lived on in the
 * heir, until the heir's end at the latest.  Upper bounds of live memory include that.  The same is
 * true of a child that never had a region (record/process/idle_children.h).
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "model/model.h"

struct gg_unseen_heir; /* one pair of an ancestor and an heir */

/* An all-zero one is empty. */
struct gg_unseen_heirs {
	GG_ARRAY(struct gg_unseen_heir) pairs; /* sorted by ancestor, then by the heir's start */
	struct gg_map held;                    /* the blocks that heirs are known to have held */
	uint8_t *is_heir; /* by process, also of those that are not selected; NULL: none is */
};

/*
 * Finds the heirs among the selected processes (is_in by process; NULL: all).  -ENOMEM.  After a
 * failure there is nothing to free.
 */
GG_MUST_CHECK int gg_unseen_heirs_find(struct gg_unseen_heirs *ret_heirs,
                                       const struct gg_model *model, const uint8_t *is_in);
void gg_unseen_heirs_done(struct gg_unseen_heirs *heirs);

/*
 * The latest time at which an heir may have held a block that `process` held from from_ns until
 * until_ns; at least until_ns.  block: its number (struct gg_model_sample), for which heirs that
 * are known to have held it do not count; UINT32_MAX: blocks without numbers.
 */
int64_t gg_unseen_heirs_until(const struct gg_unseen_heirs *heirs, uint32_t process, uint32_t block,
                              int64_t from_ns, int64_t until_ns);
