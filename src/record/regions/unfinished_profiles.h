/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished_profiles - profiles whose recorder was killed or could not write any more.
 *
 * Such a profile has no end time and no symbols.  Reports complete a copy of it in memory
 * (gg_region_profile_open_complete), and `geiger symbolize` completes the file; `geiger sql` shows
 * the file as it is.  A profile that is still recorded has no end time either, but its recorder is
 * always in a transaction.
 */
#pragma once

#include <stdbool.h>

#include "profile/profile.h"

/* True if the profile was left unfinished; false while a recorder writes it. */
bool gg_unfinished_profile(struct gg_profile *profile, const char *path);

/*
 * Adds an end time and a note that recording ended early; `by_copy`: the note says that the file is
 * unchanged.
 */
GG_MUST_CHECK int gg_unfinished_profile_end(struct gg_profile *profile, bool by_copy,
                                            struct gg_error *error);

/* Replaces an open profile by a completed copy in memory.  progress: NULL: nobody. */
GG_MUST_CHECK int gg_unfinished_profile_complete(struct gg_profile **profile,
                                                 const struct gg_progress *progress,
                                                 struct gg_error *error);
