/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_profiles - removes all but the newest profiles of a directory.
 *
 * A profile is a regular file of the user (for root: of anybody) whose name ends in .geiger and
 * whose head identifies it as a profile.  A profile that is still recorded has another name.  The
 * modification time of the file is its age.  The search follows no links and enters no
 * subdirectories.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "record/regions/region_list.h"

/* Keeps the newest clean->keep_count profiles and those younger than clean->older_seconds. */
GG_MUST_CHECK int gg_old_profiles_clean(const char *directory, struct gg_clean *clean,
                                        struct gg_error *error);
