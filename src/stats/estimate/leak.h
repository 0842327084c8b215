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
 * Times are shares of the run: 0 its start, 1 its end.  docs/LEAKS.md has the reasons of all this.
 *
 * Old       is what is older than a tenth of the run.  Requests in flight, and jobs of that length, never
 *           grow old; what is said of growth is said of the old.
 * Growth    is tested in the second and in the third third of the run apart: what grew old in it and
 *           was still there at its end, against what was old at its start and freed in it.  No block is
 *           in both, so they were sampled independently, and gg_difference_of() has the p-value.
 * Steadily  Kendall's rank correlation of the old with time, at 13 moments of the last two thirds: a
 *           level that goes up and down is no leak, however certain its last rise.
 *
 * The p-value is the largest of the three: small only if it grew in the second third, and in the last
 * one, and steadily.
 *
 * Threads   any; pure; no allocation.
 * Cost      a sample that was freed young costs its weight alone, one that was kept a tally's addition
 *           (bench_report has all of it).
 */
#pragma once

#include "stats/estimate/compare.h"
#include "stats/estimate/tally.h"

enum {
	GG_LEAK_MOMENTS = 13,
	GG_LEAK_COHORTS = 10,
	GG_LEAK_THIRDS = 2, /* the second and the last: the first is for starting up */
};

#define GG_LEAK_YOUNG 0.1 /* share of the run */

struct gg_leak {
	/* From gg_leak_finish() on. */
	struct gg_tally live; /* at the end */
	struct gg_tally old;  /* of that, what is old */
	struct gg_tally gained[GG_LEAK_THIRDS], lost[GG_LEAK_THIRDS];
	struct gg_tally kept[GG_LEAK_THIRDS + 2]; /* live ones by when they became old */
	double levels[GG_LEAK_MOMENTS];           /* estimated bytes of the old, at each moment */
	double cohorts[GG_LEAK_COHORTS]; /* of what is live at the end, by when it was allocated */
	double offered_bytes; /* estimate of all that was allocated early enough to be old by now */
	uint64_t freed_count; /* samples */
	bool is_vague;        /* frees without a time that could have been at any */
};

/* interval: the sampling interval that the group was exposed to, in bytes; 0: unknown. */
void gg_leak_init(struct gg_leak *leak, double interval_bytes);

/* freed: INFINITY if it never was.  Times outside of [0, 1] count as its ends. */
void gg_leak_add(struct gg_leak *leak, double allocated, double freed, const struct gg_draw *draw,
                 uint64_t size_bytes);

/*
 * Samples that were allocated and freed at unknown moments in [from, to].  What may have been old at
 * the start of a third counts as lost in it, and never as gained: growth is never overstated.
 */
void gg_leak_add_vague(struct gg_leak *leak, double from, double to, const struct gg_tally *tally);

/* All is there: once, before anything below is asked. */
void gg_leak_finish(struct gg_leak *leak);

/*
 * That it does not grow steadily.  NaN: not tested, so few samples that no outcome could have been
 * significant (such rows do not count for the false discovery rate; Gilbert 2005).
 */
double gg_leak_p_value(const struct gg_leak *leak);

/* Bytes by which the old grew in the last third. */
struct gg_difference gg_leak_growth(const struct gg_leak *leak, double confidence);

/* What is old now, of all that was allocated early enough to be; 0 to 1, NaN if nothing was. */
double gg_leak_kept_share(const struct gg_leak *leak);

/* In the order of reports. */
enum gg_leak_class {
	GG_LEAK_GROWING,     /* grows steadily */
	GG_LEAK_NEVER_FREED, /* some of it is old, and no sample of the group was ever freed */
	GG_LEAK_UNCLEAR,     /* some of it is old, some was freed; more samples would tell */
	GG_LEAK_LEVEL, /* in the last third it grew for certain by less than a third: a cache */
	GG_LEAK_YOUNG_ONLY, /* nothing of it is old */
};

enum { GG_LEAK_CLASS_COUNT = GG_LEAK_YOUNG_ONLY + 1 };

/* "growing", "never freed", "unclear", "level", "young". */
const char *gg_leak_class_name(enum gg_leak_class class);

/* grows: the p-value is among the discoveries. */
enum gg_leak_class gg_leak_class_of(const struct gg_leak *leak, bool grows, double confidence);
