/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_heap - estimates the parts of an allocator's resident memory, and makes them add up.
 *
 * A number f that the heap alone determines for a block, such as its resident bytes, has an
 * estimate for all live blocks: the sum of f / p over those that the look saw, where p is the
 * probability that the block was a sample and that the look chose it.  Its variance is the sum of
 * (1 - p) / p^2 f^2.
 */
#include "query/why_heap.h"

#include <math.h>
#include <string.h>

#include "query/pinned.h"
#include "query/why_totals.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/looked_value.h"
#include "stats/sampling/weight.h"

/* Sums of a number f over the blocks that the look saw. */
struct seen_sums {
	double value, variance;
	double largest; /* the most that one block adds */
};

static void add(struct seen_sums *sums, double f, double p)
{
	sums->value += f / p;
	sums->variance += (1 - p) / (p * p) * f * f;
	sums->largest = fmax(sums->largest, f / p);
}

static struct gg_why_part exactly(double bytes)
{
	return (struct gg_why_part){ bytes, bytes, bytes, GG_WHY_EXACT };
}

/* A total of a walk through the heap. */
static struct gg_why_part walked(const struct gg_why_input *input, const char *name)
{
	struct gg_why_range range = gg_why_walked_range(input, name);
	enum gg_why_certainty certainty = range.low < range.high ? GG_WHY_INTERVAL : GG_WHY_EXACT;

	return (struct gg_why_part){ range.bytes, range.low, range.high, certainty };
}

static struct gg_why_part at_most(double bytes)
{
	return (struct gg_why_part){ bytes, 0, bytes, GG_WHY_BOUND };
}

/*
 * Chunks in fast bins and in caches of threads look in use.  Without them (an older profile, a
 * release of glibc with another layout, a look without a walk) more is free than the look shows.
 */
static bool misses_free_chunks(const struct gg_why_input *input)
{
	const char *allocator = input->look->allocator;

	return allocator != NULL && strcmp(allocator, "glibc") == 0 &&
	       input->look->reason == NULL &&
	       (gg_why_total(input, "glibc.fast") < 0 || gg_why_total(input, "glibc.cached") < 0);
}

static struct gg_why_part at_least(struct gg_why_part part, double low)
{
	return (struct gg_why_part){ part.bytes, low, INFINITY, GG_WHY_BOUND };
}

/* unseen: what a block that no sample shows could add to the estimate. */
static struct gg_why_part part_of(const struct seen_sums *sums, double unseen, double confidence)
{
	struct gg_estimate estimate = { sums->value, sums->variance };
	struct gg_interval interval;
	double most = sums->value > 0 ? sums->largest : unseen;

	if (!(sums->variance > 0) && !(sums->value == 0 && unseen > 0))
		return exactly(round(sums->value));
	interval = gg_interval_gamma(estimate, most, confidence);
	if (sums->value == 0)
		interval.low = 0;
	return (struct gg_why_part){ round(sums->value), floor(fmin(interval.low, sums->value)),
		                     ceil(interval.high), GG_WHY_INTERVAL };
}

/* --- what the look saw ---------------------------------------------------------------------- */

enum seen {
	SEEN_SIZE,
	SEEN_LIVE,
	SEEN_ROUNDING,
	SEEN_HEADERS,
	SEEN_UNTOUCHED,
	SEEN_SWAPPED,
	SEEN_RETURNABLE,
	SEEN_COUNT
};

struct view {
	struct seen_sums sums[SEEN_COUNT];
	size_t count, returnable_count;
	double weight_max; /* the largest 1/p of a block whose pages are shared, if p < 1 */
	double share;      /* probability that the look saw a live sample */
	bool is_glibc;
};

enum { HEADER_BYTES = 8, ROUNDING_BYTES = 16 };

static double probability_of(const struct view *view, const struct gg_why_sample *sample)
{
	return gg_weight_of(&sample->draw, sample->size_bytes).probability * view->share;
}

