/* SPDX-License-Identifier: Apache-2.0 */
/* trap_removal - a child process that stops the threads and changes the code (trap_removal.h). */
#include "attach/trap_removal.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/held_threads.h"
#include "attach/tracer.h"
#include "base/atomic.h"
#include "record/process/proc_file.h"

enum { PASSES_MAX = 100 };

/* Runs in the child.  When it ends, the kernel lets all threads run on. */
_Noreturn static void run_child(const struct gg_remote_memory *memory,
                                uint32_t (*change)(void *argument), void *argument)
{
	static struct gg_trap_plan none;
	static struct gg_held_threads held;
	static struct gg_tracer tracer;
	sigset_t all;
	uint32_t count;

	signal(SIGCHLD, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	gg_tracer_init(&tracer, memory, &none);
	/* Also if it could not be certain of all of them in time. */
	if (gg_tracer_seize(&tracer, NULL) == 0 || tracer.tracees.count > 0)
		gg_held_threads_take(&held, &tracer);
	count = change(argument);
	gg_held_threads_release(&held, &tracer);
	_exit((int)count);
}

uint32_t gg_trap_removal_change(const struct gg_remote_memory *memory,
                                uint32_t (*change)(void *argument), void *argument)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		run_child(memory, change, argument);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : change(argument);
}

/* --- the traps of a plan --- */

struct removal {
	struct gg_trap_plan *plan;
	const struct gg_remote_memory *memory;
};

static uint32_t remove_plan(void *argument)
{
	const struct removal *removal = argument;

	gg_trap_plan_remove(removal->plan, removal->memory);
	return 0;
}

void gg_trap_removal_run(struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	struct removal removal = { plan, memory };

	/* Pairs with the stores of the process that planted the traps. */
	if (gg_load_acquire(&plan->is_planted) != 0)
		gg_trap_removal_change(memory, remove_plan, &removal);
}

/* --- copies --- */

struct copy {
	const struct gg_trap_plan *plan;
	const struct gg_remote_memory *memory;
};

static uint32_t clean_copy(void *argument)
{
	const struct copy *copy = argument;

	return gg_trap_plan_clean(copy->plan, copy->memory);
}

/* Cleans each process once.  Returns how many words were written. */
static uint32_t clean_all(const struct gg_trap_plan *plan)
{
	DIR *processes = opendir("/proc");
	struct gg_remote_memory memory;
	uint32_t count = 0, pid;

	while (processes != NULL && (pid = gg_proc_file_next_number(processes)) != 0) {
		struct copy copy = { plan, &memory };

		if (gg_remote_memory_open(&memory, (pid_t)pid, NULL) < 0)
			continue;
		if (gg_trap_plan_count(plan, &memory) > 0)
			count += gg_trap_removal_change(&memory, clean_copy, &copy);
		gg_remote_memory_close(&memory);
	}
	if (processes != NULL)
		closedir(processes);
	return count;
}

/* A copy may be forked from a copy meanwhile, so the last pass is one that finds none. */
void gg_trap_removal_clean_copies(const struct gg_trap_plan *plan)
{
	for (int i = 0; i < PASSES_MAX; i++)
		if (clean_all(plan) == 0)
			return;
}
