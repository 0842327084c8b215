/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_totals - widens what a look tells by what changed meanwhile (query/why_totals.h).
 */
#include "query/why_totals.h"

#include <math.h>
#include <string.h>

#include "model/model.h"
#include "stats/estimate/interval.h"

/* A share of live memory from which on rows say that it was freed during the look. */
static const double busy_share = 0.02;
/* The region's own sums replace those of events only if they are so much narrower. */
static const double narrower_share = 0.5;

double gg_why_total(const struct gg_why_input *input, const char *name)
{
	for (size_t i = 0; i < input->total_count; i++)
		if (strcmp(input->totals[i].name, name) == 0)
			return (double)input->totals[i].bytes;
	return -1;
}

double gg_why_slab_total(const struct gg_why_input *input, const char *name)
{
	for (size_t i = 0; i < input->total_count; i++)
		if (gg_model_is_slab_total(input->totals[i].name, name))
			return (double)input->totals[i].bytes;
	return -1;
}

/* By the times of samples, or for a region without history by its state before the look. */
static struct gg_why_range by_samples(const struct gg_why_input *input)
{
	struct gg_interval interval = gg_interval_of(&input->live, GG_BYTES, input->confidence,
	                                             false);
	double bytes = gg_tally_estimate(&input->live, GG_BYTES).value;

	if (input->samples_all && gg_tally_is_empty(&input->live) && input->live.incomplete == 0 &&
	    !(input->live.unbounded_bytes > 0))
		return (struct gg_why_range){ 0, 0, 0 };
	return (struct gg_why_range){ bytes, interval.low, interval.high };
}

/*
 * By the two readings of the region around that of RSS.  Memory that stayed was live in between,
 * and so was new memory that the second reading found, if it is older than RSS.  Memory that came
 * while the kernel counted may be in RSS, and nothing tells when memory went that the second
 * reading lacks, so half of both is the estimate.  Profiles of older releases do not tell the age
 * of new memory; then half of that is the estimate as well.
 */
static struct gg_why_range by_readings(const struct gg_why_input *input, double weight_max)
{
	double before = gg_why_total(input, "look.live-before");
	double after = gg_why_total(input, "look.live-after");
	double stayed = gg_why_total(input, "look.live-stayed");
	double new_bytes = gg_why_total(input, "look.live-new");
	double unsure = fmax(gg_why_total(input, "look.live-new-unsure"), 0);
	double change = new_bytes >= 0 ? (before - stayed + unsure) / 2
	                               : (before + after) / 2 - stayed;
	double unseen = fmax(gg_why_total(input, "look.live-unseen"), 0);
	double deviation = fmax(gg_why_total(input, "look.live-deviation"), 0);
	struct gg_estimate estimate = { stayed + fmax(new_bytes, 0) + change,
		                        deviation * deviation };
	struct gg_interval interval = { .low = estimate.value, .high = estimate.value };

	if (deviation > 0)
		interval = gg_interval_gamma(estimate, weight_max, input->confidence);
	return (struct gg_why_range){ estimate.value, fmax(interval.low - change, 0),
		                      interval.high + change + unseen };
}

/*
 * By the times of samples, which tell what was live at the moment of the look.  Blocks that came
 * while the kernel counted may not be in RSS.
 */
static struct gg_why_range by_times(const struct gg_why_input *input, struct gg_why_range samples)
{
	double unsure = fmax(gg_why_total(input, "look.live-new-unsure"), 0);

	samples.low = fmax(samples.low - unsure, 0);
	return samples;
}

struct gg_why_range gg_why_live_range(const struct gg_why_input *input, double weight_max)
{
	struct gg_why_range samples = by_samples(input), readings;
	double before = gg_why_total(input, "look.live-before");

	if (!(before > 0) || !(gg_why_total(input, "look.live-after") > 0))
		return samples;
	readings = by_readings(input, weight_max);
	if (input->has_history)
		return readings.high - readings.low < (samples.high - samples.low) * narrower_share
		               ? readings
		               : by_times(input, samples);
	/* The sums are of the same samples, but were added up in another order. */
	return fabs(before - samples.bytes) < 1 &&
	                       before == gg_why_total(input, "look.live-stayed") &&
	                       before == gg_why_total(input, "look.live-after")
	               ? samples
	               : readings;
}

/*
 * A block that is freed becomes free memory, and makes some of the free memory that it kept
 * returnable: as much as a byte in use keeps on average.
 */
struct gg_why_range gg_why_walked_range(const struct gg_why_input *input, const char *name)
{
	double bytes = gg_why_total(input, name);
	double changed = fmax(gg_why_total(input, "glibc.changed"), 0);
	double unread = fmax(gg_why_total(input, "glibc.unread"), 0);
	double in_use = gg_why_total(input, "glibc.in-use");
	double free_bytes = gg_why_total(input, "glibc.pinned") +
	                    gg_why_total(input, "glibc.returnable");

	if (changed > 0 && in_use > 0)
		changed *= 1 + fmax(free_bytes, 0) / in_use;
	return (struct gg_why_range){ bytes, fmax(floor(bytes - changed), 0),
		                      ceil(bytes + changed + unread) };
}

bool gg_why_is_busy(const struct gg_why_input *input)
{
	double before = gg_why_total(input, "look.live-before");
	double left = before - gg_why_total(input, "look.live-stayed") +
	              fmax(gg_why_total(input, "look.gone"), 0);

	return before > 0 && left > before * busy_share;
}
