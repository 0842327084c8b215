/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling by cut lists: the same addresses with any seed and without sampling, the binomial law of
 * each class, and unbiased totals.
 */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulated.h"
#include "malloc/arena.h"
#include "malloc/class_counts.h"
#include "malloc/huge_blocks.h"
#include "malloc/malloc_check.h"
#include "malloc/purge.h"
#include "malloc_trace.h"
#include "stat.h"
#include "stats/sampling/rate_learning.h"
#include "stats/sampling/weight.h"
#include "test.h"

/* The calls of the client, and the sums of the weights. */
struct ledger {
	uint64_t sampled_count, freed_count, unknown_count;
	double count, count_variance, bytes, bytes_variance; /* allocated */
	double live_count, live_bytes;
};
static struct ledger ledger;

enum { KNOWN = 1 << 16 };
static struct known {
	void *p;
	struct gg_weight weight;
} known[KNOWN];

/* Returns the entry of p, or an empty entry. */
static struct known *find_known(void *p)
{
	size_t i = ((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48;

	while (known[i].p != NULL && known[i].p != p)
		i = (i + 1) % KNOWN;
	return &known[i];
}

static void sampled(void *p, size_t bytes, const struct gg_draw *draw)
{
	struct gg_weight weight = gg_weight_of(draw, bytes);
	struct known *entry = find_known(p);

	ledger.unknown_count += !gg_draw_is_valid(draw) ||
	                        (entry->p != NULL && entry->weight.count != 0);
	*entry = (struct known){ p, weight };
	ledger.sampled_count++;
	ledger.count += weight.count;
	ledger.count_variance += weight.count_variance;
	ledger.bytes += weight.bytes;
	ledger.bytes_variance += weight.bytes_variance;
	ledger.live_count += weight.count;
	ledger.live_bytes += weight.bytes;
}

static void freed(void *p)
{
	struct known *entry = find_known(p);

	ledger.unknown_count += entry->p == NULL || entry->weight.count == 0;
	ledger.freed_count++;
	ledger.live_count -= entry->weight.count;
	ledger.live_bytes -= entry->weight.bytes;
	entry->weight = (struct gg_weight){ 0 };
}

static const struct gg_malloc_client client = { .sampled = sampled, .freed = freed };

/* Starts all draws of this thread anew; lists that were handed before are taken back. */
static void begin(double interval_bytes, uint64_t seed)
{
	struct gg_malloc_heap *heap = gg_malloc_heap_enter();

	/* The time at which memory goes back is chance. */
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_NEVER);
	gg_malloc_heap_trim(heap);
	ledger = (struct ledger){ 0 };
	memset(known, 0, sizeof(known));
	gg_malloc_set_client(&client);
	gg_malloc_set_interval(interval_bytes, seed);
	gg_rng_seed(&heap->rng, seed, 0);
	heap->sampler = (struct gg_sampler){ 0 };
	gg_malloc_heap_apply_plan(heap, gg_malloc_plan());
}

struct outcome {
	uint64_t homes, wrong, samples, is_valid;
};

/*
 * Runs the trace in a process whose allocator is fresh.  guard_share: one sample in so many is
 * guarded; 0: none.
 */
static struct outcome run_fresh(double interval_bytes, uint64_t seed, uint64_t guard_share)
{
	struct outcome *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct outcome outcome;
	static struct trace trace;
	int status;
	pid_t child = fork();

	if (child == 0) {
		begin(interval_bytes, seed);
		if (guard_share != 0 && !gg_malloc_guard_start(guard_share, seed))
			_exit(1);
		trace = (struct trace){ .random = 77 };
		for (unsigned i = 0; i < unless_emulated(150000); i++) {
			trace_step(&trace);
			/* On and off, and another interval, must not change an address. */
			if (interval_bytes == 3000 && i % 10000 == 0)
				gg_malloc_set_interval(i % 20000 == 0 ? 0 : 2000 + i, seed);
		}
		trace_end(&trace);
		*shared = (struct outcome){ trace.homes, trace.wrong, ledger.sampled_count,
			                    gg_malloc_validate() == NULL &&
			                            ledger.unknown_count == 0 &&
			                            ledger.freed_count == ledger.sampled_count };
		_exit(0);
	}
	waitpid(child, &status, 0);
	CHECK_EQ_I64(status, 0);
	outcome = *shared;
	munmap(shared, 4096);
	return outcome;
}

/* The first test: children must inherit an allocator that was not used. */
TEST(home_addresses_are_the_same_for_any_seed_and_with_sampling_off)
{
	static const double intervals[] = { 1, 500, 3000, 16384, 524288 };
	struct outcome off = run_fresh(0, 1, 0), on;

	CHECK_EQ_U64(off.wrong, 0);
	CHECK_EQ_U64(off.samples, 0);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		for (size_t i = 0; i < GG_COUNT(intervals); i++) {
			on = run_fresh(intervals[i], seed, 0);
			CHECK_EQ_U64(on.homes, off.homes);
			CHECK_EQ_U64(on.wrong, 0);
			CHECK_EQ_U64(on.is_valid, 1);
			CHECK(on.samples > unless_emulated(100));
		}
	}
}

