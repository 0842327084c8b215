/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hammer_program DIRECTORY MILLISECONDS [own] - eight threads allocate, dump, reset, switch,
 * rename, ask and log by mallctl(), all at once.  It ends as it should: every call answers, and
 * what dumps say at the end is what is there.
 */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#pragma weak mallctl

enum { THREADS = 8, BLOCKS = 64 };

static const char *directory;
static long milliseconds;
static int wrong_count;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void expect(const char *name, int status, int other)
{
	if (status != 0 && status != other) {
		printf("%s: %s\n", name, strerror(status));
		__atomic_fetch_add(&wrong_count, 1, __ATOMIC_RELAXED);
	}
}

static void set(const char *name, const void *value, size_t bytes, int other)
{
	expect(name, mallctl(name, NULL, NULL, (void *)(uintptr_t)value, bytes), other);
}

static void set_bool(const char *name, bool value)
{
	set(name, &value, sizeof(value), 0);
}

static void count_piece(void *context, const char *piece)
{
	*(size_t *)context += strlen(piece);
}

static void step(unsigned *seed, int thread)
{
	static const char *const names[] = { "a", "b", "a long name of a thread" };
	char path[600];
	const char *text = path;
	size_t lg = 6 + (size_t)rand_r(seed) % 8, written = 0;
	ssize_t most = rand_r(seed) % 500;
	void *writer[2] = { (void *)(uintptr_t)count_piece, &written };

	switch (rand_r(seed) % 64) {
	case 0:
		snprintf(path, sizeof(path), "%s/dump.%d", directory, thread % 3);
		set("prof.dump", &text, sizeof(text), EFAULT);
		break;
	case 1:
		set("prof.reset", &lg, sizeof(lg), 0);
		break;
	case 2:
		set_bool("prof.active", rand_r(seed) % 4 != 0);
		break;
	case 3:
		set_bool("thread.prof.active", rand_r(seed) % 4 != 0);
		break;
	case 4:
		set("thread.prof.name", &names[rand_r(seed) % 3], sizeof(text), 0);
		break;
	case 5:
		set("experimental.prof_recent.alloc_max", &most, sizeof(most), 0);
		break;
	case 6:
		set("experimental.prof_recent.alloc_dump", writer, sizeof(writer), 0);
		break;
	case 7:
		snprintf(path, sizeof(path), "%s/log", directory);
		set("prof.log_start", &text, sizeof(text), EFAULT);
		break;
	case 8:
		expect("prof.log_stop", mallctl("prof.log_stop", NULL, NULL, NULL, 0), EFAULT);
		break;
	case 9:
		set_bool("prof.gdump", rand_r(seed) % 8 == 0);
		break;
	case 10:
		snprintf(path, sizeof(path), "%s/prefix%d", directory, thread % 2);
		set("prof.prefix", &text, sizeof(text), EFAULT);
		break;
	default:
		break;
	}
}

static void *hammer(void *argument)
{
	unsigned seed = *(const unsigned *)argument;
	void *blocks[BLOCKS] = { NULL };
	int thread = (int)seed;
	long end = now_ms() + milliseconds;

	while (now_ms() < end)
		for (int i = 0; i < 200; i++) {
			int which = rand_r(&seed) % BLOCKS;

			free(blocks[which]);
			blocks[which] = malloc((size_t)rand_r(&seed) % 4000);
			if (i % 20 == 0)
				step(&seed, thread);
		}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

/* From a known start, every allocation a sample. */
static void check_end(void)
{
	char path[600], head[400] = "";
	const char *text = path;
	size_t lg = 0;
	long long count, bytes;
	void *blocks[10];
	FILE *file;

	snprintf(path, sizeof(path), "%s/last", directory);
	set_bool("prof.active", true);
	set_bool("thread.prof.active", true);
	set("prof.reset", &lg, sizeof(lg), 0);
	for (int i = 0; i < 10; i++)
		blocks[i] = malloc(1024);
	set("prof.dump", &text, sizeof(text), 0);
	file = fopen(path, "r");
	if (file == NULL || fread(head, 1, sizeof(head) - 1, file) == 0 ||
	    sscanf(head, "heap_v2/1\n  t*: %lld: %lld", &count, &bytes) != 2 || count != 10 ||
	    bytes != 10240) {
		printf("the last dump says %.60s\n", head);
		wrong_count++;
	}
	if (file != NULL)
		fclose(file);
	for (int i = 0; i < 10; i++)
		free(blocks[i]);
}

int main(int argument_count, char **arguments)
{
	static unsigned seeds[THREADS];
	pthread_t threads[THREADS];

	if ((argument_count != 3 && argument_count != 4) || mallctl == NULL)
		return 2;
	directory = arguments[1];
	milliseconds = atol(arguments[2]);
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		if (pthread_create(&threads[i], NULL, hammer, &seeds[i]) != 0)
			return 2;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* A third argument: nobody samples malloc (hammer_own.c). */
	if (argument_count == 3)
		check_end();
	return wrong_count > 0;
}
