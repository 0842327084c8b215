/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_embed - tests libgeiger without the agent, linked statically.
 *
 * The program's heaps are sampled into a region of their own.  Each test is a process of its own,
 * because a process begins to record only once.
 */
#include "geiger/geiger.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "region/reader/view.h"
#include "scratch.h"
#include "test.h"

static const char *directory;

static void remove_directory(void)
{
	DIR *list = opendir(directory);
	struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL)
		unlinkat(dirfd(list), entry->d_name, 0); /* not . and .. */
	if (list != NULL)
		closedir(list);
	rmdir(directory);
}

/* Runs the rest in a child with a directory for its region. */
#define IN_CHILD(function)                         \
	do {                                       \
		if (!in_child(function, __LINE__)) \
			test_failed = true;        \
	} while (0)

static bool in_child(void (*function)(void), int line)
{
	int status = -1;
	pid_t pid;

	directory = scratch_new_folder();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		test_failed = false;
		function();
		fflush(stdout);
		_exit(test_failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	remove_directory();
	if (status != 0)
		printf("line %d: status %#x\n", line, (unsigned)status);
	return status == 0;
}

static bool start(uint64_t interval_bytes)
{
	struct geiger_options options = { .interval_bytes = interval_bytes,
		                          .directory = directory,
		                          .seed = 5 };

	return CHECK_EQ_I64(geiger_start(&options), 0) &&
	       CHECK_EQ_U64(geiger_recording_to(), GEIGER_TO_OWN);
}

/* The only region in the directory. */
static bool read_region(struct gg_region_view *view)
{
	char path[512] = "";
	DIR *list = opendir(directory);
	struct dirent *entry;
	struct gg_error error;

	while (list != NULL && (entry = readdir(list)) != NULL)
		if (strstr(entry->d_name, ".region") != NULL)
			snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
	if (list != NULL)
		closedir(list);
	if (gg_region_view_open(view, path, &error) < 0) {
		printf("%s: %s\n", path, error.message);
		return false;
	}
	return CHECK(!view->torn) && CHECK_EQ_U64(view->damaged_count, 0) &&
	       CHECK_EQ_I64(gg_region_view_check(view, NULL), 0);
}

static bool has_text(const struct gg_region_view *view, const struct gg_region_name *name,
                     const char *text)
{
	return name->bytes == strlen(text) &&
	       memcmp(gg_region_view_string(view, name->offset), text, name->bytes) == 0;
}

static const void *object(uintptr_t number)
{
	return (const void *)number;
}

static void allocate(uint32_t heap, uintptr_t number, size_t bytes, const char *type)
{
	if (geiger_due(bytes))
		geiger_allocated(heap, object(number), bytes, type);
}

static void two_heaps(void)
{
	uint32_t young = geiger_heap_register("young", NULL);
	uint32_t slots = geiger_heap_register("stack", "slots");
	struct gg_region_view view;

	CHECK(young != 0 && slots != 0 && young != slots);
	CHECK_EQ_U64(geiger_heap_register("young", NULL), young);
	CHECK_EQ_U64(geiger_heap_register("young", "bytes"), young);
	if (!start(1))
		return;
	allocate(young, 0x1000, 24, "pair");
	allocate(young, 0x2000, 40, "string");
	allocate(slots, 0x1000, 3, NULL); /* the same object id */
	geiger_freed(young, object(0x2000));
	geiger_freed(slots, object(0x2000));
	geiger_freed(young, object(0x2000));
	if (!read_region(&view))
		return;
	CHECK(view.live_count == 2 && view.header.counters[GG_COUNT_SAMPLES] == 3);
	for (uint32_t i = 0; i < view.live_count; i++) {
		const struct gg_region_sample *sample = &view.live[i];
		bool is_pair = sample->size_bytes == 24;

		CHECK_EQ_U64(sample->address & UINT64_C(0xffffffffffff), 0x1000);
		CHECK(has_text(&view, &view.heaps[sample->heap],
		               is_pair ? "young" : "stack [slots]"));
		CHECK(sample->type == 0 || has_text(&view, &view.types[sample->type], "pair"));
		CHECK(sample->sampling_interval == 1 && sample->stack >= GG_STACK_FIRST);
	}
	gg_region_view_done(&view);
}

TEST(heaps_stand_side_by_side_and_may_have_the_same_objects)
{
	IN_CHILD(two_heaps);
}

static void nothing_there(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	struct geiger_counts counts;

	CHECK_EQ_U64(geiger_recording_to(), GEIGER_TO_NOWHERE);
	for (uintptr_t i = 1; i < 100000; i++)
		allocate(heap, i, 1000, "x");
	geiger_freed(heap, object(1));
	geiger_moved(heap, object(1), object(2));
	CHECK_EQ_I64(geiger_snapshot("/tmp/nowhere"), -ENOENT);
	geiger_stop();
	geiger_thread_interval(64);
	geiger_upstream_end(geiger_upstream_begin());
	geiger_read_counts(&counts);
	CHECK_EQ_U64(counts.samples, 0);
	CHECK_EQ_U64(counts.unknown_heaps, 0);
	CHECK_EQ_STR(geiger_version(), GEIGER_VERSION);
}

TEST(without_an_agent_and_a_start_everything_does_nothing)
{
	IN_CHILD(nothing_there);
}

static void wrong_use(void)
{
	struct geiger_sample sample = {
		.object = object(0x1000), .bytes = 10, .interval_bytes = 1, .sample_points = 1
	};
	struct geiger_counts counts;
	struct gg_region_view view;
	uint32_t heap = geiger_heap_register("heap", NULL);

	CHECK(geiger_heap_register(NULL, NULL) == 0 && geiger_heap_register("", "x") == 0);
	CHECK(geiger_add_listener(NULL, NULL) == -EINVAL &&
	      geiger_remove_listener(NULL, NULL) == -ENOENT);
	CHECK(geiger_set_interval(0) == -EINVAL && geiger_set_interval(UINT64_MAX) == -EINVAL);
	CHECK_EQ_I64(geiger_start(&(struct geiger_options){ .interval_bytes = UINT64_MAX }),
	             -EINVAL);
	CHECK_EQ_I64(geiger_start(&(struct geiger_options){ .directory = "/does/not/exist" }),
	             -ENOENT);
	CHECK_EQ_I64(geiger_snapshot(NULL), -EINVAL);
	geiger_read_counts(NULL);
	geiger_heap_set_frame_provider(77, NULL, NULL);
	if (!start(1))
		return;
	CHECK(!geiger_record(heap, NULL));
	CHECK(!geiger_record(0, &sample) && !geiger_record(99, &sample) &&
	      !geiger_record(UINT32_MAX, &sample));
	CHECK(geiger_record(heap, &sample));
	sample.object = NULL;
	CHECK(!geiger_record(heap, &sample));
	sample.object = object((uintptr_t)1 << 48);
	CHECK(!geiger_record(heap, &sample));
	sample.object = object(0x2000);
	sample.offset = 10;
	CHECK(!geiger_record(heap, &sample));
	sample.offset = 0;
	sample.interval_bytes = 0;
	CHECK(!geiger_record(heap, &sample));
	sample.interval_bytes = 1;
	sample.scheme = (enum geiger_scheme)77;
	CHECK(!geiger_record(heap, &sample));
	sample.scheme = GEIGER_STRIDE;
	sample.bytes = SIZE_MAX;
	CHECK(!geiger_record(heap, &sample));
	geiger_freed(heap, NULL);
	geiger_freed(99, object(0x1000));
	geiger_freed(heap, object(0x1000));
	geiger_freed(heap, object(0x1000));
	geiger_freed(heap, object(UINTPTR_MAX));
	geiger_moved(heap, object(0x1000), object(0x3000));
	geiger_moved(heap, NULL, NULL);
	geiger_promoted(heap, object(0x1000));
	CHECK_EQ_U64(geiger_collected(heap, GEIGER_ALL, NULL, NULL), 0);
	CHECK(geiger_due(SIZE_MAX));
	geiger_allocated(heap, NULL, SIZE_MAX, "x");
	CHECK(geiger_due(SIZE_MAX));
	geiger_allocated(heap, object(0x4000), SIZE_MAX, "x");
	CHECK(!geiger_take(8, NULL));
	geiger_read_counts(&counts);
	CHECK_EQ_U64(counts.samples, 1);
	CHECK_EQ_U64(counts.freed, 1);
	CHECK_EQ_U64(counts.moved, 0);
	CHECK_EQ_U64(counts.unknown_heaps, 4);
	CHECK_EQ_U64(counts.bad_samples, 7);
	if (read_region(&view)) {
		CHECK_EQ_U64(view.live_count, 0);
		gg_region_view_done(&view);
	}
}

TEST(wrong_use_is_counted_and_harmless)
{
	IN_CHILD(wrong_use);
}

static void failed_allocation(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	struct geiger_sample sample;
	struct gg_region_view view;

	if (!start(1))
		return;
	CHECK(geiger_due(100));
	geiger_allocated(heap, NULL, 100, "x");
	CHECK(geiger_due(100));
	geiger_put_back(100);
	CHECK(geiger_due(100));
	CHECK(geiger_take(100, &sample));
	CHECK(sample.bytes == 100 && sample.offset == 0 && sample.interval_bytes == 1 &&
	      sample.sample_points == 1 && sample.object == NULL);
	sample.object = object(0x1000);
	CHECK(geiger_record(heap, &sample));
	if (read_region(&view)) {
		CHECK_EQ_U64(view.live_count, 1);
		gg_region_view_done(&view);
	}
}

TEST(an_allocation_that_failed_leaves_no_sample_and_takes_no_bytes)
{
	IN_CHILD(failed_allocation);
}

/* --- objects --- */

static void moved_objects(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	struct geiger_counts counts;
	struct gg_region_view view;

	if (!start(1))
		return;
	allocate(heap, 0x1000, 1, "a");
	allocate(heap, 0x2000, 2, "b");
	geiger_moved(heap, object(0x1000), object(0x9000));
	geiger_promoted(heap, object(0x9000));
	geiger_promoted(heap, object(0x1000));
	geiger_freed(heap, object(0x1000));
	geiger_freed(heap, object(0x2000));
	geiger_read_counts(&counts);
	CHECK_EQ_U64(counts.moved, 1);
	CHECK_EQ_U64(counts.promoted, 1);
	CHECK_EQ_U64(counts.freed, 1);
	if (!read_region(&view))
		return;
	if (CHECK_EQ_U64(view.live_count, 1)) {
		CHECK_EQ_U64(view.live[0].address & UINT64_C(0xffffffffffff), 0x9000);
		CHECK_EQ_I64(view.live[0].flags, GG_REGION_SAMPLE_OLD);
	}
	gg_region_view_done(&view);
}

TEST(an_object_that_moved_is_known_by_its_new_address)
{
	IN_CHILD(moved_objects);
}

/* A world of objects in slots of 16 bytes: where each of them goes. */
static uintptr_t goes_to[64];
static bool grows_old[64];
static int asked_count;

static const void *where(void *user, const void *of, enum geiger_generation *generation)
{
	uintptr_t number = (uintptr_t)of / 16;

	CHECK(user == goes_to && number < 64);
	asked_count++;
	if (grows_old[number])
		*generation = GEIGER_OLD;
	return object(goes_to[number] * 16);
}

/* The sizes of the live objects by slot; 0: none there. */
static bool read_slots(uint64_t sizes[64])
{
	struct gg_region_view view;

	memset(sizes, 0, 64 * sizeof(*sizes));
	if (!read_region(&view))
		return false;
	for (uint32_t i = 0; i < view.live_count; i++) {
		uint64_t slot = (view.live[i].address & UINT64_C(0xffffffffffff)) / 16;

		if (CHECK(slot < 64) && CHECK_EQ_U64(sizes[slot], 0))
			sizes[slot] = view.live[i].size_bytes;
	}
	gg_region_view_done(&view);
	return true;
}

static void collections(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	uint64_t sizes[64];
	struct geiger_counts counts;

	if (!start(1))
		return;
	for (uintptr_t i = 1; i <= 20; i++)
		allocate(heap, i * 16, 100 + i, "x");
	geiger_freed(heap, object(3 * 16));
	/* Odd ones die; the others slide down, into places of others. */
	for (uintptr_t i = 1; i <= 20; i++)
		goes_to[i] = i % 2 != 0 ? 0 : i / 2;
	CHECK_EQ_U64(geiger_collected(heap, GEIGER_YOUNG, where, goes_to), 10);
	CHECK_EQ_I64(asked_count, 19);
	if (read_slots(sizes))
		for (uintptr_t i = 1; i < 64; i++)
			CHECK_EQ_U64(sizes[i], i <= 10 ? 100 + 2 * i : 0);
	/* Upwards, a cycle of three, and two that grow old where they are. */
	for (uintptr_t i = 1; i <= 10; i++)
		goes_to[i] = i + 1;
	goes_to[10] = 12;
	goes_to[1] = 2, goes_to[2] = 3, goes_to[3] = 1;
	goes_to[4] = 4, goes_to[5] = 5, grows_old[4] = grows_old[5] = true;
	asked_count = 0;
	CHECK(geiger_collected(heap, GEIGER_YOUNG, where, goes_to) == 10 && asked_count == 10);
	if (read_slots(sizes)) {
		CHECK(sizes[2] == 102 && sizes[3] == 104 && sizes[1] == 106);
		CHECK(sizes[4] == 108 && sizes[5] == 110);
		CHECK(sizes[7] == 112 && sizes[8] == 114 && sizes[9] == 116 && sizes[10] == 118 &&
		      sizes[12] == 120);
	}
	/* The call concerns only old objects, which are two; one of them dies. */
	memset(grows_old, 0, sizeof(grows_old));
	goes_to[4] = 0;
	goes_to[5] = 40;
	asked_count = 0;
	CHECK(geiger_collected(heap, GEIGER_OLD, where, goes_to) == 1 && asked_count == 2);
	allocate(heap, 50 * 16, 7, "new");
	for (uintptr_t i = 0; i < 64; i++)
		goes_to[i] = 0;
	goes_to[50] = 50;
	asked_count = 0;
	CHECK(geiger_collected(heap, GEIGER_ALL, where, goes_to) == 1 && asked_count == 10);
	if (read_slots(sizes))
		CHECK(sizes[50] == 7 && sizes[40] == 0);
	geiger_read_counts(&counts);
	CHECK(counts.freed == 1 + 9 + 1 + 9 && counts.promoted == 2 && counts.dropped == 0);
	CHECK_EQ_U64(counts.moved, 10 + 8 + 1);
}

TEST(a_collection_moves_objects_into_places_of_others_all_at_once)
{
	IN_CHILD(collections);
}

/* --- stacks --- */

static const void *native_of_inner, *native_of_outer;

static size_t provide(void *user, struct geiger_frame *frames, size_t capacity)
{
	CHECK(capacity >= 64 && strcmp(user, "runtime") == 0);
	frames[0] = (struct geiger_frame){ "fact", "a.scm", 3, native_of_inner };
	frames[1] = (struct geiger_frame){ "map", "lib.scm", 40, NULL };
	frames[2] = (struct geiger_frame){ "main", "a.scm", 9, native_of_outer };
	return 3;
}

static struct {
	char functions[8][16];
	uint64_t pcs[64];
	size_t count;
	double weight_bytes;
	char type[16];
} heard;

static void hear(void *user, const struct geiger_event *event)
{
	CHECK_EQ_PTR(user, &heard);
	heard.count = event->frame_count < 64 ? event->frame_count : 64;
	for (size_t i = 0; i < heard.count; i++) {
		heard.pcs[i] = event->frames[i].pc;
		if (i < 8 && event->frames[i].pc == 0)
			snprintf(heard.functions[i], sizeof(heard.functions[i]), "%s",
			         event->frames[i].function);
		else if (i < 8)
			strcpy(heard.functions[i], "native");
	}
	heard.weight_bytes += event->weight_bytes;
	snprintf(heard.type, sizeof(heard.type), "%s", event->type);
}

static uint32_t frames_heap;

__attribute__((noinline)) static void inner_interpreter(void)
{
	native_of_inner = __builtin_frame_address(0);
	allocate(frames_heap, 0x1000, 100, "pair");
	__asm__ volatile("");
}

__attribute__((noinline)) static void builtin_function(void)
{
	inner_interpreter();
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer_interpreter(void)
{
	native_of_outer = __builtin_frame_address(0);
	builtin_function();
	__asm__ volatile("");
}

static void mixed_stacks(void)
{
	static const char *const wanted[] = { "fact", "native", "native", "map",
		                              "main", "native", "native" };
	struct gg_region_view view;
	uint64_t pcs[64];
	uint32_t count;

	frames_heap = geiger_heap_register("scheme", NULL);
	geiger_heap_set_frame_provider(frames_heap, provide, (void *)"runtime");
	CHECK_EQ_I64(geiger_add_listener(hear, &heard), 0);
	if (!start(1))
		return;
	outer_interpreter();
	CHECK(heard.count > 7 && heard.weight_bytes == 100 && strcmp(heard.type, "pair") == 0);
	for (size_t i = 0; i < 7; i++)
		CHECK_MSG(strcmp(heard.functions[i], wanted[i]) == 0, "%zu: %s, not %s", i,
		          heard.functions[i], wanted[i]);
	if (!read_region(&view))
		return;
	count = gg_region_view_stack(&view, view.live[0].stack, pcs, 64);
	CHECK_EQ_U64(count, heard.count);
	for (uint32_t i = 0; i < count && i < 64; i++)
		CHECK(heard.pcs[i] != 0 ? pcs[i] == heard.pcs[i] : gg_pc_is_frame(pcs[i]));
	for (uint32_t i = 0; i < 64 && i < count; i++) {
		const struct gg_region_frame *frame = &view.frames[(uint32_t)pcs[i]];

		if (gg_pc_is_frame(pcs[i]) && CHECK((uint32_t)pcs[i] < view.frame_count))
			CHECK_EQ_I64(memcmp(gg_region_view_string(&view, frame->function_offset),
			                    heard.functions[i], frame->function_bytes),
			             0);
	}
	gg_region_view_done(&view);
}

TEST(frames_of_a_runtime_stand_between_the_native_ones_that_run_them)
{
	IN_CHILD(mixed_stacks);
}

static void given_stack(void)
{
	static const struct geiger_frame frames[] = { { "inner", NULL, 0, NULL },
		                                      { NULL, "x", 1, NULL } };
	struct geiger_sample sample = { .object = object(0x1000),
		                        .bytes = 1,
		                        .interval_bytes = 1,
		                        .sample_points = 1,
		                        .flags = GEIGER_SAMPLE_NO_NATIVE | GEIGER_SAMPLE_OLD,
		                        .frames = frames,
		                        .frame_count = 2 };
	struct gg_region_view view;
	uint64_t pcs[4];

	if (!start(1))
		return;
	CHECK(geiger_record(geiger_heap_register("h", NULL), &sample));
	if (!read_region(&view))
		return;
	CHECK_EQ_U64(gg_region_view_stack(&view, view.live[0].stack, pcs, 4), 2);
	CHECK(gg_pc_is_frame(pcs[0]) && gg_pc_is_frame(pcs[1]));
	CHECK_EQ_I64(view.live[0].flags, GG_REGION_SAMPLE_OLD);
	gg_region_view_done(&view);
}

/* A runtime may use the memory of a name again: twice each, so that what is remembered is met. */
static void reused_texts(void)
{
	static char name[8];
	static const struct geiger_frame frames[] = { { name, "f.scm", 7, NULL } };
	static const char *const texts[] = { "first", "first", "other", "other", "first" };
	struct geiger_sample sample = { .bytes = 1,
		                        .interval_bytes = 1,
		                        .sample_points = 1,
		                        .flags = GEIGER_SAMPLE_NO_NATIVE,
		                        .frames = frames,
		                        .frame_count = 1 };
	struct gg_region_view view;
	uint32_t heap;

	if (!start(1))
		return;
	heap = geiger_heap_register("h", NULL);
	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		snprintf(name, sizeof(name), "%s", texts[i]);
		sample.object = object(0x1000 * (i + 1));
		CHECK(geiger_record(heap, &sample));
	}
	if (!read_region(&view))
		return;
	CHECK_EQ_U64(view.live_count, GG_COUNT(texts));
	for (uint32_t i = 0; i < view.live_count; i++) {
		uint64_t pc;

		if (!CHECK_EQ_U64(gg_region_view_stack(&view, view.live[i].stack, &pc, 1), 1))
			continue;
		const struct gg_region_frame *frame = &view.frames[(uint32_t)pc];
		size_t which = (size_t)(view.live[i].id - view.live[0].id);

		CHECK_EQ_U64(frame->line, 7);
		CHECK_EQ_I64(frame->function_bytes, 5);
		CHECK_EQ_I64(memcmp(gg_region_view_string(&view, frame->function_offset),
		                    texts[which], 5),
		             0);
	}
	gg_region_view_done(&view);
}

/* Recursion, and names that are too long to be remembered. */
static void repeated_frames(void)
{
	static char long_name[300];
	static const struct geiger_frame frames[] = {
		{ "f", "f.scm", 7, NULL },       { "f", "f.scm", 7, NULL },
		{ long_name, "f.scm", 7, NULL }, { "f", "f.scm", 8, NULL },
		{ long_name, "f.scm", 7, NULL }, { "f", "f.scm", 7, NULL }
	};
	struct geiger_sample sample = { .bytes = 1,
		                        .interval_bytes = 1,
		                        .sample_points = 1,
		                        .flags = GEIGER_SAMPLE_NO_NATIVE,
		                        .frames = frames,
		                        .frame_count = GG_COUNT(frames) };
	struct gg_region_view view;
	uint64_t pcs[GG_COUNT(frames)];
	uint32_t heap;

	if (!start(1))
		return;
	memset(long_name, 'x', sizeof(long_name) - 1);
	heap = geiger_heap_register("h", NULL);
	for (uint64_t i = 1; i <= 3; i++) {
		sample.object = object(0x1000 * i);
		CHECK(geiger_record(heap, &sample));
	}
	if (!read_region(&view))
		return;
	CHECK_EQ_U64(view.live_count, 3);
	for (uint32_t i = 0; i < view.live_count; i++) {
		CHECK_EQ_U64(view.live[i].stack, view.live[0].stack);
		CHECK_EQ_U64(gg_region_view_stack(&view, view.live[i].stack, pcs, GG_COUNT(pcs)),
		             GG_COUNT(pcs));
		CHECK(pcs[0] == pcs[1] && pcs[0] == pcs[5] && pcs[2] == pcs[4]);
		CHECK(pcs[0] != pcs[2] && pcs[0] != pcs[3] && pcs[2] != pcs[3]);
	}
	gg_region_view_done(&view);
}

TEST(a_frame_that_stands_many_times_in_a_stack_is_one_frame)
{
	IN_CHILD(repeated_frames);
}

TEST(a_frame_is_what_its_texts_say_not_where_they_are)
{
	IN_CHILD(reused_texts);
}

TEST(a_stack_may_be_given_instead_of_captured)
{
	IN_CHILD(given_stack);
}

/* --- listeners --- */

static uint32_t listened_heap;
static int call_count;

static void allocate_more(void *user, const struct geiger_event *event)
{
	(void)user;
	(void)event;
	call_count++;
	if (geiger_due(50))
		geiger_allocated(listened_heap, object(0x9000), 50, "nested");
}

static void listening(void)
{
	struct geiger_counts counts;

	listened_heap = geiger_heap_register("heap", NULL);
	CHECK_EQ_I64(geiger_set_interval(1), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ_I64(geiger_add_listener(allocate_more, &heard.pcs[i]), 0);
	CHECK_EQ_I64(geiger_add_listener(allocate_more, NULL), -ENOSPC);
	CHECK_EQ_I64(geiger_remove_listener(allocate_more, NULL), -ENOENT);
	for (int i = 1; i < 8; i++)
		CHECK_EQ_I64(geiger_remove_listener(allocate_more, &heard.pcs[i]), 0);
	CHECK_EQ_U64(geiger_recording_to(), GEIGER_TO_NOWHERE);
	allocate(listened_heap, 0x1000, 10, "x");
	CHECK_EQ_I64(call_count, 1);
	geiger_read_counts(&counts);
	CHECK(counts.samples == 1 && counts.nested <= 1);
	CHECK_EQ_I64(geiger_remove_listener(allocate_more, &heard.pcs[0]), 0);
	for (int i = 0; i < 20; i++)
		allocate(listened_heap, 0x2000, 1 << 20, "x");
	CHECK_EQ_I64(call_count, 1);
}

TEST(listeners_hear_samples_also_where_nothing_is_recorded)
{
	IN_CHILD(listening);
}

/* --- the process --- */

/* The value depends on the machine; that it moves, and ends, does not. */
static void held(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	uint64_t first;
	uintptr_t next = 1;

	CHECK_EQ_I64(geiger_hold_overhead(5000), -ENOENT);
	if (!start(64))
		return;
	CHECK_EQ_I64(geiger_hold_overhead(99), -EINVAL);
	CHECK_EQ_I64(geiger_hold_overhead(1000001), -EINVAL);
	CHECK_EQ_I64(geiger_hold_error(999), -EINVAL);
	CHECK_EQ_I64(geiger_hold_error(300000), 0);
	/* Live bytes of 1.28 GB and 30 %: nearly 20 MB. */
	for (int i = 0; i < 2000; i++)
		for (int j = 0; j < 640; j++, next++)
			allocate(heap, next, 1000, "held");
	CHECK(geiger_interval() > 1 << 20);
	CHECK_EQ_I64(geiger_hold_error(0), 0);
	first = geiger_interval();
	for (int j = 0; j < 640; j++, next++)
		allocate(heap, next, 1000000, "held");
	CHECK_EQ_U64(geiger_interval(), first);
	CHECK_EQ_I64(geiger_hold_overhead(10000), 0);
	CHECK_EQ_I64(geiger_set_interval(4096), 0);
	CHECK_EQ_U64(geiger_interval(), 4096);
}

TEST(an_error_is_held_until_it_is_ended)
{
	IN_CHILD(held);
}

static void on_and_off(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	struct gg_region_view view;

	if (!start(64))
		return;
	CHECK_EQ_U64(geiger_interval(), 64);
	for (uintptr_t i = 1; i <= 1000; i++)
		allocate(heap, i, 1000, "first");
	geiger_stop();
	CHECK_EQ_U64(geiger_recording_to(), GEIGER_TO_NOWHERE);
	for (uintptr_t i = 1001; i <= 100000; i++)
		allocate(heap, i, 1000, "off");
	geiger_freed(heap, object(1));
	CHECK(geiger_start(NULL) == 0 && geiger_recording_to() == GEIGER_TO_OWN);
	CHECK(geiger_set_interval(1) == 0 && geiger_interval() == 1);
	for (uintptr_t i = 100001; i <= 110000; i++)
		allocate(heap, i, 1000, "again");
	if (!read_region(&view))
		return;
	CHECK_EQ_U64(view.header.counters[GG_COUNT_FREES], 1);
	/* For the thread that set it, at once. */
	CHECK_EQ_U64(view.live_count, 999 + 10000);
	for (uint32_t i = 0; i < view.live_count; i++)
		CHECK(!has_text(&view, &view.types[view.live[i].type], "off"));
	gg_region_view_done(&view);
}

TEST(recording_is_stopped_started_and_made_denser_while_the_program_runs)
{
	IN_CHILD(on_and_off);
}

static void snapshots(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	char path[128];
	struct gg_region_view view;
	struct gg_error error;

	if (!start(1))
		return;
	for (uintptr_t i = 1; i <= 1000; i++)
		allocate(heap, i, i, "x");
	snprintf(path, sizeof(path), "%s/snapshot", directory);
	CHECK_EQ_I64(geiger_snapshot(path), 0);
	for (uintptr_t i = 1; i <= 1000; i++)
		geiger_freed(heap, object(i));
	if (!CHECK_EQ_I64(gg_region_view_open(&view, path, &error), 0))
		return;
	CHECK(view.live_count == 1000 && gg_region_view_check(&view, NULL) == 0);
	CHECK_EQ_U64(view.header.pid, (uint32_t)getpid());
	gg_region_view_done(&view);
	CHECK_EQ_I64(geiger_snapshot("/does/not/exist/snapshot"), -ENOENT);
	CHECK_EQ_I64(geiger_snapshot(path), 0);
	if (CHECK_EQ_I64(gg_region_view_open(&view, path, &error), 0)) {
		CHECK_EQ_U64(view.live_count, 0);
		gg_region_view_done(&view);
	}
}

TEST(a_snapshot_is_the_state_of_a_moment_in_a_file_of_its_own)
{
	IN_CHILD(snapshots);
}

static void forked(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);
	struct gg_region_view view;
	int status = -1;
	pid_t pid;

	if (!start(1))
		return;
	allocate(heap, 0x1000, 10, "parent");
	allocate(heap, 0x2000, 20, "parent");
	pid = fork();
	if (pid == 0) {
		geiger_freed(heap, object(0x1000));
		allocate(heap, 0x3000, 30, "child");
		geiger_moved(heap, object(0x2000), object(0x4000));
		_exit(test_failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ_I64(status, 0);
	DIR *list = opendir(directory);
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(list)) != NULL) {
		char path[512];
		struct gg_error error;

		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!CHECK_EQ_I64(gg_region_view_open(&view, path, &error), 0))
			continue;
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		CHECK_EQ_U64(view.live_count, 2);
		CHECK(view.header.pid == (uint32_t)getpid() ||
		      view.live[0].size_bytes + view.live[1].size_bytes == 50);
		gg_region_view_done(&view);
	}
	CHECK_EQ_I64(count, 2);
	closedir(list);
}

