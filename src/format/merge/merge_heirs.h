/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_heirs - which blocks heirs that nobody saw may hold at the end of a profile.
 *
 * Reports find such heirs in a model (query/unseen_heirs.h).  A sum has no times and no parents, so
 * the merge decides: a block that its process freed or left counts as one that may be live if an
 * heir of the process may hold it at the end.  The rule is coarser than that of reports, and never
 * leaves out a block that theirs has.
 */
#pragma once

#include "base/array.h"
#include "profile/profile.h"

struct gg_merge_heir; /* one process */

/* An all-zero one is empty. */
struct gg_merge_heirs {
	GG_ARRAY(struct gg_merge_heir) processes; /* by id */
};

/* Reads the processes and counters of a profile. */
GG_MUST_CHECK int gg_merge_heirs_read(struct gg_merge_heirs *heirs, struct gg_profile *profile,
                                      struct gg_error *error);
void gg_merge_heirs_done(struct gg_merge_heirs *heirs);

/*
 * True if an heir may hold at the end a block that the process held within these times.  Unknown
 * ones are INT64_MIN and GG_TIME_NONE.
 */
bool gg_merge_heirs_may_hold(const struct gg_merge_heirs *heirs, uint32_t process, int64_t from_ns,
                             int64_t until_ns);
