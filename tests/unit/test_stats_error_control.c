/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control of the error, on simulated heaps: each program allocates and frees blocks by a law of
 * its own, a real sampler draws samples with the interval that the control chooses, and the bar is
 * the width of the real confidence interval.
 *
 * GG_TEST_SEEDS: runs of each program (the quick suite makes 4, a fiftieth of the proof).
 */
#include "stats/sampling/error_control.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define CONFIDENCE 0.95

enum { BLOCKS_MAX = 1 << 20, STEP_SAMPLES = 64, FINEST = 1024 };

#define COARSEST (UINT64_C(1) << 36)

struct block {
	uint32_t bytes;
	uint32_t sample; /* index + 1 in `samples`; 0: none */
};

struct sample {
	struct gg_draw draw;
	uint64_t bytes;
	bool is_live;
};

struct heap {
	struct gg_error_control control;
	struct gg_sampler sampler;
	struct gg_sampler_options options;
	struct gg_rng rng;
	struct block *blocks;
	struct sample *samples; /* of all times */
	size_t block_count, sample_count, sample_max, new_samples;
	double live_bytes, allocated_bytes; /* the truth, and the estimate */
	double coarsest;                    /* interval so far */
};

static void begin(struct heap *heap, double error, uint64_t first_interval, uint64_t seed)
{
	const struct gg_error_options options = { error, first_interval, FINEST, COARSEST };

	memset(heap, 0, sizeof(*heap));
	gg_error_control_init(&heap->control, &options);
	heap->blocks = malloc(BLOCKS_MAX * sizeof(*heap->blocks));
	heap->sample_max = 1 << 20;
	heap->samples = malloc(heap->sample_max * sizeof(*heap->samples));
	REQUIRE(heap->blocks != NULL && heap->samples != NULL);
	heap->options = (struct gg_sampler_options){
		.sampling_interval = (double)heap->control.interval,
		.scheme = GG_SCHEME_POISSON,
		.seed = seed,
	};
	gg_sampler_init(&heap->sampler, &heap->options);
	gg_rng_seed(&heap->rng, seed, 77);
	heap->coarsest = heap->options.sampling_interval;
}

static void end(struct heap *heap)
{
	free(heap->blocks);
	free(heap->samples);
}

static void add_up(const struct heap *heap, struct gg_tally *tally, double *ret_bytes,
                   double *ret_variance)
{
	*ret_bytes = *ret_variance = 0;
	for (size_t i = 0; i < heap->sample_count; i++) {
		const struct sample *sample = &heap->samples[i];
		struct gg_weight weight;

		if (!sample->is_live)
			continue;
		weight = gg_weight_of(&sample->draw, sample->bytes);
		*ret_bytes += weight.bytes;
		*ret_variance += weight.bytes_variance;
		if (tally != NULL)
			gg_tally_add(tally, &sample->draw, sample->bytes);
	}
}

static void step(struct heap *heap)
{
	double bytes, variance;

	heap->new_samples = 0;
	add_up(heap, NULL, &bytes, &variance);
	heap->options.sampling_interval = (double)gg_error_control_step(
		&heap->control, bytes, variance, heap->allocated_bytes);
	gg_sampler_change(&heap->sampler, &heap->options);
	heap->coarsest = fmax(heap->coarsest, heap->options.sampling_interval);
}

/* Stores a block in a slot, in place of the one that was there. */
static void put(struct heap *heap, size_t slot, uint32_t bytes)
{
	struct block *block = &heap->blocks[slot];
	struct gg_draw draw;

	if (slot < heap->block_count) {
		heap->live_bytes -= block->bytes;
		if (block->sample != 0)
			heap->samples[block->sample - 1].is_live = false;
	} else {
		heap->block_count = slot + 1;
	}
	*block = (struct block){ .bytes = bytes };
	heap->live_bytes += bytes;
	if (!gg_sampler_due(&heap->sampler, bytes) ||
	    !gg_sampler_take(&heap->sampler, bytes, &draw) ||
	    heap->sample_count == heap->sample_max)
		return;
	heap->samples[heap->sample_count++] = (struct sample){ draw, bytes, true };
	block->sample = (uint32_t)heap->sample_count;
	heap->allocated_bytes += gg_weight_of(&draw, bytes).bytes;
	if (++heap->new_samples >= STEP_SAMPLES)
		step(heap);
}