TEST(a_forked_child_goes_on_in_a_region_of_its_own)
{
	IN_CHILD(forked);
}

enum { SIBLINGS = 200, SIBLING_BYTES = 32 << 10, MARK_EVERY_BYTES = 64 << 10 };

static int samples_in_child(void)
{
	struct geiger_sample sample;
	int count = 0;

	for (int i = 0; i < SIBLING_BYTES; i += 64)
		count += geiger_due(64) && geiger_take(64, &sample);
	return count;
}

/*
 * Each child draws from a Poisson law with mean 1/2 of its own.  Together they have 100 samples,
 * within 5 sigma of 10 each; 121 children have no sample.
 */
static void siblings(void)
{
	int sum = 0, without = 0;

	if (!start(MARK_EVERY_BYTES))
		return;
	samples_in_child();
	for (int i = 0; i < SIBLINGS; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(samples_in_child());
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		sum += WEXITSTATUS(status);
		without += WEXITSTATUS(status) == 0;
	}
	CHECK_MSG(sum >= 50 && sum <= 150, "%d samples of 100", sum);
	CHECK_MSG(without >= 86 && without <= 156, "%d of 121 without", without);
}

TEST(forked_siblings_draw_their_first_marks_for_themselves)
{
	IN_CHILD(siblings);
}

