/* SPDX-License-Identifier: Apache-2.0 */
/*
 * older_target - holds blocks, frees some of them on request, and prints how much it holds.
 *
 * Each line that it reads is a command:
 *   free N   frees N of the first blocks
 *   new N    allocates N blocks of NEW_BYTES, which it keeps
 *   fork     forks a child, which allocates a block every 10 ms and waits to be killed
 * It answers with the usable bytes of the first blocks that it still holds, and of the later ones.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST = 20000, LARGE = 3, LARGE_BYTES = 3 << 20, NEW_BYTES = 300, NEW_MAX = 100000 };

static void *first[FIRST + LARGE], *later[NEW_MAX];
static size_t freed, later_count;

static void *allocate(size_t bytes)
{
	void *p = malloc(bytes);

	if (p == NULL)
		exit(1);
	return memset(p, 1, bytes);
}

static size_t usable(void *const *blocks, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += blocks[i] != NULL ? malloc_usable_size(blocks[i]) : 0;
	return bytes;
}

static void answer(void)
{
	printf("%d %zu %zu\n", (int)getpid(), usable(first, FIRST + LARGE),
	       usable(later, later_count));
	fflush(stdout);
}

static void run_child(void)
{
	for (;;) {
		free(allocate(NEW_BYTES));
		usleep(10000);
	}
}

static void obey(const char *line)
{
	size_t count = strtoul(line + strcspn(line, " "), NULL, 10);

	if (strncmp(line, "fork", 4) == 0) {
		if (fork() == 0)
			run_child();
	} else if (strncmp(line, "free", 4) == 0) {
		for (; count > 0 && freed < FIRST; count--) {
			free(first[freed]);
			first[freed++] = NULL;
		}
	} else {
		for (; count > 0 && later_count < NEW_MAX; count--)
			later[later_count++] = allocate(NEW_BYTES);
	}
}

int main(void)
{
	char line[64];

	setvbuf(stdout, allocate(BUFSIZ), _IOFBF, BUFSIZ);
	for (size_t i = 0; i < FIRST; i++)
		first[i] = allocate(40 + i % 1500);
	for (size_t i = 0; i < LARGE; i++)
		first[FIRST + i] = allocate(LARGE_BYTES);
	answer();
	while (read(0, line, 1) == 1) {
		size_t length = 1;

		while (length < sizeof(line) - 1 && read(0, line + length, 1) == 1 &&
		       line[length] != '\n')
			length++;
		line[length] = '\0';
		obey(line);
		answer();
	}
	return 0;
}
