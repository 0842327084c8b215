/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life_program WHAT [LIBRARY] - processes and threads as test_malloc_life.sh needs them; prints
 * what is wrong, and a line at the end.
 *
 *   threads   thousands of threads come and go, and leave blocks that other threads free
 *   copy      LIBRARY, a copy of the preloaded library, is opened, used and closed
 *   deep      LIBRARY would find libc's allocator first, and shares blocks with the program
 *   kept      LIBRARY finds its own definitions first, as RTLD_DEEPBIND says
 *   foreign   blocks of libc's own allocator are freed, resized and measured
 *   forks     threads and their signal handlers fork while other threads allocate
 *   exec      a thread executes LIBRARY (a program) while other threads allocate
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 250, LEFT = 40 };

static atomic_bool is_over;
static atomic_int wrong, forked;

static void *fill(size_t bytes, unsigned char with)
{
	unsigned char *p = malloc(bytes);

	if (p == NULL)
		abort();
	p[0] = p[bytes - 1] = with;
	return memset(p, with, bytes < 500 ? bytes : 500);
}

static void check(const unsigned char *p, size_t bytes, unsigned char with)
{
	if (p[0] != with || p[bytes - 1] != with)
		atomic_fetch_add(&wrong, 1);
}

/* Blocks of 16 to 40 000 bytes, of which most are small. */
static size_t size_of(unsigned i)
{
	return i % 37 == 0 ? 40000 : 16 + i * 7 % 400;
}

static void *leave_blocks(void *user)
{
	unsigned char **blocks = user;

	for (unsigned i = 0; i < LEFT; i++)
		blocks[i] = fill(size_of(i), (unsigned char)i);
	for (unsigned i = 0; i < 100; i++)
		free(fill(size_of(i), 1));
	return NULL;
}

static void threads(void)
{
	static unsigned char *blocks[THREADS][LEFT];
	pthread_t ids[THREADS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&ids[i], NULL, leave_blocks, blocks[i]) != 0)
				abort();
		for (int i = 0; i < THREADS; i++) {
			pthread_join(ids[i], NULL);
			for (unsigned j = 0; j < LEFT; j++) {
				check(blocks[i][j], size_of(j), (unsigned char)j);
				free(blocks[i][j]);
			}
		}
	}
	/* 8 threads at once have 8 heaps, and a heap needs less than 1 MiB for these blocks. */
	if (mallinfo2().uordblks > (size_t)32 << 20)
		printf("%zu bytes are in use after %d threads\n", mallinfo2().uordblks,
		       THREADS * ROUNDS);
}

static void copy(const char *library)
{
	for (int round = 0; round < 3; round++) {
		void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		void *(*its_malloc)(size_t), (*its_free)(void *), *p, *q;

		if (handle == NULL) {
			printf("%s\n", dlerror());
			return;
		}
		*(void **)&its_malloc = dlsym(handle, "malloc");
		*(void **)&its_free = dlsym(handle, "free");
		p = its_malloc(100);
		q = malloc(100);
		memset(p, 1, 100);
		memset(q, 2, 100);
		check(p, 100, 1);
		its_free(p);
		free(q);
		dlclose(handle);
	}
}

/* LIBRARY has a function of that name as well. */
__attribute__((visibility("default"))) int deep_binding(void);
int deep_binding(void)
{
	return 1;
}

static void check_binding(void *handle, int expected)
{
	int (*asked)(void);

	*(void **)&asked = dlsym(handle, "deep_asked");
	if (asked() != expected) {
		printf("bound to definition %d\n", asked());
		atomic_fetch_add(&wrong, 1);
	}
}

static void kept(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);

	if (handle == NULL)
		printf("%s\n", dlerror());
	else
		check_binding(handle, 2);
}