enum { THREADS = 4, EACH = 20000 };

static void *churn(void *context)
{
	uintptr_t first = (uintptr_t)context;
	uint32_t heap = geiger_heap_register(first % 2 != 0 ? "odd" : "even", NULL);
	char name[8];

	snprintf(name, sizeof(name), "t%u", (unsigned)first);
	if (first == 2)
		geiger_thread_interval(512);
	for (uintptr_t i = 1; i <= EACH; i++) {
		uintptr_t number = first << 32 | i;

		allocate(heap, number, i % 300 + 1, name);
		if (i % 3 != 0)
			geiger_freed(heap, object(number));
		else if (i % 2 == 0)
			geiger_moved(heap, object(number), object(number | 1u << 30));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];
	struct gg_region_view view;

	if (!start(64))
		return;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ_I64(pthread_create(&all[i], NULL, churn, (void *)(i + 1)), 0);
	for (int i = 0; i < 20; i++) {
		char path[128];
		int status;

		snprintf(path, sizeof(path), "%s/snapshot", directory);
		status = geiger_snapshot(path);
		CHECK(status == 0 || status == -EBUSY);
		geiger_set_interval(i % 2 != 0 ? 64 : 128);
		unlink(path);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	if (!read_region(&view))
		return;
	/* A third of each thread's objects live on, whatever was sampled of them. */
	for (uint32_t i = 0; i < view.live_count; i++)
		CHECK_EQ_U64((view.live[i].address & 0x3fffffff) % 3, 0);
	CHECK(view.live_count > 100);
	gg_region_view_done(&view);
}

TEST(threads_allocate_free_and_move_at_the_same_time)
{
	IN_CHILD(threads);
}

enum { HEAPS = 60 }; /* each may be given THREADS numbers, of 255 */

static pthread_barrier_t barrier;

/* One object of each heap, which all threads meet for the first time at once. */
static void *meet(void *context)
{
	for (uintptr_t i = 0; i < HEAPS; i++) {
		uintptr_t number = (uintptr_t)context << 32 | (i + 1) << 4;
		char name[16];
		uint32_t heap;

		snprintf(name, sizeof(name), "heap %u", (unsigned)i);
		heap = geiger_heap_register(name, NULL);
		pthread_barrier_wait(&barrier);
		allocate(heap, number, 100, "x");
		pthread_barrier_wait(&barrier);
		geiger_freed(heap, object(number));
	}
	return NULL;
}

static void heaps_are_met(void)
{
	pthread_t all[THREADS];
	struct gg_region_view view;

	if (!start(1))
		return;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ_I64(pthread_create(&all[i], NULL, meet, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	if (!read_region(&view))
		return;
	CHECK_MSG(view.live_count == 0, "%u are live", (unsigned)view.live_count);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_DROP_NAMES], 0);
	gg_region_view_done(&view);
}

TEST(a_heap_that_threads_meet_at_the_same_time_has_one_number)
{
	IN_CHILD(heaps_are_met);
}

static void errno_is_kept(void)
{
	uint32_t heap = geiger_heap_register("heap", NULL);

	if (!start(1))
		return;
	errno = 77;
	allocate(heap, 0x1000, 10, "x");
	geiger_moved(heap, object(0x1000), object(0x2000));
	geiger_freed(heap, object(0x2000));
	CHECK_EQ_I64(errno, 77);
}

TEST(errno_is_kept_in_what_an_allocator_calls)
{
	IN_CHILD(errno_is_kept);
}
