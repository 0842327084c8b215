/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exhaust_program - limits its address space to 200 MiB after its start.  Then threads of a child
 * allocate until there is no more, in several ways and sizes.
 *
 * Each child must get its threads and a good part of the limit, but no more than it.  It must get
 * half of that again after it freed all, and more when it raises the limit.  Prints what is wrong,
 * and a line at the end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum { THREADS = 8, STACK_BYTES = 256 << 10, LEAST_SHARE = 4 };
#define LIMIT_BYTES (200 * MIB)

enum way { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_ALIGNED_ALLOC, BY_POSIX_MEMALIGN };

/* A block of the list of what a thread has; the last byte of each is the same as `mark`. */
struct block {
	struct block *next;
	unsigned char mark;
};

static enum way way;
static size_t block_bytes, total_bytes;
static pthread_barrier_t all_begin, all_have_failed;
static int wrong;

static void fail(const char *what, size_t value)
{
	printf("way %d, %zu bytes: %s: %zu\n", (int)way, block_bytes, what, value);
	wrong++;
}

static void *grow(void)
{
	void *p = malloc(16), *grown;

	grown = p != NULL ? realloc(p, block_bytes) : NULL;
	if (grown == NULL)
		free(p);
	return grown;
}

static void *get(void)
{
	void *p = NULL;

	switch (way) {
	case BY_MALLOC:
		return malloc(block_bytes);
	case BY_CALLOC:
		return calloc(1, block_bytes);
	case BY_REALLOC:
		return grow();
	case BY_ALIGNED_ALLOC:
		return aligned_alloc(128, block_bytes);
	default:
		return posix_memalign(&p, 4096, block_bytes) == 0 ? p : NULL;
	}
}

/* Allocates up to so many bytes; all threads together no more than five times the limit. */
static struct block *allocate(size_t most_bytes, size_t *ret_bytes)
{
	struct block *first = NULL, *block;
	size_t bytes = 0;

	while (bytes < most_bytes && (block = get()) != NULL) {
		block->next = first;
		block->mark = (unsigned char)((uintptr_t)block >> 12 ^ 0x5a);
		((unsigned char *)block)[block_bytes - 1] = block->mark;
		first = block;
		bytes += block_bytes;
		if (__atomic_add_fetch(&total_bytes, block_bytes, __ATOMIC_RELAXED) >
		    5 * LIMIT_BYTES) {
			fail("MiB without an end", total_bytes / MIB);
			exit(1);
		}
	}
	*ret_bytes = bytes;
	return first;
}

static void free_all(struct block *block)
{
	struct block *next;

	for (; block != NULL; block = next) {
		if (((unsigned char *)block)[block_bytes - 1] !=
		    (unsigned char)((uintptr_t)block >> 12 ^ 0x5a))
			fail("a block was written to", (size_t)block);
		next = block->next;
		free(block);
	}
}

static void *eat(void *user)
{
	struct block *blocks;
	size_t bytes;

	pthread_barrier_wait(&all_begin);
	blocks = allocate(SIZE_MAX, &bytes);
	pthread_barrier_wait(&all_have_failed);
	free_all(blocks);
	return user;
}

static void set_limit(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		fail("setrlimit: error", (size_t)errno);
}

static void run_child(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t small;
	struct block *blocks;
	size_t eaten, bytes;
	int error;

	wrong = 0; /* that of the children before */
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (size_t i = 0; i < THREADS; i++) {
		error = pthread_create(&threads[i], &small, eat, NULL);
		if (error != 0) {
			fail("pthread_create: error", (size_t)error);
			exit(1);
		}
	}
	eat(NULL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	eaten = total_bytes;
	if (eaten < LIMIT_BYTES / LEAST_SHARE || eaten > LIMIT_BYTES)
		fail("MiB", eaten / MIB);
	free_all(allocate(eaten / 2, &bytes));
	if (bytes < eaten / 2)
		fail("MiB again", bytes / MIB);
	set_limit(RLIM_INFINITY);
	total_bytes = 0;
	blocks = allocate(2 * LIMIT_BYTES, &bytes);
	if (bytes < 2 * LIMIT_BYTES)
		fail("MiB without a limit", bytes / MIB);
	free_all(blocks);
	exit(wrong != 0);
}

int main(void)
{
	static const struct {
		enum way way;
		size_t bytes;
	} rows[] = {
		{ BY_MALLOC, 144 },          { BY_REALLOC, 4096 },     { BY_ALIGNED_ALLOC, 512 },
		{ BY_POSIX_MEMALIGN, 4096 }, { BY_CALLOC, 17 * 4096 }, { BY_MALLOC, 3 * MIB },
	};
	int status;
	pid_t child;

	setvbuf(stdout, NULL, _IONBF, 0);
	free(malloc(100));
	set_limit(LIMIT_BYTES);
	pthread_barrier_init(&all_begin, NULL, THREADS + 1);
	pthread_barrier_init(&all_have_failed, NULL, THREADS + 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		way = rows[i].way;
		block_bytes = rows[i].bytes;
		child = fork();
		if (child == 0)
			run_child();
		if (child < 0 || waitpid(child, &status, 0) != child)
			status = -1;
		if (status != 0)
			fail("status of the child", (size_t)status);
	}
	printf("exhaust: %d wrong\n", wrong);
	return 0;
}
