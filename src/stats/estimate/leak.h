/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leak - tells live bytes of a group that keep growing from a table, a cache, and young objects.
 *
 *   struct gg_leak leak;
 *
 *   gg_leak_init(&leak, interval_bytes);
 *   gg_leak_add(&leak, 0.25, INFINITY, &draw, size);    allocated at a quarter of the run, kept
 *   gg_leak_finish(&leak);
 *   p[i] = gg_leak_p_value(&leak);
 *   ... gg_false_discovery(p, ...) ...
 *   gg_leak_class_of(&leak, p[i] <= 0.05, 0.95)
 *
 * Times are shares of the run: 0 is its start, 1 its end.  docs/LEAKS.md has the reasons for this
 * method.
 *
 * Old       A block is old if it is older than a tenth of the run.  Requests in flight, and jobs of
 *           that length, never grow old.  Growth always refers to the old blocks.
 * Growth    The second and the third third of the run are tested separately.  The test compares
 *           blocks that grew old in the third and were still live at its end with blocks that were
 *           old at its start and freed in it.  No block is in both groups, so they were sampled
 *           independently, and gg_difference_of() has the p-value.
 * Steadily  Kendall's rank correlation of the old bytes with time, at 13 moments of the last two
 *           thirds.  A level that goes up and down is no leak, however certain its last rise is.
 *
 * The p-value is the largest of the three.  It is small only if the group grew in the second third,
 * and in the last third, and steadily.
 *
 * Threads  Any thread; the functions are pure and do not allocate.
 * Cost     A sample that was freed young costs only its weight; one that was kept costs one
 *          addition to a tally (bench_report measures all of it).
 */
#pragma once

#include "stats/estimate/compare.h"
#include "stats/estimate/tally.h"

enum {
	GG_LEAK_MOMENTS = 13,
	GG_LEAK_COHORTS = 10,
	GG_LEAK_THIRDS = 2, /* the second and the last third; programs start up in the first */
};

#define GG_LEAK_YOUNG 0.1 /* as a share of the run */

struct gg_leak {
	/* Complete after gg_leak_finish(). */
	struct gg_tally live; /* live at the end */
	struct gg_tally old;  /* the old part of `live` */
	struct gg_tally gained[GG_LEAK_THIRDS], lost[GG_LEAK_THIRDS];
	/* Live blocks by the third in which they became old. */
	struct gg_tally kept[GG_LEAK_THIRDS + 2];
	double levels[GG_LEAK_MOMENTS]; /* estimated bytes of the old blocks, at each moment */
	/* Bytes live at the end, by the time of their allocation. */
	double cohorts[GG_LEAK_COHORTS];
	/* Estimated bytes that were allocated early enough to be old at the end. */
	double offered_bytes;
	uint64_t freed_count; /* freed samples */
	bool is_vague;        /* some frees have no time, and may have been at any */
};

/*
 * Prepares an empty group.  interval_bytes is the sampling interval that it was exposed to; 0:
 * unknown.
 */
void gg_leak_init(struct gg_leak *leak, double interval_bytes);

/*
 * Adds a sample.  `freed` is INFINITY if the block was never freed.  Times outside of [0, 1] count
 * as 0 or 1.
 */
void gg_leak_add(struct gg_leak *leak, double allocated, double freed, const struct gg_draw *draw,
                 uint64_t size_bytes);

/*
 * Adds samples that were allocated and freed at unknown moments in [from, to].  Blocks that may
 * have been old at the start of a third count as lost in it, and never as gained, so growth is
 * never overstated.
 */
void gg_leak_add_vague(struct gg_leak *leak, double from, double to, const struct gg_tally *tally);

/*
 * Adds blocks of which every one was counted: all were allocated at one time, and freed at one time
 * (INFINITY: never).
 */
void gg_leak_add_exact(struct gg_leak *leak, double allocated, double freed,
                       const struct gg_tally *tally);

/*
 * Completes the sums.  Call it once, after all samples were added and before the functions below.
 */
void gg_leak_finish(struct gg_leak *leak);

/*
 * Returns the p-value of "the group does not grow steadily".  NaN means "not tested": so few
 * samples that no outcome could be significant, or samples whose error is unknown.  Such rows do
 * not count for the false discovery rate (Gilbert 2005).
 */
double gg_leak_p_value(const struct gg_leak *leak);

/* Returns the bytes by which the old blocks grew in the last third. */
struct gg_difference gg_leak_growth(const struct gg_leak *leak, double confidence);

/*
 * Returns the share of old bytes at the end, among the bytes allocated early enough to be old: 0 to
 * 1, or NaN if there were no such bytes.
 */
double gg_leak_kept_share(const struct gg_leak *leak);

/* The classes, in the order of reports. */
enum gg_leak_class {
	GG_LEAK_GROWING,     /* grows steadily */
	GG_LEAK_NEVER_FREED, /* part of it is old, and no sample of the group was ever freed */
	GG_LEAK_UNCLEAR,     /* part of it is old, part was freed; more samples could decide */
	GG_LEAK_LEVEL,       /* grew by less than a third during the last third of the run */
	GG_LEAK_YOUNG_ONLY,  /* no part of it is old */
};

enum { GG_LEAK_CLASS_COUNT = GG_LEAK_YOUNG_ONLY + 1 };

/* Returns "growing", "never freed", "unclear", "level", or "young". */
const char *gg_leak_class_name(enum gg_leak_class class);

/* Returns the class of a group.  `grows`: its p-value is among the discoveries. */
enum gg_leak_class gg_leak_class_of(const struct gg_leak *leak, bool grows, double confidence);
