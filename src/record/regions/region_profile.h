/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_profile - profiles of regions, for programs that ran with the agent alone or whose
 * recorder died.
 *
 * A region has state and no history: the live samples, and sums by stack of freed blocks.  So such
 * a profile has no time axis (session.has_history is false), and aggregates count the freed blocks.
 * These functions only read the region, so its process may be running.  The profile then has a look
 * at that process as well (look/target_look.h), if the caller may read the process's memory.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "profile/profile.h"

/* Makes a profile of one region in memory; its process may be alive or dead. */
GG_MUST_CHECK int gg_region_profile_load(struct gg_profile **ret_profile, const char *path,
                                         const struct gg_progress *progress,
                                         struct gg_error *error);

/*
 * Makes a profile of several regions in memory, without looks at their processes.  Blocks that
 * forked processes share are known as such.  Regions that are gone are left out; -ENOENT: all are.
 * Symbols come from this machine, within so many seconds for a module.
 */
GG_MUST_CHECK int gg_region_profile_load_several(struct gg_profile **ret_profile,
                                                 char *const *paths, int count,
                                                 double symbol_seconds, struct gg_error *error);

/* Opens a profile, or a region as a profile, for reports.  The first bytes of the file decide. */
GG_MUST_CHECK int gg_region_profile_open(struct gg_profile **ret_profile, const char *path,
                                         const struct gg_progress *progress,
                                         struct gg_error *error);

/*
 * As gg_region_profile_open(), but completes an unfinished profile in memory
 * (unfinished_profiles.h).
 */
GG_MUST_CHECK int gg_region_profile_open_complete(struct gg_profile **ret_profile, const char *path,
                                                  const struct gg_progress *progress,
                                                  struct gg_error *error);

struct gg_profile_writer;
struct gg_target;

/* Adds notes that the process inherited samples and that the agent cannot see all of its memory. */
int gg_region_profile_note(struct gg_profile_writer *writer, const struct gg_target *target);

enum { GG_SALVAGE_WHY_MAX = 400 };

/* Counts of a salvaged profile. */
struct gg_salvage {
	uint32_t region_count, live_count;
	uint32_t repeated_count; /* files beside these whose process another file has as well */
	uint64_t sample_count;
	uint32_t runtime_count;        /* .NET runtimes whose events were there */
	uint64_t managed_sample_count; /* of these */
	char why[GG_SALVAGE_WHY_MAX];  /* why nothing was sampled; "": there are samples */
};

/*
 * Writes one profile of all given regions and of all regions in given directories (such as a
 * session's) into the file `output`.  A process counts once, by its latest state, however many of
 * the files are its region, copies of it and snapshots.  Pids identify the parents.  The events of
 * .NET's runtimes in the directories go into it as samples, with the ends of those that died.
 */
GG_MUST_CHECK int gg_region_profile_salvage(char *const *paths, int count, const char *output,
                                            const struct gg_progress *progress,
                                            struct gg_salvage *ret_salvage, struct gg_error *error);
