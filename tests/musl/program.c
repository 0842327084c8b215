/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program - allocates BLOCKS blocks in each of its functions, in every way that musl has.
 *
 * program LIBRARY: LIBRARY is loaded by dlopen(); its constructor and a function of it allocate.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, BYTES = 100, THREADS = 8 };

#define NOINLINE __attribute__((noinline))

static void *kept[20 * BLOCKS];
static int kept_count;

static void *keep(void *block)
{
	if (block == NULL)
		abort();
	kept[kept_count++] = block;
	return block;
}

NOINLINE static void by_malloc(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(BYTES));
}

NOINLINE static void by_calloc(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		/* Some are larger than a page, and were used before. */
		size_t bytes = i % 10 == 0 ? 20000 : BYTES;
		unsigned char *block = malloc(bytes);

		memset(block, 0xff, bytes);
		free(block);
		block = keep(calloc(bytes / 10, 10));
		for (size_t at = 0; at < bytes; at++)
			if (block[at] != 0)
				abort();
	}
}

NOINLINE static void by_realloc(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(realloc(NULL, BYTES));
}

NOINLINE static void by_posix_memalign(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *block = NULL;

		if (posix_memalign(&block, 64, BYTES) != 0 || (size_t)keep(block) % 64 != 0)
			abort();
	}
}

NOINLINE static void by_aligned_alloc(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if ((size_t)keep(aligned_alloc(4096, BYTES)) % 4096 != 0)
			abort();
}

NOINLINE static void by_memalign(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if ((size_t)keep(memalign(256, BYTES)) % 256 != 0)
			abort();
}

NOINLINE static void by_valloc(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(valloc(BYTES));
}

/* Through code of musl, which has no CFI. */

NOINLINE static void by_strdup(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(strdup("a text that is longer than a word"));
}

NOINLINE static void by_asprintf(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		char *text;

		if (asprintf(&text, "%d and %s", i, "a text that is longer than a word") < 0)
			abort();
		keep(text);
	}
}

static int compared;

NOINLINE static void at_comparison(void)
{
	if (compared < BLOCKS) {
		keep(malloc(BYTES));
		compared++;
	}
}

static int compare(const void *a, const void *b)
{
	at_comparison();
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void by_qsort(void)
{
	int numbers[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		numbers[i] = i * 7919 % BLOCKS;
	qsort(numbers, BLOCKS, sizeof(numbers[0]), compare);
}

NOINLINE static void *in_thread(void *unused)
{
	for (int i = 0; i < BLOCKS / THREADS; i++)
		free(malloc(BYTES));
	return unused;
}

/* The stack of the threads of musl is small, and these have the least. */
static void start_threads(void)
{
	pthread_attr_t attributes;
	pthread_t threads[THREADS];

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attributes, in_thread, NULL) != 0)
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

NOINLINE static void in_child(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(BYTES));
}

static void in_handler(int signal)
{
	(void)signal;
	for (int i = 0; i < BLOCKS / 10; i++)
		keep(malloc(BYTES));
}

static void raise_signals(void)
{
	signal(SIGUSR1, in_handler);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*use)(void);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	*(void **)&use = dlsym(library, "in_library");
	use();
}

int main(int argc, char *argv[])
{
	int status;
	pid_t child;

	by_malloc();
	by_calloc();
	by_realloc();
	by_posix_memalign();
	by_aligned_alloc();
	by_memalign();
	by_valloc();
	by_strdup();
	by_asprintf();
	by_qsort();
	start_threads();
	raise_signals();
	child = fork();
	if (child == 0) {
		in_child();
		exit(5);
	}
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5)
		return 4;
	if (argc > 1)
		load(argv[1]);
	puts("finished");
	return 0;
}
