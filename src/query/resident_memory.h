/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_memory - RSS of several processes at a moment: which readings are shown, and what their sum is.
 *
 *   struct gg_residents residents;
 *
 *   if (gg_residents_of(&residents, model, 0, error) == 0) {
 *           ... gg_residents_at(&residents, moment_ns) ...
 *           gg_residents_done(&residents);
 *   }
 *
 * A page that processes share is in the RSS of each.  One rule for reports, timelines and the page:
 *
 * - Of one process, RSS is its resident pages.
 * - Of several, it is the sum of their proportional sizes (Pss), in which a page counts once, where one
 *   round of readings has those of all processes that lived then.
 * - Otherwise it is the sum of the plain sizes: an upper bound of what they hold together.
 *
 * For a moment, the last round up to it is shown; but the last one without such faults (whole), if that
 * is not older than a quarter of the time up to the moment.
 *
 * Cost      memory and time grow with rounds times processes: 1 M readings in some 0.1 s.
 * Threads   any; the model is only read.  It must outlive the result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"

/*
 * A round of readings of what the kernel says, summed over processes.  Bytes; negative: not known.
 *
 * Of one process, and of several with is_upper_bound, rss, file, stack and geiger are resident pages;
 * file includes shared memory, and is without geiger's.  Otherwise they are proportional.
 */
struct gg_resident {
	int64_t time_ns, span_ns; /* all was read in span_ns from then on; -1: not known */
	double rss, anonymous, file, stack, swap;
	double geiger;        /* what geiger itself takes in the processes */
	size_t process_count; /* 0: there was no reading */
	size_t living_count;  /* processes that lived then */
	bool is_proportional; /* several processes: pages that they share count once */
	bool is_upper_bound;  /* several processes: such pages count in each of them */
	/* The readings, in gg_model_memory(), also of processes that were not asked for. */
	size_t first, count;
};

extern const struct gg_resident gg_resident_unknown;

struct gg_residents {
	const struct gg_model *model;
	uint32_t pid;
	struct gg_resident *rounds; /* by time, each with a process that was asked for */
	size_t count;
};

/* pid: 0 for all processes.  -ENOMEM. */
GG_MUST_CHECK int gg_residents_of(struct gg_residents *ret_residents, const struct gg_model *model,
                                  uint32_t pid, struct gg_error *error);
void gg_residents_done(struct gg_residents *residents);

/* The round that is shown for a moment, as it was read; without processes: there is none before. */
struct gg_resident gg_residents_at(const struct gg_residents *residents, int64_t moment_ns);

/*
 * The same without processes that ended between the reading and the moment: several that remain hold
 * at most what they held, and at most what all held together.  rss is negative where none remains.
 */
struct gg_resident gg_residents_remaining_at(const struct gg_residents *residents,
                                             int64_t moment_ns);

/* Does it have all processes that lived then, and each page once? */
bool gg_resident_is_whole(const struct gg_resident *resident);
