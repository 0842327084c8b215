/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_stacks - measures how much of a thread's stack the sample path needs.
 *
 * Programs give threads, coroutines and signal handlers only as much stack as they need themselves.
 * Every allocation is a sample.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/agent_functions.h"
#include "agent/dump_text.h"
#include "agent/inside.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1", "GEIGER_FREE_STACKS=1")

enum {
	STACK_BYTES = 256 * 1024,
	PAINT = 0xa5,
	/* docs/AGENT.md promises these limits; the smallest stack of a thread has 16 KiB. */
	SAMPLE_BYTES_MAX = 6 * 1024,
	CHILD_BYTES_MAX = 6 * 1024,
	RED_ZONE_BYTES = 256 /* and the frame of paint() */
};

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

/* Fills the stack below the caller, to see later what of it was written. */
__attribute__((noinline)) static void paint(uint8_t *low, uint8_t *high)
{
	for (volatile uint8_t *p = low; p < high; p++)
		*p = PAINT;
}

__attribute__((noinline)) static size_t measure(uint8_t *low, void (*work)(void))
{
	uint8_t *here = __builtin_frame_address(0), *p = low;

	/* Not the frames of paint() itself. */
	paint(low, here - RED_ZONE_BYTES);
	work();
	while (*p == PAINT)
		p++;
	return (size_t)(here - p);
}

static void allocate(void)
{
	call_free(call_malloc(100));
}

static int child_status;

struct job {
	uint8_t *stack;
	bool in_child; /* a forked child's first sample opens its region */
	size_t used_first, used_later;
};

static void *run_job(void *context)
{
	struct job *job = context;
	pid_t child;

	if (!job->in_child) {
		job->used_first = measure(job->stack, allocate);
		job->used_later = measure(job->stack, allocate);
		return NULL;
	}
	child = fork();
	if (child == 0) {
		size_t used = measure(job->stack, allocate);

		_exit((int)(used / 128 < 255 ? used / 128 : 255));
	}
	if (waitpid(child, &child_status, 0) == child && WIFEXITED(child_status))
		job->used_first = (size_t)WEXITSTATUS(child_status) * 128;
	return NULL;
}

static void *map_stack(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
	            -1, 0);
}

static bool run_on_own_stack(struct job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;
	bool good;

	job->stack = map_stack(STACK_BYTES);
	pthread_attr_init(&attributes);
	good = job->stack != MAP_FAILED &&
	       pthread_attr_setstack(&attributes, job->stack, STACK_BYTES) == 0 &&
	       pthread_create(&thread, &attributes, run_job, job) == 0 &&
	       pthread_join(thread, NULL) == 0;
	pthread_attr_destroy(&attributes);
	return good;
}

TEST(a_sample_takes_little_of_the_stack)
{
	struct job job = { .in_child = false };

	if (!CHECK(run_on_own_stack(&job)))
		return;
	printf("a thread's first sample takes %zu bytes of stack, a later one %zu\n",
	       job.used_first, job.used_later);
	CHECK(job.used_later > 100);
	CHECK(job.used_first < SAMPLE_BYTES_MAX && job.used_later < SAMPLE_BYTES_MAX);
}

TEST(the_first_sample_of_a_forked_child_takes_little_of_the_stack)
{
	struct job job = { .in_child = true };

	if (!CHECK(run_on_own_stack(&job)))
		return;
	printf("the first one of a forked child %zu\n", job.used_first);
	CHECK(job.used_first > 100 && job.used_first < CHILD_BYTES_MAX);
}

static const struct gg_agent_functions *agent(void)
{
	return *(const struct gg_agent_functions *const *)dlsym(RTLD_DEFAULT,
	                                                        "geiger_agent_interface");
}

TEST(a_dump_takes_no_more_than_a_sample)
{
	static struct gg_agent_triggers triggers = { .allocated_bytes = 1,
		                                     .growth_bytes = 1,
		                                     .rss_bytes = 1,
		                                     .cgroup_percent = 1,
		                                     .keep = 1 };
	static const struct gg_agent_triggers none;
	struct job job = { .in_child = false };
	char path[600];

	snprintf(triggers.prefix, sizeof(triggers.prefix), "%s/d", inside_directory());
	if (!CHECK_EQ_I64(agent()->set_triggers(&triggers), 0) || !CHECK(run_on_own_stack(&job)))
		return;
	CHECK_EQ_I64(agent()->set_triggers(&none), 0);
	printf("with dumps a first sample %zu, a later one %zu\n", job.used_first, job.used_later);
	CHECK(job.used_first < SAMPLE_BYTES_MAX && job.used_later < SAMPLE_BYTES_MAX);
	CHECK(dump_text_count(inside_directory(), "i", path) >= 1);
}

static void *allocate_and_fork(void *argument)
{
	pid_t child;

	for (size_t i = 0; i < 100; i++)
		call_free(call_malloc(i * 10));
	child = fork();
	if (child == 0) {
		allocate();
		_exit(0);
	}
	waitpid(child, &child_status, 0);
	return argument;
}

TEST(threads_with_the_least_stack_allocate_and_fork)
{
	pthread_attr_t attributes;
	pthread_t thread;

	child_status = -1;
	pthread_attr_init(&attributes);
	CHECK_EQ_I64(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)),
	             0);
	CHECK_EQ_I64(pthread_create(&thread, &attributes, allocate_and_fork, NULL), 0);
	CHECK_EQ_I64(pthread_join(thread, NULL), 0);
	CHECK_MSG(child_status == 0, "status %x", (unsigned)child_status);
	pthread_attr_destroy(&attributes);
}
