/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_profile - profiles of regions: of programs that ran with the agent alone, or whose recorder died.
 *
 * A region has the state and no history: what is live, sample by sample, and sums by stack of what was
 * freed.  So such a profile has no time axis (session.has_history is false), and what was freed stands
 * in it as coarse rows.  The region is read and left as it is, also that of a running process.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "profile/profile.h"

/* The profile of one region, dead or alive, in memory. */
GG_MUST_CHECK int gg_record_load_region(struct gg_profile **ret_profile, const char *path,
                                        struct gg_error *error);

/* A profile, or a region as one: what every report takes.  The first bytes of the file decide. */
GG_MUST_CHECK int gg_record_open(struct gg_profile **ret_profile, const char *path,
                                 struct gg_error *error);

/* The same for people: what its recorder left unfinished is completed, in memory (record/regions/unfinished_profiles.h). */
GG_MUST_CHECK int gg_record_open_complete(struct gg_profile **ret_profile, const char *path,
                                          struct gg_error *error);

struct gg_profile_writer;
struct gg_target;

/* What people should know of a region: that it has inherited, what its program keeps from us. */
int gg_load_note_region(struct gg_profile_writer *writer, const struct gg_target *target);

enum { GG_SALVAGE_WHY_MAX = 400 };

/* What a salvage has put together. */
struct gg_salvage {
	uint32_t region_count, live_count;
	uint64_t sample_count;
	char why[GG_SALVAGE_WHY_MAX]; /* nothing was sampled; "": something was */
};

/*
 * One profile in the file `output` of all given regions, and of all in given directories (such as a
 * session's).  Parents are found by their pids.
 */
GG_MUST_CHECK int gg_record_salvage(char *const *paths, int count, const char *output,
                                    struct gg_salvage *ret_salvage, struct gg_error *error);
