/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps that the program asks for, against what it has allocated. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/dump_text.h"
#include "agent/inside.h"
#include "base/compiler.h"
#include "embed/interface.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static char path[700];

static const struct gg_agent_interface *agent(void)
{
	const struct gg_agent_interface *const *found = dlsym(RTLD_DEFAULT,
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

	CHECK(agent()->dump(file("now.heap"), form) == 0);
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
		CHECK(after.total.live_bytes - before.total.live_bytes == 100000);
		CHECK(after.total.live_count - before.total.live_count == 1);
		if (form == GG_AGENT_DUMP_HEAP_V2_LIVE)
			CHECK(after.total.bytes == 0 && after.total.count == 0);
		else
			CHECK(after.total.bytes - before.total.bytes >= 150000);
		CHECK(after.stacks.live_bytes == after.total.live_bytes &&
		      after.stacks.bytes == after.total.bytes);
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
	CHECK(text.thread_count == 2 && text.threads.live_bytes == text.total.live_bytes);
	CHECK_MSG(strstr(text.names, "a name?;") != NULL, "%s", text.names);
	free(block); /* by another thread: it was live in the one that allocated */
}

TEST(after_a_reset_only_what_is_new_is_there)
{
	void *old = allocate(1000000), *new;
	struct dump_text text;

	CHECK(agent()->dump_reset() == 0);
	new = allocate(300000);
	text = dump(GG_AGENT_DUMP_HEAP_V2);
	CHECK_MSG(text.total.live_bytes == 300000 && text.total.live_count == 1, "%llu",
	          (unsigned long long)text.total.live_bytes);
	CHECK(text.total.bytes >= 300000 && text.total.bytes < 400000);
	free(old);
	text = dump(GG_AGENT_DUMP_HEAP_V2);
	CHECK(text.total.live_bytes == 300000);
	free(new);
	CHECK(inside_is_consistent()); /* the region knows nothing of it */
}

TEST(what_cannot_be_written_is_said)
{
	char long_name[5000];
	enum gg_agent_dump_form form = GG_AGENT_DUMP_HEAP_V2;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	CHECK(agent()->dump("", form) == -EINVAL);
	CHECK(agent()->dump(long_name, form) == -ENAMETOOLONG);
	CHECK(agent()->dump(inside_directory(), form) == -EISDIR);
	CHECK(agent()->dump(file("no/folder.heap"), form) == -ENOENT);
	CHECK(agent()->dump("/dev/null", form) == 0);
	CHECK(agent()->dump("/dev/full", form) == -ENOSPC);
	CHECK(mkfifo(file("fifo"), 0600) == 0 && agent()->dump(path, form) == -ENXIO);
	CHECK(unlink(path) == 0);
	CHECK(agent()->dump_next('x') == -EINVAL);
	CHECK(agent()->dump_next('m') == -EINVAL); /* no prefix */
}

TEST(a_relative_path_is_of_the_working_directory)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);

	CHECK(chdir(inside_directory()) == 0);
	CHECK(agent()->dump("relative.heap", GG_AGENT_DUMP_HEAP_V2) == 0);
	CHECK(unlink("relative.heap") == 0);
	CHECK(fchdir(here) == 0);
	close(here);
}

/* SIGXFSZ would end the test. */
TEST(a_file_that_may_not_grow_keeps_what_it_had)
{
	struct rlimit limit, small = { 100, 0 };
	struct dump_text text = dump(GG_AGENT_DUMP_HEAP_V2);
	char whole[700];

	snprintf(whole, sizeof(whole), "%s", path);
	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	small.rlim_max = limit.rlim_max;
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	CHECK(agent()->dump(whole, GG_AGENT_DUMP_HEAP_V2) == -EFBIG);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(dump_text_read(whole, &text) && text.is_whole);
}

TEST(no_descriptor_is_left_open_and_errno_stays)
{
	int before = open("/dev/null", O_RDONLY), after;

	close(before);
	errno = 4711;
	CHECK(agent()->dump("/nowhere/x", GG_AGENT_DUMP_HEAP_V2) == -ENOENT);
	CHECK(agent()->dump(file("now.heap"), GG_AGENT_DUMP_HEAP_V2) == 0);
	CHECK(errno == 4711);
	after = open("/dev/null", O_RDONLY);
	close(after);
	CHECK(before == after);
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
	CHECK(agent()->dump_to(GG_AGENT_DUMP_GPERFTOOLS, refuse, NULL) == -EPIPE);
}
