/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture - runs the workers, and chooses their operations (torture.h has the program's purpose).
 */
#include "agent/torture/torture.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dlfcn.h>

enum {
	MODULES = 3,
	SHORT_OPERATIONS = 12, /* of a thread that lives for one operation */
};

bool torture_is_safe, torture_is_stray;
const char *torture_program;
__thread volatile sig_atomic_t torture_closed = 1;
__thread volatile sig_atomic_t torture_may_stray;

static pthread_key_t ending_key;

uint64_t torture_mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) + UINT64_C(0xd1b54a32d192ed03);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Below that; 0: all 64 bits. */
uint64_t torture_draw(struct dice *dice, uint64_t below)
{
	dice->state = torture_mix(dice->state, below);
	return below == 0 ? dice->state : dice->state % below;
}

void torture_fail(const char *what)
{
	dprintf(STDERR_FILENO, "torture: process %d: %s\n", (int)getpid(), what);
	raise(SIGQUIT);
	abort();
}

static void print_stack(int signal)
{
	void *frames[64];
	int saved_errno = errno;

	(void)signal;
	dprintf(STDERR_FILENO, "process %d, thread %d:\n", (int)getpid(), (int)syscall(SYS_gettid));
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
	errno = saved_errno;
}

static void allocate_in_handler(int signal)
{
	int saved_errno = errno;

	(void)signal;
	if (torture_is_safe || torture_closed == 0)
		torture_make_and_drop();
	if (torture_is_safe && torture_may_stray != 0)
		torture_fork_in_handler();
	errno = saved_errno;
}

/* --- operations --- */

static void on_block(struct worker *worker, struct dice *dice)
{
	unsigned char **place = &worker->own[torture_draw(dice, OWN_BLOCKS)];
	uint64_t what = torture_draw(dice, 8);

	if (what < 3) {
		torture_drop(*place);
		*place = torture_make(dice);
	} else if (what == 3) {
		torture_drop(*place);
		*place = NULL;
	} else if (what == 4 && *place != NULL) {
		*place = torture_grow(dice, *place);
	} else if (what < 7) {
		/* Another thread moves or frees it, and this one another's. */
		*place = torture_swap_shared(dice, *place);
		if (*place != NULL && what == 5)
			*place = torture_grow(dice, *place);
	} else {
		torture_drop(torture_swap_shared(dice, torture_make(dice)));
	}
}

/* Frames that the compiler keeps, of changing sizes. */
__attribute__((noinline)) static void deep(struct worker *worker, uint64_t number, uint64_t left)
{
	volatile unsigned char frame[200];

	frame[left % sizeof(frame)] = 1;
	if (left == 0)
		torture_operate(worker, number);
	else
		deep(worker, number, left - 1);
	frame[0] = frame[left % sizeof(frame)];
}

static void map(struct dice *dice)
{
	size_t bytes = 4096 * (1 + torture_draw(dice, 64));
	unsigned char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                        -1, 0);

	if (p == MAP_FAILED)
		torture_fail("mmap");
	p[bytes - 1] = 9;
	p = mremap(p, bytes, bytes * 2, MREMAP_MAYMOVE);
	if (p == MAP_FAILED || p[bytes - 1] != 9 || munmap(p, bytes * 2) < 0)
		torture_fail("mremap");
}

/* A thread of one operation: the rest of its life is beginning and ending. */
struct task {
	struct worker worker;
	uint64_t number;
};

/* After the agent's own destructor, and once more. */
static void end_late(void *value)
{
	torture_make_and_drop();
	if (value == (void *)1)
		pthread_setspecific(ending_key, (void *)2);
}

static void *live_shortly(void *argument)
{
	struct task *task = argument;

	pthread_setspecific(ending_key, (void *)1);
	for (uint64_t i = 0; i < SHORT_OPERATIONS; i++)
		torture_operate(&task->worker, task->number + i);
	torture_end(&task->worker);
	return NULL;
}

static void drop_at_cancellation(void *block)
{
	torture_drop(block);
}

static void *wait_for_cancellation(void *argument)
{
	struct task *task = argument;
	struct dice dice = { task->number };

	pthread_cleanup_push(drop_at_cancellation, torture_make(&dice));
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return NULL;
}

static void run_thread(struct worker *worker, struct dice *dice)
{
	struct task task = { .number = torture_draw(dice, 0) };
	bool is_canceled = torture_draw(dice, 5) == 0;
	pthread_t thread;

	torture_begin(&task.worker, task.number, worker->power);
	task.worker.depth = worker->depth + 1;
	if (pthread_create(&thread, NULL, is_canceled ? wait_for_cancellation : live_shortly,
	                   &task) != 0)
		torture_fail("pthread_create");
	torture_operate(worker, task.number + 100);
	if (is_canceled)
		pthread_cancel(thread);
	pthread_join(thread, NULL);
	worker->sum += task.worker.sum;
}

static unsigned char *operate_in_module(void *argument)
{
	struct task *task = argument;
	struct dice dice = { task->number };

	torture_operate(&task->worker, task->number);
	return torture_make(&dice);
}

