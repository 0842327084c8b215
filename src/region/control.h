/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - writes a region's control word: what another process wishes of the profiled one.
 *
 *   int fd = gg_region_control_open(path, error);
 *   struct gg_region_change change = { .set_active = true, .active = false };
 *
 *   if (fd < 0 || gg_region_control_write(fd, &change, error) < 0)
 *           return error->code;
 *
 * The agent looks at the word on cold paths, so a wish takes effect at each thread's next look
 * (docs/AGENT.md, "Settings while it runs").  Nobody hears whether it did.
 *
 * Written by pwrite(), never through a mapping, so a file that is cut short meanwhile is no signal.
 * The count goes last, in a call of its own: each call takes and gives back the page's lock, so who
 * sees the count sees what was written before it.  A count that is seen half written differs from the
 * last one too, and is looked at once more when it is whole.
 *
 * Writers   take turns by a lock (flock) on the file; one that waits for longer than WAIT gets -EBUSY.
 * Hostile   nothing of the file is trusted: it must be a regular file with one name, ours (root: of
 *           anybody), have a region's header that fits it, and be as long as that says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "region/layout.h"

/* The least and most that GEIGER_INTERVAL takes, too. */
#define GG_REGION_INTERVAL_MAX (UINT64_C(1) << 48)

struct gg_region_change {
	bool set_active, active;
	uint64_t interval_bytes; /* 0: as it is */
};

/*
 * A descriptor for reading and writing, or -Exxx: -EPERM for another user's file, -EBADMSG for what is
 * not a region; links are not followed (-ELOOP).
 */
GG_MUST_CHECK int gg_region_control_open(const char *path, struct gg_error *error);

/* -EINVAL: the sampling interval is out of range; nothing is written then. */
GG_MUST_CHECK int gg_region_control_write(int fd, const struct gg_region_change *change,
                                          struct gg_error *error);

/* The word as it is now; false: it cannot be read. */
bool gg_region_control_read(int fd, struct gg_region_control *ret_control);
