/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_reconcile - shows that the region's totals make up for events that a full ring lost.
 *
 * Whatever was lost, the profile has each live sample, and its samples and rows of sums together
 * equal what was allocated.
 */
#include "record/process/exact_history.h"
#include "record/process/exact_state.h"
#include "record/process/final_state.h"
#include "record/process/ingest.h"
#include "record/process/inherited.h"
#include "record/process/reconcile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "region.h"
#include "region/writer/exact.h"
#include "test.h"

/* More than the 64 events of the ring, fewer than the 512 live samples of the region. */
enum { STACKS = 3, SAMPLES_MAX = 400 };

struct truth {
	uint64_t address;
	int stack;
	bool is_freed;
};

struct scene {
	struct gg_region region;
	bool has_region;
	struct gg_region_thread thread;
	uint32_t nodes[STACKS];
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_target_set set;
	struct gg_target *target;
	struct gg_error error;

	struct truth truths[SAMPLES_MAX];
	uint32_t truth_count;
	uint64_t random;

	/* The content of the profile, as finish() has read it. */
	uint32_t live_count, freed_count, aggregate_count, unknown_count;
	bool is_seen[SAMPLES_MAX];
};

static void scene_setup(struct scene *scene)
{
	struct gg_region_options options;
	int fd;

	region_small_options(&options);
	REQUIRE(region_make(&scene->region, &options));
	scene->has_region = true;
	gg_region_thread_begin(&scene->region, &scene->thread, 7, "main", 0);
	for (int i = 0; i < STACKS; i++) {
		const uint64_t pcs[] = { 0x1000 + (uint64_t)i, 0x100 };

		scene->nodes[i] = gg_region_intern(&scene->region, &scene->thread, pcs, 2);
	}
	REQUIRE(gg_profile_create(&scene->profile, NULL, &scene->error) == 0);
	REQUIRE(gg_profile_writer_init(&scene->writer, scene->profile, 0, &scene->error) == 0);
	fd = dup(scene->region.map.fd);
	REQUIRE(gg_target_open(&scene->target, &scene->set, &scene->writer, fd, 0, 0, true,
	                       &scene->error) == 0);
	scene->writer.now_ns = 1 << 20;
	scene->random = 88172645463325252;
}

static void scene_teardown(struct scene *scene)
{
	gg_target_set_done(&scene->set);
	if (scene->profile != NULL)
		gg_profile_writer_done(&scene->writer);
	gg_profile_close(scene->profile);
	if (scene->has_region)
		gg_region_done(&scene->region, true);
}

FIXTURE(scene)

static void allocate(struct scene *scene, int stack)
{
	struct truth *truth = &scene->truths[scene->truth_count++];
	struct gg_allocation sample;

	REQUIRE(scene->truth_count <= SAMPLES_MAX);
	*truth = (struct truth){ .address = 0x10000 + 16 * (uint64_t)scene->truth_count,
		                 .stack = stack };
	sample = region_sample(truth->address, 1000, scene->nodes[stack]);
	REQUIRE(gg_region_record_alloc(&scene->region, &scene->thread, &sample) != 0);
}

static void free_one(struct scene *scene, uint32_t number)
{
	struct truth *truth = &scene->truths[number];

	REQUIRE(!truth->is_freed);
	truth->is_freed = true;
	REQUIRE(gg_region_record_free(&scene->region, &scene->thread,
	                              (const void *)(uintptr_t)truth->address, 0,
	                              truth->address + 100, 0));
}

static int count_sample(const struct gg_profile_sample *sample, void *context)
{
	struct scene *scene = context;
	uint32_t number = (uint32_t)((sample->address - 0x10000) / 16 - 1);

	if (number >= scene->truth_count || scene->is_seen[number] ||
	    (sample->free_ns == GG_TIME_NONE && scene->truths[number].is_freed)) {
		scene->unknown_count++;
		return 0;
	}
	scene->is_seen[number] = true;
	scene->live_count += sample->free_ns == GG_TIME_NONE;
	scene->freed_count += sample->free_ns != GG_TIME_NONE;
	return 0;
}

static int count_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	((struct scene *)context)->aggregate_count += (uint32_t)aggregate->sums.sample_count;
	return 0;
}

