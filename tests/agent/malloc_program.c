/* SPDX-License-Identifier: Apache-2.0 */
/* malloc_program - what test_malloc_preload.sh runs; prints how much it did. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static long long sum;

static void *churn(void *user)
{
	long long total = 0;

	(void)user;
	for (int i = 0; i < 50000; i++) {
		char *p = malloc(100 + (size_t)i % 200);

		memset(p, i, 100);
		total += p[99];
		free(p);
	}
	return (void *)(size_t)total; /* NOLINT */
}

static void keep(void)
{
	static char *blocks[20000];

	for (int i = 0; i < 20000; i++)
		blocks[i] = memset(malloc(100), 1, 100);
	sum = blocks[7][7] + *(char *)memset(malloc(1 << 20), 2, 1 << 20);
}

/* Most blocks come and go; 2 000 of 1 000 bytes stay. */
static void serve(void)
{
	static char *blocks[2000];

	for (int i = 0; i < 1000000; i++) {
		free(memset(malloc(64), 1, 64));
		if (i % 500 == 0)
			blocks[i / 500] = memset(malloc(1000), 1, 1000);
	}
	sum = blocks[7][7];
}

static void threads(void)
{
	pthread_t ids[8];
	void *total;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			if (pthread_create(&ids[i], NULL, churn, NULL) != 0)
				exit(1);
		for (int i = 0; i < 8; i++) {
			pthread_join(ids[i], &total);
			sum += (long long)(size_t)total;
		}
	}
}

static void forks(void)
{
	for (int i = 0; i < 10; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			churn(NULL);
			_exit(i);
		}
		waitpid(child, &status, 0);
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
	}
}

static void *keep_block(void)
{
	void *volatile p = memset(malloc(512), 1, 512);

	return p;
}

/*
 * One block of 512 bytes in 64 stays, so each slab of 64 KiB keeps two of 128.  Then samples come
 * and go until the end of standard input.
 */
static void fragment(void)
{
	static void *gone[64 * 1600], *kept[1600];
	fd_set inputs;
	struct timeval pause;

	for (int i = 0; i < 64 * 1600; i++) {
		if (i % 64 == 0)
			kept[i / 64] = keep_block();
		else
			gone[i] = memset(malloc(512), 1, 512);
	}
	for (int i = 0; i < 64 * 1600; i++)
		free(gone[i]);
	sum = kept[1] != NULL;
	do {
		for (int i = 0; i < 100; i++)
			free(memset(malloc(5000), 1, 5000));
		FD_ZERO(&inputs);
		FD_SET(0, &inputs);
		pause = (struct timeval){ .tv_usec = 1000 };
	} while (select(1, &inputs, NULL, NULL, &pause) == 0);
}

/* 1000 blocks of the class of 512 bytes, and 3 runs of 48 KiB. */
static void info(void)
{
	static void *blocks[1000], *runs[3];

	for (int i = 0; i < 1000; i++)
		blocks[i] = memset(malloc(500), 1, 500);
	for (int i = 0; i < 3; i++)
		runs[i] = memset(malloc(48 * 1024), 1, 48 * 1024);
	sum = blocks[0] != runs[0];
	malloc_info(0, stderr);
}

/* One thread flushes all streams, another one allocates with a stream's lock held. */
static void *flush(void *user)
{
	(void)user;
	for (;;)
		fflush(NULL);
	return NULL;
}

static void *read_lines(void *user)
{
	FILE *lines = user;

	for (;;) {
		char *line = NULL;
		size_t size = 0;

		rewind(lines);
		while (getline(&line, &size, lines) >= 0) {
			free(line);
			line = NULL;
			size = 0;
		}
		free(line);
	}
	return NULL;
}

static void stream_forks(void)
{
	FILE *lines = tmpfile();
	pthread_t thread;

	if (lines == NULL)
		return;
	for (int i = 0; i < 100; i++)
		fprintf(lines, "%*d\n", 10 * i, i);
	pthread_create(&thread, NULL, flush, NULL);
	pthread_create(&thread, NULL, read_lines, lines);
	for (int i = 0; i < 500; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			fflush(NULL);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		sum += pid > 0 && status == 0;
	}
	printf("stream_forks %lld\n", sum);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "churn") == 0)
		sum = (long long)(size_t)churn(NULL);
	else if (strcmp(what, "keep") == 0)
		keep();
	else if (strcmp(what, "serve") == 0)
		serve();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "info") == 0)
		info();
	else if (strcmp(what, "fragment") == 0)
		fragment();
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "stream_forks") == 0)
		stream_forks();
	printf("%s %lld\n", what, sum);
	return 0;
}
