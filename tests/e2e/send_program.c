/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_program - allocates as many blocks as each line of its input says.
 *
 * It keeps every third block, frees the others, and answers each line with a line.
 *
 *   fork       it allocates and forks first, and the child frees as many of the inherited blocks as
 *              each line says
 *   share N    it allocates and forks N children first, which then do what a line says: each frees
 *              half as many of the inherited blocks, and allocates at the same place as the parent.
 *              A line of n times 1 000 000 more kills child n in the middle of that
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_MAX = 1 << 20, CHILDREN_MAX = 16, KILL = 1000000 };

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

static __attribute__((noinline)) void work(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *block = i % 2 ? small(i) : large(i);

		if (i % 3 == 0 && kept_count < KEPT_MAX)
			kept[kept_count++] = block;
		else
			free(block);
	}
}

/* A child, by its pipes: it gets counts, and answers each with a byte. */
struct child {
	int to, from;
};

/* Hands each line on, and waits for all children that live. */
static int hand_on(struct child *children, size_t child_count)
{
	unsigned long count;
	char byte;

	while (scanf("%lu", &count) == 1) {
		for (size_t i = 0; i < child_count; i++)
			if (write(children[i].to, &count, sizeof(count)) != sizeof(count))
				close(children[i].to);
		for (size_t i = 0; i < child_count; i++)
			while (read(children[i].from, &byte, 1) < 0)
				;
		puts("done");
		fflush(stdout);
	}
	for (size_t i = 0; i < child_count; i++)
		close(children[i].to);
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Returns the number of a child in it, or the number of children in the parent. */
static size_t fork_children(struct child *children, size_t child_count)
{
	for (size_t i = 0; i < child_count; i++) {
		int to[2], from[2];

		if (pipe(to) < 0 || pipe(from) < 0)
			abort();
		switch (fork()) {
		case -1:
			abort();
		case 0:
			for (size_t k = 0; k < i; k++)
				close(children[k].to);
			close(to[1]);
			close(from[0]);
			children[i] = (struct child){ .to = from[1], .from = to[0] };
			return i;
		default:
			close(to[0]);
			close(from[1]);
			children[i] = (struct child){ .to = to[1], .from = from[0] };
		}
	}
	return child_count;
}

/* Parent and children allocate by the same call, so that their stacks are equal. */
static int serve_shared(size_t child_count)
{
	struct child children[CHILDREN_MAX] = { 0 };
	size_t number = child_count, inherited = 0, inherited_count = 0;
	unsigned long count = 3000;
	bool is_child = false, is_killed = false;

	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		work(is_killed ? count / 2 : count);
		if (is_killed)
			raise(SIGKILL);
		if (is_child && write(children[number].to, "", 1) != 1)
			return 1;
		if (!is_child) {
			number = fork_children(children, child_count);
			if (number == child_count)
				return hand_on(children, child_count);
			is_child = true;
			inherited_count = kept_count;
		}
		if (read(children[number].from, &count, sizeof(count)) != sizeof(count))
			return 0;
		is_killed = count / KILL == number + 1;
		count %= KILL;
		for (size_t i = 0; i < count / 2 && inherited < inherited_count; i++)
			free(kept[inherited++]);
	}
}

int main(int argc, char **argv)
{
	unsigned long count;

	if (argc > 2) {
		count = strtoul(argv[2], NULL, 10);
		return count <= CHILDREN_MAX ? serve_shared(count) : 1;
	}
	if (argc > 1)
		return serve_forked();

	while (scanf("%lu", &count) == 1) {
		work(count);
		puts("done");
		fflush(stdout);
	}
	wait_for_the_end();
	return 0;
}
