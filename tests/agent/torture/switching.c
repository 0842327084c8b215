/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switching - gives each worker a coroutine, whose stack is a block itself.
 *
 * After each operation the coroutine switches back to the worker, which resumes it later.
 * Meanwhile only the coroutine's stack has the address of a block.
 */
#include <stdlib.h>
#include <ucontext.h>

#include "agent/torture/torture.h"

enum { STACK_BYTES = 192 * 1024 };

struct coroutine {
	ucontext_t here, caller;
	struct worker *worker;
	uint64_t number;
	bool runs, ends;
	unsigned char *stack;
};

static void leave(struct coroutine *coroutine)
{
	swapcontext(&coroutine->here, &coroutine->caller);
}

static void run(unsigned int high, unsigned int low)
{
	struct coroutine *coroutine = (struct coroutine *)(uintptr_t)((uint64_t)high << 32 | low);

	while (!coroutine->ends) {
		struct dice dice = { torture_mix(coroutine->number, 11) };
		unsigned char *block = torture_make(&dice);

		torture_operate(coroutine->worker, coroutine->number);
		leave(coroutine); /* with a block that this stack alone knows */
		torture_drop(block);
	}
	leave(coroutine);
}

static void make(struct worker *worker)
{
	struct coroutine *coroutine = calloc(1, sizeof(*coroutine));

	if (coroutine == NULL || (coroutine->stack = malloc(STACK_BYTES)) == NULL ||
	    getcontext(&coroutine->here) < 0)
		torture_fail("no coroutine");
	coroutine->worker = worker;
	coroutine->here.uc_stack.ss_sp = coroutine->stack;
	coroutine->here.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine->here, (void (*)(void))run, 2,
	            (unsigned int)((uintptr_t)coroutine >> 32), (unsigned int)(uintptr_t)coroutine);
	worker->coroutine = coroutine;
}

void torture_resume(struct worker *worker, uint64_t number)
{
	struct coroutine *coroutine;

	if (worker->coroutine == NULL)
		make(worker);
	coroutine = worker->coroutine;
	if (coroutine->runs) { /* this is it */
		torture_operate(worker, number);
		return;
	}
	coroutine->number = number;
	coroutine->runs = true;
	swapcontext(&coroutine->caller, &coroutine->here);
	coroutine->runs = false;
}

void torture_end_coroutine(struct worker *worker)
{
	if (worker->coroutine == NULL)
		return;
	worker->coroutine->ends = true;
	torture_resume(worker, 0);
	free(worker->coroutine->stack);
	free(worker->coroutine);
	worker->coroutine = NULL;
}
