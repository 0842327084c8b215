/* SPDX-License-Identifier: Apache-2.0 */
/* children - makes children of every kind while other threads work, also in signal handlers. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/torture/torture.h"

extern char **environ;

/* Since glibc 2.34; calls no handlers of pthread_atfork(). */
extern pid_t _Fork(void) __attribute__((weak));

enum {
	CHILD_OPERATIONS = 25,
	ROUND_OPERATIONS = 150, /* of each worker of a child that does a round of its own */
	STRAYS_MAX = 60         /* of a process */
};

static pid_t clone_bare(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t fork_as(int kind)
{
	if (kind == 1)
		return clone_bare();
	if (kind == 2 && _Fork != NULL)
		return _Fork();
	return fork();
}

static void must_end(pid_t child, int exit_status)
{
	int status = -1;
	pid_t ended;

	if (child < 0)
		torture_fail("no child");
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != exit_status)
		torture_fail("a child ended in another way than it must");
}

/* In a child: other threads are gone, in the midst of what they did. */
static _Noreturn void live(struct worker *worker, uint64_t number, enum power power,
                           int exit_status)
{
	worker->power = power;
	if (power != POWER_NONE) {
		for (uint64_t i = 0; i < CHILD_OPERATIONS; i++)
			torture_operate(worker, number + (i << 8));
		for (int i = 0; i < OWN_BLOCKS; i++) {
			torture_drop(worker->own[i]);
			worker->own[i] = NULL;
		}
		torture_drop_shared();
	}
	_exit(exit_status);
}

void torture_child(struct worker *worker, struct dice *dice)
{
	int kind = (int)torture_draw(dice, 5), exit_status = 3 + (int)torture_draw(dice, 90);
	uint64_t number = torture_draw(dice, 0);
	enum power power = POWER_CHILDREN;
	pid_t child;

	/* Only fork() lets a child of threads allocate, unless the allocator has no locks. */
	if (kind == 1 || kind == 2)
		power = torture_is_safe ? POWER_BLOCKS : POWER_NONE;
	else
		kind = 0;
	child = fork_as(kind);
	if (child == 0)
		live(worker, number, power, exit_status);
	must_end(child, exit_status);
}

static pid_t vfork_true(bool allocates)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t child;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
#pragma GCC diagnostic pop
	if (child == 0) {
		if (allocates)
			torture_make_and_drop(); /* in its parent's memory */
		execv("/bin/true", argv);
		_exit(9);
	}
	return child;
}

/* Itself, with nothing to do: exit status 3. */
static pid_t fork_and_execute(int kind)
{
	pid_t child = fork_as(kind);

	if (child == 0) {
		execl(torture_program, torture_program, "1", "0", (char *)NULL);
		_exit(9);
	}
	return child;
}

void torture_program_child(struct worker *worker, struct dice *dice)
{
	char *const argv[] = { (char *)"true", NULL };
	int kind = (int)torture_draw(dice, 6);
	pid_t child = -1;

	if (kind == 0)
		child = vfork_true(false);
	else if (kind == 1)
		child = vfork_true(true);
	else if (kind == 2 && posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) != 0)
		torture_fail("posix_spawn");
	else if (kind > 2)
		child = fork_and_execute(kind - 3);
	torture_operate(worker, torture_draw(dice, 0));
	must_end(child, kind > 2 ? 3 : 0);
}

void torture_full_child(uint64_t seed, int kind)
{
	pid_t child = fork_as(kind);

	if (child == 0) {
		struct worker worker;

		if (kind != 1)
			_exit(3 + (int)(torture_round(seed, ROUND_OPERATIONS) % 2));
		/* libc does not know of this one: no threads. */
		torture_begin(&worker, seed, POWER_BLOCKS);
		live(&worker, seed, POWER_BLOCKS, 3);
	}
	if (child < 0)
		torture_fail("no child");
	int status = -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) < 3 || WEXITSTATUS(status) > 4)
		torture_fail("a child that does a round has failed");
}

/* The child comes back, later than its parent, to what the handler interrupted; or it ends here. */
void torture_fork_in_handler(void)
{
	static int count;
	int mine;

	if (_Fork == NULL || torture_is_stray ||
	    (mine = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED)) >= STRAYS_MAX)
		return;
	if (_Fork() != 0)
		return;
	if (mine % 2 == 0)
		_exit(0);
	torture_is_stray = true;
	usleep(3000);
}

void torture_reap_strays(void)
{
	int status;

	while (waitpid(-1, &status, 0) > 0)
		if (status != 0)
			torture_fail("a child that a handler made has failed");
}
