/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_heir_program - a child that takes long to create its region, while its parent frees.
 *
 * The parent allocates BLOCKS blocks of 1000 bytes and forks.  It traces the child, and holds it at
 * a system call between the start and the end of the region's creation: the header has a start
 * time, and no magic yet.  Then the parent frees its blocks, waits, and lets the child go on.  The
 * child holds what it inherited until the parent has ended it.
 *
 * Exit status: 0, or 77 if the parent may not trace, or 1 if something else failed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCKS = 20000,
	BLOCK_BYTES = 1000,
	FIRST_FREES = 18000, /* more than the 16384 ends that the recorder always remembers */
	START_OFFSET = 32,   /* in the region's header: docs/internals/REGION.md */
	STOPS_MAX = 100000,
	WAIT_US = 1200000, /* longer than the recorder looks closely for the region */
	ROUNDS_US = 500000,
};

static void *volatile blocks[BLOCKS], *volatile own;
static int is_ready[2];

static void release(int from, int to)
{
	for (int i = from; i < to; i++)
		free(blocks[i]);
}

static void be_child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(77);
	raise(SIGSTOP);
	own = malloc(BLOCK_BYTES); /* creates the region */
	if (write(is_ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* True if the region of that process has begun and is not complete.  Allocates nothing. */
static int is_embryo(DIR *listing, pid_t pid)
{
	uint64_t magic = 1, start_ns = 0;
	struct dirent *entry;
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)pid);
	rewinddir(listing);
	while ((entry = readdir(listing)) != NULL) {
		int fd;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		fd = openat(dirfd(listing), entry->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
		    pread(fd, &start_ns, sizeof(start_ns), START_OFFSET) != sizeof(start_ns))
			start_ns = 0;
		if (fd >= 0)
			close(fd);
	}
	return magic == 0 && start_ns != 0;
}

/* Lets the child run from one system call to the next until its region is an embryo. */
static int hold(DIR *listing, pid_t child)
{
	int status;

	for (int i = 0; i < STOPS_MAX; i++) {
		if (waitpid(child, &status, 0) != child)
			return 1;
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		if (is_embryo(listing, child))
			return 0;
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0)
			return 1;
	}
	return 1;
}

int main(void)
{
	const char *directory = getenv("GEIGER_DIR");
	DIR *listing = opendir(directory != NULL ? directory : "");
	int status;
	pid_t child;
	char byte;

	if (listing == NULL || pipe(is_ready) < 0)
		return 1;
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	child = fork();
	if (child == 0)
		be_child();
	status = child < 0 ? 1 : hold(listing, child);
	if (status == 0) {
		usleep(WAIT_US);
		release(0, FIRST_FREES);
		usleep(ROUNDS_US);
		release(FIRST_FREES, BLOCKS);
		if (ptrace(PTRACE_DETACH, child, NULL, NULL) < 0 ||
		    read(is_ready[0], &byte, 1) != 1)
			status = 1;
	}
	if (child > 0)
		kill(child, SIGKILL);
	while (wait(NULL) > 0)
		;
	_exit(status);
}
