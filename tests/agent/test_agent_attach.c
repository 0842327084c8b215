/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_attach - loads the agent in the middle of the program, and takes its hooks away again.
 *
 * After a detach every slot of every module and all code must be as before.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/late.h"
#include "agent/place.h"
#include "base/atomic.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "stats/sampling/weight.h"
#include "test.h"

struct attached {
	char directory[64];
	struct gg_attach_request request;
	struct gg_attach_result result;
};

static void attached_setup(struct attached *a)
{
	snprintf(a->directory, sizeof(a->directory), "/dev/shm/geiger-test-XXXXXX");
	REQUIRE(mkdtemp(a->directory) != NULL);
	setenv("GEIGER_DIR", a->directory, 1);
	a->request = late_request("GEIGER_INTERVAL=1\nGEIGER_SEED=7\n");
}

static void attached_teardown(struct attached *a)
{
	late_detach(&a->result);
	place_remove(a->directory);
}

FIXTURE(attached)

static void attach(struct attached *a)
{
	REQUIRE(late_attach(&a->request, &a->result) == 0);
	CHECK_EQ_U64(a->result.state, GG_ATTACH_STATE_ATTACHED);
	CHECK_EQ_U64(a->result.unwritable_count, 0);
	CHECK_EQ_U64(a->result.foreign_count, 0);
}

static void detach(void)
{
	struct gg_attach_result result;

	REQUIRE(late_detach(&result) == 0);
	CHECK_EQ_U64(result.state, GG_ATTACH_STATE_DETACHED);
	CHECK_EQ_U64(result.unwritable_count, 0);
}

static struct gg_region_view view_of(const struct attached *a)
{
	struct gg_region_view view = { 0 };
	struct gg_error error;

	if (gg_region_view_open(&view, a->result.region, &error) < 0)
		printf("%s\n", error.message);
	return view;
}

/* The size of the live sample at that address, or 0 without one. */
static uint64_t sample_at(const struct gg_region_view *view, const void *p)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (view->live[i].address == (uintptr_t)p)
			return view->live[i].size_bytes;
	return 0;
}

TEST_WITH(attached, blocks_are_recorded_from_the_attach_on)
{
	void *before = malloc(1000), *after, *freed;
	struct gg_region_view view;
	char *copy;

	attach(attached);
	after = malloc(2000);
	freed = malloc(3000);
	copy = strdup("a block that libc allocates");
	free(freed);
	free(before);
	view = view_of(attached);
	CHECK_EQ_U64(sample_at(&view, before), 0);
	CHECK_EQ_U64(sample_at(&view, after), 2000);
	CHECK(sample_at(&view, freed) != 3000);
	CHECK_EQ_U64(sample_at(&view, copy), strlen(copy) + 1);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_MISSED_FREES], 0);
	gg_region_view_done(&view);
	free(after);
	free(copy);
}

TEST_WITH(attached, the_region_tells_what_was_there_before)
{
	const size_t bytes = 100 << 20;
	char *before = malloc(bytes);
	struct gg_region_view view;

	REQUIRE(before != NULL);
	attach(attached);
	view = view_of(attached);
	CHECK(view.header.attach.attached_ns != 0);
	CHECK_EQ_U64(view.header.attach.attached_ns, attached->result.attached_ns);
	CHECK_EQ_I64(view.header.attach.older_bytes, attached->result.in_use_bytes);
	CHECK_EQ_U64(view.header.attach.older_source, attached->result.in_use_source);
	CHECK_EQ_U64(view.header.attach.slot_count, attached->result.slot_count);
	if (view.header.attach.older_source == GG_REGION_IN_USE_UNKNOWN) {
		CHECK_EQ_I64(view.header.attach.older_bytes, -1);
	} else {
		CHECK(view.header.attach.older_bytes >= (int64_t)bytes);
		/* jemalloc counts its size class, which is up to a fifth larger. */
		CHECK(view.header.attach.older_bytes < (int64_t)(bytes + bytes / 4));
	}
	gg_region_view_done(&view);
	free(before);
}

TEST_WITH(attached, a_request_of_another_version_or_without_an_end_is_refused)
{
	struct gg_attach_request *request = &attached->request;
	struct gg_attach_request good = *request;

	request->version++;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EPROTO);
	*request = good;
	request->bytes--;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EPROTO);
	*request = good;
	memset(request->options, 'x', sizeof(request->options));
	CHECK_EQ_I64(late_attach(request, &attached->result), -EINVAL);
	*request = good;
	request->reserved[2] = 1;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EINVAL);
	CHECK(attached->result.reason[0] != '\0');
	CHECK(attached->result.state != GG_ATTACH_STATE_ATTACHED);
	*request = good;
}

