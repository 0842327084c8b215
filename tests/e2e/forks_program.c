/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks_program CHILDREN KIB - forks children that live at the same time; each allocates KIB times
 * 1000 bytes, and the parent as much before.  Children leave by _exit() when their parent lets
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile blocks[100000];

static void allocate(int count)
{
	for (int i = 0; i < count; i++)
		blocks[i] = malloc(1000);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0, kib = argc > 2 ? atoi(argv[2]) : 0, go[2],
	    done[2];
	char byte = 0;

	if (kib > 100000 || pipe(go) < 0 || pipe(done) < 0)
		return 2;
	allocate(kib);
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			return 2;
		if (child != 0)
			continue;
		close(go[1]);
		allocate(kib);
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(go[0], &byte, 1) != 0);
	}
	for (int i = 0; i < count; i++)
		if (read(done[0], &byte, 1) != 1)
			return 2;
	close(go[1]);
	while (wait(NULL) > 0)
		continue;
	return 0;
}