static void share_blocks(void *handle)
{
	void *(*deep_malloc)(size_t);
	void *(*deep_realloc)(void *, size_t);
	void (*deep_free)(void *);

	if (handle == NULL) {
		printf("%s\n", dlerror());
		return;
	}
	check_binding(handle, 1);
	*(void **)&deep_malloc = dlsym(handle, "deep_malloc");
	*(void **)&deep_realloc = dlsym(handle, "deep_realloc");
	*(void **)&deep_free = dlsym(handle, "deep_free");
	for (unsigned i = 0; i < 2000; i++) {
		unsigned char *p = fill(size_of(i), (unsigned char)i), *q = deep_malloc(size_of(i));

		memset(q, 3, size_of(i));
		p = deep_realloc(p, size_of(i) + 300);
		check(p, size_of(i), (unsigned char)i);
		check(q, size_of(i), 3);
		deep_free(p);
		free(q);
	}
	dlclose(handle);
}

static void deep(const char *library)
{
	share_blocks(dlopen(library, RTLD_NOW | RTLD_DEEPBIND));
	share_blocks(dlmopen(LM_ID_BASE, library, RTLD_NOW | RTLD_DEEPBIND));
}

extern void *__libc_malloc(size_t bytes) __attribute__((weak));
extern void *__libc_memalign(size_t alignment, size_t bytes) __attribute__((weak));

static void foreign(void)
{
	static const size_t sizes[] = { 1, 24, 5000, 200000, 50000000 };

	if (__libc_malloc == NULL || __libc_memalign == NULL)
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = sizes[i];
		unsigned char *p = memset(__libc_malloc(bytes), 7, bytes);

		free(p);
		p = memset(__libc_malloc(bytes), 7, bytes);
		if (malloc_usable_size(p) < bytes)
			printf("%zu bytes: usable are %zu\n", bytes, malloc_usable_size(p));
		p = realloc(p, bytes + 1000); /* cppcheck-suppress memleakOnRealloc */
		check(p, bytes, 7);
		free(p);
		free(memset(__libc_memalign(4096, bytes), 7, bytes));
	}
}

static void *churn(void *user)
{
	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		size_t bytes = size_of(i);
		unsigned char *p = fill(bytes, (unsigned char)i);

		check(p, bytes, (unsigned char)i);
		free(p);
	}
	return user;
}

/* The child of a fork that may come at any moment allocates, and ends. */
static void fork_one(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		unsigned char *blocks[LEFT];

		alarm(60);
		leave_blocks(blocks);
		for (unsigned i = 0; i < LEFT; i++) {
			check(blocks[i], size_of(i), (unsigned char)i);
			free(blocks[i]);
		}
		_exit(atomic_load(&wrong) != 0);
	}
	waitpid(child, &status, 0);
	atomic_fetch_add(&forked, 1);
	if (status != 0)
		atomic_fetch_add(&wrong, 1);
}

static void handle(int number)
{
	(void)number;
	fork_one();
}

/* Waits in usleep(), so that its handlers interrupt nothing of their own thread. */
static void *wait_for_signals(void *user)
{
	while (!atomic_load(&is_over))
		usleep(1000);
	return user;
}

static void forks(void)
{
	pthread_t ids[4], waiter;

	signal(SIGUSR1, handle);
	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, churn, NULL);
	pthread_create(&waiter, NULL, wait_for_signals, NULL);
	for (int i = 0; i < 20; i++) {
		int before = atomic_load(&forked);

		fork_one();
		pthread_kill(waiter, SIGUSR1);
		while (atomic_load(&forked) < before + 2)
			usleep(100);
	}
	atomic_store(&is_over, true);
	pthread_join(waiter, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

static void execute(const char *program)
{
	pthread_t ids[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, churn, NULL);
	free(fill(1000, 1));
	execl(program, program, "threads", (char *)NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *library = argc > 2 ? argv[2] : "";

	if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "copy") == 0)
		copy(library);
	else if (strcmp(what, "deep") == 0)
		deep(library);
	else if (strcmp(what, "kept") == 0)
		kept(library);
	else if (strcmp(what, "foreign") == 0)
		foreign();
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "exec") == 0)
		execute(library);
	printf("%s: %d wrong\n", what, atomic_load(&wrong));
	return 0;
}
