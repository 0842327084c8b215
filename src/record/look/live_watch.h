/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_watch - compares the live samples at the moments of a look, and adds to the look what the
 * process changed meanwhile.
 *
 *   struct gg_live_watch watch = { .reader = reader, .samples = &samples, .pid = pid };
 *
 *   gg_live_watch_begin(&watch);            then the samples are read
 *   options.moments = &watch.moments;
 *   status = gg_look_take(&look, pid, &options, error);
 *   if (status == 0)
 *           status = gg_live_watch_end(&watch, &look, error);
 *
 * Totals that the look gets, in bytes by the weights of samples:
 *
 *   look.live-before, look.live-after   live right before and after the mappings were read
 *   look.live-stayed                    live at both moments
 *   look.live-unseen                    allocated and freed between both moments
 *   look.live-deviation                 the standard error of the sum after
 *   look.gone                           live before, and freed before its memory was read
 *   glibc.changed                       allocated or freed before the walk was over, at most
 *
 * A process that had no processor time during the look has changed nothing.  In one that had some,
 * blocks without a sample may have changed: three sampling intervals hold that with 95 %.
 */
#pragma once

#include <sys/types.h>

#include "record/look/look.h"

struct gg_live_watch {
	struct gg_region_reader *reader;
	struct gg_look_samples *samples;
	pid_t pid; /* in the caller's namespace */

	/* The members below are the watch's own. */
	struct gg_look_moments moments;
	uint64_t cpu_ns; /* processor time of the process at the begin; UINT64_MAX: unknown */
	bool has_difference;
	struct gg_live_difference difference; /* while the mappings were read */
	int status;
	struct gg_error error;
};

/* Begins; the samples must be read after this. */
void gg_live_watch_begin(struct gg_live_watch *watch);

/*
 * Adds the totals to the look.  0, or -Exxx if the samples could not be read again: then nothing
 * tells which blocks of the look still live.
 */
GG_MUST_CHECK int gg_live_watch_end(struct gg_live_watch *watch, struct gg_look *look,
                                    struct gg_error *error);
