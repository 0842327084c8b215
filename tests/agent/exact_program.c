/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_program CASE - a few allocations whose counts the test knows.
 *
 *   forms    each function of the allocator once, also calls that fail
 *   fork     the child frees blocks of its parent, and allocates its own
 *   clone    the same without the handlers of fork()
 *   exec     allocates, and executes the case forms
 *   threads LOG   threads that free each other's blocks, until somebody kills them.  Before and
 *            after each call they count it in the file LOG (exact_log.h).
 *
 * Allocations are in functions of their own, whose sizes no other code uses: SIZE_OF_...
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exact_log.h"

enum { BLOCKS = 100, SLOTS = 512 };

static void *volatile kept[BLOCKS];
static void *volatile result;
static volatile size_t too_much = SIZE_MAX - 4096; /* a secret to the compiler */
static void *slots[SLOTS];

static void fail_if(int wrong)
{
	if (wrong)
		_exit(3);
}

static void forms(void)
{
	void *p;

	kept[0] = malloc(10001);
	kept[1] = calloc(3, 10001);
	kept[2] = realloc(NULL, 10003);
	kept[2] = realloc(kept[2], 10005);
	kept[2] = realloc(kept[2], 1000007);
	kept[2] = realloc(kept[2], 11);
	fail_if(posix_memalign(&p, 64, 10009) != 0);
	kept[3] = p;
	kept[4] = aligned_alloc(64, 10048);
	kept[5] = memalign(64, 10011);
	kept[6] = valloc(10013);
	kept[7] = pvalloc(10015);
	kept[8] = reallocarray(NULL, 3, 10017);
	kept[9] = malloc(0);
	/* These calls fail, so they do not count. */
	result = malloc(too_much);
	fail_if(result != NULL || errno != ENOMEM);
	result = realloc(kept[0], too_much);
	fail_if(result != NULL);
	result = calloc(too_much / 2, 3);
	fail_if(result != NULL);
	fail_if(posix_memalign(&p, 3, 10) != EINVAL);
	free(NULL);
	free(kept[0]);
	free(kept[1]);
}

static void fill(size_t bytes)
{
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = malloc(bytes);
}

static void in_child(void)
{
	for (int i = 0; i < BLOCKS / 2; i++)
		free(kept[i]);
	for (int i = 0; i < BLOCKS / 2; i++)
		kept[i] = malloc(20001);
	for (int i = 0; i < BLOCKS / 4; i++)
		free(kept[i]);
}

static void fork_once(int is_bare)
{
	int status;
	pid_t child;

	fill(10001);
	child = is_bare ? (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0) : fork();
	if (child == 0) {
		in_child();
		_exit(0);
	}
	/* The parent's frees at the same time do not change what the child inherited. */
	for (int i = 0; i < BLOCKS; i++)
		free(kept[i]);
	fail_if(waitpid(child, &status, 0) != child || status != 0);
}

static struct exact_log *calls;

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
}

static void *churn(void *argument)
{
	struct exact_log_thread *log = &calls->threads[(uintptr_t)argument];
	uint64_t random = (uintptr_t)argument + 1;

	log->tid = (uint32_t)syscall(SYS_gettid);
	for (;;) {
		void *p, *old;

		random = random * 6364136223846793005u + 1442695040888963407u;
		count(&log->malloc_begun);
		p = malloc(EXACT_LOG_LEAST + (random >> 40 & 1023));
		count(&log->malloc_done);
		old = __atomic_exchange_n(&slots[random >> 33 & (SLOTS - 1)], p, __ATOMIC_ACQ_REL);
		if (old == NULL)
			continue;
		count(&log->free_begun);
		free(old);
		count(&log->free_done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (strcmp(what, "forms") == 0)
		forms();
	else if (strcmp(what, "fork") == 0 || strcmp(what, "clone") == 0)
		fork_once(strcmp(what, "clone") == 0);
	else if (strcmp(what, "exec") == 0) {
		fill(10001);
		execl(argv[0], argv[0], "forms", (char *)NULL);
		return 4;
	} else if (strcmp(what, "threads") == 0) {
		int fd = open(argv[2], O_RDWR);

		calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		fail_if(calls == MAP_FAILED);
		for (uintptr_t i = 1; i < EXACT_LOG_THREADS; i++)
			pthread_create(&thread, NULL, churn, (void *)i);
		churn(NULL);
	} else {
		return 2;
	}
	return 0;
}
