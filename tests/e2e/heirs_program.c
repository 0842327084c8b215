/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heirs_program CHILDREN COUNT [grandchildren] [frees] - COUNT blocks of 1000 bytes that children
 * inherit.
 *
 * Each child, and with "grandchildren" each of its children, allocates COUNT / 5 blocks of 500
 * bytes.  With "frees" the parent frees its blocks as soon as it has forked.  All processes hold
 * their memory until each has its own; then children free half of what they inherited, and end by
 * _exit() before their parent.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INHERITED_BYTES = 1000, OWN_BYTES = 500, COUNT_MAX = 1000000 };

static void *volatile inherited[COUNT_MAX], *volatile own[COUNT_MAX];
static int go[2], done[2];

static void allocate(void *volatile *blocks, int count, size_t bytes)
{
	for (int i = 0; i < count; i++)
		blocks[i] = malloc(bytes);
}

static void release(int count)
{
	for (int i = 0; i < count; i++)
		free(inherited[i]);
}

/* Does not return. */
static void be_heir(int count, int has_child)
{
	char byte = 0;

	close(go[1]);
	allocate(own, count / 5, OWN_BYTES);
	if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0)
		_exit(1);
	release(count / 2);
	if (has_child)
		wait(NULL);
	_exit(0);
}

static int is_in(char **words, int count, const char *word)
{
	while (count > 0 && strcmp(words[count - 1], word) != 0)
		count--;
	return count > 0;
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 0;
	int has_grandchildren = is_in(argv, argc, "grandchildren"), failed = 0, status;
	char byte;

	if (count > COUNT_MAX || pipe(go) < 0 || pipe(done) < 0)
		return 2;
	allocate(inherited, count, INHERITED_BYTES);
	for (int i = 0; i < children; i++) {
		if (fork() != 0)
			continue;
		if (has_grandchildren && fork() == 0)
			be_heir(count, 0);
		be_heir(count, has_grandchildren);
	}
	if (is_in(argv, argc, "frees"))
		release(count);
	for (int i = 0; i < children * (1 + has_grandchildren); i++)
		if (read(done[0], &byte, 1) != 1)
			return 2;
	close(go[1]);
	while (wait(&status) > 0)
		failed |= status;
	_exit(failed != 0);
}
