/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases_program - a program that steers jemalloc's profiler as it goes, and prints what dumps say
 * after each step.  Every allocation is a sample (lg_prof_sample:0), and sizes are those of size
 * classes, so all numbers are exact and the same under every library that means the same.
 *
 * Compiled with jemalloc's header, and linked to nothing of it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak mallctl

enum { BLOCK = 1024, BLOCK_CLASS = 20, LARGE = 1 << 20, LARGE_CLASS = 60 - 36, COUNT = 100 };

static char path[600];
static char text[1 << 20]; /* of a file; not from the heap */
static void *blocks[COUNT];
static char output[1 << 16];

struct totals {
	long long live_count, live_bytes, all_count, all_bytes;
};

static _Noreturn void fail(const char *what)
{
	printf("%s failed\n", what);
	fflush(stdout);
	_exit(1);
}

static void set(const char *name, const void *value, size_t bytes)
{
	if (mallctl(name, NULL, NULL, (void *)(uintptr_t)value, bytes) != 0)
		fail(name);
}

static void set_bool(const char *name, bool value)
{
	set(name, &value, sizeof(value));
}

static void read_file(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	text[length > 0 ? length : 0] = '\0';
	if (length < 0)
		fail("reading a file");
	close(fd);
}

static struct totals dump(void)
{
	const char *name = path, *line;
	struct totals t;

	set("prof.dump", &name, sizeof(name));
	read_file();
	line = strstr(text, "t*:");
	if (line == NULL || sscanf(line, "t*: %lld: %lld [%lld: %lld]", &t.live_count,
	                           &t.live_bytes, &t.all_count, &t.all_bytes) != 4)
		fail("reading a dump");
	return t;
}

/* The totals before a step, from which its changes follow. */
static struct totals before;

static void begin(void)
{
	before = dump();
}

static void show(const char *what)
{
	struct totals now = dump();

	printf("%s: live %+lld: %+lld, allocated %+lld: %+lld\n", what,
	       now.live_count - before.live_count, now.live_bytes - before.live_bytes,
	       now.all_count - before.all_count, now.all_bytes - before.all_bytes);
}

static __attribute__((noinline)) void allocate(int from, int to, size_t bytes)
{
	for (int i = from; i < to; i++) {
		blocks[i] = malloc(bytes);
		if (blocks[i] == NULL)
			fail("malloc");
	}
}

static void release(int from, int to)
{
	for (int i = from; i < to; i++)
		free(blocks[i]);
}

static int count_of(const char *what)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		count++;
	return count;
}

static void *work(void *argument)
{
	const char *name = argument;
	bool active = true;
	size_t bytes = sizeof(active);

	if (name[0] != '\0')
		set("thread.prof.name", &name, sizeof(name));
	if (mallctl("thread.prof.active", &active, &bytes, NULL, 0) != 0)
		fail("thread.prof.active");
	allocate(50, 60, BLOCK);
	printf("the thread is %sactive\n", active ? "" : "not ");
	return NULL;
}

static void run_thread(const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)name) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
}

static void switches(void)
{
	begin();
	allocate(0, 40, BLOCK);
	show("40 blocks");
	release(0, 10);
	show("10 of them freed");
	begin();
	set_bool("prof.active", false);
	allocate(40, 50, BLOCK);
	set_bool("prof.active", true);
	show("10 blocks while it is off");
	release(40, 50);
	show("and these freed");
	allocate(0, 10, BLOCK);
	show("10 blocks since it is on again");
	begin();
	set_bool("thread.prof.active", false);
	allocate(40, 50, BLOCK);
	set_bool("thread.prof.active", true);
	show("10 blocks while the thread is off");
	release(40, 50);
	begin();
	blocks[0] = realloc(blocks[0], 4 * BLOCK);
	show("a block that grows");
	blocks[40] = calloc(4, BLOCK);
	if (posix_memalign(&blocks[41], 64, BLOCK) != 0)
		fail("posix_memalign");
	show("calloc and posix_memalign");
	release(40, 42);
}

static void threads(void)
{
	begin();
	run_thread("worker 7");
	/* The memory that libc allocates for a thread belongs to no size class. */
	printf("a thread: %lld more are live\n", dump().live_count - before.live_count);
	/* Its name is in the dump as long as it has live blocks. */
	printf("the dump names it %d times\n", count_of("] worker 7\n"));
	release(50, 60);
	set_bool("prof.thread_active_init", false);
	begin();
	run_thread("");
	show("a thread that is born inactive");
	set_bool("prof.thread_active_init", true);
	release(50, 60);
}

static void stats(const char *name)
{
	struct {
		uint64_t bytes, count;
	} sum;
	size_t bytes = sizeof(sum);

	if (mallctl(name, &sum, &bytes, NULL, 0) != 0)
		fail(name);
	printf("%s: %" PRIu64 " of %" PRIu64 "\n", name, sum.count, sum.bytes);
}

