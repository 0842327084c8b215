/* SPDX-License-Identifier: Apache-2.0 */
/* leak - tests whether the live samples of a site keep growing. */
#include "stats/estimate/leak.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/sampling/weight.h"

/* The ends of the first, second, and last third. */
static const double third_ends[] = { 1. / 3, 2. / 3, 1 };

static double moment_of(int index)
{
	return third_ends[0] + (1 - third_ends[0]) * index / (GG_LEAK_MOMENTS - 1);
}

void gg_leak_init(struct gg_leak *leak, double interval_bytes)
{
	*leak = (struct gg_leak){ 0 };
	gg_tally_expose(&leak->live, interval_bytes);
	gg_tally_expose(&leak->old, interval_bytes);
	for (int i = 0; i < GG_LEAK_THIRDS; i++) {
		gg_tally_expose(&leak->gained[i], interval_bytes);
		gg_tally_expose(&leak->lost[i], interval_bytes);
	}
}

/*
 * True if the block is live and old at that moment.  A block freed at the moment itself is not
 * live.
 */
static bool is_old_at(double allocated, double freed, double moment)
{
	return allocated <= moment - GG_LEAK_YOUNG && freed > moment;
}

static void add_levels(struct gg_leak *leak, double allocated, double freed, double weight)
{
	for (int i = 0; i < GG_LEAK_MOMENTS; i++)
		if (is_old_at(allocated, freed, moment_of(i)))
			leak->levels[i] += weight;
}

/*
 * Adds a block that is live at the end: once, to the part of the blocks that became old in the same
 * third.  gg_leak_finish() makes the sums from these parts, which saves most additions.
 */
static void add_kept(struct gg_leak *leak, double allocated, const struct gg_draw *draw,
                     uint64_t size_bytes, double weight)
{
	int cohort = (int)(allocated * GG_LEAK_COHORTS), part = 0;

	leak->cohorts[cohort < GG_LEAK_COHORTS ? cohort : GG_LEAK_COHORTS - 1] += weight;
	while (part <= GG_LEAK_THIRDS && allocated > third_ends[part] - GG_LEAK_YOUNG)
		part++;
	gg_tally_add(&leak->kept[part], draw, size_bytes);
	add_levels(leak, allocated, INFINITY, weight);
}

/* Adds a freed block that lived long enough to have been old at some time. */
static void add_freed(struct gg_leak *leak, double allocated, double freed,
                      const struct gg_draw *draw, uint64_t size_bytes, double weight)
{
	for (int i = 0; i < GG_LEAK_THIRDS; i++) {
		bool before = is_old_at(allocated, freed, third_ends[i]);
		bool after = is_old_at(allocated, freed, third_ends[i + 1]);

		if (after && !before)
			gg_tally_add(&leak->gained[i], draw, size_bytes);
		else if (before && !after)
			gg_tally_add(&leak->lost[i], draw, size_bytes);
	}
	add_levels(leak, allocated, freed, weight);
}

void gg_leak_add(struct gg_leak *leak, double allocated, double freed, const struct gg_draw *draw,
                 uint64_t size_bytes)
{
	double weight = gg_weight_of(draw, size_bytes).bytes;

	allocated = fmin(fmax(allocated, 0), 1);
	if (allocated <= 1 - GG_LEAK_YOUNG)
		leak->offered_bytes += weight;
	if (isinf(freed)) {
		add_kept(leak, allocated, draw, size_bytes, weight);
		return;
	}
	leak->freed_count++;
	if (freed - allocated >= GG_LEAK_YOUNG)
		add_freed(leak, allocated, freed, draw, size_bytes, weight);
}

void gg_leak_add_exact(struct gg_leak *leak, double allocated, double freed,
                       const struct gg_tally *tally)
{
	double bytes = gg_tally_estimate(tally, GG_BYTES).value;
	int cohort, part = 0;

	allocated = fmin(fmax(allocated, 0), 1);
	if (allocated <= 1 - GG_LEAK_YOUNG)
		leak->offered_bytes += bytes;
	add_levels(leak, allocated, freed, bytes);
	if (isinf(freed)) {
		cohort = (int)(allocated * GG_LEAK_COHORTS);
		leak->cohorts[cohort < GG_LEAK_COHORTS ? cohort : GG_LEAK_COHORTS - 1] += bytes;
		while (part <= GG_LEAK_THIRDS && allocated > third_ends[part] - GG_LEAK_YOUNG)
			part++;
		gg_tally_merge(&leak->kept[part], tally);
		return;
	}
	leak->freed_count += tally->sample_count;
	for (int i = 0; i < GG_LEAK_THIRDS; i++) {
		bool before = is_old_at(allocated, freed, third_ends[i]);
		bool after = is_old_at(allocated, freed, third_ends[i + 1]);

		if (after && !before)
			gg_tally_merge(&leak->gained[i], tally);
		else if (before && !after)
			gg_tally_merge(&leak->lost[i], tally);
	}
}

void gg_leak_finish(struct gg_leak *leak)
{
	/*
	 * The parts: old before the end of the first third, old before each later end, and not yet
	 * old.
	 */
	for (int part = 0; part <= GG_LEAK_THIRDS + 1; part++) {
		const struct gg_tally *kept = &leak->kept[part];

		if (gg_tally_is_empty(kept))
			continue;
		gg_tally_merge(&leak->live, kept);
		if (part <= GG_LEAK_THIRDS)
			gg_tally_merge(&leak->old, kept);
		if (part >= 1 && part <= GG_LEAK_THIRDS)
			gg_tally_merge(&leak->gained[part - 1], kept);
	}
}

