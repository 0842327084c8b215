/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns_program WAY END - processes of 10 000 000 bytes, for tests of when a process ended.
 *
 * WAY  exec        five children execute this program again, one after the other
 *      fork        five children go on in this program, one after the other
 *      grandchild  the same, by a child each, which waits for it
 *      parent      the same, and after each of them the parent holds as much, and gives it back
 *      together    three children that hold it at the same time
 *      outlived    a child whose memory another process shares; both parents of it end at once
 * END  exit, _exit, kill
 *
 * The recorder is stopped until all is over: it learns of everything as late as on the busiest
 * machine.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 5, BLOCK_BYTES = 2000000, TURNS = 5, TOGETHER = 3 };

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;
static void *blocks[BLOCKS];

static void hold(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = call_malloc(BLOCK_BYTES);
}

static void give_back(void)
{
	for (int i = 0; i < BLOCKS; i++)
		call_free(blocks[i]);
}

static _Noreturn void finish(const char *end)
{
	if (strcmp(end, "kill") == 0)
		raise(SIGKILL);
	else if (strcmp(end, "_exit") == 0)
		_exit(0);
	exit(0);
}

static _Noreturn void take_turn(const char *program, const char *way, const char *end)
{
	if (strcmp(way, "exec") == 0) {
		execl(program, program, "hold", end, (char *)NULL);
		_exit(1);
	}
	if (strcmp(way, "grandchild") == 0 && fork() != 0) {
		wait(NULL);
		_exit(0);
	}
	hold();
	finish(end);
}

/* Each says that it holds its blocks, and waits for the end of a pipe. */
static void run_together(const char *end)
{
	int ready[2], go[2];
	char word;

	if (pipe(ready) < 0 || pipe(go) < 0)
		exit(1);
	for (int i = 0; i < TOGETHER; i++) {
		if (fork() != 0)
			continue;
		close(go[1]);
		hold();
		if (write(ready[1], "", 1) != 1 || read(go[0], &word, 1) != 0)
			exit(1);
		finish(end);
	}
	for (int i = 0; i < TOGETHER; i++)
		if (read(ready[0], &word, 1) != 1)
			exit(1);
	close(go[1]);
	while (wait(NULL) > 0)
		continue;
}

/*
 * Shares the memory of a child that is killed, until the recorder, which goes on only now, has seen
 * that the child and the parent have ended.
 */
static int outlive(void *context)
{
	const struct timespec part = { .tv_nsec = 200 * 1000 * 1000 };

	nanosleep(&part, NULL);
	kill(*(const pid_t *)context, SIGCONT);
	nanosleep(&part, NULL);
	return 0;
}

/* The parent holds as much as the child that it kills, and ends when it has waited for it. */
static void run_outlived(pid_t recorder)
{
	static char stack[65536];

	hold();
	if (fork() == 0) {
		hold();
		if (clone(outlive, stack + sizeof(stack), CLONE_VM | SIGCHLD, &recorder) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	pid_t recorder = getppid();

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "hold") == 0) {
		hold();
		finish(argv[2]);
	}
	kill(recorder, SIGSTOP);
	if (strcmp(argv[1], "outlived") == 0) {
		run_outlived(recorder);
		finish(argv[2]);
	}
	if (strcmp(argv[1], "together") == 0)
		run_together(argv[2]);
	for (int i = 0; i < TURNS && strcmp(argv[1], "together") != 0; i++) {
		pid_t child = fork();

		if (child == 0)
			take_turn(argv[0], argv[1], argv[2]);
		waitpid(child, NULL, 0);
		if (strcmp(argv[1], "parent") == 0) {
			hold();
			give_back();
		}
	}
	kill(recorder, SIGCONT);
	return 0;
}
