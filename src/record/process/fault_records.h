/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_records - writes the memory errors of a region, which nobody vouches for, into the profile.
 *
 * Threads  one owner of the target at a time.
 */
#pragma once

#include "record/process/target.h"

/* Once, after gg_stack_map_update().  0, or the writer's first failure. */
int gg_fault_records_write(struct gg_target *target, const struct gg_region_view *view);
