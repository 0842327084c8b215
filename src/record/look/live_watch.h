/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_watch - compares the live samples at the moments of a look, and adds to the look what the
 * process changed meanwhile.
 *
 *   struct gg_live_watch watch = { .reader = reader, .samples = &samples, .pid = pid,
 *                                  .chosen_max = GG_LOOK_CHOSEN_MAX };
 *
 *   status = gg_live_watch_begin(&watch, error);
 *   options.moments = &watch.moments;
 *   if (status == 0)
 *           status = gg_look_take(&look, pid, &options, error);
 *   if (status == 0)
 *           status = gg_live_watch_end(&watch, &look, error);
 *
 * Totals that the look gets, in bytes by the weights of samples:
 *
 *   look.live-before, look.live-after   live right before and after the mappings were read
 *   look.live-stayed                    live at both moments
 *   look.live-new                       live after, and allocated between before and the mappings
 *   look.live-new-unsure                live after, and allocated while the mappings were read
 *   look.live-unseen                    allocated and freed between both moments
 *   look.live-deviation                 the standard error of the sum after
 *   look.gone                           live before, and freed before its surroundings were read
 *   look.gone-seen                      the part of it whose residency was read before it went
 *   look.gone-resident                  the resident part of that
 *   look.gone-resident-deviation        the standard error of that part
 *   look.gone-absent-deviation          the standard error of the part that is not resident
 *   glibc.changed                       allocated or freed before the walk was over, at most
 *
 * The watch may read samples and mappings several times, and keeps a reading during which little
 * changed.  Between two readings, the recorder may have to wait for a processor for longer than the
 * program needs to replace its heap.  Another try is often much shorter.  No try begins after
 * 100 ms of processor time, because the kernel locks the mappings of the process while it lists
 * them.
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
	pid_t pid;                          /* in the caller's namespace */
	const struct gg_live_set *live_set; /* as for gg_look_samples_read() */
	size_t chosen_max;                  /* samples that the look may choose */
	uint64_t seed;                      /* for the choice */
	int retry_count;                    /* readings of samples and mappings, beside the first */

	/* The members below are the watch's own. */
	struct gg_look_moments moments;
	uint64_t cpu_ns; /* processor time of the process at the begin; UINT64_MAX: unknown */
	bool has_difference;
	struct gg_live_difference difference; /* while the mappings were read */
	int try_count;
	uint64_t begin_ns;   /* processor time of the caller */
	double least_change; /* of all tries: the least share of live memory that changed */
	int status;
	struct gg_error error;
};

/* Begins, and reads the samples.  0 or -Exxx. */
GG_MUST_CHECK int gg_live_watch_begin(struct gg_live_watch *watch, struct gg_error *error);

/*
 * Adds the totals to the look.  0, or -Exxx if the samples could not be read again: then nothing
 * tells which blocks of the look still live.
 */
GG_MUST_CHECK int gg_live_watch_end(struct gg_live_watch *watch, struct gg_look *look,
                                    struct gg_error *error);
