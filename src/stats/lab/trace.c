/* SPDX-License-Identifier: Apache-2.0 */
/* trace - holds the allocations of a program, for simulations. */
#include "stats/lab/trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int gg_trace_add(struct gg_trace *trace, const struct gg_trace_part *part)
{
	if (part->count == 0)
		return 0;
	if (!gg_array_push(&trace->parts, *part))
		return -ENOMEM;
	if (part->group >= trace->group_count)
		trace->group_count = part->group + 1;
	return 0;
}

void gg_trace_done(struct gg_trace *trace)
{
	gg_array_done(&trace->parts);
	*trace = (struct gg_trace){ 0 };
}

static uint64_t pieces_of(const struct gg_trace_part *part, uint64_t pieces)
{
	return part->count < pieces ? part->count : pieces;
}

int gg_trace_mix(struct gg_trace *trace, uint64_t pieces, uint64_t seed)
{
	struct gg_trace mixed = { .group_count = trace->group_count };
	struct gg_rng rng;
	size_t count = 0;

	for (size_t i = 0; i < trace->parts.count; i++)
		count += (size_t)pieces_of(&trace->parts.items[i], pieces);
	if (!gg_array_reserve(&mixed.parts, count))
		return -ENOMEM;
	gg_rng_seed(&rng, seed, 0);
	for (size_t i = 0; i < trace->parts.count; i++) {
		struct gg_trace_part piece = trace->parts.items[i];
		uint64_t left = piece.count, cuts = pieces_of(&piece, pieces);

		/* The pieces differ by at most one allocation. */
		for (; cuts > 0; cuts--) {
			/*
			 * The new piece takes a random place, and the piece that was there goes to
			 * the end.
			 */
			size_t place = (size_t)gg_rng_below(&rng, mixed.parts.count + 1);

			piece.count = left / cuts;
			left -= piece.count;
			mixed.parts.items[mixed.parts.count++] = mixed.parts.items[place];
			mixed.parts.items[place] = piece;
		}
	}
	gg_trace_done(trace);
	*trace = mixed;
	return 0;
}

double gg_trace_sum(const struct gg_trace *trace, enum gg_quantity quantity, bool only_live,
                    int64_t group)
{
	double sum = 0;

	for (size_t i = 0; i < trace->parts.count; i++) {
		const struct gg_trace_part *part = &trace->parts.items[i];

		if ((only_live && !part->is_live) || (group >= 0 && part->group != group))
			continue;
		sum += (double)part->count * (quantity == GG_BYTES ? (double)part->size_bytes : 1);
	}
	return sum;
}

double gg_trace_expected_samples(const struct gg_trace *trace, double interval)
{
	double sum = 0;

	for (size_t i = 0; i < trace->parts.count; i++)
		sum += (double)trace->parts.items[i].count *
		       -expm1(-(double)gg_length_bytes(trace->parts.items[i].size_bytes) /
		              interval);
	return sum;
}

/*
 * Returns how many allocations of that length are certainly not due, and subtracts them from the
 * sampler's gap.  The sampler gets the same numbers as if it had seen each of them.
 */
static uint64_t pass(struct gg_sampler *s, uint64_t length, uint64_t count)
{
	uint64_t free_count = s->by_count ? (uint64_t)s->left_count
	                                  : (uint64_t)s->left_bytes / length;

	if (free_count > count)
		free_count = count;
	if (s->by_count)
		s->left_count -= (int64_t)free_count;
	else
		s->left_bytes -= (int64_t)(free_count * length);
	return free_count;
}

void gg_trace_run(const struct gg_trace *trace, struct gg_sampler *sampler, gg_trace_visit *visit,
                  void *context)
{
	for (size_t i = 0; i < trace->parts.count; i++) {
		const struct gg_trace_part *part = &trace->parts.items[i];
		uint64_t left = part->count, length = gg_length_bytes(part->size_bytes);
		struct gg_draw draw;

		/*
		 * Each turn skips the allocations before the next due one, and gives that one to
		 * the sampler.
		 */
		while ((left -= pass(sampler, length, left)) > 0) {
			left--;
			if (gg_sampler_due(sampler, part->size_bytes) &&
			    gg_sampler_take(sampler, part->size_bytes, &draw))
				visit(part, &draw, context);
		}
	}
}