/* So estimates are what they are without guards: the samples are the same ones. */
TEST(guarded_blocks_change_neither_homes_nor_the_number_of_samples)
{
	static const double intervals[] = { 1, 500, 16384 };

	for (uint64_t share = 1; share <= 5; share += 2) {
		for (size_t i = 0; i < GG_COUNT(intervals); i++) {
			struct outcome with = run_fresh(intervals[i], share, share);
			struct outcome without = run_fresh(intervals[i], share, 0);

			CHECK_EQ_U64(with.homes, without.homes);
			CHECK_EQ_U64(with.samples, without.samples);
			CHECK_EQ_U64(with.wrong, 0);
			CHECK_EQ_U64(with.is_valid, 1);
		}
	}
}

/* How many seeds a statistical test runs.  script/proof keeps what is printed after "summary". */
static uint64_t seed_count(uint64_t usual)
{
	static bool has_begun;
	const char *text = getenv("GG_TEST_SEEDS");

	if (text == NULL)
		return unless_emulated((unsigned)usual);
	if (!has_begun)
		printf("summary\n\n");
	has_begun = true;
	return strtoull(text, NULL, 10);
}

static void churn(size_t bytes, uint64_t count, uint64_t *random)
{
	static void *blocks[64];

	for (uint64_t i = 0; i < count; i++) {
		void **place = &blocks[random_next(random) >> 20 & 63];

		geiger_free(*place);
		*place = geiger_malloc(bytes);
	}
	for (size_t i = 0; i < GG_COUNT(blocks); i++) {
		geiger_free(blocks[i]);
		blocks[i] = NULL;
	}
}

/*
 * Each class: the number of samples of n allocations is binomial.  chi2 sums the squared normal
 * deviations over rounds; 5 standard deviations.
 */
TEST(samples_of_each_class_follow_the_binomial_law)
{
	uint64_t random = 5, n = 4000, seeds = seed_count(20);
	double worst_mean = 0, least_spread = 2, most_spread = 0;

	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		size_t bytes = gg_malloc_class_bytes(class);
		double chi2 = 0, sum = 0, interval = (double)bytes * 10;
		double p = -expm1(-(double)bytes / interval), sigma;

		for (uint64_t seed = 1; seed <= seeds; seed++) {
			begin(interval, seed + 1000 * class);
			churn(bytes - bytes % 5, n, &random);
			sigma = sqrt((double)n * p * (1 - p));
			sum += ((double)ledger.sampled_count - (double)n * p) / sigma;
			chi2 += pow(((double)ledger.sampled_count - (double)n * p) / sigma, 2);
			CHECK_EQ_U64(ledger.freed_count, ledger.sampled_count);
		}
		CHECK_MSG(fabs(sum) < 5 * sqrt((double)seeds), "class %u: mean %g", class, sum);
		CHECK_MSG(chi2 < stat_chi_square_limit(seeds, 5), "class %u: chi2 %g", class, chi2);
		worst_mean = fmax(worst_mean, fabs(sum) / sqrt((double)seeds));
		least_spread = fmin(least_spread, chi2 / (double)seeds);
		most_spread = fmax(most_spread, chi2 / (double)seeds);
	}
	printf("binomial law, %d classes, %llu seeds: means off by at most %.2f standard errors;\n"
	       "  variances %.3f to %.3f of the law's\n",
	       GG_MALLOC_CLASS_COUNT, (unsigned long long)seeds, worst_mean, least_spread,
	       most_spread);
}

