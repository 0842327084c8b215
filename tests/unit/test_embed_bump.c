/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_embed_bump - shows what the slow path of bump.h does with the three pointers, at every edge.
 *
 * test_embed_bump_laws shows that the samples add up.
 */
#include "geiger/bump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "test.h"

static const enum geiger_scheme schemes[] = { GEIGER_BERNOULLI, GEIGER_POISSON, GEIGER_STRIDE };

enum { BLOCK = 1 << 16, KEPT = 1 << 12 };

static struct heard {
	struct geiger_bump_sample samples[KEPT]; /* the first ones */
	size_t count;
} heard;

static char block[BLOCK];

static void hear(void *user, const struct geiger_bump_sample *sample)
{
	struct heard *h = user;

	if (h->count < KEPT)
		h->samples[h->count] = *sample;
	h->count++;
}

static void begin(struct geiger_bump *bump, enum geiger_scheme scheme, uint64_t interval,
                  size_t bytes)
{
	struct geiger_bump_config config = { .scheme = scheme,
		                             .interval_bytes = interval,
		                             .seed = 7,
		                             .on_sample = hear,
		                             .user = &heard };

	heard.count = 0;
	CHECK_EQ_I64(geiger_bump_init(bump, &config), 0);
	geiger_bump_refill(bump, block, block + bytes);
}

/* Holds at every moment. */
static bool is_in_order(const struct geiger_bump *bump)
{
	return bump->alloc_ptr <= bump->combined_limit && bump->combined_limit <= bump->alloc_limit;
}

TEST(objects_lie_one_after_the_other_and_the_last_one_fits_exactly)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 64, 4096);
		for (size_t at = 0; at < 4096; at += 16) {
			CHECK(is_in_order(&bump));
			CHECK_EQ_PTR(geiger_bump_alloc(&bump, 16, "x"), block + at);
		}
		CHECK(geiger_bump_alloc(&bump, 1, "x") == NULL);
		CHECK(bump.alloc_ptr == bump.alloc_limit && is_in_order(&bump));
		CHECK(heard.count > 20 && heard.count < 120);
		geiger_bump_done(&bump);
	}
}

TEST(what_does_not_fit_changes_nothing_whether_a_mark_is_due_or_not)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump, before;

		begin(&bump, schemes[i], 1, 4096); /* every byte is a mark */
		CHECK_EQ_PTR(geiger_bump_alloc(&bump, 4000, "x"), block);
		before = bump;
		CHECK(geiger_bump_alloc(&bump, 97, "x") == NULL);
		CHECK(geiger_bump_alloc(&bump, SIZE_MAX, "x") == NULL);
		CHECK(geiger_bump_alloc(&bump, PTRDIFF_MAX, "x") == NULL);
		CHECK_EQ_I64(memcmp(&before, &bump, sizeof(bump)), 0);
		CHECK_EQ_U64(heard.count, 1);
		CHECK(geiger_bump_alloc(&bump, 96, "x") == block + 4000 && heard.count == 2);
		geiger_bump_done(&bump);
	}
}

TEST(a_mark_that_waits_for_a_new_block_is_on_the_object_that_is_retried)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 1, 100);
		CHECK(geiger_bump_alloc(&bump, 90, "first") != NULL);
		CHECK(geiger_bump_alloc(&bump, 20, "retried") == NULL && heard.count == 1);
		geiger_bump_refill(&bump, block + 1000, block + 2000);
		CHECK_EQ_PTR(geiger_bump_alloc(&bump, 20, "retried"), block + 1000);
		CHECK(heard.count == 2 && strcmp(heard.samples[1].type, "retried") == 0);
		CHECK(heard.samples[1].object == block + 1000 && heard.samples[1].bytes == 20);
		geiger_bump_done(&bump);
	}
}

TEST(off_means_that_the_two_limits_are_one)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 64, 4096);
		geiger_bump_enable(&bump, false);
		CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
		for (int n = 0; n < 200; n++) {
			geiger_bump_alloc(&bump, 8, "x");
			CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
		}
		geiger_bump_refill(&bump, block, block + 4096);
		geiger_bump_set_interval(&bump, 16);
		CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
		while (geiger_bump_alloc(&bump, 8, "x") != NULL)
			CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
		CHECK_EQ_U64(heard.count, 0);
		geiger_bump_enable(&bump, true);
		geiger_bump_refill(&bump, block, block + 4096);
		while (geiger_bump_alloc(&bump, 8, "x") != NULL)
			;
		CHECK(heard.count > 100);
		geiger_bump_done(&bump);
	}
}