static void see(struct view *view, const struct gg_why_sample *sample)
{
	double usable = (double)sample->size_bytes + (double)sample->slack_bytes;
	double p = probability_of(view, sample), size_share, resident, swapped;

	if (!(p > 0) || sample->resident_bytes < 0)
		return;
	resident = fmin((double)sample->resident_bytes, usable);
	swapped = fmin(fmax((double)sample->swapped_bytes, 0), usable - resident);
	size_share = usable > 0 ? (double)sample->size_bytes / usable : 1;
	view->count++;
	add(&view->sums[SEEN_SIZE], (double)sample->size_bytes, p);
	add(&view->sums[SEEN_LIVE], resident * size_share, p);
	add(&view->sums[SEEN_ROUNDING], resident * (1 - size_share), p);
	add(&view->sums[SEEN_HEADERS], view->is_glibc && resident > 0 ? HEADER_BYTES : 0, p);
	add(&view->sums[SEEN_SWAPPED], swapped * size_share, p);
	add(&view->sums[SEEN_UNTOUCHED], (usable - resident - swapped) * size_share, p);
	if (p < 1)
		view->weight_max = fmax(view->weight_max, 1 / p);
	if (sample->returnable_bytes >= 0) {
		view->returnable_count++;
		add(&view->sums[SEEN_RETURNABLE], (double)sample->returnable_bytes, p);
	}
}

static void look_at_samples(struct view *view, const struct gg_why_input *input)
{
	size_t live_count = 0, seen_count = 0;

	for (size_t i = 0; i < input->sample_count; i++) {
		live_count += !input->samples[i].is_mapping;
		seen_count += !input->samples[i].is_mapping && input->samples[i].is_seen &&
		              input->samples[i].resident_bytes >= 0;
	}
	*view = (struct view){ .share = live_count > 0 ? (double)seen_count / (double)live_count
		                                       : 1 };
	view->is_glibc = input->look->allocator != NULL &&
	                 strcmp(input->look->allocator, "glibc") == 0;
	for (size_t i = 0; i < input->sample_count; i++)
		if (!input->samples[i].is_mapping && input->samples[i].is_seen)
			see(view, &input->samples[i]);
}

/* --- parts ---------------------------------------------------------------------------------- */

/* The function returns the sum of these totals; -1 means that the look lacks all of them. */
static double sum_of_totals(const struct gg_why_input *input, const char *const *names,
                            size_t count)
{
	double sum = -1;

	for (size_t i = 0; i < count; i++) {
		double bytes = gg_why_total(input, names[i]);

		if (bytes >= 0)
			sum = fmax(sum, 0) + bytes;
	}
	return sum;
}

/* The share of live memory that is resident, and the deviation of that share. */
static double resident_share(const struct gg_why_input *input, const struct view *view,
                             double *ret_deviation)
{
	double size = view->sums[SEEN_SIZE].value, variance = 0;
	double share = size > 0 ? view->sums[SEEN_LIVE].value / size : 1;

	for (size_t i = 0; i < input->sample_count; i++) {
		const struct gg_why_sample *sample = &input->samples[i];
		double p = probability_of(view, sample), usable, error;

		if (sample->is_mapping || !sample->is_seen || sample->resident_bytes < 0 ||
		    !(p > 0) || sample->size_bytes == 0)
			continue;
		usable = (double)sample->size_bytes + (double)sample->slack_bytes;
		error = fmin((double)sample->resident_bytes / usable, 1) - share;
		error *= (double)sample->size_bytes;
		variance += (1 - p) / (p * p) * error * error;
	}
	*ret_deviation = size > 0 ? sqrt(variance) / size : 0;
	return share;
}

/*
 * The resident part of blocks that were freed before the look had seen all of them may differ from
 * the given share by so much.  If the look saw the pages of a block, it knows that part.  Otherwise
 * nothing tells it, but readings of live memory leave out what went before the second one.
 *
 * The known part is an estimate: (1 - share) x its resident bytes - share x its absent bytes.  The
 * errors of both sums come from the same samples and partly cancel out, so hypot() is a bound.
 */
