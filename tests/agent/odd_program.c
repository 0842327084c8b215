/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd_program WHAT - uses the allocator in rare ways, and prints the results.
 *
 * It prints results, errno, and alignment, but never an address.  test_agent_programs runs it with
 * and without the agent, and compares.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const size_t sizes[] = {
	0,       1, 24, 4095, 4097, 1 << 20, PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4095,
	SIZE_MAX
};
static const size_t alignments[] = { 0, 1, 2, 3, 8, 16, 48, 64, 4096, 1 << 16, (size_t)1 << 63 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void tell(const char *what, size_t a, size_t b, void *p, int status)
{
	printf("%s(%zx, %zx): %s, errno %d, status %d\n", what, a, b,
	       p == NULL ? "NULL" : "a block", errno, status);
	errno = 0;
	free(p);
}

static void aligned(size_t alignment, size_t bytes)
{
	void *p = (void *)1;
	int status;

	errno = 0;
	status = posix_memalign(&p, alignment, bytes);
	if (status == 0 && (uintptr_t)p % alignment != 0)
		printf("not aligned\n");
	if (status != 0) {
		printf("posix_memalign wrote: %d\n", p != (void *)1);
		p = NULL;
	}
	tell("posix_memalign", alignment, bytes, p, status);
	/* Allocators differ in how they treat alignments that are not powers of two. */
	if (alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= 1 << 16) {
		tell("aligned_alloc", alignment, bytes, aligned_alloc(alignment, bytes), 0);
		tell("memalign", alignment, bytes, memalign(alignment, bytes), 0);
	}
}

static void arguments(void)
{
	for (size_t i = 0; i < COUNT(sizes); i++) {
		errno = 0;
		tell("malloc", sizes[i], 0, malloc(sizes[i]), 0);
		tell("calloc", sizes[i], 1, calloc(sizes[i], 1), 0);
		tell("calloc", 3, sizes[i], calloc(3, sizes[i]), 0);
		tell("realloc", 0, sizes[i], realloc(NULL, sizes[i]), 0);
		tell("reallocarray", sizes[i], 2, reallocarray(NULL, sizes[i], 2), 0);
		if (sizes[i] < SIZE_MAX - 4096)
			tell("valloc", sizes[i], 0, valloc(sizes[i]), 0);
		for (size_t j = 0; j < COUNT(alignments); j++)
			aligned(alignments[j], sizes[i]);
	}
	errno = 42;
	free(NULL);
	free(malloc(10));
	free(malloc(1 << 22));
	printf("errno after free: %d\n", errno);
}

/* Not every allocator has it; glibc's block would then go to that one's free(). */
static void whole_pages(void)
{
	for (size_t i = 0; i < COUNT(sizes); i++) {
		errno = 0;
		tell("pvalloc", sizes[i], 0, pvalloc(sizes[i]), 0);
	}
}

static void large(void)
{
	void *p = malloc(256 << 20);

	printf("%s\n", p != NULL ? "a block" : "NULL");
	free(p);
	for (size_t i = 0; i < 1000; i++)
		free(malloc(i));
}

static unsigned char *must_realloc(unsigned char *p, size_t bytes)
{
	unsigned char *moved = realloc(p, bytes);

	if (moved == NULL)
		abort();
	return moved;
}

static void contents(void)
{
	unsigned char *p = NULL;
	size_t have = 0;
	unsigned long sum = 0;

	for (size_t bytes = 1; bytes < 3000000; bytes = bytes * 5 / 3 + 1) {
		p = must_realloc(p, bytes);
		memset(p + have, (int)(bytes & 255), bytes - have);
		have = bytes;
	}
	for (size_t bytes = have; bytes > 1;
	     bytes = bytes * 3 / 5 + 1 < bytes ? bytes * 3 / 5 + 1 : 0)
		p = must_realloc(p, have = bytes);
	for (size_t i = 0; i < have; i++)
		sum = sum * 31 + p[i];
	free(p);
	printf("%lu\n", sum);
	p = calloc(1000, 1000);
	for (size_t i = 0; i < 1000000; i++)
		sum += p[i];
	free(p);
	printf("%lu\n", sum);
}

static char *from_constructor;

__attribute__((constructor)) static void construct(void)
{
	from_constructor = strdup("from a constructor");
}

__attribute__((destructor)) static void destruct(void)
{
	char *p = strdup(from_constructor);

	free(from_constructor);
	if (p != NULL && write(STDOUT_FILENO, p, strlen(p)) < 0)
		_exit(9);
	free(p);
}

static void at_exit(void)
{
	free(malloc(100000));
}

static void handler(int number)
{
	void *p = malloc(100000);

	(void)number;
	free(p);
}

static pthread_key_t key;

static void thread_ends(void *value)
{
	free(value);
	free(malloc(5000));
}

static void *thread(void *argument)
{
	pthread_setspecific(key, malloc(3000));
	for (int i = 0; i < 100; i++)
		free(malloc((size_t)i * 100));
	return argument;
}

static void *canceled_thread(void *argument)
{
	/* malloc() is no cancellation point: with this pending, it must still return. */
	static void *kept[20000];

	pthread_cancel(pthread_self());
	/* So many are live that the agent asks for space. */
	for (size_t i = 0; i < COUNT(kept); i++)
		kept[i] = malloc(i);
	for (size_t i = 0; i < COUNT(kept); i++)
		free(kept[i]);
	printf("still here\n");
	fflush(stdout);
	pthread_testcancel();
	return argument;
}

static volatile bool is_canceled;

/* The same where nothing was allocated before, so that all is set up with it pending. */
static void *thread_canceled_early(void *argument)
{
	while (!is_canceled)
		;
	free(malloc(5000));
	is_canceled = false;
	pthread_testcancel();
	return argument;
}

static void threads(void)
{
	pthread_t ids[8];

	pthread_key_create(&key, thread_ends);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < COUNT(ids); i++)
			pthread_create(&ids[i], NULL, thread, NULL);
		for (size_t i = 0; i < COUNT(ids); i++)
			pthread_join(ids[i], NULL);
	}
}

