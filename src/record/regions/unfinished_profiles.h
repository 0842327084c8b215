/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished_profiles - profiles whose recorder was killed, or could write no more.
 *
 * Such a profile has no end and no names.  Reports complete a copy of it in memory (gg_record_open_complete), `geiger symbolize`
 * the file; `geiger sql` shows what is there.  A profile that is still recorded has no end either, but its recorder is
 * always in a transaction.
 */
#pragma once

#include <stdbool.h>

#include "profile/profile.h"

/* Was it left unfinished?  False while somebody writes it. */
bool gg_unfinished_profile(struct gg_profile *profile, const char *path);

/* Gives it an end, and a note that it ended early; `by_copy`: the file stays as it is, which the note says. */
GG_MUST_CHECK int gg_unfinished_profile_end(struct gg_profile *profile, bool by_copy,
                                            struct gg_error *error);

/* Replaces an open profile by a copy in memory that is complete. */
GG_MUST_CHECK int gg_unfinished_profile_complete(struct gg_profile **profile,
                                                 struct gg_error *error);