/* Ends the process and reads what the profile has of it. */
static void finish(struct scene *scene)
{
	gg_live_set_validate(&scene->target->live_set);
	REQUIRE(gg_final_state_write(scene->target, (struct gg_end_bounds){ 1 << 20, 1 << 20 },
	                             "exited 0") == 0);
	REQUIRE(gg_profile_writer_commit(&scene->writer) == 0);
	REQUIRE(gg_profile_each_sample(scene->profile, count_sample, scene, &scene->error) == 0);
	REQUIRE(gg_profile_each_aggregate(scene->profile, count_aggregate, scene, &scene->error) ==
	        0);
}

/* Checks the sums that hold whatever was lost. */
static void check_sums(const struct scene *scene)
{
	uint32_t live_count = 0;

	for (uint32_t i = 0; i < scene->truth_count; i++)
		live_count += !scene->truths[i].is_freed;
	CHECK_EQ_U64(scene->unknown_count, 0);
	CHECK_EQ_U64(scene->live_count, live_count);
	CHECK_EQ_U64(scene->live_count + scene->freed_count + scene->aggregate_count,
	             scene->truth_count);
}

TEST_WITH(scene, where_nothing_was_lost_each_sample_is_there)
{
	for (int i = 0; i < 30; i++)
		allocate(scene, i % STACKS);
	for (uint32_t i = 0; i < 30; i += 3)
		free_one(scene, i);
	gg_ingest_drain(scene->target, false);
	CHECK(!gg_reconcile_is_lossy(scene->target));
	finish(scene);
	CHECK_EQ_U64(scene->freed_count, 10);
	CHECK_EQ_U64(scene->aggregate_count, 0);
	check_sums(scene);
}

/* Ends so many other samples that the target forgets all that have ended before. */
static void forget_ended(struct scene *scene)
{
	struct gg_live_set *live_set = &scene->target->live_set;

	for (uint64_t number = 1000; number <= 1000 + 2 * GG_LIVE_SET_ENDED_MAX; number++) {
		REQUIRE(gg_live_set_add(live_set, number, number, 1) == 0);
		gg_live_set_end(live_set, gg_live_set_find(live_set, number), 100);
	}
}

/* A thread stands between its free and the event; the recorder finds the free in the region. */
TEST_WITH(scene, a_free_that_comes_when_its_sample_is_forgotten_adds_nothing)
{
	const struct gg_profile_sample_end end = { .free_ns = 1, .missed = true, .lost = true };
	struct gg_live_set *live_set = &scene->target->live_set;

	allocate(scene, 0);
	gg_ingest_drain(scene->target, false);
	REQUIRE(gg_live_set_find(live_set, 1) != NULL);
	gg_profile_writer_end(&scene->writer, gg_live_set_find(live_set, 1)->id, &end);
	gg_live_set_end(live_set, gg_live_set_find(live_set, 1), 0);
	forget_ended(scene);
	CHECK(gg_live_set_find(live_set, 1) == NULL);
	free_one(scene, 0);
	gg_ingest_drain(scene->target, false);
	CHECK_EQ_U64(scene->writer.counts.sample_count, 1);
	finish(scene);
	CHECK_EQ_U64(scene->freed_count, 1);
	check_sums(scene);
}

/* Another thread frees the block before the event of the allocation. */
TEST_WITH(scene, an_allocation_that_comes_when_its_sample_is_forgotten_adds_nothing)
{
	struct gg_region_event late;

	allocate(scene, 0);
	REQUIRE(gg_ring_read(&scene->target->ring, &late, 1, false) == 1);
	REQUIRE(late.kind == GG_EVENT_ALLOC);
	free_one(scene, 0);
	gg_ingest_drain(scene->target, false);
	CHECK_EQ_U64(scene->writer.counts.sample_count, 1);
	forget_ended(scene);
	gg_ring_put(&scene->region, &late);
	gg_ingest_drain(scene->target, false);
	CHECK_EQ_U64(scene->writer.counts.sample_count, 1);
	finish(scene);
	CHECK_EQ_U64(scene->freed_count, 1);
	check_sums(scene);
}

