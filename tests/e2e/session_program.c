/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_program - allocates blocks that it never frees, prints that, and ends in one of these
 * ways.
 *
 *   session_program COUNT BYTES            ends at once
 *   session_program COUNT BYTES wait       writes "ready", and ends when its standard input does
 *   session_program COUNT BYTES fork       a child inherits all, allocates as much again, and ends
 *                                          first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile blocks[200000];
static int used;

static void __attribute__((noinline)) keep(int count, size_t size_bytes)
{
	for (int i = 0; i < count; i++)
		blocks[used++] = malloc(size_bytes);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;
	size_t size_bytes = argc > 2 ? (size_t)atoi(argv[2]) : 0;
	const char *what = argc > 3 ? argv[3] : "";
	char byte;

	if (count <= 0 || 2 * count > 200000)
		return 2;
	keep(count, size_bytes);
	if (strcmp(what, "wait") == 0) {
		if (write(STDOUT_FILENO, "ready\n", 6) != 6)
			return 1;
		while (read(STDIN_FILENO, &byte, 1) > 0)
			continue;
	} else if (strcmp(what, "fork") == 0) {
		if (fork() == 0) {
			keep(count, size_bytes);
			_exit(0);
		}
		while (wait(NULL) > 0)
			continue;
	}
	return 0;
}
