/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_program END OTHERS WAKE [GENERATIONS [WORKERS]] - processes that are idle after their fork,
 * while their ancestor ends or frees, and many other processes come and go.
 *
 *   END      what the ancestor does after the fork: exits, is_killed, frees, or keeps; with
 *            "_at_once" without a pause
 *   OTHERS   processes that begin and end before the idle ones wake up
 *   WAKE     what an idle process does then: frees (all) or allocates, and is the last to end; or
 *            dies (by SIGKILL); or soon, which means that it exits SOON_US after its ancestor's
 *            last free, and is not woken; or never, which means that all processes wait until they
 *            are killed
 *   WORKERS  idle processes
 *
 * With the only argument `late`, a process allocates BLOCKS blocks and is killed at once.
 *
 * The program prints the pids of the idle processes.  The ancestor allocates BLOCKS blocks in
 * in_ancestor().  With GENERATIONS 2, a process stands between the ancestor and each idle one, and
 * exits without ever allocating: before the ancestor goes on, unless that is to end at once.  All
 * waits are for other processes; the pauses only make the moments distinct that a report asks for.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCKS = 200,
	BYTES = 102400,
	AT_ONCE = 16,
	WORKERS_MAX = 16,
	PAUSE_US = 200000,
	SOON_US = 40000
};

static void *blocks[BLOCKS];
static int is_over[2];         /* a pipe that the first process closes by its end */
static _Atomic int *has_freed; /* shared: the ancestor has */

static __attribute__((noinline)) void *in_ancestor(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static __attribute__((noinline)) void *in_other(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		_exit(7);
	return pid;
}

static void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* Waits until the other end is written to, or closed. */
static void wait_for(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0)
		;
}

static void idle(const char *wake, int from, int to)
{
	pid_t pid = getpid();

	if (write(to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(6);
	if (strcmp(wake, "soon") == 0) {
		while (*has_freed == 0)
			usleep(1000);
		usleep(SOON_US);
		_exit(0);
	}
	wait_for(from);
	if (strcmp(wake, "frees") == 0)
		free_all();
	else if (strcmp(wake, "allocates") == 0)
		blocks[0] = in_other(1000);
	wait_for(is_over[0]);
	usleep(PAUSE_US);
	_exit(0);
}

/* A busy machine may let the child run late.  It stays a zombie, as without the wait. */
static void wait_for_end(pid_t child)
{
	siginfo_t status;

	while (waitid(P_PID, (id_t)child, &status, WEXITED | WNOWAIT) < 0)
		;
}

static bool is(const char *end, const char *name)
{
	return strncmp(end, name, strlen(name)) == 0;
}

static void ancestor(const char *end, const char *wake, int generations, int workers, int from,
                     int to, int done)
{
	bool is_at_once = strstr(end, "_at_once") != NULL;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = in_ancestor(BYTES);
	for (int i = 0; i < workers; i++) {
		pid_t child = fork_or_die();

		if (child == 0) {
			close(done);
			if (generations > 1 && fork_or_die() != 0)
				_exit(0);
			idle(wake, from, to);
		}
		if (generations > 1 && !is_at_once)
			wait_for_end(child);
	}
	if (!is_at_once)
		usleep(PAUSE_US);
	if (is(end, "is_killed"))
		kill(getpid(), SIGKILL);
	if (is(end, "frees"))
		free_all();
	*has_freed = 1;
	if (is(end, "keeps") || is(end, "frees")) {
		if (write(done, "", 1) != 1)
			_exit(5);
		for (;;)
			pause();
	}
	_exit(0);
}

/* Forks a process that is killed in the moment in which it has allocated all. */
static int late(void)
{
	pid_t child = fork_or_die();

	if (child != 0)
		return waitpid(child, NULL, 0) == child && usleep(PAUSE_US) == 0 ? 0 : 4;
	blocks[0] = in_other(1000);
	usleep(PAUSE_US);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = in_ancestor(BYTES);
	return kill(getpid(), SIGKILL);
}

static void others(int count)
{
	for (int i = 0; i < count; i++) {
		if (i >= AT_ONCE)
			wait(NULL);
		if (fork_or_die() == 0) {
			free(in_other(1000));
			_exit(0);
		}
	}
	for (int i = 0; i < count && i < AT_ONCE; i++)
		wait(NULL);
}

int main(int argc, char **argv)
{
	const char *end = argv[1], *wake = argc > 3 ? argv[3] : "";
	int generations = argc > 4 ? atoi(argv[4]) : 1, workers = argc > 5 ? atoi(argv[5]) : 1;
	int starts[2], pids[2], done[2];
	pid_t first, idlers[WORKERS_MAX];

	if (argc == 2 && strcmp(end, "late") == 0)
		return late();
	if (argc < 4 || workers > WORKERS_MAX || pipe(starts) != 0 || pipe(pids) != 0 ||
	    pipe(done) != 0 || pipe(is_over) != 0)
		return 2;
	has_freed = mmap(NULL, sizeof(*has_freed), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (has_freed == MAP_FAILED)
		return 2;
	first = fork_or_die();
	if (first == 0) {
		close(starts[1]);
		close(done[0]);
		close(is_over[1]);
		ancestor(end, wake, generations, workers, starts[0], pids[1], done[1]);
	}
	close(done[1]);
	for (int i = 0; i < workers; i++)
		if (read(pids[0], &idlers[i], sizeof(idlers[i])) != sizeof(idlers[i]))
			return 3;
	for (int i = 0; i < workers; i++)
		dprintf(1, "%d\n", (int)idlers[i]);
	wait_for(done[0]);
	if (is(end, "exits") || is(end, "is_killed"))
		waitpid(first, NULL, 0);
	while (strcmp(wake, "never") == 0)
		pause();
	usleep(PAUSE_US);
	others(atoi(argv[2]));
	usleep(PAUSE_US);
	for (int i = 0; i < workers && strcmp(wake, "dies") == 0; i++)
		kill(idlers[i], SIGKILL);
	close(starts[1]);
	usleep(PAUSE_US);
	if (is(end, "keeps") || is(end, "frees"))
		kill(first, SIGKILL);
	return 0;
}
