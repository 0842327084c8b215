/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agreement_program WHAT - the sessions that test_agreement.py records.  Sizes are such that live
 * memory, the peak and what processes leave at their exits are different numbers in each session.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

static void keep(long count, size_t size_bytes)
{
	for (long i = 0; i < count; i++)
		call_malloc(size_bytes);
}

static void grow_and_shrink(long count, size_t size_bytes)
{
	void **blocks = calloc((size_t)count, sizeof(*blocks));

	for (long i = 0; i < count; i++)
		blocks[i] = call_malloc(size_bytes);
	for (long i = 0; i < count; i++)
		call_free(blocks[i]);
	free(blocks);
}

static void churn(long count, size_t size_bytes)
{
	for (long i = 0; i < count; i++)
		call_free(call_malloc(size_bytes));
}

static void work(void)
{
	keep(300, 1000);
	grow_and_shrink(500, 3000);
	churn(2000, 100);
	keep(20, 20000);
}

/* Children hold what they inherit; the parent waits for them all. */
static int make_children(int count)
{
	work();
	for (int i = 0; i < count; i++) {
		if (fork() != 0)
			continue;
		keep(100, 500 + (size_t)i * 10);
		churn(100, 2000);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	keep(10, 5000);
	return 0;
}

/* The child holds what it inherited for longer than its parent. */
static int outlive(void)
{
	keep(500, 1000);
	if (fork() == 0) {
		usleep(400000);
		_exit(0);
	}
	usleep(100000);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "work") == 0) {
		work();
	} else if (strcmp(what, "forks") == 0) {
		return make_children(30);
	} else if (strcmp(what, "heir") == 0) {
		return outlive();
	} else if (strcmp(what, "many") == 0) {
		keep(3000, 1000);
		usleep(200000);
		keep(3000, 1000);
		usleep(100000);
	} else if (strcmp(what, "killed") == 0) {
		work();
		raise(SIGKILL);
	} else if (strcmp(what, "lossy") == 0) {
		churn(300000, 64);
		work();
	} else {
		fprintf(stderr, "agreement_program: no '%s'\n", what);
		return 2;
	}
	return 0;
}