static struct gg_why_range gone_range(const struct gg_why_input *input, double share)
{
	double resident_deviation = fmax(gg_why_total(input, "look.gone-resident-deviation"), 0);
	double absent_deviation = fmax(gg_why_total(input, "look.gone-absent-deviation"), 0);
	double deviation = hypot((1 - share) * resident_deviation, share * absent_deviation);
	double gone = fmax(gg_why_total(input, "look.gone"), 0);
	double seen = fmin(fmax(gg_why_total(input, "look.gone-seen"), 0), gone);
	double resident = fmin(fmax(gg_why_total(input, "look.gone-resident"), 0), seen);
	double left = input->has_history ? 0
	                                 : gg_why_total(input, "look.live-before") -
	                                           gg_why_total(input, "look.live-stayed");
	double unseen = gone - seen;
	struct gg_estimate difference = { resident - seen * share, deviation * deviation };
	struct gg_interval known = gg_interval_normal(difference, input->confidence);

	return (struct gg_why_range){
		.low = fmin(known.low, 0) - fmax(unseen - fmax(left, 0), 0) * share,
		.high = fmax(known.high, 0) + unseen * (1 - share),
	};
}

/*
 * All live memory is known better than its resident part, because the look saw only some of it.
 * Hence the estimate is that of all, times the share that is resident.
 */
static struct gg_why_part live_of(const struct gg_why_input *input, const struct view *view)
{
	struct gg_why_range all = gg_why_live_range(input, view->sums[SEEN_SIZE].largest);
	struct gg_why_range gone;
	double deviation, share;
	struct gg_why_part live = { .bytes = round(all.bytes), .high = all.high };

	if (view->count == 0) { /* nothing tells how much is resident, unless nothing is live */
		live.certainty = all.high > 0 ? GG_WHY_BOUND : GG_WHY_EXACT;
		return live;
	}
	share = resident_share(input, view, &deviation);
	live.bytes = round(all.bytes * share);
	/* gg_interval_normal() has the width of the confidence level. */
	deviation = all.bytes *
	            (gg_interval_normal((struct gg_estimate){ 0, deviation * deviation },
	                                input->confidence)
	                     .high);
	gone = gone_range(input, share);
	live.low = live.bytes - hypot((all.bytes - all.low) * share, deviation) + gone.low;
	live.high = live.bytes + hypot((all.high - all.bytes) * share, deviation) + gone.high;
	live.low = floor(fmax(live.low, 0));
	live.high = ceil(live.high);
	live.certainty = GG_WHY_INTERVAL;
	if (all.low == all.high && deviation == 0 && gone.low == gone.high)
		live = exactly(live.bytes);
	return live;
}

/*
 * Adds up what the seen blocks keep, with the estimator and the bounds of the metric pinned
 * (query/pinned.h), so that both show the same number.  Returns the number of known blocks.
 */
static uint64_t add_pinned(const struct gg_why_input *input, struct gg_tally *ret_tally)
{
	struct gg_pinned_bounds bounds = { .page_bytes = (double)input->look->page_bytes };
	struct gg_plain_tally known = { 0 }, unknown = { 0 };
	struct gg_looked_value looked = { .chance = gg_model_look_chance(input->look) };
	struct gg_tally doubtful;

	for (size_t i = 0; i < input->sample_count; i++) {
		const struct gg_why_sample *sample = &input->samples[i];

		if (sample->is_seen && sample->pinned_bytes >= 0)
			gg_pinned_bounds_add(&bounds, sample->size_bytes + sample->slack_bytes,
			                     sample->pinned_bytes);
	}
	for (size_t i = 0; i < input->sample_count; i++) {
		const struct gg_why_sample *sample = &input->samples[i];
		bool is_known = sample->pinned_bytes >= 0;

		if (!sample->is_seen)
			continue;
		looked.value_max = gg_pinned_bounds_most(&bounds,
		                                         sample->size_bytes + sample->slack_bytes);
		looked.value = is_known ? sample->pinned_bytes : looked.value_max;
		gg_plain_tally_add_value(is_known ? &known : &unknown, &sample->draw,
		                         sample->size_bytes, &looked);
	}
	gg_plain_tally_tally(&known, ret_tally);
	gg_plain_tally_tally(&unknown, &doubtful);
	gg_tally_doubt(&doubtful);
	gg_tally_merge(ret_tally, &doubtful);
	return (uint64_t)known.sample_count;
}

