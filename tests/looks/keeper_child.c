/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_child - forks, and reads what the kernel says of the child.
 */
#include "keeper_child.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	perror(what);
	abort();
}

static void run_child(struct keeper *keeper, const char *shape, uint64_t seed, int ready, int hold)
{
	char byte = 0;

	must(keeper_fill(keeper, shape, seed), "shape");
	keeper_walk(keeper);
	must(write(ready, &byte, 1) == 1, "write");
	while (read(hold, &byte, 1) > 0)
		;
	_exit(0);
}

struct keeper_child keeper_child_start(const char *shape, uint64_t seed)
{
	struct keeper_child child = { .keeper = keeper_new() };
	int ready[2], hold[2];
	char path[64], text[4096];
	FILE *file;
	size_t length;

	must(pipe2(ready, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0, "pipe");
	child.pid = fork();
	must(child.pid >= 0, "fork");
	if (child.pid == 0) {
		close(hold[1]);
		run_child(child.keeper, shape, seed, ready[1], hold[0]);
	}
	close(ready[1]);
	close(hold[0]);
	child.hold = hold[1];
	must(read(ready[0], text, 1) == 1, "the child ended");
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)child.pid);
	file = fopen(path, "re");
	must(file != NULL, path);
	while ((length = fread(text, 1, sizeof(text), file)) > 0)
		gg_buf_append(&child.smaps, text, length);
	fclose(file);
	return child;
}

void keeper_child_done(struct keeper_child *child)
{
	close(child->hold);
	waitpid(child->pid, NULL, 0);
	gg_buf_done(&child->smaps);
	keeper_delete(child->keeper);
}