TEST_WITH(attached, a_second_attach_and_a_second_detach_are_refused)
{
	struct gg_attach_result second;

	CHECK_EQ_I64(late_detach(&second), -EALREADY);
	attach(attached);
	CHECK_EQ_I64(late_attach(&attached->request, &second), -EALREADY);
	CHECK_EQ_STR(second.region, attached->result.region);
	detach();
	CHECK_EQ_I64(late_detach(&second), -EALREADY);
}

TEST_WITH(attached, an_attach_that_has_no_directory_changes_nothing)
{
	void *p;

	snprintf(attached->request.directory, sizeof(attached->request.directory), "/nowhere");
	CHECK_EQ_I64(late_attach(&attached->request, &attached->result), -ENOENT);
	CHECK(attached->result.reason[0] != '\0');
	p = malloc(100);
	CHECK(p != NULL);
	free(p);
	snprintf(attached->request.directory, sizeof(attached->request.directory), "%s",
	         attached->directory);
	attach(attached);
}

/* Installs a filter that lets mappings of the scan's lists fail. */
static bool forbid_lists(void)
{
	const uint32_t list_bytes = 32 << 16; /* of slot_scan.c: 65 536 slots */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, list_bytes, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool is_empty(const char *directory)
{
	DIR *listing = opendir(directory);
	bool found = listing == NULL;

	for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;)
		found |= strstr(entry->d_name, ".region") != NULL;
	if (listing != NULL)
		closedir(listing);
	return !found;
}

TEST_WITH(attached, an_attach_that_reaches_no_slot_fails_and_leaves_nothing)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (!forbid_lists())
			_exit(1);
		status = late_attach(&attached->request, &attached->result);
		_exit(status == -ENOTSUP && strstr(attached->result.reason, "no slot") != NULL &&
		                      attached->result.state == GG_ATTACH_STATE_DETACHED &&
		                      is_empty(attached->directory)
		              ? 0
		              : 2);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ_I64(status, 0);
}

TEST_WITH(attached, errno_is_kept)
{
	errno = 1234;
	attach(attached);
	CHECK_EQ_I64(errno, 1234);
	detach();
	CHECK_EQ_I64(errno, 1234);
}

TEST_WITH(attached, a_detached_agent_ends_its_region_and_a_new_attach_makes_another)
{
	struct gg_region_view view;
	struct gg_attach_result first;
	void *p;

	attach(attached);
	first = attached->result;
	detach();
	p = malloc(4321);
	view = view_of(attached);
	CHECK(view.header.end_monotonic_ns >= view.header.attach.attached_ns);
	CHECK_EQ_U64(view.header.attach.flags, GG_REGION_DETACHED);
	CHECK_EQ_U64(sample_at(&view, p), 0);
	gg_region_view_done(&view);
	attach(attached);
	CHECK(strcmp(first.region, attached->result.region) != 0);
	CHECK_EQ_U64(first.slot_count, attached->result.slot_count);
	free(p);
	p = malloc(1234);
	detach();
	view = view_of(attached);
	CHECK_EQ_U64(sample_at(&view, p), 1234);
	CHECK(gg_region_view_check(&view, NULL) == 0);
	gg_region_view_done(&view);
	free(p);
}

TEST_WITH(attached, the_control_word_detaches_at_the_next_sample)
{
	const struct gg_region_change change = { .detach = true };
	struct gg_region_view view;
	struct gg_error error;
	void *p;
	int fd;

	attach(attached);
	fd = gg_region_control_open(attached->result.region, &error);
	REQUIRE(fd >= 0);
	CHECK(gg_region_control_write(fd, &change, &error) == 0);
	close(fd);
	free(malloc(1));
	p = malloc(555);
	view = view_of(attached);
	CHECK(view.header.end_monotonic_ns != 0);
	CHECK_EQ_U64(sample_at(&view, p), 0);
	gg_region_view_done(&view);
	CHECK_EQ_I64(late_detach(&attached->result), -EALREADY);
	free(p);
}

/* A thread that exists before the attach, and waits for it. */
enum { THREADS = 4, BLOCKS = 1000, KEPT = 100 };

struct worker {
	pthread_t thread;
	void *older[KEPT], *blocks[BLOCKS];
};

static pthread_barrier_t attached_now;

static void *allocate_after_attach(void *argument)
{
	struct worker *worker = argument;

	for (int i = 0; i < KEPT; i++)
		worker->older[i] = malloc(100);
	pthread_barrier_wait(&attached_now); /* all have older blocks */
	pthread_barrier_wait(&attached_now); /* the agent is attached */
	for (int i = 0; i < KEPT; i++)
		free(worker->older[i]);
	for (int i = 0; i < BLOCKS; i++)
		worker->blocks[i] = malloc((size_t)i + 1);
	for (int i = KEPT; i < BLOCKS; i++)
		free(worker->blocks[i]);
	return NULL;
}