/* Bytes that may have changed since jemalloc's totals were read (record/look/ask_allocator.h). */
static double changed_of(const struct gg_why_input *input)
{
	return fmax(gg_why_slab_total(input, "changed"), 0);
}

/*
 * An estimate that rests on an old answer is wider: blocks that were freed since left their shares
 * to others, and their own bytes are free; blocks that were added took free memory.
 */
static struct gg_why_part estimate_of(const struct gg_why_input *input, struct gg_tally *tally)
{
	const double changed = changed_of(input);
	const struct gg_pinned_scope scope = {
		.hides = gg_model_look_chance(input->look) < 1 ||
		         input->live.reserve_max[GG_BYTES] > 1,
		.is_incomplete = input->live.incomplete > 0,
		.limit_bytes = -1,
		.changed_bytes = changed,
		.changed_share = changed / fmax(gg_why_slab_total(input, "allocated"), 1),
	};
	double bytes = round(gg_tally_estimate(tally, GG_BYTES).value);
	struct gg_interval interval;

	gg_pinned_scope_expose(&scope, tally);
	interval = gg_interval_of(tally, GG_BYTES, input->confidence, false);
	if (interval.method == GG_METHOD_UNKNOWN)
		return (struct gg_why_part){ bytes, 0, INFINITY, GG_WHY_BOUND };
	if (interval.low == interval.high)
		return exactly(bytes);
	return (struct gg_why_part){ bytes, floor(fmin(interval.low, bytes)),
		                     ceil(fmax(interval.high, bytes)), GG_WHY_INTERVAL };
}

/* Memory that blocks take in the heap, for each byte that the program asked for. */
static double taken_per_byte(const struct gg_why_input *input)
{
	double size_bytes = 0, taken_bytes = 0;

	for (size_t i = 0; i < input->sample_count; i++) {
		const struct gg_why_sample *sample = &input->samples[i];
		double p = gg_weight_of(&sample->draw, sample->size_bytes).probability;

		if (sample->is_mapping || !(p > 0))
			continue;
		size_bytes += (double)sample->size_bytes / p;
		taken_bytes += (double)(sample->size_bytes + sample->slack_bytes + HEADER_BYTES) /
		               p;
	}
	return size_bytes > 0 ? taken_bytes / size_bytes : INFINITY;
}

/*
 * The most memory that blocks left free which were freed before the look saw their pages.  Nothing
 * but those whose residency was read before tells how well their sum is known.
 */
static double gone_most(const struct gg_why_input *input)
{
	double gone = fmax(gg_why_total(input, "look.gone"), 0);
	double seen = gg_why_total(input, "look.gone-seen");
	double deviation = hypot(fmax(gg_why_total(input, "look.gone-resident-deviation"), 0),
	                         fmax(gg_why_total(input, "look.gone-absent-deviation"), 0));

	if (!(gone > 0))
		return 0;
	if (!(seen > 0))
		return INFINITY;
	deviation *= fmax(gone / seen, 1);
	return gg_interval_normal((struct gg_estimate){ gone, deviation * deviation },
	                          input->confidence)
	               .high *
	       taken_per_byte(input);
}

/*
 * Adds what lies around blocks that were freed before the look saw their pages: nothing, or as much
 * as around the others.  If most are gone, the others say nothing about them.  The memory of such
 * blocks is free around others when the look sees these, and was not when the kernel counted RSS.
 */
static struct gg_why_part with_gone(const struct gg_why_input *input, struct gg_why_part part)
{
	double before = gg_why_total(input, "look.live-before");
	double gone = fmax(gg_why_total(input, "look.gone"), 0), factor = before / (before - gone);