static void shrink(struct heap *heap, size_t count)
{
	while (heap->block_count > count) {
		struct block *block = &heap->blocks[--heap->block_count];

		heap->live_bytes -= block->bytes;
		if (block->sample != 0)
			heap->samples[block->sample - 1].is_live = false;
	}
}

/* Half the width of the interval, as a share of the estimate. */
static double error_of(const struct heap *heap, bool *ret_covers)
{
	struct gg_tally tally = { 0 };
	struct gg_interval interval;
	double bytes, variance;

	gg_tally_expose(&tally, heap->coarsest);
	add_up(heap, &tally, &bytes, &variance);
	interval = gg_interval_of(&tally, GG_BYTES, CONFIDENCE, false);
	*ret_covers = interval.low <= heap->live_bytes && heap->live_bytes <= interval.high;
	return (interval.high - interval.low) / 2 / bytes;
}

static uint32_t small_size(struct heap *heap)
{
	return 16 + (uint32_t)(gg_rng_uniform(&heap->rng) * 480);
}

/* Sizes from 16 bytes to 1 MiB, each power of two as often as it is small. */
static uint32_t any_size(struct heap *heap)
{
	return (uint32_t)fmin(16 / (1e-9 + gg_rng_uniform(&heap->rng)), 1 << 20);
}

static void grow(struct heap *heap)
{
	for (size_t i = 0; i < 400000; i++)
		put(heap, i, small_size(heap));
}

static void churn(struct heap *heap)
{
	for (size_t i = 0; i < 60000; i++)
		put(heap, i, small_size(heap));
	for (int i = 0; i < 600000; i++)
		put(heap, (size_t)(gg_rng_uniform(&heap->rng) * 60000), small_size(heap));
}

static void mix(struct heap *heap)
{
	for (size_t i = 0; i < 300000; i++)
		put(heap, i, any_size(heap));
}

/* A peak of 8 times the heap that stays; its part is replaced afterwards. */
static void peak(struct heap *heap)
{
	for (size_t i = 0; i < 400000; i++)
		put(heap, i, small_size(heap));
	shrink(heap, 50000);
	for (int i = 0; i < 400000; i++)
		put(heap, (size_t)(gg_rng_uniform(&heap->rng) * 50000), small_size(heap));
}

static const struct {
	const char *name;
	void (*run)(struct heap *heap);
} programs[] = { { "grow", grow }, { "churn", churn }, { "mix", mix }, { "peak", peak } };

enum { PROGRAMS = sizeof(programs) / sizeof(*programs) };

static uint64_t seed_count(void)
{
	static bool is_told;
	const char *text = getenv("GG_TEST_SEEDS");

	/* script/proof keeps what follows. */
	if (text != NULL && !is_told)
		printf("summary\n\n");
	is_told = true;
	return text != NULL ? strtoul(text, NULL, 10) : 4;
}

