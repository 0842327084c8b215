/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_memory - chooses the readings of RSS for a moment, and sums them over processes.
 *
 *   struct gg_residents residents;
 *
 *   if (gg_residents_of(&residents, model, 0, error) == 0) {
 *           ... gg_residents_at(&residents, moment_ns) ...
 *           gg_residents_done(&residents);
 *   }
 *
 * The RSS of every process counts the pages that processes share.  Reports, timelines, and the page
 * follow one rule:
 *
 * - The RSS of one process is its resident pages.
 * - The RSS of several processes is the sum of their proportional sizes (Pss).  In it a shared page
 *   counts once, if one round of readings has the Pss of all processes that lived then.
 * - Otherwise it is the sum of the plain sizes, which is an upper bound.
 *
 * Reports show the last round up to a moment.  If that round is not whole, they show the last whole
 * round instead, unless the time between the two is more than a quarter of the time up to the last
 * round.
 *
 * Cost      Memory and time grow with rounds times processes: 1 M readings take about 0.1 s.
 * Threads   Any; it only reads the model, which must outlive the result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"

/*
 * A round of the kernel's figures, summed over processes.  All are bytes; negative: unknown.
 *
 * For one process, and for several with is_upper_bound, the members rss, file, stack, and geiger
 * count resident pages.  Otherwise they are proportional.  file includes shared memory, but not
 * geiger's.
 */
struct gg_resident {
	int64_t time_ns, span_ns; /* the readings took span_ns from time_ns on; -1: unknown */
	double rss, anonymous, file, stack, swap;
	double geiger;        /* memory of geiger itself inside the processes */
	size_t process_count; /* 0: no reading */
	size_t living_count;  /* processes that lived at that time */
	bool is_proportional; /* several processes: shared pages count once */
	bool is_upper_bound;  /* pages that several processes share count in each of them */
	/* The model's `memory`: also readings of processes that were not selected. */
	size_t first, count;
};

extern const struct gg_resident gg_resident_unknown;

struct gg_residents {
	const struct gg_model *model;
	uint32_t pid;
	struct gg_resident *rounds; /* by time; each has a selected process */
	size_t count;
};

/* pid: 0 for all processes.  -ENOMEM. */
GG_MUST_CHECK int gg_residents_of(struct gg_residents *ret_residents, const struct gg_model *model,
                                  uint32_t pid, struct gg_error *error);
void gg_residents_done(struct gg_residents *residents);

/*
 * Returns the round that reports show for a moment.  Its process_count is 0 if no round was before
 * the moment.
 */
struct gg_resident gg_residents_at(const struct gg_residents *residents, int64_t moment_ns);

/*
 * Returns that round without the processes that ended between the reading and the moment.  The sum
 * of the remaining processes is an upper bound: they hold at most what they held, and at most what
 * all processes held.  Both limits hold for one process as well: the Pss of all is below its plain
 * size if it shares many pages with other programs of the system.  rss is negative if no process
 * remains.
 */
struct gg_resident gg_residents_remaining_at(const struct gg_residents *residents,
                                             int64_t moment_ns);

/* True if the round has all processes that lived then, and counts each page once. */
bool gg_resident_is_whole(const struct gg_resident *resident);