	if (!(gone > 0))
		return part;
	if (gone > before / 2)
		return (struct gg_why_part){ part.bytes, 0, INFINITY, GG_WHY_BOUND };
	return (struct gg_why_part){ round(part.bytes * factor),
		                     floor(fmax(part.low - gone_most(input), 0)),
		                     ceil(part.high * factor), GG_WHY_INTERVAL };
}

/* Free memory that pages with live blocks hold, if all free chunks are known. */
static struct gg_why_part known_pinned_of(const struct gg_why_input *input)
{
	double exact = gg_why_total(input, "glibc.pinned");
	double active = gg_why_slab_total(input, "active");
	double allocated = gg_why_slab_total(input, "allocated");
	struct gg_why_part pinned = { 0 }, by_walk = { 0 };
	struct gg_tally tally;
	uint64_t known_count;

	if (exact >= 0)
		by_walk = walked(input, "glibc.pinned");
	if (exact >= 0 && by_walk.certainty == GG_WHY_EXACT)
		return by_walk;
	known_count = add_pinned(input, &tally);
	if (known_count > 0)
		pinned = with_gone(input, estimate_of(input, &tally));
	/* An estimate may be better than a walk that could not read much of the heap. */
	if (exact >= 0)
		return known_count > 0 && !gg_why_is_busy(input) &&
		                       pinned.high - pinned.low < by_walk.high - by_walk.low
		               ? pinned
		               : by_walk;
	if (active < 0 || allocated < 0)
		return pinned;
	active = fmax(active - allocated, 0) + changed_of(input);
	if (known_count == 0)
		return at_most(active);
	pinned.bytes = fmin(pinned.bytes, active);
	pinned.low = fmin(pinned.low, active);
	pinned.high = fmin(pinned.high, active);
	return pinned;
}

/*
 * A page on which all chunks in use are free in fact is returnable and not pinned.  So what a walk
 * found is no lower end, unlike what lies around blocks that live for certain.
 */
static struct gg_why_part pinned_of(const struct gg_why_input *input)
{
	struct gg_why_part pinned = known_pinned_of(input);

	if (!misses_free_chunks(input))
		return pinned;
	return at_least(pinned, gg_why_total(input, "glibc.pinned") >= 0 ? 0 : pinned.low);
}

static struct gg_why_part known_returnable_of(const struct gg_why_input *input,
                                              const struct view *view, double lazy_free_bytes)
{
	double exact = gg_why_total(input, "glibc.returnable");
	double resident = gg_why_slab_total(input, "resident");
	double active = gg_why_slab_total(input, "active");
	double metadata = fmax(gg_why_slab_total(input, "metadata"), 0);
	double free_pages = gg_why_total(input, "tcmalloc.pageheap-free");

	if (exact >= 0)
		return walked(input, "glibc.returnable");
	if (resident >= 0 && active >= 0) /* these pages include lazily freed ones */
		return at_most(fmax(resident - active - metadata - lazy_free_bytes, 0) +
		               changed_of(input));
	if (free_pages >= 0)
		return at_most(free_pages);
	if (view->returnable_count > 0)
		return with_gone(input,
		                 part_of(&view->sums[SEEN_RETURNABLE], 0, input->confidence));
	return (struct gg_why_part){ 0 };
}

static struct gg_why_part returnable_of(const struct gg_why_input *input, const struct view *view,
                                        double lazy_free_bytes)
{
	struct gg_why_part returnable = known_returnable_of(input, view, lazy_free_bytes);

	return misses_free_chunks(input) ? at_least(returnable, returnable.low) : returnable;
}

static struct gg_why_part caches_of(const struct gg_why_input *input)
{
	static const char *const names[] = { "glibc.cached", "jemalloc.cached",
		                             "tcmalloc.central-free", "tcmalloc.transfer-free",
		                             "tcmalloc.thread-free" };
	double bytes = sum_of_totals(input, names, GG_COUNT(names));

	if (gg_why_total(input, "glibc.cached") >= 0 && !misses_free_chunks(input))
		return walked(input, "glibc.cached");
	return bytes >= 0 ? at_most(bytes + changed_of(input)) : (struct gg_why_part){ 0 };
}