void gg_leak_add_vague(struct gg_leak *leak, double from, double to, const struct gg_tally *tally)
{
	leak->freed_count += tally->sample_count;
	if (from <= 1 - GG_LEAK_YOUNG)
		leak->offered_bytes += gg_tally_estimate(tally, GG_BYTES).value;
	for (int i = 0; i < GG_LEAK_THIRDS; i++) {
		if (!is_old_at(from, to, third_ends[i]))
			continue;
		gg_tally_merge(&leak->lost[i], tally);
		leak->is_vague = true;
	}
}

/*
 * Returns P(S >= s) for Kendall's S, concordant minus discordant pairs of n untied moments, if
 * every order of them is equally likely: the share of the permutations of n with so few inversions
 * (Kendall 1938).  Ties add nothing to S.  They count as half a discordant pair, which makes the
 * p-value larger.
 */
static double kendall_p_value(const double *levels)
{
	enum { PAIRS = GG_LEAK_MOMENTS * (GG_LEAK_MOMENTS - 1) / 2 };
	double share[PAIRS + 1] = { 1 }, p = 0;
	int s = 0, most;

	for (int i = 0; i < GG_LEAK_MOMENTS; i++)
		for (int j = 0; j < i; j++)
			s += (levels[i] > levels[j]) - (levels[i] < levels[j]);
	most = (PAIRS - s + 1) / 2;
	/* Adds one moment: each of its n places among the other moments is equally likely. */
	for (int n = 2; n <= GG_LEAK_MOMENTS; n++) {
		double next[PAIRS + 1] = { 0 };

		for (int inversions = 0; inversions <= n * (n - 1) / 2; inversions++)
			for (int place = 0; place < n && place <= inversions; place++)
				next[inversions] += share[inversions - place] / n;
		for (int i = 0; i <= PAIRS; i++)
			share[i] = next[i];
	}
	for (int i = 0; i <= most; i++)
		p += share[i];
	return fmin(p, 1);
}

/*
 * Returns the p-value of growth.  It is two-sided, which is twice as strict as "it grew" requires.
 * NaN if the error of either side is unknown.
 */
static double growth_p_value(const struct gg_tally *lost, const struct gg_tally *gained)
{
	struct gg_difference d = gg_difference_of(lost, gained, GG_BYTES, 1, 0.95);

	return d.value > 0 || isnan(d.p_value) ? d.p_value : 1;
}

/* True if the growth would be significant with all of these samples gained. */
static bool is_testable(const struct gg_leak *leak, int third)
{
	enum { ENOUGH = 6 }; /* 6 samples of any size suffice: test_stats_compare */
	struct gg_tally all = leak->gained[third], none = { 0 };

	if (all.sample_count + leak->lost[third].sample_count >= ENOUGH)
		return true;
	gg_tally_merge(&all, &leak->lost[third]);
	gg_tally_expose_like(&none, &all);
	return !gg_tally_is_empty(&all) && growth_p_value(&none, &all) <= 0.05;
}

double gg_leak_p_value(const struct gg_leak *leak)
{
	double p;

	for (int i = 0; i < GG_LEAK_THIRDS; i++)
		if (!is_testable(leak, i))
			return NAN;
	p = kendall_p_value(leak->levels);
	for (int i = 0; i < GG_LEAK_THIRDS; i++) {
		double growth = growth_p_value(&leak->lost[i], &leak->gained[i]);

		if (isnan(growth)) /* fmax() would drop it, and the levels alone would decide */
			return NAN;
		p = fmax(p, growth);
	}
	return p;
}

struct gg_difference gg_leak_growth(const struct gg_leak *leak, double confidence)
{
	return gg_difference_of(&leak->lost[GG_LEAK_THIRDS - 1], &leak->gained[GG_LEAK_THIRDS - 1],
	                        GG_BYTES, 1, confidence);
}

double gg_leak_kept_share(const struct gg_leak *leak)
{
	if (!(leak->offered_bytes > 0))
		return NAN;
	return fmin(gg_tally_estimate(&leak->old, GG_BYTES).value / leak->offered_bytes, 1);
}

static const char *const class_names[] = {
	[GG_LEAK_GROWING] = "growing",  [GG_LEAK_NEVER_FREED] = "never freed",
	[GG_LEAK_UNCLEAR] = "unclear",  [GG_LEAK_LEVEL] = "level",
	[GG_LEAK_YOUNG_ONLY] = "young",
};

const char *gg_leak_class_name(enum gg_leak_class class)
{
	return (unsigned)class < GG_COUNT(class_names) ? class_names[class] : NULL;
}

enum gg_leak_class gg_leak_class_of(const struct gg_leak *leak, bool grows, double confidence)
{
	double old = gg_tally_estimate(&leak->old, GG_BYTES).value;

	if (gg_tally_is_empty(&leak->old))
		return GG_LEAK_YOUNG_ONLY;
	if (grows)
		return GG_LEAK_GROWING;
	if (leak->freed_count == 0)
		return GG_LEAK_NEVER_FREED;
	/* Steady growth from nothing would have made a third of the bytes in the last third. */
	if (!leak->is_vague && gg_leak_growth(leak, confidence).high < old / 3)
		return GG_LEAK_LEVEL;
	return GG_LEAK_UNCLEAR;
}
