/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_program MODE [ARGUMENT]... - does what makes the agent dump, for tests of triggers.
 *
 *   threads COUNT BLOCKS BYTES   threads that allocate and free
 *   steps                        30 blocks of 10 MB, freed, and again
 *   leak                         10 blocks of 100 kB, and "out" in a buffer of stdio
 *   leak-error                   the same with an exit status, asked for through the interface
 *   handler                      a handler of its own for SIGUSR2, and three of these
 *   idle                         no allocation until SIGTERM
 *   storm COUNT                  SIGUSR2 into threads that allocate
 *   fork                         a child allocates as well
 *   forks COUNT                  children, while other threads allocate and dump
 *   forever                      allocates until it is killed
 *   limit BYTES                  the same as threads with a limit for the size of files
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/agent_functions.h"

static size_t block_count, block_bytes;

__attribute__((noinline)) static void *allocate(size_t bytes)
{
	return malloc(bytes);
}

static void *work(void *nothing)
{
	for (size_t i = 0; i < block_count; i++)
		free(allocate(block_bytes));
	return nothing;
}

static void run_threads(int count)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void take_steps(void)
{
	static void *blocks[30];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 30; i++)
			blocks[i] = allocate(10000000);
		for (int i = 0; i < 30; i++)
			free(blocks[i]);
	}
}

static void leak(void)
{
	void *volatile block; /* volatile, so that no compiler removes the allocation */

	for (int i = 0; i < 10; i++)
		block = allocate(100000);
	(void)block;
	printf("out\n");
}

static void ask_for_leak_error(void)
{
	const struct gg_agent_functions *const *agent = dlsym(RTLD_DEFAULT,
	                                                      "geiger_agent_interface");
	static const struct gg_agent_triggers triggers = { .leak = true, .leak_error = true };

	if (agent == NULL || (*agent)->set_triggers(&triggers) != 0)
		exit(3);
}

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
	handled += signal == SIGUSR2;
}

/* Prints whether sigaction() and signal() return the program's own handler. */
static void handle(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;

	sigaction(SIGUSR2, NULL, &old);
	printf("before: %s\n", old.sa_handler == SIG_DFL ? "default" : "another");
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	sigaction(SIGUSR2, NULL, &old);
	printf("after: %s\n", old.sa_handler == on_signal ? "its own" : "another");
	printf("signal: %s\n", signal(SIGUSR2, on_signal) == on_signal ? "its own" : "another");
	raise(SIGUSR2);
	raise(SIGUSR2);
	printf("handled: %d\n", (int)handled);
	signal(SIGUSR2, SIG_DFL);
	raise(SIGUSR2);
	signal(SIGUSR2, SIG_IGN);
	raise(SIGUSR2);
	printf("alive\n");
}

static atomic_bool is_over;

static void *allocate_until_over(void *nothing)
{
	while (!atomic_load(&is_over))
		free(allocate(1000));
	return nothing;
}

static atomic_ulong storm_rounds[4];

static void *allocate_in_storm(void *number)
{
	for (; !atomic_load(&is_over); atomic_fetch_add(&storm_rounds[(size_t)number], 1))
		free(allocate(1000));
	return NULL;
}

/* The next one comes to a thread when it has had its last: two that wait for it are one. */
static void raise_storm(int count)
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate_in_storm, (void *)i);
	for (int i = 0; i < count; i++) {
		unsigned long before = atomic_load(&storm_rounds[i % 4]);

		pthread_kill(threads[i % 4], SIGUSR2);
		do
			usleep(500);
		while (atomic_load(&storm_rounds[i % 4]) < before + 2);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void fork_and_work(void)
{
	pid_t child = fork();

	work(NULL);
	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
}

static int fork_many(int count)
{
	pthread_t threads[4];
	int failed = 0, status;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate_until_over, NULL);
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			work(NULL);
			_exit(0);
		}
		failed += waitpid(child, &status, 0) != child || status != 0;
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return failed;
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	setrlimit(RLIMIT_FSIZE, &limit);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	block_count = argc > 3 ? (size_t)atol(argv[3]) : 1000;
	block_bytes = argc > 4 ? (size_t)atol(argv[4]) : 1000;
	if (strcmp(mode, "threads") == 0) {
		run_threads(atoi(argv[2]));
	} else if (strcmp(mode, "steps") == 0) {
		take_steps();
	} else if (strcmp(mode, "leak") == 0) {
		leak();
	} else if (strcmp(mode, "leak-error") == 0) {
		ask_for_leak_error();
		leak();
	} else if (strcmp(mode, "handler") == 0) {
		handle();
	} else if (strcmp(mode, "idle") == 0) {
		if (write(1, "ready\n", 6) < 0)
			return 3;
		for (;;)
			pause();
	} else if (strcmp(mode, "storm") == 0) {
		raise_storm(atoi(argv[2]));
	} else if (strcmp(mode, "fork") == 0) {
		fork_and_work();
	} else if (strcmp(mode, "forks") == 0) {
		return fork_many(atoi(argv[2]));
	} else if (strcmp(mode, "forever") == 0) {
		block_count = SIZE_MAX;
		run_threads(4);
	} else if (strcmp(mode, "limit") == 0) {
		limit_files((rlim_t)atol(argv[2]));
		run_threads(2);
	} else {
		return 2;
	}
	return 0;
}
