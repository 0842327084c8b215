/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_sums - adds up the samples of each stack for the summary, half of them in a second thread.
 *
 *   status = gg_sample_sums_add(profile, &sums, stacks, error);
 *
 * `stacks` has one element for each id of a stack, and element 0 for samples without one.
 *
 * Threads   The caller's and one more, which reads through its own connection.  The second thread
 *           is only used if everything is committed (gg_profile_commit), because its connection
 *           does not see an open transaction.
 * Memory    For the second thread, one more element for each stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "profile/live_at_end.h"
#include "profile/profile.h"
#include "profile/tables/sums.h"

/* Which blocks are live at the end, or were never freed by their process. */
struct gg_sample_sums {
	struct gg_map live_blocks; /* origin of an inherited sample that is live at the end */
	struct gg_map left_blocks; /* the same, never freed by its process */
	struct gg_live_at_end last;
	int64_t *ends; /* by process */
};

/* True if blocks that this process never freed are live at the end. */
bool gg_sample_sums_ends_last(const struct gg_sample_sums *sums, uint32_t process);

GG_MUST_CHECK int gg_sample_sums_add(struct gg_profile *profile, const struct gg_sample_sums *sums,
                                     struct gg_metric_sums *stacks, struct gg_error *error);