/* All events but the last 64 are overwritten before anybody reads them. */
TEST_WITH(scene, live_samples_are_found_whose_events_were_lost)
{
	for (int i = 0; i < 300; i++)
		allocate(scene, i % STACKS);
	gg_ingest_drain(scene->target, false);
	CHECK(gg_reconcile_is_lossy(scene->target));
	CHECK_EQ_I64(gg_reconcile(scene->target), 0);
	CHECK(!gg_reconcile_is_lossy(scene->target));
	finish(scene);
	CHECK_EQ_U64(scene->aggregate_count, 0);
	check_sums(scene);
}

TEST_WITH(scene, samples_that_came_and_went_unseen_are_in_rows_of_sums)
{
	for (int i = 0; i < 300; i++) {
		allocate(scene, i % STACKS);
		if (i % 10 != 0)
			free_one(scene, (uint32_t)i);
	}
	gg_ingest_drain(scene->target, false);
	CHECK_EQ_I64(gg_reconcile(scene->target), 0);
	finish(scene);
	CHECK(scene->aggregate_count > 200);
	check_sums(scene);
}

TEST_WITH(scene, samples_whose_free_was_lost_are_not_live)
{
	for (int i = 0; i < 20; i++)
		allocate(scene, i % STACKS);
	gg_ingest_drain(scene->target, false);
	for (uint32_t i = 0; i < 20; i += 2)
		free_one(scene, i);
	for (int i = 0; i < 200; i++)
		allocate(scene, i % STACKS);
	gg_ingest_drain(scene->target, false);
	CHECK_EQ_I64(gg_reconcile(scene->target), 0);
	finish(scene);
	check_sums(scene);
}

/* The ring is drained now and then, sometimes too late. */
TEST_WITH(scene, any_order_of_events_and_losses_adds_up)
{
	while (scene->truth_count < SAMPLES_MAX) {
		uint64_t random = region_random(&scene->random);
		uint32_t number = scene->truth_count == 0
		                          ? 0
		                          : (uint32_t)((random >> 8) % scene->truth_count);

		if (random % 3 != 0)
			allocate(scene, (int)((random >> 32) % STACKS));
		else if (scene->truth_count > 0 && !scene->truths[number].is_freed)
			free_one(scene, number);
		if (random % 64 == 7) {
			gg_ingest_drain(scene->target, false);
			CHECK_EQ_I64(gg_reconcile_if_lossy(scene->target), 0);
			gg_live_set_validate(&scene->target->live_set);
		}
	}
	finish(scene);
	check_sums(scene);
}

/* --- a forked process that nobody saw before it freed what it inherited --- */

struct child {
	uint64_t sample_count, size_bytes, shared_count;
	uint32_t process;
};

static int count_of_child(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct child *child = context;

	if (aggregate->process != child->process)
		return 0;
	child->sample_count += aggregate->sums.sample_count;
	child->size_bytes += aggregate->sums.size_bytes;
	child->shared_count += aggregate->is_shared;
	return 0;
}

/*
 * The child frees 8 inherited blocks and 6 of its own 10, and then the recorder looks.  An agent
 * before 0.1.0 does not tell inherited blocks apart.
 */
static struct child look_at_child(struct scene *scene, bool is_old, bool is_full)
{
	struct gg_region_options options;
	struct gg_region_file map;
	struct gg_target *target;
	struct child child = { 0 };

