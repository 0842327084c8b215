/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_region - requests new settings of a running process through its region.
 *
 *   struct gg_region_change change = { .interval_bytes = 65536 };
 *
 *   if (gg_change_region(path, &change, &header, error) < 0)
 *           return error->status;
 *
 * Threads  Any; writers take turns (region/control.h).
 */
#pragma once

#include "region/control.h"

/*
 * *ret_header is the header as it was before.  -ESRCH: the process has ended, so nobody would read
 * the settings.  Other errors are those of gg_region_control_open() and gg_region_control_write().
 */
GG_MUST_CHECK int gg_change_region(const char *path, const struct gg_region_change *change,
                                   struct gg_region_header *ret_header, struct gg_error *error);