TEST(a_context_without_anybody_to_hear_of_it_is_off)
{
	struct geiger_bump_config config = { .interval_bytes = 1 };
	struct geiger_bump bump;

	CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
	geiger_bump_refill(&bump, block, block + 100);
	CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
	CHECK_EQ_PTR(geiger_bump_alloc(&bump, 100, "x"), block);
	config.heap = "nobody records";
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
	geiger_bump_refill(&bump, block, block + 100);
	CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
	geiger_bump_done(&bump);
}

TEST(an_interval_of_1_takes_every_object_for_itself)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;
		size_t count = 0;
		double total = 0;

		begin(&bump, schemes[i], 1, 4096);
		for (size_t bytes = 1; geiger_bump_alloc(&bump, bytes, "x") != NULL; bytes++)
			count++;
		CHECK_EQ_U64(heard.count, count);
		for (size_t at = 0; at < count; at++) {
			CHECK_EQ_U64(heard.samples[at].bytes, at + 1);
			CHECK(heard.samples[at].offset == 0 &&
			      heard.samples[at].interval_bytes == 1);
			total += geiger_estimate_bytes(&heard.samples[at]);
		}
		CHECK_EQ_DOUBLE(total, (double)(bump.alloc_ptr - block));
		geiger_bump_done(&bump);
	}
}

TEST(stride_has_a_mark_every_interval_bytes_whatever_objects_and_blocks_are_like)
{
	static const uint64_t intervals[] = { 64, 100, 1000, 4096, 70000 };

	for (size_t i = 0; i < GG_COUNT(intervals); i++) {
		uint64_t interval = intervals[i], allocated = 0, next = 0, marks = 0;
		struct geiger_bump bump;
		size_t seen = 0;

		begin(&bump, GEIGER_STRIDE, interval, 500);
		for (size_t n = 0; n < 40000; n++) {
			size_t bytes = 1 + n * 7919 % 300;
			char *object = geiger_bump_alloc(&bump, bytes, "x");

			if (object == NULL) { /* blocks of many sizes, some too small */
				size_t size = 300 + n % 1500;

				geiger_bump_refill(&bump, block + n % 5, block + n % 5 + size);
				object = geiger_bump_alloc(&bump, bytes, "x");
			}
			if (!CHECK(object != NULL && is_in_order(&bump)))
				return;
			for (; seen < heard.count && seen < KEPT; seen++) {
				const struct geiger_bump_sample *s = &heard.samples[seen];
				uint64_t first = allocated + s->offset;

				/* The phase of the first one is random. */
				CHECK(seen == 0 ? first < interval : first == next);
				CHECK(s->object == object && s->bytes == bytes &&
				      s->offset < bytes);
				CHECK_EQ_U64(s->sample_points,
				             1 + (bytes - 1 - s->offset) / interval);
				CHECK_EQ_DOUBLE(geiger_estimate_bytes(s),
				                (double)(s->sample_points * interval));
				next = first + s->sample_points * interval;
				marks += s->sample_points;
			}
			allocated += bytes;
			if (seen == KEPT)
				break;
		}
		/* Between two marks no byte was allocated that was not counted. */
		CHECK(marks * interval + interval > allocated &&
		      marks * interval < allocated + interval);
		geiger_bump_done(&bump);
	}
}

TEST(a_large_object_may_hold_several_marks)
{
	struct geiger_bump bump;

	begin(&bump, GEIGER_STRIDE, 100, BLOCK);
	CHECK_EQ_PTR(geiger_bump_alloc(&bump, 60000, "large"), block);
	CHECK(heard.count == 1 && heard.samples[0].sample_points == 600);
	CHECK_EQ_DOUBLE(geiger_estimate_bytes(&heard.samples[0]), 60000);
	begin(&bump, GEIGER_BERNOULLI, 100, BLOCK);
	CHECK_EQ_PTR(geiger_bump_alloc(&bump, 60000, "large"), block);
	CHECK(heard.count == 1 && heard.samples[0].sample_points == 1);
	CHECK(heard.samples[0].offset < 60000);
	CHECK_EQ_DOUBLE(geiger_estimate_bytes(&heard.samples[0]), 60000); /* p is 1 to 250 digits */
	geiger_bump_done(&bump);
}