	for (int i = 0; i < 20; i++)
		allocate(scene, i % STACKS);
	gg_ingest_drain(scene->target, false);
	region_small_options(&options);
	options.pid = 8;
	REQUIRE(gg_region_file_create_anonymous(&map, "child", scene->region.map.bytes) == 0);
	REQUIRE(gg_region_adopt(&scene->region, &map, &options) == 0);
	gg_region_thread_begin(&scene->region, &scene->thread, 9, "child", 0);
	for (int i = 0; i < 10; i++)
		allocate(scene, i % STACKS);
	for (uint32_t i = 0; i < 8; i++)
		free_one(scene, i);
	for (uint32_t i = 20; i < 26; i++)
		free_one(scene, i);
	CHECK(region_is_valid(&scene->region));
	for (uint32_t i = 0; is_old && i < scene->region.tables[GG_TABLE_SITE_TOTALS].used_count;
	     i++)
		((struct gg_region_site_total *)gg_region_at(&scene->region, GG_TABLE_SITE_TOTALS,
		                                             i))
			->is_inherited = 0;
	REQUIRE(gg_target_open(&target, &scene->set, &scene->writer, dup(scene->region.map.fd), 0,
	                       scene->target->id, false, &scene->error) == 0);
	REQUIRE(gg_inherited_take(target, &scene->error) == 0);
	target->seen_is_full = is_full;
	REQUIRE(gg_final_state_write(target, (struct gg_end_bounds){ 1 << 20, 1 << 20 },
	                             "exited 0") == 0);
	REQUIRE(gg_profile_writer_commit(&scene->writer) == 0);
	child.process = target->id;
	REQUIRE(gg_profile_each_aggregate(scene->profile, count_of_child, &child, &scene->error) ==
	        0);
	return child;
}

TEST_WITH(scene, inherited_blocks_that_a_child_freed_unseen_are_in_no_aggregate)
{
	struct child child = look_at_child(scene, false, false);

	CHECK_EQ_U64(child.sample_count, 6);
	CHECK_EQ_U64(child.size_bytes, 6000);
	CHECK_EQ_U64(child.shared_count, 0);
}

TEST_WITH(scene, nor_are_they_in_the_sum_over_all_stacks)
{
	struct child child = look_at_child(scene, false, true);

	CHECK_EQ_U64(child.sample_count, 6);
	CHECK_EQ_U64(child.size_bytes, 6000);
}

TEST_WITH(scene, an_older_agent_does_not_tell_them_apart)
{
	struct child child = look_at_child(scene, true, false);

	CHECK_EQ_U64(child.sample_count, 14);
	CHECK(child.shared_count > 0);
}

/* --- the end of a recording that the process outlives --- */

enum { LIVING_BLOCKS = 8 };

struct living {
	struct scene *scene;
	bool is_over;
};

/* Allocates and frees blocks of one stack, with pauses in which a view is of one instant. */
static void *live_on(void *context)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	struct living *living = context;
	struct scene *scene = living->scene;
	struct gg_allocation sample;

	for (uint64_t i = 0; !__atomic_load_n(&living->is_over, __ATOMIC_RELAXED); i++) {
		uint64_t address = 0x10000 + i % LIVING_BLOCKS * 16;

		gg_region_record_free(&scene->region, &scene->thread,
		                      (const void *)(uintptr_t)address, 0, 100 + i, 0);
		sample = region_sample(address, 1000, scene->nodes[0]);
		sample.time_ns = 100 + i;
		gg_region_record_alloc(&scene->region, &scene->thread, &sample);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* The sums of a profile that must agree. */
struct outlived {
	uint64_t allocated_count, freed_count, sample_count, ended_count, aggregate_count;
	bool is_torn;
};

static int outlived_total(const struct gg_profile_total *total, void *context)
{
	struct outlived *found = context;

	found->allocated_count += total->allocated.sample_count;
	found->freed_count += total->freed.sample_count;
	return 0;
}

static int outlived_sample(const struct gg_profile_sample *sample, void *context)
{
	struct outlived *found = context;

	found->sample_count++;
	found->ended_count += sample->free_ns != GG_TIME_NONE;
	return 0;
}

static int outlived_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	((struct outlived *)context)->aggregate_count += (uint64_t)aggregate->sums.sample_count;
	return 0;
}

static int outlived_event(const struct gg_profile_event *event, void *context)
{
	if (strcmp(event->kind, "torn") == 0)
		((struct outlived *)context)->is_torn = true;
	return 0;
}

