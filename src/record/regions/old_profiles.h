/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_profiles - the profiles of a directory, of which the newest stay.
 *
 * A profile is a regular file of ours (root: of anybody) whose name ends in .geiger and whose head says that it
 * is one; what is still being recorded has another name.  The file's own time says how old it is.  Links are
 * not followed, and directories below are not looked into.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "record/regions/region_list.h"

/* Removes all but the newest clean->keep_count that are older than clean->older_seconds. */
GG_MUST_CHECK int gg_old_profiles_clean(const char *directory, struct gg_clean *clean,
                                        struct gg_error *error);
