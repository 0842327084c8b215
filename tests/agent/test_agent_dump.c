/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_dump - compares dumps that the program requests with its allocations. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/agent_functions.h"
#include "agent/dump_text.h"
#include "agent/inside.h"
#include "base/compiler.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static char path[700];

static const struct gg_agent_functions *agent(void)
{
	const struct gg_agent_functions *const *found = dlsym(RTLD_DEFAULT,
	                                                      "geiger_agent_interface");

	return *found;
}

static const char *file(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", inside_directory(), name);
	return path;
}

static struct dump_text dump(enum gg_agent_dump_form form)
{
	struct dump_text text = { 0 };

	CHECK_EQ_I64(agent()->dump(file("now.heap"), form), 0);
	CHECK(dump_text_read(path, &text) && text.is_whole);
	return text;
}

__attribute__((noinline)) static void *allocate(size_t bytes)
{
	return malloc(bytes);
}

TEST(what_is_allocated_between_two_dumps_is_the_difference)
{
	for (int form = GG_AGENT_DUMP_HEAP_V2; form <= GG_AGENT_DUMP_GPERFTOOLS; form++) {
		struct dump_text before = dump(form), after;
		void *kept = allocate(100000), *freed = allocate(50000);

		free(freed);
		after = dump(form);
		/* The tests' own reading allocates, and has freed it. */
		CHECK_EQ_U64(after.total.live_bytes - before.total.live_bytes, 100000);
		CHECK_EQ_U64(after.total.live_count - before.total.live_count, 1);
		if (form == GG_AGENT_DUMP_HEAP_V2_LIVE)
			CHECK(after.total.bytes == 0 && after.total.count == 0);
		else
			CHECK(after.total.bytes - before.total.bytes >= 150000);
		CHECK_EQ_U64(after.stacks.live_bytes, after.total.live_bytes);
		CHECK_EQ_U64(after.stacks.bytes, after.total.bytes);
		free(kept);
	}
}

static void *name_and_allocate(void *nothing)
{
	(void)nothing;
	prctl(PR_SET_NAME, "a name\n", 0, 0, 0);
	return allocate(77777);
}

TEST(threads_are_there_with_their_names)
{
	struct dump_text text;
	pthread_t thread;
	void *block;

	pthread_create(&thread, NULL, name_and_allocate, NULL);
	pthread_join(thread, &block);
	text = dump(GG_AGENT_DUMP_HEAP_V2);
	CHECK_EQ_U64(text.thread_count, 2);
	CHECK_EQ_U64(text.threads.live_bytes, text.total.live_bytes);
	CHECK_MSG(strstr(text.names, "a name?;") != NULL, "%s", text.names);
	free(block); /* by another thread: it was live in the one that allocated */
}

TEST(after_a_reset_only_what_is_new_is_there)
{
	void *old = allocate(1000000), *new;
	struct dump_text text;

	CHECK_EQ_I64(agent()->dump_reset(), 0);
	new = allocate(300000);
	text = dump(GG_AGENT_DUMP_HEAP_V2);
	CHECK_MSG(text.total.live_bytes == 300000 && text.total.live_count == 1, "%llu",
	          (unsigned long long)text.total.live_bytes);
	CHECK(text.total.bytes >= 300000 && text.total.bytes < 400000);
	free(old);
	text = dump(GG_AGENT_DUMP_HEAP_V2);
	CHECK_EQ_U64(text.total.live_bytes, 300000);
	free(new);
	CHECK(inside_is_consistent()); /* the region knows nothing of it */
}

TEST(what_cannot_be_written_is_said)
{
	char long_name[5000];
	enum gg_agent_dump_form form = GG_AGENT_DUMP_HEAP_V2;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	CHECK_EQ_I64(agent()->dump("", form), -EINVAL);
	CHECK_EQ_I64(agent()->dump(long_name, form), -ENAMETOOLONG);
	CHECK_EQ_I64(agent()->dump(inside_directory(), form), -EISDIR);
	CHECK_EQ_I64(agent()->dump(file("no/folder.heap"), form), -ENOENT);
	CHECK_EQ_I64(agent()->dump("/dev/null", form), 0);
	CHECK_EQ_I64(agent()->dump("/dev/full", form), -ENOSPC);
	CHECK(mkfifo(file("fifo"), 0600) == 0 && agent()->dump(path, form) == -ENXIO);
	CHECK_EQ_I64(unlink(path), 0);
	CHECK_EQ_I64(agent()->dump_next('x'), -EINVAL);
	CHECK_EQ_I64(agent()->dump_next('m'), -EINVAL); /* no prefix */
}

/* How many bytes of a dump a descriptor has; -1: it does not begin as one. */
static long dump_bytes(int fd, bool is_pipe)
{
	static char bytes[1 << 16];
	long got = is_pipe ? read(fd, bytes, sizeof(bytes)) : pread(fd, bytes, sizeof(bytes), 0);

	return got > 10 && memcmp(bytes, "heap_v2/", 8) == 0 ? got : -1;
}