/* The heads of all blocks of glibc; those that came or went have as many as the others. */
static struct gg_why_part walked_headers(const struct gg_why_input *input, double headers)
{
	double changed = fmax(gg_why_total(input, "glibc.changed"), 0);
	double in_use = gg_why_total(input, "glibc.in-use");

	if (!(changed > 0) || !(in_use > 0))
		return exactly(headers);
	changed *= headers / in_use;
	return (struct gg_why_part){ headers, floor(fmax(headers - changed, 0)),
		                     ceil(headers + changed), GG_WHY_INTERVAL };
}

static struct gg_why_part metadata_of(const struct gg_why_input *input, const struct view *view)
{
	static const char *const names[] = { "jemalloc.metadata", "tcmalloc.metadata" };
	double bytes = sum_of_totals(input, names, GG_COUNT(names));
	double headers = gg_why_total(input, "glibc.headers");

	if (bytes >= 0)
		return at_most(bytes);
	return headers >= 0 ? walked_headers(input, headers)
	                    : part_of(&view->sums[SEEN_HEADERS], 0, input->confidence);
}

/* --- the sum -------------------------------------------------------------------------------- */

/* Totals of the allocator are of another moment, so they may be more than is left of the heap. */
static double settle_exact(struct gg_why_heap *heap)
{
	double left = heap->bytes;

	for (int i = 0; i < GG_WHY_REST; i++) {
		struct gg_why_part *part = &heap->parts[i];

		if (part->certainty != GG_WHY_EXACT)
			continue;
		if (part->bytes > left) {
			heap->is_contradicted |= i == GG_WHY_LIVE;
			*part = at_most(left);
		} else {
			left -= part->bytes;
		}
	}
	return left;
}

static bool is_settled(const struct gg_why_part *part)
{
	return part->certainty == GG_WHY_EXACT;
}

/* Reduces estimates in proportion to their distance from their lower ends, by `excess` in all. */
static void reduce(struct gg_why_part *parts, double excess)
{
	while (excess > 0) {
		double room = 0, step, total = excess;

		for (int i = 0; i < GG_WHY_REST; i++)
			room += is_settled(&parts[i]) ? 0 : parts[i].bytes - parts[i].low;
		if (!(room > 0))
			return;
		for (int i = 0; i < GG_WHY_REST && excess > 0; i++) {
			if (is_settled(&parts[i]))
				continue;
			step = ceil(total * ((parts[i].bytes - parts[i].low) / room));
			step = fmin(fmin(step, excess), parts[i].bytes - parts[i].low);
			parts[i].bytes -= step;
			excess -= step;
		}
	}
}

/* Bounds each estimate by what the heap has left, and by the least that the others have. */
static void limit(struct gg_why_part *parts, double left)
{
	double least = 0;

	for (int i = 0; i < GG_WHY_REST; i++)
		least += is_settled(&parts[i]) ? 0 : parts[i].low;
	for (int i = 0; i < GG_WHY_REST; i++) {
		struct gg_why_part *part = &parts[i];

		if (is_settled(part))
			continue;
		part->high = fmax(fmin(part->high, left - (least - part->low)), part->low);
		part->bytes = fmin(part->bytes, part->high);
	}
}

struct part_sums {
	double bytes, low, high;
};

/* Adds up the parts that are not settled. */
static struct part_sums add_up(const struct gg_why_part *parts)
{
	struct part_sums sums = { 0 };

	for (int i = 0; i < GG_WHY_REST; i++) {
		if (is_settled(&parts[i]))
			continue;
		sums.bytes += parts[i].bytes;
		sums.low += parts[i].low;
		sums.high += parts[i].high;
	}
	return sums;
}

/*
 * Lower ends may add up to more than is left: a confidence interval lies above the truth now and
 * then.  They then move down by the width of their intervals, below what is left.  An excess that
 * is larger than all widths is no chance.
 */
