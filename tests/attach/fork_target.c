/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_target - makes processes in each way, at the request of a test.
 *
 *   fork_target
 *
 * Prints its pid.  Each line of its input is a way to make a child, whose pid it prints: "fork",
 * "clone" and "vfork" make children that wait in pause(), and "forkloop" one that sleeps and
 * allocates a little.  A thread of its own allocates all the time.  At the end of the input all
 * children end, and it exits with 0 if their contents and statuses are right.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN_MAX = 16, BLOCK_BYTES = 200 };

static volatile sig_atomic_t is_over;
static pid_t children[CHILDREN_MAX];
static int child_count;

static void end_all(int signal)
{
	(void)signal;
	is_over = 1;
}

/* In a vfork child: no function of the program that changes its memory may run. */
__attribute__((noreturn)) static void end_now(int signal)
{
	(void)signal;
	_exit(0);
}

/* A table in data, which the loader fills. */
static struct {
	void *(*allocate)(size_t bytes);
	void (*release)(void *block);
} volatile calls = { malloc, free };

static void use_block(void)
{
	unsigned char *block = calls.allocate(BLOCK_BYTES);

	if (block == NULL)
		_exit(3);
	memset(block, 0x5a, BLOCK_BYTES);
	for (int i = 0; i < BLOCK_BYTES; i++)
		if (block[i] != 0x5a)
			_exit(4);
	calls.release(block);
	free(malloc(1));
}

static void *allocate(void *unused)
{
	for (;;) {
		use_block();
		usleep(1000);
	}
	return unused;
}

/* Without stdio, because a child inherits its buffers. */
static void print_pid(pid_t pid)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		_exit(5);
}

__attribute__((noreturn)) static void wait_here(void)
{
	while (!is_over)
		pause();
	_exit(0);
}

__attribute__((noreturn)) static void allocate_here(void)
{
	while (!is_over) {
		use_block();
		usleep(20000);
	}
	_exit(0);
}

static void add_child(pid_t pid)
{
	if (pid < 0 || child_count == CHILDREN_MAX)
		_exit(6);
	children[child_count++] = pid;
	print_pid(pid);
}

/* The parent waits until this child ends, so the child prints its pid by itself. */
static void make_vforked(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		signal(SIGTERM, end_now);
		print_pid(getpid());
		for (;;)
			pause();
	}
	signal(SIGTERM, end_all);
	if (waitpid(pid, NULL, 0) != pid)
		_exit(7);
}

static void make_child(const char *way)
{
	bool is_clone = strcmp(way, "clone") == 0;
	pid_t pid;

	use_block();
	if (strcmp(way, "vfork") == 0) {
		make_vforked();
		return;
	}
	pid = is_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (pid == 0 && strcmp(way, "forkloop") == 0)
		allocate_here();
	if (pid == 0)
		wait_here();
	add_child(pid);
}

int main(void)
{
	pthread_t thread;
	char line[32];
	int status;

	signal(SIGTERM, end_all);
	if (pthread_create(&thread, NULL, allocate, NULL) != 0)
		return 2;
	print_pid(getpid());
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		make_child(line);
	}
	for (int i = 0; i < child_count; i++) {
		kill(children[i], SIGTERM);
		if (waitpid(children[i], &status, 0) != children[i] || status != 0) {
			printf("child %d ended with status %d\n", i, status);
			return 1;
		}
	}
	return 0;
}