static const char *fd_path(const char *folder, int fd)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s/%d", folder, fd);
	return name;
}

/* As jemalloc's creat() does. */
TEST(what_a_link_or_a_descriptor_leads_to_is_written)
{
	enum gg_agent_dump_form form = GG_AGENT_DUMP_HEAP_V2;
	int memory = memfd_create("dump", MFD_CLOEXEC), fd, ends[2];
	char target[600], old[600];
	struct stat status;

	snprintf(target, sizeof(target), "%s", file("target.heap"));
	CHECK_EQ_I64(symlink("target.heap", file("link.heap")), 0);
	CHECK_EQ_I64(agent()->dump(path, form), 0); /* the target is not there yet */
	CHECK_EQ_I64(agent()->dump(path, form), 0);
	CHECK(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
	fd = open(target, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && dump_bytes(fd, false) > 0);
	CHECK(ftruncate(fd, 0) == 0 && agent()->dump(fd_path("/proc/self/fd", fd), form) == 0);
	CHECK(dump_bytes(fd, false) > 0);
	close(fd);
	CHECK(memory >= 0 && agent()->dump(fd_path("/dev/fd", memory), form) == 0);
	CHECK(dump_bytes(memory, false) > 0);
	close(memory);
	CHECK(pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
	CHECK_EQ_I64(agent()->dump(fd_path("/dev/fd", ends[1]), form), 0);
	CHECK(dump_bytes(ends[0], true) > 0);
	close(ends[0]);
	CHECK(agent()->dump(fd_path("/dev/fd", ends[1]), form) == -EPIPE ||
	      agent()->dump(fd_path("/dev/fd", ends[1]), form) == -ENXIO);
	close(ends[1]);
	CHECK_EQ_I64(unlink(target), 0);
	/* Somebody else's link is replaced. */
	if (lchown(file("link.heap"), 65534, 65534) == 0) {
		snprintf(old, sizeof(old), "%s", path);
		CHECK(agent()->dump(old, form) == 0 && access(target, F_OK) < 0);
		CHECK(lstat(old, &status) == 0 && S_ISREG(status.st_mode));
	}
	CHECK_EQ_I64(unlink(file("link.heap")), 0);
}

TEST(a_relative_path_is_of_the_working_directory)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);

	CHECK_EQ_I64(chdir(inside_directory()), 0);
	CHECK_EQ_I64(agent()->dump("relative.heap", GG_AGENT_DUMP_HEAP_V2), 0);
	CHECK_EQ_I64(unlink("relative.heap"), 0);
	CHECK_EQ_I64(fchdir(here), 0);
	close(here);
}

/* SIGXFSZ would end the test. */
TEST(a_file_that_may_not_grow_keeps_what_it_had)
{
	struct rlimit limit, small = { 100, 0 };
	struct dump_text text = dump(GG_AGENT_DUMP_HEAP_V2);
	char whole[700];

	snprintf(whole, sizeof(whole), "%s", path);
	CHECK_EQ_I64(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small.rlim_max = limit.rlim_max;
	CHECK_EQ_I64(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ_I64(agent()->dump(whole, GG_AGENT_DUMP_HEAP_V2), -EFBIG);
	CHECK_EQ_I64(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK(dump_text_read(whole, &text) && text.is_whole);
}

TEST(no_descriptor_is_left_open_and_errno_stays)
{
	int before = open("/dev/null", O_RDONLY), after;

	close(before);
	errno = 4711;
	CHECK_EQ_I64(agent()->dump("/nowhere/x", GG_AGENT_DUMP_HEAP_V2), -ENOENT);
	CHECK_EQ_I64(agent()->dump(file("now.heap"), GG_AGENT_DUMP_HEAP_V2), 0);
	CHECK_EQ_I64(errno, 4711);
	after = open("/dev/null", O_RDONLY);
	close(after);
	CHECK_EQ_I64(before, after);
}

static int append(void *context, const char *bytes, size_t length)
{
	size_t *total = context;

	(void)bytes;
	free(malloc(100)); /* it may */
	*total += length;
	return *total > 200000000 ? -EFBIG : 0;
}

static int refuse(void *context, const char *bytes, size_t length)
{
	(void)context, (void)bytes, (void)length;
	return -EPIPE;
}

TEST(a_dump_may_go_anywhere)
{
	size_t total = 0;

	CHECK(agent()->dump_to(GG_AGENT_DUMP_GPERFTOOLS, append, &total) == 0 && total > 1000);
	CHECK_EQ_I64(agent()->dump_to(GG_AGENT_DUMP_GPERFTOOLS, refuse, NULL), -EPIPE);
}
