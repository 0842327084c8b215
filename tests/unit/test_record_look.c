/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_look - shows that the parts of a look add up, and that its choice is fair. */
#include "record/look/look.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "test.h"

/* The allocators of sanitizers do not use brk(). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_BRK_HEAP false
#else
#define HAS_BRK_HEAP true
#endif

enum { MIB = 1 << 20 };

/* --- mappings --- */

static const struct gg_profile_look_mapping *find_mapping(const struct gg_look_records *records,
                                                          enum gg_mapping_kind kind,
                                                          const char *name)
{
	for (size_t i = 0; i < records->list.count; i++) {
		const struct gg_profile_look_mapping *mapping = &records->list.items[i];

		if (mapping->kind == (uint32_t)kind &&
		    (name == NULL ? mapping->name == NULL
		                  : mapping->name != NULL && strcmp(mapping->name, name) == 0))
			return mapping;
	}
	return NULL;
}

static void visit(struct gg_look_mappings *mappings, enum gg_mapping_kind kind, const char *name,
                  int64_t bytes)
{
	const struct gg_smaps_part part = { .mapping_count = 1, .rss_bytes = bytes };

	gg_look_mappings_visit(kind, name, strlen(name), &part, mappings);
}

TEST(mappings_of_one_name_are_one_record_and_small_ones_are_joined)
{
	struct gg_look_mappings mappings = { 0 };
	struct gg_look_records records;
	const struct gg_profile_look_mapping *others;
	int64_t all_bytes = 0;
	char name[32];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "/lib/%d", i);
		visit(&mappings, GG_MAPPING_FILE, name, i);
		visit(&mappings, GG_MAPPING_FILE, name, i);
		visit(&mappings, GG_MAPPING_ARENA, "[anon: glibc: malloc arena]", 1);
	}
	visit(&mappings, GG_MAPPING_DATA, "/lib/99", 5);
	visit(&mappings, GG_MAPPING_DATA, "", 3);
	REQUIRE(gg_look_mappings_take(&mappings, &records) == 0);
	CHECK_EQ_U64(records.list.count, 1 + 2 + GG_LOOK_NAMES_MAX + 1);
	CHECK_EQ_I64(find_mapping(&records, GG_MAPPING_ARENA, NULL)->mapping_count, 100);
	CHECK_EQ_I64(find_mapping(&records, GG_MAPPING_FILE, "/lib/99")->rss_bytes, 198);
	CHECK_EQ_I64(find_mapping(&records, GG_MAPPING_DATA, "/lib/99")->rss_bytes, 5);
	CHECK_EQ_I64(find_mapping(&records, GG_MAPPING_DATA, NULL)->rss_bytes, 3);
	CHECK(find_mapping(&records, GG_MAPPING_FILE, "/lib/79") == NULL);
	others = find_mapping(&records, GG_MAPPING_FILE, NULL);
	CHECK(others != NULL && others->mapping_count == 160);
	CHECK(others == &records.list.items[records.list.count - 1]);
	for (size_t i = 0; i < records.list.count; i++)
		all_bytes += records.list.items[i].rss_bytes;
	CHECK_EQ_I64(all_bytes, 99 * 100 + 100 + 5 + 3);
	gg_look_records_done(&records);
	gg_look_mappings_done(&mappings);
}

/* --- choosing --- */

TEST(each_sample_has_the_same_chance)
{
	enum { SAMPLES = 50, CHOSEN = 20, TRIALS = 4000 };
	int counts[SAMPLES + 1] = { 0 };

	for (uint64_t seed = 1; seed <= TRIALS; seed++) {
		struct gg_look_samples samples = { 0 };

		for (uint32_t i = 0; i < SAMPLES; i++)
			REQUIRE(gg_array_push(&samples.list,
			                      (struct gg_look_sample){ .id = i + 1, .index = i }));
		gg_look_samples_choose(&samples, CHOSEN, seed);
		CHECK_EQ_U64(samples.chosen_count, CHOSEN);
		for (size_t i = 0; i < samples.chosen_count; i++) {
			counts[samples.list.items[i].id]++;
			CHECK(i == 0 ||
			      samples.list.items[i].index > samples.list.items[i - 1].index);
		}
		gg_look_samples_done(&samples);
	}
	/* The standard deviation of each count is 31, so no count is more than 5 of these away. */
	for (int i = 1; i <= SAMPLES; i++)
		CHECK_MSG(abs(counts[i] - TRIALS * CHOSEN / SAMPLES) < 155, "%d: %d times", i,
		          counts[i]);
}