TEST_WITH(attached, every_allocation_of_threads_that_exist_already_is_counted_once)
{
	static struct worker workers[THREADS];
	struct gg_region_view view;
	uint64_t live_bytes = 0;

	pthread_barrier_init(&attached_now, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&workers[i].thread, NULL, allocate_after_attach,
		                       &workers[i]) == 0);
	pthread_barrier_wait(&attached_now);
	attach(attached);
	pthread_barrier_wait(&attached_now);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	detach();
	view = view_of(attached);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_SAMPLES], THREADS * BLOCKS);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_FREES], THREADS * (BLOCKS - KEPT));
	CHECK_EQ_U64(view.header.counters[GG_COUNT_MISSED_FREES], 0);
	CHECK_EQ_U64(view.live_count, THREADS * KEPT);
	for (uint32_t i = 0; i < view.live_count; i++)
		live_bytes += view.live[i].size_bytes;
	CHECK_EQ_U64(live_bytes, THREADS * KEPT * (KEPT + 1) / 2);
	CHECK(gg_region_view_check(&view, NULL) == 0);
	gg_region_view_done(&view);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < KEPT; k++)
			free(workers[i].blocks[k]);
	pthread_barrier_destroy(&attached_now);
}

/* Threads that live through several attaches, and allocate once in each. */
enum { EPISODES = 3, EPISODE_BLOCKS = 50, EPISODE_BYTES = 100 };

static void *allocate_in_each_attach(void *argument)
{
	static _Thread_local void *blocks[EPISODE_BLOCKS];

	for (int i = 0; i < EPISODES; i++) {
		pthread_barrier_wait(&attached_now); /* the agent is attached */
		for (int k = 0; k < EPISODE_BLOCKS; k++)
			blocks[k] = malloc(EPISODE_BYTES);
		for (int k = 0; k < EPISODE_BLOCKS; k++)
			free(blocks[k]);
		pthread_barrier_wait(&attached_now); /* the agent is detached */
	}
	return argument;
}

/* Returns the number of samples. */
static uint64_t run_episode(struct attached *a, uint64_t interval_bytes)
{
	struct gg_region_view view;
	uint64_t sample_count;

	a->request.interval_bytes = interval_bytes;
	attach(a);
	pthread_barrier_wait(&attached_now);
	pthread_barrier_wait(&attached_now);
	detach();
	view = view_of(a);
	sample_count = view.header.counters[GG_COUNT_SAMPLES];
	CHECK(gg_region_view_check(&view, NULL) == 0);
	gg_region_view_done(&view);
	return sample_count;
}

TEST_WITH(attached, the_next_allocation_of_each_thread_has_the_interval_of_a_later_attach)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&attached_now, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, allocate_in_each_attach, NULL) == 0);
	CHECK_EQ_U64(run_episode(attached, UINT64_C(1) << 40), 0);
	CHECK_EQ_U64(run_episode(attached, 1), THREADS * EPISODE_BLOCKS);
	CHECK_EQ_U64(run_episode(attached, UINT64_C(1) << 40), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&attached_now);
}

static void *end_by_a_bare_call(void *argument)
{
	free(malloc(EPISODE_BYTES));
	syscall(SYS_exit, 0);
	return argument;
}

/*
 * No destructor runs in such a thread, so the agent still knows a sampler that is no more.  Neither
 * does jemalloc's: its own list of thread caches leads into the memory that is gone.
 */
TEST_WITH(attached, a_thread_that_ended_by_a_bare_call_is_left_alone)
{
	const size_t bytes = 256 << 10;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (dlsym(RTLD_DEFAULT, "mallctl") != NULL)
		return;
	REQUIRE(stack != MAP_FAILED);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, bytes);
	attach(attached);
	REQUIRE(pthread_create(&thread, &attributes, end_by_a_bare_call, NULL) == 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	detach();
	munmap(stack, bytes); /* with its sampler */
	attach(attached);
	detach();
}

/* The sum of the weights of all samples, in bytes; `*count` is their number. */
static double estimate_of(const struct attached *a, uint64_t *count)
{
	struct gg_region_view view = view_of(a);
	double sum = 0;

	for (uint32_t i = 0; i < view.live_count; i++) {
		struct gg_draw draw = gg_region_sample_draw(&view.live[i]);

		sum += gg_weight_of(&draw, view.live[i].size_bytes).bytes;
	}
	*count += view.live_count;
	gg_region_view_done(&view);
	return sum;
}

static void allocate(void **blocks, size_t count, size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = malloc(bytes);
}

static void free_all(void **blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
}