/* Gaps between samples are geometric: 16 cells, for long and short lists. */
TEST(gaps_between_samples_are_geometric)
{
	static const size_t sizes[] = { 32, 128, 2048, 8192 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		enum { CELLS = 16, GAPS = 8000 };
		uint64_t observed[CELLS] = { 0 }, gap = 0, samples = 0;
		double expected[CELLS], p = -expm1(-1.0 / 20), below = 0;

		begin((double)sizes[i] * 20, 3 + i);
		for (uint64_t count = 0; count < GAPS;) {
			uint64_t cell;

			geiger_free(geiger_malloc(sizes[i]));
			gap++;
			if (ledger.sampled_count == samples)
				continue;
			samples = ledger.sampled_count;
			cell = (gap - 1) / 4;
			observed[cell < CELLS - 1 ? cell : CELLS - 1]++;
			gap = 0;
			count++;
		}
		for (size_t cell = 0; cell < CELLS; cell++) {
			double above = cell < CELLS - 1 ? 1 - pow(1 - p, 4 * (double)(cell + 1))
			                                : 1;

			expected[cell] = GAPS * (above - below);
			below = above;
		}
		CHECK_MSG(stat_chi_square(observed, expected, CELLS) <
		                  stat_chi_square_limit(CELLS - 1, 5),
		          "%zu bytes: chi2 %g", sizes[i],
		          stat_chi_square(observed, expected, CELLS));
	}
}

/* Exact counts of a program with blocks of all sizes. */
struct truth {
	double count, bytes;
};

static struct truth work(uint64_t seed, uint64_t steps, double interval_bytes)
{
	enum { LIVE = 300 };
	static void *blocks[LIVE];
	struct truth truth = { 0 };
	uint64_t random = seed * 7919;

	for (uint64_t i = 0; i < steps; i++) {
		uint64_t r = random_next(&random) >> 8;
		void **place = &blocks[r % LIVE];
		size_t bytes = r / LIVE % 20 == 0 ? r / 6000 % 100000 : r / 6000 % 600;

		if (r / LIVE % 7 == 1 && *place != NULL) {
			/* One that moves or stays: a new allocation in the estimates, as in the
			 * agent's.  One that stays is a new allocation of the same trial. */
			*place = geiger_realloc(*place, bytes);
		} else {
			geiger_free(*place);
			*place = geiger_malloc(bytes);
		}
		truth.count += 1;
		truth.bytes += (double)bytes;
		if (i % 1500 == 1499)
			gg_malloc_set_interval(interval_bytes * (1 + (double)(i % 7)), seed);
	}
	for (size_t i = 0; i < LIVE; i++) {
		geiger_free(blocks[i]);
		blocks[i] = NULL;
	}
	return truth;
}

/*
 * Over many seeds, with page switches, reallocations and changes of the interval: the mean error is
 * 0 within 3.5 standard errors, and its spread is near what the variances promise.  (Blocks
 * that stay in place repeat a trial, so their errors add up.)
 */
TEST(totals_are_unbiased)
{
	uint64_t seeds = seed_count(200);
	double count_error = 0, count_variance = 0, bytes_error = 0, bytes_variance = 0;
	double z_count, z_bytes, z2 = 0, truth_count = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct truth truth;

		begin(8192, seed);
		truth = work(seed, 6000, 8192);
		count_error += ledger.count - truth.count;
		count_variance += ledger.count_variance;
		bytes_error += ledger.bytes - truth.bytes;
		bytes_variance += ledger.bytes_variance;
		z2 += pow(ledger.bytes - truth.bytes, 2) / ledger.bytes_variance;
		truth_count += truth.count;
		CHECK_EQ_U64(ledger.unknown_count, 0);
		CHECK_EQ_U64(ledger.freed_count, ledger.sampled_count);
		CHECK(fabs(ledger.live_bytes) < 1e-6 * truth.bytes);
	}
	CHECK(truth_count > 0);
	/*
	 * Errors are added up before they are compared with their variance: each divided by its own
	 * would be negative on average, because an estimate that is low has a low variance.
	 */
	z_count = count_error / sqrt(count_variance);
	z_bytes = bytes_error / sqrt(bytes_variance);
	CHECK_MSG(fabs(z_count) < 3.5, "count: %g", z_count);
	CHECK_MSG(fabs(z_bytes) < 3.5, "bytes: %g", z_bytes);
	CHECK_MSG(z2 / (double)seeds < 1.5 && z2 / (double)seeds > 0.7, "spread: %g",
	          z2 / (double)seeds);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	printf("totals, %llu seeds: counts off by %.2f standard errors, bytes by %.2f;\n"
	       "  squared errors %.3f of the variances\n",
	       (unsigned long long)seeds, z_count, z_bytes, z2 / (double)seeds);
}

