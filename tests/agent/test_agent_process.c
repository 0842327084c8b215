/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_process - tests threads, forked children, signal handlers and other processes.
 *
 * Every allocation is a sample, except where a test changes that.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/place.h"
#include "base/compiler.h"
#include "emulated.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

static void *from_constructor;

__attribute__((constructor(200))) static void allocate_early(void)
{
	from_constructor = malloc(123);
}

TEST(what_a_constructor_allocates_is_recorded)
{
	CHECK_EQ_U64(inside_live(from_constructor).size_bytes, 123);
}

TEST(every_way_to_allocate_is_recorded_with_its_size)
{
	void *p;

	CHECK(posix_memalign(&p, 64, 1001) == 0 && inside_live(p).size_bytes == 1001);
	free(p);
	CHECK(!inside_is_live(p));
	p = memalign(128, 1002);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1002);
	free(p);
	p = aligned_alloc(64, 1024);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1024);
	free(p);
	p = valloc(1003);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1003);
	free(p);
	p = pvalloc(1004);
	CHECK(inside_live(p).size_bytes == 1004 && inside_live(p).slack_bytes >= 4096 - 1004);
	free(p);
	p = strdup("libc's own calls are seen too");
	CHECK_EQ_U64(inside_live(p).size_bytes, strlen(p) + 1);
	CHECK_EQ_U64(inside_live(p).slack_bytes, malloc_usable_size(p) - strlen(p) - 1);
	free(p);
	CHECK(!inside_is_live(p));
}

static uint64_t count_samples(void)
{
	return inside_counter(GG_COUNT_SAMPLES);
}

/* libc's reallocarray() calls realloc(), which is the agent's. */
TEST(a_block_of_reallocarray_is_recorded_once)
{
	uint64_t missed = inside_counter(GG_COUNT_MISSED_FREES), reading, before, after;
	void *p, *moved;

	before = count_samples();
	reading = count_samples() - before;
	p = reallocarray(NULL, 7, 11);
	after = count_samples();
	CHECK_MSG(after - before == 2 * reading + 1, "%llu samples",
	          (unsigned long long)(after - before - 2 * reading));
	CHECK_EQ_U64(inside_live(p).size_bytes, 77);
	moved = reallocarray(p, 1000, 11);
	CHECK_EQ_U64(inside_live(moved).size_bytes, 11000);
	free(moved);
	CHECK_EQ_U64(inside_counter(GG_COUNT_MISSED_FREES), missed);
}

static int count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	int lines = 0;

	for (int c; file != NULL && (c = fgetc(file)) != EOF;)
		lines += c == '\n';
	if (file != NULL)
		fclose(file);
	return lines;
}

static pthread_key_t late_key;

/* Runs after the agent has given the thread's block back, and asks to run again. */
static void allocate_late(void *value)
{
	call_free(call_malloc(50));
	if ((uintptr_t)value < 4)
		pthread_setspecific(late_key, (void *)((uintptr_t)value + 1));
}

static void *allocate_in_thread(void *argument)
{
	pthread_setspecific(late_key, (void *)1);
	call_free(call_malloc(40));
	return argument;
}

static bool run_threads(int count)
{
	for (int i = 0; i < count; i += 10) {
		pthread_t threads[10];

		for (int j = 0; j < 10; j++)
			if (pthread_create(&threads[j], NULL, allocate_in_thread, NULL) != 0)
				return false;
		for (int j = 0; j < 10; j++)
			pthread_join(threads[j], NULL);
	}
	return true;
}

static uint32_t count_thread_rows(void)
{
	struct gg_region_view view = inside_view();
	uint32_t count = view.thread_count;

	gg_region_view_done(&view);
	return count;
}

TEST(a_thread_that_allocates_after_its_end_has_one_row)
{
	uint32_t before;

	CHECK_EQ_I64(pthread_key_create(&late_key, allocate_late), 0);
	before = count_thread_rows();
	CHECK(run_threads(10));
	CHECK_MSG(count_thread_rows() == before + 10, "%u rows of 10 threads",
	          count_thread_rows() - before);
	CHECK(inside_is_consistent());
}

