/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates on coroutines that are switched at any depth, in signal handlers on their own stack, in
 * threads that come and go, and in libraries that are loaded and unloaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 16, STACK_BYTES = 128 << 10, ROUNDS = 3000 };

static ucontext_t scheduler, coroutines[COROUTINES];
static unsigned current, random_state = 1;

static unsigned draw(unsigned limit)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 16) % limit;
}

/* The compiler would leave out what is freed unused. */
static void *allocate(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static int compare(const void *a, const void *b)
{
	free(allocate(16));
	return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static unsigned descend(unsigned depth, int may_switch)
{
	volatile char *room = __builtin_alloca(16 + 8 * draw(40));
	char *kept = allocate(1 + draw(200));
	char letters[] = "unwinding";
	unsigned sum = depth;

	room[0] = (char)depth;
	if (may_switch && draw(4) == 0)
		swapcontext(&coroutines[current], &scheduler);
	if (depth > 0 && draw(8) != 0)
		sum += descend(depth - 1, may_switch) + descend(depth / 2, may_switch);
	else
		qsort(letters, sizeof(letters) - 1, 1, compare);
	free(kept);
	return sum + (unsigned)room[0];
}

static void run_coroutine(void)
{
	for (;;)
		descend(8, 1);
}

static void *run_thread(void *unused)
{
	descend(5, 0);
	return unused;
}

static void handle(int signal)
{
	(void)signal;
	free(allocate(100)); /* sent by raise(): nothing is half done */
}

int main(void)
{
	stack_t alternative = { .ss_sp = malloc(64 << 10), .ss_size = 64 << 10 };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternative, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		coroutines[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&coroutines[i], run_coroutine, 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		current = draw(COROUTINES);
		swapcontext(&scheduler, &coroutines[current]);
		if (i % 10 == 0)
			raise(SIGUSR1);
		if (i % 50 == 0) {
			pthread_t thread;

			pthread_create(&thread, NULL, run_thread, NULL);
			pthread_join(thread, NULL);
		}
		if (i % 100 == 0) {
			void *library = dlopen("libz.so.1", RTLD_NOW);

			if (library != NULL)
				dlclose(library);
		}
		descend(3, 0);
	}
	return 0;
}