/* Attaches with 1 MiB, and then with 4 KiB to 64 KiB of blocks, again and again. */
TEST_WITH(attached, a_later_attach_with_another_interval_is_unbiased_from_its_first_byte)
{
	enum { ROUNDS = 200, COUNT = 1024, BYTES = 64, INTERVAL = 4096 };
	static void *blocks[COUNT];
	const double truth = (double)ROUNDS * COUNT * BYTES;
	double sum = 0, unused = 0;
	uint64_t count = 0, unused_count = 0;

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		attached->request.seed = 2 * seed;
		attached->request.interval_bytes = 1 << 20;
		attach(attached);
		allocate(blocks, COUNT, BYTES);
		detach();
		unused += estimate_of(attached, &unused_count);
		free_all(blocks, COUNT);
		attached->request.seed = 2 * seed + 1;
		attached->request.interval_bytes = INTERVAL;
		attach(attached);
		allocate(blocks, COUNT, BYTES);
		detach();
		sum += estimate_of(attached, &count);
		free_all(blocks, COUNT);
	}
	/* Sample points are a Poisson process with INTERVAL; 4 standard errors. */
	CHECK(fabs(sum - truth) <= 4 * sqrt(truth * INTERVAL));
	CHECK(fabs((double)count - truth / INTERVAL) <= 4 * sqrt(truth / INTERVAL));
	CHECK(fabs(unused - truth) <= 4 * sqrt(truth * (1 << 20)));
}

static bool loops_end;

static void *allocate_in_a_loop(void *argument)
{
	while (!gg_load_relaxed(&loops_end))
		free(malloc(EPISODE_BYTES));
	return argument;
}

/* In the chaos build threads stop between any two operations of an attach and of a detach. */
TEST_WITH(attached, threads_that_allocate_all_the_while_live_through_attaches_and_detaches)
{
	const char *wanted = getenv("GG_TEST_ROUNDS");
	const int rounds = wanted != NULL ? atoi(wanted) : 200;
	pthread_t threads[THREADS];
	struct gg_region_view view;

	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, allocate_in_a_loop, NULL) == 0);
	for (int round = 0; round < rounds; round++) {
		struct gg_attach_result left;

		/* A detach is over when the last thread has left the region of before; a thread
		 * that is scanning the modules must end that first. */
		while (late_attach(&attached->request, &attached->result) == -EBUSY)
			sched_yield();
		REQUIRE(attached->result.status == 0);
		while (late_detach(&left) == -EBUSY)
			sched_yield();
		REQUIRE(left.status == 0);
	}
	gg_store_relaxed(&loops_end, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	view = view_of(attached);
	CHECK_EQ_U64(view.header.attach.flags, GG_REGION_DETACHED);
	CHECK(gg_region_view_check(&view, NULL) == 0);
	gg_region_view_done(&view);
}

static bool child_says_yes(pid_t child)
{
	int status = -1;

	return waitpid(child, &status, 0) == child && CHECK_EQ_I64(status, 0);
}

TEST_WITH(attached, a_forked_child_has_a_region_of_its_own_and_its_parents_attach)
{
	struct gg_attach_result result;
	struct gg_region_view view;
	int64_t older_bytes;
	pid_t child;
	void *p;

	attach(attached);
	older_bytes = attached->result.in_use_bytes;
	child = fork();
	if (child == 0) {
		p = malloc(77);
		late_attach(&attached->request, &result); /* says where the region is */
		if (strcmp(result.region, attached->result.region) == 0)
			_exit(1);
		attached->result = result;
		view = view_of(attached);
		_exit(sample_at(&view, p) == 77 && view.header.attach.attached_ns != 0 &&
		                      view.header.attach.older_bytes == older_bytes
		              ? 0
		              : 2);
	}
	CHECK(child_says_yes(child));
}

TEST_WITH(attached, a_child_that_is_forked_after_a_detach_can_be_attached)
{
	struct gg_region_view view;
	pid_t child;
	void *p;

	attach(attached);
	detach();
	child = fork();
	if (child == 0) {
		if (late_attach(&attached->request, &attached->result) != 0)
			_exit(1);
		p = malloc(88);
		view = view_of(attached);
		if (sample_at(&view, p) != 88 || view.header.pid != (uint32_t)getpid())
			_exit(2);
		_exit(late_detach(&attached->result) != 0);
	}
	CHECK(child_says_yes(child));
}

TEST_WITH(attached, the_allocation_after_a_dlopen_finds_the_librarys_slots)
{
	struct gg_region_view view;
	void *library;

	attached->request.interval_bytes = 1 << 30;
	attach(attached);
	free(malloc(1));
	library = dlopen(getenv("VISITOR"), RTLD_LAZY | RTLD_LOCAL);
	REQUIRE(library != NULL);
	free(malloc(1));
	view = view_of(attached);
	CHECK(view.header.attach.scan_count > 1);
	CHECK_EQ_U64(view.header.attach.slot_count, attached->result.slot_count + 2);
	gg_region_view_done(&view);
	dlclose(library);
}