TEST(a_sample_keeps_its_size_and_alignment)
{
	begin(1, 1);
	for (size_t alignment = 16; alignment <= 16384; alignment *= 2) {
		char *p = geiger_aligned_alloc(alignment, 100);

		CHECK_EQ_U64((uintptr_t)p % alignment, 0);
		CHECK_EQ_U64(gg_malloc_slab_of(p)->owner, GG_MALLOC_OWNER_SLOTS);
		CHECK_EQ_U64(geiger_malloc_usable_size(p),
		             geiger_malloc_usable_size(
				     gg_malloc_slots_find(gg_malloc_slab_of(p), p)->home));
		geiger_free(p);
	}
	CHECK_EQ_U64(ledger.freed_count, ledger.sampled_count);
}

TEST(a_sample_that_is_resized_in_place_is_recorded_with_its_new_size)
{
	char *p, *q;

	begin(1, 1);
	p = geiger_malloc(100);
	CHECK_EQ_U64(ledger.sampled_count, 1);
	q = geiger_realloc(p, 70);
	CHECK_EQ_PTR(q, p);
	CHECK_EQ_U64(ledger.sampled_count, 2);
	CHECK_EQ_U64(ledger.freed_count, 1);
	CHECK_EQ_DOUBLE(ledger.live_bytes, 70);
	q = geiger_realloc(q, 500);
	CHECK_EQ_DOUBLE(ledger.live_bytes, 500);
	geiger_free(q);
	CHECK_EQ_DOUBLE(ledger.live_bytes, 0);
}

TEST(large_blocks_are_sampled_by_their_bytes)
{
	char *run, *huge;

	begin(1, 1);
	run = geiger_malloc(100000);
	huge = geiger_malloc((size_t)40 << 20);
	CHECK_EQ_U64(ledger.sampled_count, 2);
	huge = geiger_realloc(huge, (size_t)80 << 20);
	run = geiger_realloc(run, 90000);
	CHECK_EQ_U64(ledger.sampled_count, 4);
	CHECK_EQ_DOUBLE(ledger.live_bytes, 90000 + 80.0 * (1 << 20));
	geiger_free(run);
	geiger_free(huge);
	CHECK_EQ_DOUBLE(ledger.live_bytes, 0);
}

static uint64_t dropped_count;

static void dropped(void)
{
	dropped_count++;
}

/* As when all slots are taken: a handler that interrupts the arena gets no new ones. */
TEST(a_sample_without_a_slot_is_reported_as_dropped)
{
	static const struct gg_malloc_client counting = { .sampled = sampled,
		                                          .freed = freed,
		                                          .dropped = dropped };
	enum { SLAB_BLOCKS = GG_MALLOC_SLICE_BYTES / 16 };
	static void *p[18 * SLAB_BLOCKS];
	size_t count = 0;

	begin(1, 7);
	gg_malloc_set_client(&counting);
	/* A slab has 256 slots and 1024 of these blocks, so that the slots are used up first. */
	while (count <= (size_t)16 * SLAB_BLOCKS)
		p[count++] = geiger_malloc(16);
	CHECK_EQ_U64(dropped_count, 0);
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	while (dropped_count == 0 && count < GG_COUNT(p))
		p[count++] = geiger_malloc(16);
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	CHECK(dropped_count > 0);
	while (count > 0)
		geiger_free(p[--count]);
	gg_malloc_set_client(&client);
	gg_malloc_set_interval(0, 0);
}

static uint64_t closed_late;

static void note_late(void *p)
{
	closed_late += gg_malloc_huge_size(p) == 0;
	freed(p);
}

/* Another thread could get the address before. */
TEST(a_sample_is_closed_before_its_huge_block_moves)
{
	static const struct gg_malloc_client noting = { .sampled = sampled, .freed = note_late };
	size_t bytes = GG_MALLOC_RUN_BYTES_MAX + 4096;
	void *first, *second, *moved;

	begin(1, 7);
	gg_malloc_set_client(&noting);
	/* The kernel maps the one below the other, so that one of them cannot grow in place. */
	first = geiger_malloc(bytes);
	second = geiger_malloc(bytes);
	moved = geiger_realloc(first, 2 * bytes);
	CHECK(moved != NULL);
	geiger_free(moved);
	moved = geiger_realloc(second, 2 * bytes);
	CHECK(moved != NULL);
	geiger_free(moved);
	CHECK_EQ_U64(closed_late, 0);
	CHECK_EQ_U64(ledger.unknown_count, 0);
	CHECK_EQ_U64(ledger.freed_count, ledger.sampled_count);
	CHECK(ledger.sampled_count >= 4);
	gg_malloc_set_interval(0, 0);
}