static void classes(void)
{
	char names[4][60];

	snprintf(names[0], sizeof(names[0]), "prof.stats.lextents.%d.live", LARGE_CLASS);
	snprintf(names[1], sizeof(names[1]), "prof.stats.lextents.%d.accum", LARGE_CLASS);
	stats(names[0]);
	allocate(50, 55, LARGE - 5); /* requested sizes count */
	stats(names[0]);
	release(50, 52);
	stats(names[0]);
	stats(names[1]);
	release(52, 55);
}

static void keep_piece(void *context, const char *piece)
{
	(void)context;
	strncat(text, piece, sizeof(text) - strlen(text) - 1);
}

static void recent(void)
{
	ssize_t most = 5, none = 0;
	void *writer[2] = { (void *)(uintptr_t)keep_piece, NULL };

	set("experimental.prof_recent.alloc_max", &most, sizeof(most));
	allocate(50, 58, 2 * BLOCK);
	release(50, 57);
	text[0] = '\0';
	set("experimental.prof_recent.alloc_dump", writer, sizeof(writer));
	printf("recent: %d, of our size %d, of which %d live, %d with a free; starts %.49s\n",
	       count_of("\"size\":"), count_of("\"size\":2048,\"usize\":"),
	       count_of("\"released\":false"), count_of("\"dalloc_trace\":["), text);
	release(57, 58);
	set("experimental.prof_recent.alloc_max", &none, sizeof(none));
}

static void log_of_frees(void)
{
	const char *name = path;

	allocate(50, 60, 3 * BLOCK);
	set("prof.log_start", &name, sizeof(name));
	release(50, 55);
	allocate(55, 60, BLOCK); /* those of before are lost: never freed */
	release(55, 58);
	if (mallctl("prof.log_stop", NULL, NULL, NULL, 0) != 0)
		fail("prof.log_stop");
	release(58, 60);
	read_file();
	printf("log: %d frees, %d of one size, %d of the other, by %d thread\n",
	       count_of("\"free_timestamp\":"), count_of("\"usize\":30"), count_of("\"usize\":10"),
	       count_of("\"thr_uid\":"));
}

static void reset(void)
{
	struct totals now;

	set("prof.reset", NULL, 0);
	begin();
	printf("after a reset there are %lld\n", before.live_count);
	allocate(60, 70, BLOCK);
	now = dump();
	printf("and 10 blocks later %lld of %lld\n", now.live_count, now.live_bytes);
	release(10, 20); /* of before: not counted any more */
	show("10 blocks more, and 10 older ones freed");
	release(60, 65);
	show("and 5 of them freed");
}

static uint64_t word(const char *name)
{
	uint64_t value;
	size_t bytes = sizeof(value);

	if (mallctl(name, &value, &bytes, NULL, 0) != 0)
		fail(name);
	return value;
}

/* The bytes that this thread has allocated and freed; the pointers lead to the same numbers. */
static void bytes_of_thread(void)
{
	uint64_t allocated = word("thread.allocated"), freed = word("thread.deallocated"), *place;
	size_t bytes = sizeof(place);

	allocate(50, 60, BLOCK);
	release(50, 57);
	blocks[57] = realloc(blocks[57], 2 * BLOCK);
	printf("the thread allocated %" PRIu64 " and freed %" PRIu64 "\n",
	       word("thread.allocated") - allocated, word("thread.deallocated") - freed);
	release(57, 60);
	if (mallctl("thread.allocatedp", &place, &bytes, NULL, 0) != 0)
		fail("thread.allocatedp");
	printf("the pointer is right: %d\n", *place == word("thread.allocated"));
}

/* A child has what its parent had, and goes on by itself. */
static void forked(void)
{
	struct totals parents = dump();
	pid_t child;
	int status = -1;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		before = dump();
		allocate(50, 60, BLOCK);
		show("10 blocks in the child");
		release(50, 53);
		show("3 of them freed");
		release(60, 62);
		show("2 of the parent's freed");
		fflush(stdout);
		_exit(0);
	}
	before = parents;
	waitpid(child, &status, 0);
	printf("the child ended with %d\n", status);
	show("the parent has noticed nothing");
}

int main(int argument_count, char **arguments)
{
	if (mallctl == NULL) {
		puts("there is no mallctl");
		return 0;
	}
	if (argument_count != 2)
		return 2;
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	snprintf(path, sizeof(path), "%s/file", arguments[1]);
	switches();
	threads();
	classes();
	recent();
	log_of_frees();
	reset();
	bytes_of_thread();
	allocate(60, 70, BLOCK);
	forked();
	return 0;
}
