/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin_program [STEPS] - makes the same allocations in each run.
 *
 * Several places in several threads allocate.  The program frees most blocks, some of them in other
 * threads than those that allocated, and ends without freeing the rest.  Threads begin one after
 * the other, so that each has the same stream of samples in each run.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

#include "random.h"

enum { THREADS = 3, KEPT = 3000, STEPS_MAX = 20000 };

struct place {
	void *(*allocate)(uint64_t random);
	unsigned kept_percent;
};

/* Places differ in their sizes; each is a function of its own with a call of its own. */
#define PLACE(name, call)                                            \
	__attribute__((noinline)) static void *name(uint64_t random) \
	{                                                            \
		void *volatile p = call;                             \
                                                                     \
		return p;                                            \
	}

PLACE(small, malloc(16 + random % 16))
PLACE(middle, malloc(100 + random % 1000))
PLACE(large, malloc(5000 + random % 60000))
PLACE(zeroed, calloc(1 + random % 7, 100))
PLACE(grown, realloc(malloc(100 + random % 100), 400 + random % 3000))
PLACE(nothing, malloc(random % 2))

static void *(*const places[])(uint64_t) = { small, middle, large, zeroed, grown, nothing };
static const unsigned kept_percent[] = { 50, 30, 2, 10, 10, 5 };

static void *mailboxes[THREADS][KEPT]; /* what a thread leaves for the next one to free */
static void *kept[THREADS][STEPS_MAX];
static unsigned steps = STEPS_MAX; /* of each thread */
static pthread_barrier_t barrier;
static sem_t has_begun;

static void *allocate(void *argument)
{
	uintptr_t self = (uintptr_t)argument;
	uint64_t random = 88172645463325252u + self;
	unsigned mail = 0;

	for (unsigned i = 0; i < steps; i++) {
		uint64_t r = random_next(&random);
		unsigned place = r % 6;
		void *p = places[place](r >> 8);

		if (i == 0)
			sem_post(&has_begun);
		if (r >> 40 % 100 != 0 && (r >> 32) % 100 < kept_percent[place])
			kept[self][i] = p;
		else if ((r >> 48) % 8 == 0 && mail < KEPT)
			mailboxes[self][mail++] = p;
		else
			free(p);
	}
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < KEPT; i++)
		free(mailboxes[(self + 1) % THREADS][i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		steps = (unsigned)atoi(argv[1]);
	if (steps > STEPS_MAX)
		return 2;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 1; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, allocate, (void *)i);
		while (sem_wait(&has_begun) != 0)
			;
	}
	allocate((void *)0);
	for (int i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