/* Allocates through a module; the block outlives the module. */
static void use_module(struct worker *worker, struct dice *dice)
{
	struct task task = { .number = torture_draw(dice, 0) };
	unsigned char **place = &worker->own[torture_draw(dice, OWN_BLOCKS)];
	torture_module_call *call;
	char path[600];
	void *module;

	snprintf(path, sizeof(path), "%s/torture-module-%d.so", getenv("TORTURE_MODULES"),
	         (int)torture_draw(dice, MODULES));
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	call = module == NULL ? NULL : (torture_module_call *)dlsym(module, "torture_call");
	if (call == NULL)
		torture_fail("dlopen");
	torture_begin(&task.worker, task.number, worker->power);
	task.worker.depth = worker->depth;
	torture_drop(*place);
	*place = call(operate_in_module, &task);
	torture_end(&task.worker);
	worker->sum += task.worker.sum;
	dlclose(module);
}

static void rename_thread(struct dice *dice)
{
	char name[16];

	snprintf(name, sizeof(name), "torture %d", (int)torture_draw(dice, 99));
	prctl(PR_SET_NAME, name);
}

/* Does one operation.  If the worker may not do it, or is too deep, it uses a block. */
static void operate(struct worker *worker, struct dice *dice, uint64_t number)
{
	uint64_t kind = torture_draw(dice, 1000);

	if (kind < 800 || worker->depth > DEPTH_MAX) {
		torture_may_stray = 1;
		on_block(worker, dice);
		torture_may_stray = 0;
	} else if (kind < 840) {
		deep(worker, number + 1, torture_draw(dice, 150));
	} else if (kind < 870) {
		torture_throw(worker, number, (int)torture_draw(dice, 6));
	} else if (kind < 900) {
		torture_resume(worker, number + 1);
	} else if (kind < 920) {
		map(dice);
	} else if (kind < 940) {
		raise(SIGUSR1);
	} else if (kind < 945) {
		rename_thread(dice);
	} else if (kind < 965 && worker->power >= POWER_ALL) {
		run_thread(worker, dice);
	} else if (kind < 988 && worker->power >= POWER_ALL) {
		use_module(worker, dice);
	} else if (kind < 996 && worker->power >= POWER_CHILDREN) {
		torture_child(worker, dice);
	} else if (worker->power >= POWER_ALL) {
		torture_program_child(worker, dice);
	} else {
		on_block(worker, dice);
	}
	worker->sum += torture_mix(kind, number);
}

void torture_operate(struct worker *worker, uint64_t number)
{
	struct dice dice = { torture_mix(worker->seed, number) };

	worker->depth++;
	operate(worker, &dice, number);
	worker->depth--;
	if (torture_is_stray)
		_exit(0);
}

void torture_begin(struct worker *worker, uint64_t seed, enum power power)
{
	*worker = (struct worker){ .seed = seed, .power = power };
}

void torture_end(struct worker *worker)
{
	torture_end_coroutine(worker);
	for (int i = 0; i < OWN_BLOCKS; i++)
		torture_drop(worker->own[i]);
	memset(worker->own, 0, sizeof(worker->own));
}

/* --- rounds --- */

struct job {
	struct worker worker;
	int operations;
	bool is_done;
	pthread_t thread;
};

static void *work(void *argument)
{
	struct job *job = argument;

	for (int i = 0; i < job->operations; i++)
		torture_operate(&job->worker, (uint64_t)i << 20);
	torture_end(&job->worker);
	__atomic_store_n(&job->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Sends signals to the workers until all are done. */
static void pester(struct job jobs[WORKERS])
{
	for (bool any = true; any;) {
		any = false;
		for (int i = 0; i < WORKERS; i++)
			if (!__atomic_load_n(&jobs[i].is_done, __ATOMIC_ACQUIRE)) {
				pthread_kill(jobs[i].thread, SIGUSR1);
				any = true;
			}
		usleep(2000);
	}
}

uint64_t torture_round(uint64_t seed, int operations)
{
	struct job *jobs = calloc(WORKERS, sizeof(*jobs));
	uint64_t sum = 0;

	for (int i = 0; i < WORKERS; i++) {
		torture_begin(&jobs[i].worker, torture_mix(seed, (uint64_t)i), POWER_ALL);
		jobs[i].operations = operations;
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) != 0)
			torture_fail("pthread_create");
	}
	pester(jobs);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(jobs[i].thread, NULL);
		sum += jobs[i].worker.sum;
	}
	torture_drop_shared();
	torture_reap_strays();
	free(jobs);
	return sum;
}

static void handle_signals(void)
{
	struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_RESTART };
	void *frame;

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = print_stack;
	sigaction(SIGQUIT, &action, NULL);
	action.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	backtrace(&frame, 1); /* what it loads, it loads now */
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, sum = 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;

	torture_program = argv[0];
	torture_is_safe = getenv("TORTURE_SAFE") != NULL;
	pthread_key_create(&ending_key, end_late);
	handle_signals();
	for (int i = 0; i < rounds; i++) {
		sum += torture_round(torture_mix(seed, (uint64_t)i), OPERATIONS);
		printf("round %d: %016llx\n", i, (unsigned long long)sum);
		fflush(stdout);
		/* Nobody else runs now. */
		for (int kind = 0; kind < 3; kind++)
			torture_full_child(torture_mix(sum, (uint64_t)kind), kind);
	}
	return (int)(sum % 100) + 3;
}