TEST(ten_thousand_threads_leave_no_memory_behind)
{
	int before, after;

	CHECK(run_threads(100));
	before = count_lines("/proc/self/maps");
	CHECK(run_threads(unless_emulated(10000)));
	after = count_lines("/proc/self/maps");
	/*
	 * Ten threads at once have at most 5 mappings each (stack, arena, block); a leak makes 10
	 * 000.
	 */
	CHECK_MSG(after <= before + 50, "%d mappings before, %d after", before, after);
	CHECK(inside_is_consistent());
}

static uint64_t private_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long kib = 0;
	char line[200];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kib * 1024;
}

struct footprint {
	uint32_t slots, rows, live;
	uint64_t region_bytes, private_bytes;
};

static struct footprint measure(void)
{
	struct footprint f = { .private_bytes = private_bytes() };
	struct gg_region_view view = inside_view();

	f.slots = (uint32_t)gg_region_table_of(&view.header, GG_TABLE_SLOTS)->used_count;
	f.rows = (uint32_t)gg_region_table_of(&view.header, GG_TABLE_SITE_TOTALS)->used_count;
	f.live = view.live_count;
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		f.region_bytes += gg_region_table_of(&view.header, i)->used_count *
		                  gg_region_table_of(&view.header, i)->record_bytes;
	gg_region_view_done(&view);
	return f;
}

/* By now there were more threads than have rows; until then each leaves its own. */
TEST(ten_thousand_more_threads_leave_nothing_in_the_region)
{
	struct footprint before = measure(), after;

	before = measure(); /* with what measuring leaves behind */
	CHECK(run_threads(unless_emulated(10000)));
	after = measure();
	CHECK_MSG(after.slots <= 32, "%u slots", after.slots);
	CHECK_MSG(after.live <= before.live + 100, "%u live samples, %u before", after.live,
	          before.live);
	if (place_is_emulated())
		return; /* a tenth of them: they have rows */
	CHECK_MSG(after.rows <= before.rows + 20, "%u rows, %u before", after.rows, before.rows);
	CHECK_MSG(after.region_bytes <= before.region_bytes + 65536,
	          "the region has %llu bytes, %llu before", (unsigned long long)after.region_bytes,
	          (unsigned long long)before.region_bytes);
	/* 100 bytes a thread would be a megabyte. */
	CHECK_MSG(after.private_bytes <= before.private_bytes + 900000,
	          "%llu bytes of private memory, %llu before",
	          (unsigned long long)after.private_bytes,
	          (unsigned long long)before.private_bytes);
	printf("%llu bytes in the region, of 10 000 threads\n",
	       (unsigned long long)before.region_bytes);
}

TEST(threads_have_rows_with_their_names_and_ends)
{
	struct gg_region_view view = inside_view();
	int running = 0, ended = 0;

	for (uint32_t i = 1; i < view.thread_count; i++) {
		running += view.threads[i].ready == 1 && view.threads[i].end_ns == 0;
		ended += view.threads[i].ready == 1 && view.threads[i].end_ns != 0;
	}
	CHECK_MSG(running == 1, "%d run", running);
	CHECK(ended > (int)unless_emulated(1000));
	CHECK_EQ_I64(strncmp(view.threads[1].name,
	                     place_is_emulated() ? "qemu-aarch64" : "test_agent_proc", 12),
	             0);
	gg_region_view_done(&view);
}

/* A child's answer: exit status 0 is yes. */
static bool child_says_yes(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

TEST(a_forked_child_has_a_region_of_its_own_with_what_it_inherited)
{
	void *p = call_malloc(1000), *q;
	uint64_t id = inside_live(p).id;
	pid_t child = fork();

	if (child == 0) {
		bool good;

		q = call_malloc(2000);
		good = inside_live(p).size_bytes == 1000 && inside_live(q).size_bytes == 2000 &&
		       inside_counter(GG_COUNT_INHERITED) > 0;
		call_free(p);
		good &= !inside_is_live(p);
		_exit(good && inside_is_consistent() ? 0 : 1);
	}
	CHECK(child_says_yes(child));
	CHECK_EQ_U64(inside_live(p).id, id);
	call_free(p);
	CHECK(!inside_is_live(p));
	CHECK(inside_is_consistent());
}

TEST(a_fork_by_a_bare_system_call_is_noticed_too)
{
	void *p = call_malloc(1000);
	uint64_t id = inside_live(p).id;
	pid_t child;

	if (place_is_emulated())
		SKIP("the emulator does not wipe pages on fork");
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		call_free(p);
		_exit(inside_counter(GG_COUNT_INHERITED) > 0 && !inside_is_live(p) ? 0 : 1);
	}
	CHECK(child_says_yes(child));
	CHECK_EQ_U64(inside_live(p).id, id);
	call_free(p);
	CHECK(inside_is_consistent());
}