TEST(few_samples_are_all_chosen)
{
	struct gg_look_samples samples = { 0 };

	gg_look_samples_choose(&samples, 8, 1);
	CHECK_EQ_U64(samples.chosen_count, 0);
	REQUIRE(gg_array_push(&samples.list, (struct gg_look_sample){ .id = 1 }));
	gg_look_samples_choose(&samples, 8, 1);
	CHECK_EQ_U64(samples.chosen_count, 1);
	gg_look_samples_done(&samples);
}

/* --- a look at this process --- */

static pthread_barrier_t barrier;

/* Touches half a MiB of its stack and waits. */
static void *use_stack(void *context)
{
	volatile char bytes[MIB / 2];

	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		bytes[i] = 1;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return context;
}

static int64_t sum_of(const struct gg_look *look, enum gg_mapping_kind kind)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < look->mappings.list.count; i++)
		if (look->mappings.list.items[i].kind == (uint32_t)kind)
			bytes += look->mappings.list.items[i].rss_bytes;
	return bytes;
}

TEST(a_look_at_this_process_finds_its_stacks_and_shared_memory)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	struct gg_error error = { 0 };
	struct gg_look look;
	int64_t all_bytes = 0;
	char *shared = mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	                    0);

	REQUIRE(shared != MAP_FAILED);
	memset(shared, 1, 2 * MIB);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, use_stack, NULL) == 0);
	pthread_barrier_wait(&barrier);
	REQUIRE(gg_look_take(&look, getpid(), &(struct gg_look_options){ 0 }, &error) == 0);
	/* A sanitizer may have a thread of its own. */
	CHECK(look.record.thread_count == THREADS + 1 ||
	      (!HAS_BRK_HEAP && look.record.thread_count == THREADS + 2));
	CHECK_EQ_I64(look.record.page_bytes, sysconf(_SC_PAGESIZE));
	CHECK(sum_of(&look, GG_MAPPING_STACK) >= THREADS * MIB / 2);
	CHECK_EQ_I64(sum_of(&look, GG_MAPPING_SHARED), 2 * MIB);
	CHECK(sum_of(&look, GG_MAPPING_HEAP) > 0 || !HAS_BRK_HEAP);
	CHECK(look.record.swap_bytes >= 0);
	for (int kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		all_bytes += sum_of(&look, kind);
	CHECK(all_bytes == look.record.rss_bytes && look.record.pss_bytes > 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	munmap(shared, 3 * MIB);
	gg_look_done(&look);
}

TEST(a_process_that_has_ended_cannot_be_looked_at)
{
	struct gg_error error = { 0 };
	struct gg_look look;

	CHECK(gg_look_take(&look, 0x7ffffff0, &(struct gg_look_options){ 0 }, &error) < 0);
}

/* --- what changes meanwhile --- */

TEST(samples_that_are_left_out_keep_the_chance_of_the_others)
{
	struct gg_look look = { .record = { .live_count = 100, .chosen_count = 10 } };

	gg_look_leave_out(&look, 2);
	CHECK(look.record.live_count == 80 && look.record.chosen_count == 8);
	gg_look_leave_out(&look, 0);
	CHECK(look.record.live_count == 80 && look.record.chosen_count == 8);
	gg_look_leave_out(&look, 8);
	CHECK(look.record.live_count == 0 && look.record.chosen_count == 0);
	gg_look_leave_out(&look, 0);
	CHECK_EQ_I64(look.record.chosen_count, 0);
}

enum { BLOCKS = 50, EACH_GONE = 5, MAPPINGS_COUNT = 3 };

struct moments {
	int mappings_count, blocks_count;
	uint64_t began_ns, ended_ns; /* of the last list of mappings */
};

static bool note_mappings(void *context, uint64_t began_ns, uint64_t ended_ns)
{
	struct moments *moments = context;

	CHECK_EQ_I64(moments->blocks_count, 0);
	CHECK(began_ns >= moments->ended_ns);
	CHECK(ended_ns > began_ns);
	moments->began_ns = began_ns;
	moments->ended_ns = ended_ns;
	return ++moments->mappings_count < MAPPINGS_COUNT;
}

static void free_few(void *context, bool *is_gone)
{
	struct moments *moments = context;

	CHECK_EQ_I64(moments->mappings_count, MAPPINGS_COUNT);
	CHECK_EQ_I64(moments->blocks_count, 0);
	is_gone[0] = is_gone[EACH_GONE] = true;
}

static void free_some(void *context, bool *is_gone)
{
	struct moments *moments = context;

	CHECK_EQ_I64(moments->mappings_count, MAPPINGS_COUNT);
	moments->blocks_count++;
	for (int i = 0; i < BLOCKS; i += EACH_GONE)
		is_gone[i] = true;
}

TEST(blocks_that_were_freed_meanwhile_have_no_part_in_the_look)
{
	struct moments counts = { 0 };
	const struct gg_look_moments moments = { .context = &counts,
		                                 .mappings_read = note_mappings,
		                                 .residency_read = free_few,
		                                 .blocks_read = free_some };
	struct gg_look_samples samples = { .chosen_count = BLOCKS };
	const struct gg_look_options options = { .samples = &samples, .moments = &moments };
	struct gg_error error;
	struct gg_look look;

	for (uint64_t id = 1; id <= BLOCKS; id++)
		REQUIRE(gg_array_push(
			&samples.list,
			(struct gg_look_sample){ .id = id,
		                                 .address = (uint64_t)(uintptr_t)malloc(300),
		                                 .size_bytes = 300,
		                                 .usable_bytes = 312 }));
	/* An allocator may hand out pages that nobody has touched, which are not resident. */
	for (size_t i = 0; i < BLOCKS; i++)
		memset((void *)(uintptr_t)samples.list.items[i].address, 1, 300);
	REQUIRE(gg_look_take(&look, getpid(), &options, &error) == 0);
	CHECK(counts.mappings_count == MAPPINGS_COUNT && counts.blocks_count == 1);
	CHECK(look.read_ns >= counts.began_ns && look.read_ns <= counts.ended_ns);
	CHECK_EQ_I64(look.blocks.gone_count, BLOCKS / EACH_GONE);
	CHECK_EQ_U64(look.blocks.blocks.count, BLOCKS - BLOCKS / EACH_GONE);
	for (size_t i = 0; i < look.blocks.blocks.count; i++)
		CHECK(look.blocks.blocks.items[i].sample % EACH_GONE != 1);
	CHECK_EQ_I64(look.record.live_count, BLOCKS - BLOCKS / EACH_GONE);
	CHECK_EQ_I64(look.record.torn_count, 0);
	/* The look knows which of the others were resident before they went. */
	CHECK_EQ_U64(look.blocks.gone.count, BLOCKS / EACH_GONE - 2);
	for (size_t i = 0; i < look.blocks.gone.count; i++) {
		CHECK_EQ_U64(look.blocks.gone.items[i].place, (i + 2) * EACH_GONE);
		CHECK(look.blocks.gone.items[i].resident_bytes > 0);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		free((void *)(uintptr_t)samples.list.items[i].address);
	gg_look_done(&look);
	gg_look_samples_done(&samples);
}

/* As if the process had made many samples between the first reading of the mappings and another. */
static bool grow_too_large(void *context, uint64_t began_ns, uint64_t ended_ns)
{
	struct gg_look_samples *samples = context;
	bool is_first = !samples->is_too_large;

	CHECK(ended_ns > began_ns);
	samples->is_too_large = true;
	samples->list.count = samples->chosen_count = 0;
	return is_first;
}

TEST(a_look_without_its_samples_says_why_after_another_try)
{
	struct gg_look_samples samples = { 0 };
	const struct gg_look_moments moments = { .context = &samples,
		                                 .mappings_read = grow_too_large };
	const struct gg_look_options options = { .samples = &samples, .moments = &moments };
	struct gg_error error;
	struct gg_look look;

	REQUIRE(gg_look_take(&look, getpid(), &options, &error) == 0);
	CHECK_EQ_STR(look.record.reason, "the process has too many live samples");
	CHECK_EQ_I64(look.record.live_count, 0);
	gg_look_done(&look);
}