static void lower(struct gg_why_heap *heap, double left)
{
	struct part_sums sums = add_up(heap->parts);
	double lows = sums.low;
	bool is_chance = lows - left <= sums.high - lows;

	if (lows <= left)
		return;
	heap->is_contradicted |= !is_chance;
	for (int i = 0; i < GG_WHY_REST; i++) {
		struct gg_why_part *part = &heap->parts[i];

		if (is_settled(part))
			continue;
		if (!is_chance)
			part->certainty = GG_WHY_BOUND;
		part->low = is_chance ? floor(fmax(part->low * (left / lows) -
		                                           (part->high - part->low),
		                                   0))
		                      : 0;
	}
}

/*
 * The kernel counts one mapping after the other, so blocks that came meanwhile may be live and not
 * in RSS.  The function returns the most that they took; no row may exceed RSS.
 */
static double uncounted_most(const struct gg_why_heap *heap, const struct gg_why_input *input)
{
	double unsure = gg_why_total(input, "look.live-new-unsure");
	double others = fmax((double)input->look->rss_bytes - heap->bytes, 0);

	return unsure > 0 ? fmin(ceil(unsure * taken_per_byte(input)), others) : 0;
}

/*
 * Bounds come from totals that are estimates, and so are fractions of bytes.  Whole numbers have
 * sums that are exact in whatever order they are added up.
 */
static struct gg_why_part whole(struct gg_why_part part)
{
	if (part.certainty == GG_WHY_EXACT)
		return exactly(round(part.bytes));
	part.bytes = round(part.bytes);
	part.low = floor(part.low);
	part.high = ceil(part.high);
	return part;
}

/* Makes the parts add up to the heap's resident bytes; the rest gets what they leave. */
static void settle(struct gg_why_heap *heap, const struct gg_why_input *input)
{
	struct gg_why_part *rest = &heap->parts[GG_WHY_REST];
	struct part_sums sums;
	double left;

	for (int i = 0; i < GG_WHY_REST; i++)
		heap->parts[i] = whole(heap->parts[i]);
	left = settle_exact(heap);
	lower(heap, left);
	limit(heap->parts, left + uncounted_most(heap, input));
	reduce(heap->parts, add_up(heap->parts).bytes - left);
	sums = add_up(heap->parts);
	rest->bytes = left - sums.bytes;
	rest->low = fmax(left - sums.high, 0);
	rest->high = left - sums.low;
	rest->certainty = rest->low == rest->high ? GG_WHY_EXACT : GG_WHY_INTERVAL;
}

/*
 * A walk through the whole heap knows all free memory inside of it.  The remaining
 * memory lies beyond it: pages that nobody has asked for, but that a huge page brings along.
 */
static void take_huge(struct gg_why_heap *heap, const struct gg_why_input *input)
{
	struct gg_why_part *rest = &heap->parts[GG_WHY_REST], *huge = &heap->parts[GG_WHY_HUGE];

	if (gg_why_total(input, "glibc.walked") < 0 || !(heap->huge_bytes > 0))
		return;
	huge->bytes = fmin(rest->bytes, heap->huge_bytes);
	huge->high = fmin(rest->high, heap->huge_bytes);
	huge->certainty = GG_WHY_BOUND;
	rest->bytes -= huge->bytes;
	rest->low = fmax(rest->low - huge->high, 0);
	rest->certainty = GG_WHY_INTERVAL;
}

/*
 * Returns what the allocator states to have in use, less what samples know of.  The statement is of
 * another moment, and has blocks that are not resident, so the result is an upper bound.
 */
static struct gg_why_part stated_older(const struct gg_why_heap *heap,
                                       const struct gg_why_input *input)
{
	static const char *const names[] = { "jemalloc.allocated", "tcmalloc.in-use",
		                             "geiger-malloc.allocated" };
	const struct gg_why_part *live = &heap->parts[GG_WHY_LIVE];
	const struct gg_why_part *rounding = &heap->parts[GG_WHY_ROUNDING];
	double stated = sum_of_totals(input, names, GG_COUNT(names));
	double changed = changed_of(input), cached = fmax(gg_why_total(input, names[0]), 0);

	if (stated < 0)
		return at_most(INFINITY);
	cached = cached > 0 ? fmax(gg_why_slab_total(input, "cached"), 0) : 0;
	return (struct gg_why_part){
		.bytes = fmax(stated - cached - live->bytes - rounding->bytes, 0),
		.high = ceil(fmax(stated + changed - live->low - rounding->low, 0)),
		.certainty = GG_WHY_BOUND,
	};
}