static void cancellation(void)
{
	pthread_t id;
	void *result;

	pthread_create(&id, NULL, canceled_thread, NULL);
	pthread_join(id, &result);
	printf("canceled: %d\n", result == PTHREAD_CANCELED);
	pthread_create(&id, NULL, thread_canceled_early, NULL);
	pthread_cancel(id);
	is_canceled = true;
	pthread_join(id, &result);
	printf("canceled early: %d, in malloc: %d\n", result == PTHREAD_CANCELED, is_canceled);
}

static int run_child(int kind)
{
	char name[] = "true", *argv[] = { name, NULL };
	int status = -1;
	pid_t child = -1;

	if (kind == 0 && (child = fork()) == 0) {
		free(malloc(100000));
		exit(3);
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	if (kind == 1 && (child = vfork()) == 0) {
#pragma GCC diagnostic pop
		free(malloc(100000));
		_exit(4);
	}
	if (kind == 2)
		posix_spawnp(&child, "true", NULL, NULL, argv, environ);
	if (kind == 3 && (child = fork()) == 0) {
		free(malloc(100000));
		execlp("sh", "sh", "-c", "exit 5", (char *)NULL);
	}
	waitpid(child, &status, 0);
	return status;
}

static void children(void)
{
	for (int round = 0; round < 5; round++)
		for (int kind = 0; kind < 4; kind++) {
			fflush(stdout);
			printf("child: %x\n", (unsigned)run_child(kind));
			free(malloc(10000));
		}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	atexit(at_exit);
	signal(SIGUSR1, handler);
	if (strcmp(what, "arguments") == 0)
		arguments();
	else if (strcmp(what, "contents") == 0)
		contents();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "cancellation") == 0)
		cancellation();
	else if (strcmp(what, "pvalloc") == 0)
		whole_pages();
	else if (strcmp(what, "large") == 0)
		large();
	else if (strcmp(what, "children") == 0)
		children();
	else if (strcmp(what, "crash") == 0)
		abort();
	else if (strcmp(what, "_exit") == 0)
		_exit(7);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	return 42;
}
