/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_regions - finds the regions that appear in a session's directories.
 *
 * A file is an embryo until its process has made a complete region of it.  Then it becomes a member
 * of the set, unless its process is not to be recorded.  Parents become members before their
 * children, because a region's name has a number that grows with time.
 */
#pragma once

#include "record/process/process_set.h"

/* Finds new regions and opens them, oldest first.  Sets set->has_embryo. */
int gg_new_regions_scan(struct gg_process_set *set);