TEST(nothing_is_sampled_when_sampling_is_off)
{
	uint64_t random = 3;

	begin(4096, 1);
	churn(64, 10000, &random);
	CHECK(ledger.sampled_count > 0);
	begin(0, 1);
	churn(64, 10000, &random);
	CHECK_EQ_U64(ledger.sampled_count, 0);
	begin(4096, 2);
	churn(64, 10000, &random);
	CHECK(ledger.sampled_count > 0);
}

/* The walk to a cut: slab/(2R) steps an allocation at most (docs/MALLOC.md). */
TEST(walks_to_cuts_are_short)
{
	uint64_t random = 9, n = 400000, before;

	for (size_t bytes = 64; bytes <= 4096; bytes *= 4) {
		double most = gg_malloc_class_slices(gg_malloc_class_of(bytes)) *
		              (double)GG_MALLOC_SLICE_BYTES / (2 * 524288.0);

		begin(524288, bytes);
		before = gg_malloc_thread_heap->walked_count;
		churn(bytes, n, &random);
		CHECK_MSG((double)(gg_malloc_thread_heap->walked_count - before) / (double)n <
		                  1.5 * most,
		          "%zu bytes: %g steps an allocation", bytes,
		          (double)(gg_malloc_thread_heap->walked_count - before) / (double)n);
	}
}

/* Counts for the optimal plan. */

static struct gg_optimal_class counted(size_t block_bytes)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];

	gg_malloc_count_classes(classes);
	return classes[gg_size_class(block_bytes)];
}

/* Allocations and live blocks of one size, beside those from before. */
static void check_counts(size_t bytes, unsigned allocated, unsigned freed)
{
	static void *blocks[3000];
	size_t usable = geiger_malloc_usable_size(blocks[0] = geiger_malloc(bytes));
	struct gg_optimal_class before, after;

	geiger_free(blocks[0]);
	if (usable > GG_MALLOC_CLASS_BYTES_MAX) /* the request of a large block decides */
		usable = bytes;
	before = counted(usable);
	for (unsigned i = 0; i < allocated; i++)
		blocks[i] = geiger_malloc(bytes);
	for (unsigned i = 0; i < freed; i++)
		geiger_free(blocks[i]);
	after = counted(usable);
	CHECK_MSG(after.allocated - before.allocated == allocated, "%zu bytes: %.1f allocated",
	          bytes, after.allocated - before.allocated);
	CHECK_MSG(after.live - before.live == allocated - freed, "%zu bytes: %.1f live", bytes,
	          after.live - before.live);
	for (unsigned i = freed; i < allocated; i++)
		geiger_free(blocks[i]);
	CHECK(counted(usable).live == before.live);
}

TEST(allocations_and_live_blocks_of_each_class_are_counted_to_the_last_one)
{
	static const double intervals[] = { 0, 2000 };

	for (size_t i = 0; i < GG_COUNT(intervals); i++) {
		begin(intervals[i], 3);
		check_counts(16, 3000, 1000);
		check_counts(64, 2777, 2000);
		check_counts(1000, 1500, 1);
		check_counts(20000, 300, 299);
		check_counts(100000, 50, 20); /* runs */
		check_counts(GG_MALLOC_CLASS_BYTES_MAX + 1, 50, 20);
		check_counts((size_t)40 << 20, 5, 2);
	}
	begin(0, 0);
}

