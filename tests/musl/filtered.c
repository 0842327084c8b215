/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filtered - allocates in a new thread under a filter of system calls that kills for gettid().
 *
 * musl has no headers of the kernel, so its numbers stand here.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { NO_NEW_PRIVILEGES = 38, SECCOMP = 22, FILTER = 2 };

struct filter_step {
	unsigned short code;
	unsigned char if_true, if_false;
	unsigned value;
};

struct filter {
	unsigned short count;
	struct filter_step *steps;
};

__attribute__((noinline)) static void *allocate(void *unused)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	return unused;
}

int main(void)
{
	struct filter_step steps[] = {
		{ 0x20, 0, 0, 0 },           /* loads the number of the call */
		{ 0x15, 0, 1, SYS_gettid },  /* is it this one? */
		{ 0x06, 0, 0, 0x80000000u }, /* then the process ends */
		{ 0x06, 0, 0, 0x7fff0000u }, /* all else is allowed */
	};
	struct filter filter = { 4, steps };
	pthread_t thread;

	if (prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 || prctl(SECCOMP, FILTER, &filter, 0, 0) != 0)
		return 3;
	if (pthread_create(&thread, NULL, allocate, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 4;
	allocate(NULL);
	puts("finished");
	return 0;
}