TEST(objects_beside_the_block_take_their_bytes_of_the_same_stream)
{
	uint64_t allocated = 0, next = 0;
	struct geiger_bump bump;
	size_t seen = 0;
	static char elsewhere[8];

	begin(&bump, GEIGER_STRIDE, 1000, BLOCK);
	for (int n = 0; n < 1000; n++) {
		if (n % 3 == 0)
			geiger_bump_count_outside(&bump, elsewhere, 1234, "large");
		else if (geiger_bump_alloc(&bump, 60, "small") == NULL)
			break;
		for (; seen < heard.count; seen++) {
			const struct geiger_bump_sample *s = &heard.samples[seen];

			CHECK(seen == 0 || allocated + s->offset == next);
			CHECK_EQ_I64(s->object == elsewhere, n % 3 == 0);
			next = allocated + s->offset + s->sample_points * 1000;
		}
		allocated += n % 3 == 0 ? 1234 : 60;
		CHECK(is_in_order(&bump));
	}
	CHECK(seen > 300);
	geiger_bump_count_outside(&bump, NULL, 10, "x");
	geiger_bump_count_outside(&bump, elsewhere, SIZE_MAX, "x");
	geiger_bump_done(&bump);
}

TEST(intervals_larger_than_a_block_go_on_over_refills)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;
		uint64_t blocks = 0;

		begin(&bump, schemes[i], 1 << 20, 4096);
		/* 64 MiB in objects of 64 bytes: 64 marks on average. */
		while (blocks < 16384) {
			if (geiger_bump_alloc(&bump, 64, "x") != NULL)
				continue;
			geiger_bump_refill(&bump, block, block + 4096);
			blocks++;
		}
		CHECK_MSG(heard.count > 24 && heard.count < 104, "%zu samples", heard.count);
		if (schemes[i] == GEIGER_STRIDE)
			CHECK_EQ_U64(heard.count, 64);
		geiger_bump_done(&bump);
	}
}

TEST(intervals_of_many_gibibytes_are_intervals_too)
{
	static const uint64_t intervals[] = { UINT64_C(1) << 32, UINT64_C(1) << 40,
		                              UINT64_C(1) << 62 };

	for (size_t i = 0; i < GG_COUNT(schemes); i++)
		for (size_t k = 0; k < GG_COUNT(intervals); k++) {
			struct geiger_bump bump;

			begin(&bump, schemes[i], intervals[k], BLOCK);
			for (int n = 0; n < 1000; n++) {
				CHECK_EQ_PTR(geiger_bump_alloc(&bump, BLOCK, "x"), block);
				geiger_bump_refill(&bump, block, block + BLOCK);
				CHECK(is_in_order(&bump));
			}
			CHECK(heard.count <= 1); /* 62 MiB: with 4 GiB 1.5 % have one */
			geiger_bump_done(&bump);
		}
}

TEST(a_changed_interval_is_that_of_samples_to_come_and_of_no_others)
{
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		begin(&bump, schemes[i], 64, BLOCK);
		for (int n = 0; n < 100; n++)
			geiger_bump_alloc(&bump, 32, "x");
		CHECK(heard.count > 10);
		size_t before = heard.count;

		geiger_bump_set_interval(&bump, 256);
		for (int n = 0; n < 1000; n++)
			geiger_bump_alloc(&bump, 32, "x");
		for (size_t n = 0; n < heard.count; n++)
			CHECK_EQ_U64(heard.samples[n].interval_bytes, n < before ? 64 : 256);
		CHECK(heard.count > before + 60 && heard.count < before + 190);
		geiger_bump_set_interval(&bump, UINT64_MAX); /* held */
		CHECK(geiger_bump_alloc(&bump, 32, "x") != NULL);
		geiger_bump_done(&bump);
	}
}