TEST(a_child_of_a_child_that_only_frees_is_right_too)
{
	void *p = call_malloc(1000);
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			call_free(p);
			_exit(!inside_is_live(p) && inside_is_consistent() ? 0 : 1);
		}
		_exit(child_says_yes(grandchild) && inside_is_live(p) ? 0 : 1);
	}
	CHECK(child_says_yes(child));
	CHECK(inside_is_live(p));
	call_free(p);
}

TEST(a_child_without_an_environment_has_a_region_too)
{
	char **environment = environ;
	pid_t child;

	environ = NULL; /* as clearenv() leaves it */
	child = fork();
	if (child == 0) {
		void *p = call_malloc(1234);

		environ = environment;
		_exit(inside_live(p).size_bytes == 1234 ? 0 : 1);
	}
	environ = environment;
	CHECK(child_says_yes(child));
}

static void *volatile from_child;

TEST(what_a_vfork_child_allocates_is_its_parents)
{
	void *p = call_malloc(1000);
	pid_t child;

	if (place_is_emulated())
		SKIP("the emulator's vfork is a fork");
	from_child = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
#pragma GCC diagnostic pop
	if (child == 0) {
		from_child = call_malloc(3000);
		call_free(p);
		_exit(0);
	}
	CHECK(child_says_yes(child));
	CHECK_EQ_U64(inside_live(from_child).size_bytes, 3000);
	CHECK(!inside_is_live(p));
	call_free(from_child);
	CHECK(inside_is_consistent());
}

static atomic_bool stop;

static void *churn(void *argument)
{
	while (!atomic_load(&stop))
		call_free(call_malloc(64));
	return argument;
}