/* The recording ends at one moment: what comes after the last view is in no number of it. */
TEST(samples_of_a_process_that_lives_on_add_up_to_its_totals)
{
	uint32_t whole_count = 0;

	for (int round = 0; round < 40; round++) {
		const struct timespec start_up = { .tv_nsec = 500000 };
		struct scene scene = { 0 };
		struct living living = { .scene = &scene };
		struct outlived found = { 0 };
		pthread_t thread;

		scene_setup(&scene);
		REQUIRE(pthread_create(&thread, NULL, live_on, &living) == 0);
		nanosleep(&start_up, NULL);
		CHECK(gg_final_state_write(scene.target,
		                           (struct gg_end_bounds){ GG_TIME_NONE, GG_TIME_NONE },
		                           "lived on") == 0);
		__atomic_store_n(&living.is_over, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		REQUIRE(gg_profile_writer_commit(&scene.writer) == 0);
		REQUIRE(gg_profile_each_total(scene.profile, outlived_total, &found,
		                              &scene.error) == 0);
		REQUIRE(gg_profile_each_sample(scene.profile, outlived_sample, &found,
		                               &scene.error) == 0);
		REQUIRE(gg_profile_each_aggregate(scene.profile, outlived_aggregate, &found,
		                                  &scene.error) == 0);
		REQUIRE(gg_profile_each_event(scene.profile, outlived_event, &found,
		                              &scene.error) == 0);
		if (!found.is_torn) {
			whole_count++;
			CHECK_EQ_U64(found.sample_count + found.aggregate_count,
			             found.allocated_count);
			CHECK_EQ_U64(found.ended_count + found.aggregate_count, found.freed_count);
		}
		scene_teardown(&scene);
	}
	CHECK(whole_count > 0);
}

struct exact_rows {
	uint64_t live_count, ended_count;
};

static int count_exact(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct exact_rows *rows = context;
	uint64_t count = (uint64_t)aggregate->sums.sample_count;

	*(aggregate->to_ns == GG_TIME_NONE ? &rows->live_count : &rows->ended_count) += count;
	return 0;
}

static void make_exact(struct scene *scene, struct gg_exact *exact)
{
	struct gg_region_options options;
	const uint64_t pcs[] = { 0x1000, 0x100 };

	region_small_options(&options);
	options.exact = true;
	REQUIRE(region_make(&scene->region, &options));
	scene->has_region = true;
	REQUIRE(gg_exact_init(exact, &scene->region, 0));
	gg_region_thread_begin(&scene->region, &scene->thread, 7, "main", 0);
	scene->nodes[0] = gg_region_intern(&scene->region, &scene->thread, pcs, 2);
	REQUIRE(gg_profile_create(&scene->profile, NULL, &scene->error) == 0);
	REQUIRE(gg_profile_writer_init(&scene->writer, scene->profile, 0, &scene->error) == 0);
	REQUIRE(gg_target_open(&scene->target, &scene->set, &scene->writer,
	                       dup(scene->region.map.fd), 0, 0, true, &scene->error) == 0);
}

/* The recorder writes rows of exact counts once a second; those of the last second must not go. */
TEST(exact_counts_of_the_last_second_are_written_though_the_last_state_cannot_be_read)
{
	struct scene scene = { 0 };
	struct gg_exact exact = { 0 };
	struct gg_exact_block block;
	struct exact_rows rows = { 0 };

	make_exact(&scene, &exact);
	for (uint64_t i = 1; i <= 10; i++)
		gg_exact_allocated(&exact, &scene.thread, (const void *)(uintptr_t)(i << 16), 100,
		                   scene.nodes[0], 1);
	REQUIRE(gg_exact_history_tick(scene.target) == 0);
	for (uint64_t i = 1; i <= 6; i++) {
		REQUIRE(gg_exact_take(&exact, (const void *)(uintptr_t)(i << 16), &block));
		gg_exact_freed(&exact, &scene.thread, &block, false, 2);
	}
	scene.target->exact->next_ns = 0; /* the next tick is due */
	REQUIRE(gg_exact_history_tick(scene.target) == 0);
	scene.region.header->magic = 0;
	REQUIRE(gg_final_state_write(scene.target,
	                             (struct gg_end_bounds){ INT64_MAX / 2, INT64_MAX / 2 },
	                             "exited 0") == 0);
	REQUIRE(gg_profile_writer_commit(&scene.writer) == 0);
	REQUIRE(gg_profile_each_aggregate(scene.profile, count_exact, &rows, &scene.error) == 0);
	CHECK_EQ_U64(rows.ended_count, 6);
	CHECK_EQ_U64(rows.live_count, 4);
	gg_exact_done(&exact);
	scene_teardown(&scene);
}