TEST(a_large_block_is_counted_by_its_request_also_when_it_is_resized)
{
	enum { SMALL = 33000, LARGER = 60000, HUGE = 40 << 20, HUGER = 50 << 20 };
	double small, larger, huge, huger;
	void *run, *mapped;

	begin(0, 0);
	small = counted(SMALL).live;
	larger = counted(LARGER).live;
	huge = counted(HUGE).live;
	huger = counted(HUGER).live;
	run = geiger_malloc(SMALL);
	mapped = geiger_malloc(HUGE);
	CHECK(counted(SMALL).live == small + 1 && counted(HUGE).live == huge + 1);
	run = geiger_realloc(run, LARGER);
	mapped = geiger_realloc(mapped, HUGER);
	CHECK(counted(SMALL).live == small && counted(LARGER).live == larger + 1);
	CHECK(counted(HUGE).live == huge && counted(HUGER).live == huger + 1);
	geiger_free(run);
	geiger_free(mapped);
	CHECK(counted(LARGER).live == larger && counted(HUGER).live == huger);
}

enum { KEPT = 500, PASSING = 40000 };

static struct ledger at_end;

/* Blocks of 64 bytes come and go, and some of 1000 bytes stay. */
static void run_server(void)
{
	static void *kept[KEPT];

	for (int i = 0; i < PASSING; i++) {
		geiger_free(geiger_malloc(64));
		if (i % (PASSING / KEPT) == 0)
			kept[i / (PASSING / KEPT)] = geiger_malloc(1000);
	}
	at_end = ledger;
	for (int i = 0; i < KEPT; i++)
		geiger_free(kept[i]);
}

/* Returns the variance of live bytes over seeds, and the mean number of samples. */
static double spread(const struct gg_optimal_rates *rates, double interval, double *ret_samples)
{
	enum { SEEDS = 300 };
	double sum = 0, squares = 0, samples = 0, mean;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		begin(interval, seed);
		if (rates != NULL) {
			gg_malloc_set_rates(interval, rates, seed);
			gg_malloc_heap_apply_plan(gg_malloc_heap_enter(), gg_malloc_plan());
		}
		run_server();
		sum += at_end.live_bytes;
		squares += at_end.live_bytes * at_end.live_bytes;
		samples += (double)at_end.sampled_count;
	}
	begin(0, 0);
	mean = sum / SEEDS;
	*ret_samples = samples / SEEDS;
	/* 5 standard errors. */
	CHECK_MSG(fabs(mean - KEPT * 1000.) <= 5 * sqrt((squares / SEEDS - mean * mean) / SEEDS),
	          "%.0f live bytes of %d", mean, KEPT * 1000);
	return squares / SEEDS - mean * mean;
}

/*
 * At 8 KiB, poisson takes 312 samples of small blocks and 58 of large ones.  The plan from counts
 * takes nearly all from the large ones, as many in all, and the variance of live bytes falls by a
 * factor of some 17: from 500 x 1000^2 x (1-p)/p with p = 0.117 to that with p above 0.5.
 */
TEST(a_plan_from_counts_is_as_good_as_if_all_were_known)
{
	static struct gg_optimal_class before[GG_SIZE_CLASS_COUNT], now[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates;
	static void *kept[KEPT];
	double poisson, optimal, poisson_samples, optimal_samples;

	begin(0, 0);
	gg_malloc_count_classes(before);
	for (int i = 0; i < PASSING; i++)
		geiger_free(geiger_malloc(64));
	for (int i = 0; i < KEPT; i++)
		kept[i] = geiger_malloc(1000);
	gg_malloc_count_classes(now);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		now[i].allocated -= before[i].allocated;
		now[i].live = (now[i].live - before[i].live + 0.5) * now[i].allocated /
		              (now[i].allocated + 1);
	}
	for (int i = 0; i < KEPT; i++)
		geiger_free(kept[i]);
	gg_rate_learning_plan_for(now, 8192, &rates);
	poisson = spread(NULL, 8192, &poisson_samples);
	optimal = spread(&rates, 8192, &optimal_samples);
	printf("samples %.0f and %.0f, variances %.3g and %.3g: gain %.1f\n", poisson_samples,
	       optimal_samples, poisson, optimal, poisson / optimal);
	CHECK(fabs(optimal_samples - poisson_samples) < poisson_samples * 0.05);
	CHECK(optimal < poisson / 6);
}

/* A list must not be drawn again because a sample is due: that sample would be missing. */
TEST(totals_are_unbiased_while_lists_are_taken_back_and_plans_change)
{
	enum { COUNT = 1000000, BYTES = 16, EACH = 1500 };
	double intervals[] = { 128, 160 };
	size_t blocks = 0;

	begin(intervals[0], 9);
	gg_malloc_arena_set_delay(0); /* each look at the clock takes idle lists back */
	for (size_t i = 0; i < COUNT; i++) {
		geiger_free(geiger_malloc(BYTES));
		blocks++;
		if (i % EACH == 0)
			gg_malloc_set_interval(intervals[i / EACH % 2], 9);
	}
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_NEVER);
	CHECK_MSG(fabs(ledger.count - (double)blocks) <= 4 * sqrt(ledger.count_variance),
	          "%.0f of %zu blocks, %.2f standard errors", ledger.count, blocks,
	          (ledger.count - (double)blocks) / sqrt(ledger.count_variance));
}

