/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_heirs - which blocks heirs that nobody saw may hold at the end of a profile.
 *
 * Reports find such heirs in a model (query/model_heirs.h).  A sum has no times and no parents, so
 * the merge decides, by the same rule (profile/unseen_heirs.h): a block that its process freed or
 * left counts as one that may be live if an heir of the process may hold it at the end.  Fork times
 * are known less well than in a model, so the answer is coarser, and never leaves out a block that
 * reports have.
 */
#pragma once

#include "base/array.h"
#include "profile/profile.h"
#include "profile/unseen_heirs.h"

/* An all-zero one is empty. */
struct gg_merge_heirs {
	GG_ARRAY(struct gg_fork_facts) facts; /* by process */
	struct gg_unseen_heirs heirs;
};

/* Reads the processes, counters and samples of a profile. */
GG_MUST_CHECK int gg_merge_heirs_read(struct gg_merge_heirs *heirs, struct gg_profile *profile,
                                      struct gg_error *error);
void gg_merge_heirs_done(struct gg_merge_heirs *heirs);

/* The times within which a process held blocks. */
struct gg_merge_held {
	uint32_t process;
	uint64_t block;            /* the id of their first sample; UINT32_MAX: unknown */
	int64_t from_ns, until_ns; /* unknown ones are INT64_MIN and GG_TIME_NONE */
	bool is_orphan;            /* inherited, and no ancestor's sample is in the profile */
};

/* The times of heirs of such a block; GG_TIME_NONE: one may hold it at the end. */
struct gg_heir_times gg_merge_heirs_of(const struct gg_merge_heirs *heirs,
                                       const struct gg_merge_held *held);