/*
 * The rest of the heap is older than the attach, if a walk through it knows all free memory.
 * Otherwise free memory may be among it.
 */
static struct gg_why_part left_older(const struct gg_why_heap *heap,
                                     const struct gg_why_input *input)
{
	const struct gg_why_part *rest = &heap->parts[GG_WHY_REST];
	double unknown = fmax(gg_why_total(input, "glibc.unread"), 0) + heap->huge_bytes;

	if (gg_why_total(input, "glibc.in-use") < 0 || misses_free_chunks(input))
		return stated_older(heap, input);
	return (struct gg_why_part){
		.bytes = fmax(rest->bytes - unknown, 0),
		.low = fmax(rest->low - unknown, 0),
		.high = rest->high,
		.certainty = GG_WHY_INTERVAL,
	};
}

/*
 * True if the process allocates blocks that the agent does not see: it has words that lead past the
 * agent, or more memory is left for certain than was in use at the attach.
 */
static bool has_unseen_blocks(const struct gg_why_input *input, double left_bytes, double most)
{
	return input->unseen_slot_count > 0 || left_bytes > most;
}

/*
 * Takes blocks that are older than the attach out of the rest.  Memory that the loader allocated
 * since looks the same, because it calls the allocator without slots.  If blocks are known to be
 * unseen, all that is left may be newer than the attach.
 */
static void take_older(struct gg_why_heap *heap, const struct gg_why_input *input)
{
	double most = input->older_bytes >= 0 ? ceil(input->older_bytes) : INFINITY;
	struct gg_why_part *rest = &heap->parts[GG_WHY_REST];
	struct gg_why_part *older = &heap->parts[GG_WHY_OLDER];

	if (!input->is_attached)
		return;
	*older = whole(left_older(heap, input));
	if (has_unseen_blocks(input, older->low, most)) {
		older->low = 0;
		older->certainty = GG_WHY_BOUND;
	}
	older->high = fmin(older->high, fmin(rest->high, most));
	older->bytes = fmin(older->bytes, fmin(rest->bytes, older->high));
	older->low = fmin(older->low, older->bytes);
	if (older->low == older->high)
		older->certainty = GG_WHY_EXACT;
	rest->bytes -= older->bytes;
	rest->low = fmin(fmax(rest->low - older->high, 0), rest->bytes);
	rest->high = fmax(rest->high - older->low, rest->bytes);
	rest->certainty = rest->low == rest->high ? GG_WHY_EXACT : GG_WHY_INTERVAL;
}

void gg_why_divide_heap(struct gg_why_heap *heap, const struct gg_why_input *input)
{
	struct view view;

	look_at_samples(&view, input);
	heap->seen_count = (double)view.count;
	heap->parts[GG_WHY_LIVE] = live_of(input, &view);
	heap->parts[GG_WHY_ROUNDING] = part_of(&view.sums[SEEN_ROUNDING],
	                                       view.weight_max * ROUNDING_BYTES, input->confidence);
	heap->parts[GG_WHY_PINNED] = pinned_of(input);
	heap->parts[GG_WHY_RETURNABLE] = returnable_of(input, &view, heap->lazy_free_bytes);
	heap->parts[GG_WHY_CACHES] = caches_of(input);
	heap->parts[GG_WHY_METADATA] = metadata_of(input, &view);
	heap->untouched = part_of(&view.sums[SEEN_UNTOUCHED], 0, input->confidence);
	heap->swapped = part_of(&view.sums[SEEN_SWAPPED], 0, input->confidence);
	heap->pinned_estimate = heap->parts[GG_WHY_PINNED].bytes;
	settle(heap, input);
	take_older(heap, input);
	take_huge(heap, input);
}