/* A control goes up and down a grid of intervals for days, and plans are never freed. */
TEST(settings_that_come_again_get_the_plan_that_they_had)
{
	static struct gg_optimal_rates rates;
	const struct gg_malloc_plan *coarse, *fine, *by_rates;

	gg_rate_learning_plan_for((struct gg_optimal_class[GG_SIZE_CLASS_COUNT]){ { 0 } }, 4096,
	                          &rates);
	REQUIRE(gg_malloc_set_interval(4096, 3));
	coarse = gg_malloc_plan();
	REQUIRE(gg_malloc_set_interval(1024, 3));
	fine = gg_malloc_plan();
	REQUIRE(gg_malloc_set_rates(4096, &rates, 3));
	by_rates = gg_malloc_plan();
	CHECK(coarse != fine && coarse != by_rates && by_rates->rates == &rates);
	REQUIRE(gg_malloc_set_interval(4096, 4));
	CHECK(gg_malloc_plan() != coarse && gg_malloc_plan()->seed == 4);
	for (int i = 0; i < 1000; i++) {
		REQUIRE(gg_malloc_set_interval(4096, 3));
		CHECK(gg_malloc_plan() == coarse);
		REQUIRE(gg_malloc_set_interval(1024, 3));
		CHECK(gg_malloc_plan() == fine);
		REQUIRE(gg_malloc_set_rates(4096, &rates, 3));
		CHECK(gg_malloc_plan() == by_rates);
	}
	begin(0, 0);
}

/* Runs of three slices begin at each third slice of some part of the arena. */
TEST(bytes_of_a_large_arena_are_counted)
{
	enum { RUNS = 24000, BYTES = 48 * 1024 - 64 };
	static void *runs[RUNS];
	uint64_t allocated[2], active[2];
	double wanted = (double)RUNS * 48 * 1024;

	begin(0, 0);
	gg_malloc_count_bytes(&allocated[0], &active[0]);
	for (size_t i = 0; i < RUNS; i++)
		runs[i] = geiger_malloc(BYTES);
	gg_malloc_count_bytes(&allocated[1], &active[1]);
	CHECK_MSG(fabs((double)(active[1] - active[0]) - wanted) < wanted / 1000, "%.0f of %.0f",
	          (double)(active[1] - active[0]), wanted);
	CHECK_MSG(fabs((double)(allocated[1] - allocated[0]) - wanted) < wanted / 1000,
	          "%.0f of %.0f", (double)(allocated[1] - allocated[0]), wanted);
	for (size_t i = 0; i < RUNS; i++)
		geiger_free(runs[i]);
}

TEST(a_large_arena_is_counted_by_parts_and_no_class_is_missed)
{
	enum { RUNS = 40, BYTES = 1200, BLOCKS = 60000 };
	static void *runs[RUNS], *blocks[BLOCKS];
	size_t block_bytes = gg_malloc_class_bytes(gg_malloc_class_of(BYTES)), per_slab;
	double before, after;

	begin(0, 0);
	per_slab = 4 * GG_MALLOC_SLICE_BYTES / block_bytes;
	for (size_t i = 0; i < RUNS; i++) /* 1.25 GiB that nobody touches */
		runs[i] = geiger_malloc(GG_MALLOC_RUN_BYTES_MAX);
	before = counted(block_bytes).live;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = geiger_malloc(BYTES);
	/* Half of them, because no count is above the number of all allocations. */
	for (size_t i = 0; i < BLOCKS / 2; i++)
		geiger_free(blocks[i]);
	after = counted(block_bytes).live;
	CHECK_MSG(fabs(after - before - BLOCKS / 2) <= 4. * (double)per_slab, "%.0f of %d",
	          after - before, BLOCKS / 2);
	for (size_t i = BLOCKS / 2; i < BLOCKS; i++)
		geiger_free(blocks[i]);
	for (size_t i = 0; i < RUNS; i++)
		geiger_free(runs[i]);
}