TEST(the_same_seed_gives_the_same_samples)
{
	static struct heard first;

	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct geiger_bump bump;

		for (int round = 0; round < 2; round++) {
			begin(&bump, schemes[i], 128, BLOCK);
			while (geiger_bump_alloc(&bump, 24, NULL) != NULL)
				;
			if (round == 0)
				first = heard;
		}
		CHECK(memcmp(&first, &heard, sizeof(heard)) == 0 && heard.count > 0);
		geiger_bump_done(&bump);
	}
}

TEST(seeds_of_the_system_differ)
{
	static struct heard first;
	struct geiger_bump_config config = { .interval_bytes = 64,
		                             .on_sample = hear,
		                             .user = &heard };
	struct geiger_bump bump;

	for (int round = 0; round < 2; round++) {
		heard.count = 0;
		CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
		geiger_bump_refill(&bump, block, block + BLOCK);
		while (geiger_bump_alloc(&bump, 8, NULL) != NULL)
			;
		if (round == 0)
			first = heard;
	}
	CHECK(memcmp(first.samples, heard.samples, 100 * sizeof(heard.samples[0])) != 0);
}

static void sample_sizes(struct geiger_bump *bump, uint64_t *ret_sum)
{
	heard.count = 0;
	geiger_bump_refill(bump, block, block + BLOCK);
	while (geiger_bump_alloc(bump, 8, NULL) != NULL)
		;
	*ret_sum = 0;
	for (size_t i = 0; i < heard.count && i < KEPT; i++)
		*ret_sum = *ret_sum * 31 + (uint64_t)((char *)heard.samples[i].object - block);
}

TEST(a_forked_child_draws_other_marks_than_its_parent)
{
	struct geiger_bump bump;
	uint64_t of_parent, of_child = 0;
	int pipes[2], status = -1;

	begin(&bump, GEIGER_POISSON, 64, BLOCK);
	if (!CHECK_EQ_I64(pipe(pipes), 0))
		return;
	pid_t pid = fork();

	if (pid == 0) {
		sample_sizes(&bump, &of_child);
		_exit(write(pipes[1], &of_child, sizeof(of_child)) != sizeof(of_child));
	}
	sample_sizes(&bump, &of_parent);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ_U64(read(pipes[0], &of_child, sizeof(of_child)), sizeof(of_child));
	CHECK(of_parent != 0 && of_child != 0 && of_parent != of_child);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(empty_objects_are_nothing_and_empty_blocks_are_exhausted)
{
	struct geiger_bump bump;

	begin(&bump, GEIGER_POISSON, 1, 10);
	CHECK(geiger_bump_alloc(&bump, 0, "x") == block && heard.count == 0);
	CHECK(geiger_bump_alloc_slow(&bump, 0, "x") == block && heard.count == 0);
	CHECK_EQ_PTR(geiger_bump_alloc(&bump, 10, "x"), block);
	geiger_bump_refill(&bump, block + 10, block); /* ends before it begins */
	CHECK(bump.alloc_ptr == block + 10 && bump.alloc_limit == block + 10);
	CHECK(geiger_bump_alloc(&bump, 1, "x") == NULL);
	geiger_bump_refill(&bump, NULL, NULL);
	CHECK(geiger_bump_alloc(&bump, 1, "x") == NULL);
	geiger_bump_done(&bump);
	CHECK(geiger_bump_alloc(&bump, 1, "x") == NULL);
	geiger_bump_done(NULL);
	geiger_bump_refill(NULL, block, block + 1);
	geiger_bump_enable(NULL, true);
	geiger_bump_set_interval(NULL, 1);
	geiger_bump_count_outside(NULL, block, 1, "x");
}

TEST(an_all_zero_context_works_and_is_off)
{
	static struct geiger_bump bump;

	CHECK(geiger_bump_alloc(&bump, 8, "x") == NULL);
	geiger_bump_enable(&bump, true);
	geiger_bump_set_interval(&bump, 8);
	geiger_bump_refill(&bump, block, block + 64);
	for (int i = 0; i < 8; i++)
		CHECK_EQ_PTR(geiger_bump_alloc(&bump, 8, "x"), block + 8 * i);
	CHECK(geiger_bump_alloc(&bump, 8, "x") == NULL);
}

TEST(what_cannot_be_a_context_is_refused)
{
	struct geiger_bump_config config = { .on_sample = hear };
	struct geiger_bump bump;

	CHECK_EQ_I64(geiger_bump_init(NULL, &config), -EINVAL);
	CHECK_EQ_I64(geiger_bump_init(&bump, NULL), -EINVAL);
	config.scheme = (enum geiger_scheme)3;
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), -EINVAL);
	config.scheme = GEIGER_STRIDE;
	config.interval_bytes = (UINT64_C(1) << 62) + 1;
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), -EINVAL);
	config.interval_bytes = 0; /* the default */
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
}

