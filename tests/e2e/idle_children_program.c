/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_children_program - forked children that sleep, while their parent frees what all of them
 * hold.
 *
 * The parent allocates BLOCKS blocks of 1000 bytes and forks CHILDREN children.  Then it frees the
 * blocks, and waits until the recorder has forgotten these frees.  The children wake up, allocate
 * 1000 bytes each, and hold all they have until the parent has ended them.
 *
 * Exit status: 0, or 1 if something failed.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHILDREN = 2,
	BLOCKS = 20000, /* more than the 16384 ends that the recorder always remembers */
	BLOCK_BYTES = 1000,
	WAIT_US = 700000, /* longer than the two rounds that keep an end beyond these */
};

static void *volatile blocks[BLOCKS], *volatile own;

int main(void)
{
	pid_t children[CHILDREN];
	int wake[2], is_ready[2], failed = pipe(wake) < 0 || pipe(is_ready) < 0;
	char bytes[CHILDREN] = { 0 };

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	usleep(WAIT_US);
	for (int child = 0; child < CHILDREN; child++) {
		children[child] = fork();
		if (children[child] != 0)
			continue;
		if (read(wake[0], bytes, 1) != 1)
			_exit(1);
		own = malloc(BLOCK_BYTES);
		if (write(is_ready[1], bytes, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	usleep(WAIT_US);
	failed |= write(wake[1], bytes, CHILDREN) != CHILDREN;
	for (int child = 0; child < CHILDREN; child++)
		failed |= read(is_ready[0], bytes, 1) != 1;
	usleep(WAIT_US);
	for (int child = 0; child < CHILDREN; child++)
		failed |= children[child] < 0 || kill(children[child], SIGKILL) < 0;
	while (wait(NULL) > 0)
		;
	_exit(failed);
}
