/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_program - allocates as many blocks as each line of its input says.
 *
 * It keeps every third block, frees the others, and answers each line with a line.  With an
 * argument, it allocates and forks first, and the child frees as many of the inherited blocks as
 * each line says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_MAX = 1 << 20 };

static void *kept[KEPT_MAX];
static size_t kept_count;

static __attribute__((noinline)) void *small(size_t i)
{
	return malloc(100 + i % 700);
}

static __attribute__((noinline)) void *large(size_t i)
{
	return malloc(4000 + i % 9000);
}

static void free_kept(size_t count)
{
	for (; count > 0 && kept_count > 0; count--)
		free(kept[--kept_count]);
}

static void wait_for_the_end(void)
{
	int c;

	while ((c = getchar()) != EOF)
		;
}

/* The child's input and output have no buffers, so that it allocates nothing. */
static int serve_forked(void)
{
	unsigned long count;
	pid_t child;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (; kept_count < 2000; kept_count++)
		kept[kept_count] = large(kept_count);
	child = fork();
	if (child != 0) {
		close(0);
		return child < 0 || waitpid(child, NULL, 0) < 0;
	}
	while (scanf("%lu", &count) == 1) {
		free_kept(count);
		puts("done");
	}
	wait_for_the_end();
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long count;

	(void)argv;
	if (argc > 1)
		return serve_forked();

	while (scanf("%lu", &count) == 1) {
		for (size_t i = 0; i < count; i++) {
			void *block = i % 2 ? small(i) : large(i);

			if (i % 3 == 0 && kept_count < KEPT_MAX)
				kept[kept_count++] = block;
			else
				free(block);
		}
		puts("done");
		fflush(stdout);
	}
	wait_for_the_end();
	return 0;
}