TEST(pointers_that_somebody_else_moved_cost_a_gap_and_nothing_else)
{
	struct geiger_bump bump;

	begin(&bump, GEIGER_POISSON, 64, BLOCK);
	for (int i = 0; i < 100; i++) {
		geiger_bump_alloc(&bump, 32, "x");
		if (i % 10 == 0)
			bump.alloc_ptr = block; /* back to the beginning, behind its back */
		geiger_bump_refill(&bump, bump.alloc_ptr, bump.alloc_limit);
		CHECK(is_in_order(&bump));
	}
	CHECK(heard.count > 10 && heard.count < 100);
}

/* --- on_sample --- */

static struct geiger_bump nested_bump;
static int nested_depth, nested_most;

static void allocate_more(void *user, const struct geiger_bump_sample *sample)
{
	char *next = nested_bump.alloc_ptr;

	(void)user;
	nested_depth++;
	nested_most = nested_depth > nested_most ? nested_depth : nested_most;
	CHECK(sample->object < (void *)next);
	CHECK_EQ_PTR(geiger_bump_alloc(&nested_bump, 16, "nested"), next);
	nested_depth--;
}

TEST(who_hears_of_a_sample_may_allocate_and_hears_nothing_of_that)
{
	struct geiger_bump_config config = { .interval_bytes = 1, .on_sample = allocate_more };

	CHECK_EQ_I64(geiger_bump_init(&nested_bump, &config), 0);
	geiger_bump_refill(&nested_bump, block, block + BLOCK);
	for (int i = 0; i < 100; i++)
		CHECK_EQ_PTR(geiger_bump_alloc(&nested_bump, 16, "outer"), block + 32 * i);
	CHECK(nested_most == 1 && nested_bump.alloc_ptr == block + 3200);
}

static void change_it(void *user, const struct geiger_bump_sample *sample)
{
	struct geiger_bump *bump = user;

	(void)sample;
	heard.count++;
	geiger_bump_set_interval(bump, heard.count % 2 != 0 ? 1000 : 10);
	if (heard.count == 50)
		geiger_bump_enable(bump, false);
}

TEST(who_hears_of_a_sample_may_change_the_interval_and_switch_off)
{
	struct geiger_bump bump;
	struct geiger_bump_config config = {
		.interval_bytes = 10, .seed = 3, .on_sample = change_it, .user = &bump
	};
	char *expected = block;

	heard.count = 0;
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
	geiger_bump_refill(&bump, block, block + BLOCK);
	for (; expected < block + BLOCK; expected += 16) {
		CHECK_EQ_PTR(geiger_bump_alloc(&bump, 16, "x"), expected);
		CHECK(is_in_order(&bump));
	}
	CHECK_EQ_U64(heard.count, 50);
	CHECK_EQ_PTR(bump.combined_limit, bump.alloc_limit);
}

TEST(an_estimate_of_nothing_is_0_and_of_odd_samples_a_number)
{
	struct geiger_bump_sample sample = { .bytes = 100 };

	CHECK_EQ_DOUBLE(geiger_estimate_bytes(NULL), 0);
	CHECK_EQ_DOUBLE(geiger_estimate_bytes(&sample), 100);
	sample.interval_bytes = 1000;
	sample.scheme = GEIGER_STRIDE;
	CHECK_EQ_DOUBLE(geiger_estimate_bytes(&sample), 1000);
	sample.scheme = (enum geiger_scheme)9;
	CHECK_EQ_DOUBLE(geiger_estimate_bytes(&sample), 0);
}
