/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized_program - is built with a sanitizer, and does what its runtime watches.
 *
 * It allocates in two threads, sets a handler, maps memory, forks, and prints "done".  With the
 * argument `leak` it leaks; with another one it reads memory that it has freed.  The sanitizer
 * reports both.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile blocks[2][1000];

static void *allocate(void *to)
{
	for (int i = 0; i < 1000; i++)
		((void *volatile *)to)[i] = malloc(1000 + (size_t)i);
	for (int i = 0; i < 1000; i++)
		free(((void *volatile *)to)[i]);
	return NULL;
}

__attribute__((noinline)) static void leak_here(int i)
{
	blocks[0][i] = malloc(1234);
	blocks[0][i] = NULL;
}

static void on_signal(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;
	char *text;
	void *pages;
	int status;

	if (argc > 1 && strcmp(argv[1], "leak") == 0) {
		for (int i = 0; i < 64; i++)
			leak_here(i);
		return 0;
	}
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	pages = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || pthread_create(&thread, NULL, allocate, (void *)blocks[0]) != 0)
		return 2;
	allocate((void *)blocks[1]);
	pthread_join(thread, NULL);
	munmap(pages, 4096);
	if (fork() == 0) {
		allocate((void *)blocks[0]);
		_exit(3);
	}
	if (wait(&status) < 0 || WEXITSTATUS(status) != 3)
		return 2;
	text = strdup("done");
	puts(text);
	fflush(stdout);
	free(text);
	/* With an argument, the mistake that the sanitizer is to report. */
	// cppcheck-suppress deallocret
	return argc > 1 ? ((volatile char *)text)[1] != 0 : 0;
}