TEST(forking_while_other_threads_allocate_is_safe)
{
	pthread_t threads[2];

	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (unsigned i = 0; i < unless_emulated(50); i++) {
		pid_t child = fork();

		if (child == 0) {
			void *p = call_malloc(5000);

			_exit(inside_live(p).size_bytes == 5000 ? 0 : 1);
		}
		CHECK(child_says_yes(child));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(inside_is_consistent());
}

TEST(the_interval_can_be_changed_from_outside)
{
	void *p;

	inside_control(true, 1 << 20);
	call_free(call_malloc(10)); /* it is due, and looks */
	p = call_malloc(64 << 20);
	CHECK_EQ_DOUBLE(inside_live(p).sampling_interval, 1 << 20);
	call_free(p);
	inside_control(true, 1);
	call_free(call_malloc(64 << 20));
	p = call_malloc(10);
	CHECK_EQ_DOUBLE(inside_live(p).sampling_interval, 1);
	call_free(p);
}

/* A frame that the compiler keeps. */
__attribute__((noinline)) static void *allocate_deep(int depth)
{
	void *volatile p = depth == 0 ? call_malloc(777) : allocate_deep(depth - 1);

	return p;
}

TEST(a_stack_begins_at_the_program_and_is_complete)
{
	struct gg_region_view view;
	uint64_t pcs[64];
	void *p = allocate_deep(10);
	uint32_t stack = inside_live(p).stack, count;

	view = inside_view();
	count = gg_region_view_stack(&view, stack, pcs, 64);
	/* allocate_deep eleven times, the test, main, and two or three frames of libc's start. */
	CHECK_MSG(count >= 14 && count <= 18, "%u frames", count);
	for (int i = 0; i <= 10; i++)
		CHECK(pcs[i] - (uintptr_t)allocate_deep < 200);
	CHECK(view.header.unwind_endings[0] > 0);
	gg_region_view_done(&view);
	call_free(p);
}

TEST(the_modules_of_stacks_are_on_record_with_their_build_id)
{
	struct gg_region_view view = inside_view();
	bool program = false, libc = false;

	for (uint32_t i = 0; i < view.module_count; i++) {
		const struct gg_region_module *m = &view.modules[i];
		const char *name = gg_region_view_string(&view, m->path_offset);

		for (int j = 0; j < m->range_count; j++)
			program |= (uintptr_t)allocate_deep - m->ranges[j].start <
			           m->ranges[j].end - m->ranges[j].start;
		libc |= memmem(name, m->path_bytes, "libc.so", 7) != NULL && m->build_id_bytes > 0;
	}
	CHECK(program && libc);
	gg_region_view_done(&view);
}

static void *from_module;

static int allocate_in_callback(void)
{
	from_module = call_malloc(333);
	return 0;
}

/* Loads the module, allocates by its code, and unloads it.  Returns where it was, or NULL. */
static const void *allocate_by_module(const char *path)
{
	int (*call)(int (*)(void));
	const void *where;
	void *handle;

	handle = dlopen(path, RTLD_NOW);
	if (!CHECK_MSG(handle != NULL, "%s", dlerror()))
		return NULL;
	call = (int (*)(int (*)(void)))dlsym(handle, "reused_call");
	where = (const void *)call;
	if (CHECK(call != NULL))
		call(allocate_in_callback);
	call_free(from_module);
	dlclose(handle);
	return where;
}

/* Both have their call at the same address, so their stacks are the same numbers. */
TEST(a_module_loaded_where_another_was_is_on_record_too)
{
	const char *const paths[] = { getenv("REUSED_SMALL"), getenv("REUSED_LARGE") };
	const void *where[2];
	struct gg_region_view view;
	uint64_t unloaded_ns[2] = { 0, 0 };
	int found[2] = { 0, 0 };

	for (int i = 0; i < 2; i++)
		where[i] = allocate_by_module(paths[i]);
	if (where[0] != where[1])
		SKIP("the loader has not used an address twice");
	view = inside_view();
	for (uint32_t i = 0; i < view.module_count; i++)
		for (int j = 0; j < 2; j++) {
			const struct gg_region_module *m = &view.modules[i];

			if (memmem(gg_region_view_string(&view, m->path_offset), m->path_bytes,
			           paths[j], strlen(paths[j])) == NULL)
				continue;
			found[j]++;
			unloaded_ns[j] = m->unload_ns;
		}
	CHECK_MSG(found[0] == 1 && found[1] == 1, "%d and %d", found[0], found[1]);
	CHECK(unloaded_ns[0] != 0 && unloaded_ns[1] == 0);
	gg_region_view_done(&view);
}

static pthread_barrier_t may_end;
static atomic_int allocated_count;

static void *allocate_together(void *argument)
{
	void *p = call_malloc(4321);

	atomic_fetch_add(&allocated_count, 1);
	pthread_barrier_wait(&may_end);
	call_free(p);
	return argument;
}

/* Last: its threads take more slots than others expect. */
TEST(samples_of_two_thousand_threads_at_once_have_places)
{
	enum { COUNT = 2000 };
	static pthread_t threads[COUNT];
	pthread_attr_t attributes;
	struct gg_region_view view;
	uint64_t held_count;
	int live = 0;

	if (place_is_emulated())
		SKIP("an emulator has too few threads");
	view = inside_view();
	held_count = view.header.counters[GG_COUNT_DROP_ROW_HELD];
	gg_region_view_done(&view);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	pthread_barrier_init(&may_end, NULL, COUNT + 1);
	for (int i = 0; i < COUNT; i++)
		if (pthread_create(&threads[i], &attributes, allocate_together, NULL) != 0)
			SKIP("this place allows fewer threads");
	while (atomic_load(&allocated_count) < COUNT)
		usleep(1000);
	view = inside_view();
	for (uint32_t i = 0; i < view.live_count; i++)
		live += view.live[i].size_bytes == 4321;
	/* These threads share a row, as all before have taken the others: it may be held. */
	held_count = view.header.counters[GG_COUNT_DROP_ROW_HELD] - held_count;
	CHECK_MSG(live + (int)held_count >= COUNT, "%d of %d", live, COUNT);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_DROP_SLOTS_FULL], 0);
	gg_region_view_done(&view);
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	CHECK(inside_is_consistent());
}