/* Runs the first programs with an error. */
static void check(double error, size_t program_count)
{
	uint64_t seeds = seed_count(), covered = 0, all = 0;

	for (size_t p = 0; p < program_count; p++) {
		uint64_t met = 0, samples = 0;
		double worst = 0;

		for (uint64_t seed = 1; seed <= seeds; seed++) {
			static struct heap heap;
			bool covers;
			double reached;

			begin(&heap, error, FINEST, seed);
			programs[p].run(&heap);
			reached = error_of(&heap, &covers);
			met += reached <= error;
			covered += covers;
			all++;
			samples += heap.sample_count;
			worst = fmax(worst, reached);
			end(&heap);
		}
		printf("    %4.0f %% %-6s met in %llu of %llu, worst %.2f %%, %llu samples\n",
		       100 * error, programs[p].name, (unsigned long long)met,
		       (unsigned long long)seeds, 100 * worst,
		       (unsigned long long)(samples / seeds));
		CHECK((double)met >= 0.95 * (double)seeds);
	}
	/* The control may not spoil the intervals: five standard deviations below 95 %. */
	CHECK((double)covered >=
	      (double)all * CONFIDENCE - 5 * sqrt((double)all * CONFIDENCE * (1 - CONFIDENCE)));
}

TEST(an_error_of_5_percent_is_met)
{
	check(0.05, PROGRAMS);
}

TEST(an_error_of_10_percent_is_met)
{
	check(0.10, PROGRAMS);
}

TEST(an_error_of_30_percent_is_met_with_few_samples)
{
	/*
	 * Not the peak: a block from the time of the peak may have been missed with an interval
	 * that is large for the heap that stays, so its upper bound is (docs/ESTIMATION.md).
	 */
	check(0.30, PROGRAMS - 1);
}

TEST(a_plan_saves_samples_and_its_error_is_met)
{
	struct heap planned, unplanned;
	double error = 0.05, reached;
	uint64_t interval;
	bool covers;

	begin(&unplanned, error, FINEST, 5);
	grow(&unplanned);
	/* The plan of a former run: its live bytes at the end. */
	interval = (uint64_t)(unplanned.live_bytes / gg_error_control_needed(error));
	begin(&planned, error, interval, 6);
	grow(&planned);
	reached = error_of(&planned, &covers);
	CHECK(reached <= error);
	CHECK(planned.sample_count < unplanned.sample_count / 2);
	end(&planned);
	end(&unplanned);
}

TEST(a_plan_for_another_heap_is_left)
{
	struct heap heap;
	bool covers;

	/* The plan is for a heap that is four times as large. */
	begin(&heap, 0.05, 32768, 7);
	for (size_t i = 0; i < 60000; i++)
		put(&heap, i, small_size(&heap));
	for (int i = 0; i < 4000000; i++)
		put(&heap, (size_t)(gg_rng_uniform(&heap.rng) * 60000), small_size(&heap));
	CHECK(error_of(&heap, &covers) <= 0.05);
	end(&heap);
}

TEST(an_error_that_is_asked_for_late_is_met_when_blocks_are_replaced)
{
	struct heap heap;
	bool covers;
	double early;

	/* A coarse interval, whatever the heap. */
	begin(&heap, 1, 128 << 10, 8);
	heap.control.options.coarsest_interval = 128 << 10;
	for (size_t i = 0; i < 100000; i++)
		put(&heap, i, small_size(&heap));
	early = error_of(&heap, &covers);
	CHECK(early > 0.1);
	gg_error_control_init(&heap.control,
	                      &(struct gg_error_options){ 0.05, FINEST, FINEST, COARSEST });
	step(&heap);
	for (int i = 0; i < 1000000; i++)
		put(&heap, (size_t)(gg_rng_uniform(&heap.rng) * 100000), small_size(&heap));
	CHECK(error_of(&heap, &covers) <= 0.05);
	end(&heap);
}

TEST(no_sample_leaves_the_interval)
{
	struct gg_error_control c;

	gg_error_control_init(&c, &(struct gg_error_options){ 0.05, FINEST, FINEST, COARSEST });
	CHECK_EQ_U64(gg_error_control_step(&c, 0, 0, 0), FINEST);
	CHECK_EQ_U64(gg_error_control_step(&c, 1e12, 0, 1e12) > 1 << 20, true);
	CHECK_EQ_U64(gg_error_control_step(&c, 0, 0, 1e12) > 1 << 20, true);
	CHECK_EQ_U64(gg_error_control_step(&c, 1e30, 0, 1e30), COARSEST);
}
