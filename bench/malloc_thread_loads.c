/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_thread_loads - works of several threads (malloc_loads.c).
 *
 *   larson          servers: random blocks are replaced; what a thread leaves, the next one frees
 *   xmalloc         two threads allocate batches, two other ones free them
 *   scratch         each thread frees a block of the first one, and writes to its own small blocks
 *   thrash          each thread writes to its own small blocks
 *   mstress         threads that come and go, keep data for a while and swap it with each other
 *   pareto_threads  `pareto` in two threads
 *   rptest          threads that allocate up to 16 KiB, and free their own and other blocks
 *   glibc_thread    each thread replaces random blocks of 4 to 32 768 bytes, most of them small
 *   batches_remote  batches in order and in reverse, of which a part goes to another thread
 *   churn           2000 short threads, each of which frees what the one before it left
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "malloc_loads.h"

enum { THREADS = 4 };

/* Runs a function in so many threads; each gets its number from 0 on. */
static void run_threads(unsigned count, void *(*function)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, function, (void *)i) != 0) /* NOLINT */
			exit(1);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static uint64_t seed_of(const void *number)
{
	return 88172645463325252 + (uintptr_t)number * 7919;
}

/* Places that threads exchange blocks by. */
static void *exchange(void **place, void *block)
{
	return __atomic_exchange_n(place, block, __ATOMIC_ACQ_REL);
}

static void *filled(size_t bytes)
{
	char *block = malloc(bytes);

	block[0] = block[bytes - 1] = 1;
	return block;
}

/* larson */

enum { LARSON_BLOCKS = 1000, LARSON_EPOCHS = 60, LARSON_ROUNDS = 50000 };
static void *larson_blocks[THREADS][LARSON_BLOCKS];
static unsigned larson_epoch;

static void *larson_serve(void *number)
{
	void **blocks = larson_blocks[((uintptr_t)number + larson_epoch) % THREADS];
	uint64_t state = seed_of(number) + larson_epoch;

	for (unsigned i = 0; i < LARSON_ROUNDS; i++) {
		uint64_t random = load_random(&state);
		unsigned k = random % LARSON_BLOCKS;

		free(blocks[k]);
		blocks[k] = filled(8 + (random >> 32) % 993);
	}
	return NULL;
}

void load_larson(void)
{
	for (larson_epoch = 0; larson_epoch < LARSON_EPOCHS; larson_epoch++)
		run_threads(THREADS, larson_serve);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < LARSON_BLOCKS; k++)
			free(larson_blocks[i][k]);
}

/* xmalloc */

enum { BATCH = 120, BATCHES = 15000, WAITING_MOST = 200 };
struct batch {
	struct batch *next;
	void *blocks[BATCH];
};
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *first;
	unsigned waiting, ended;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void produce(uint64_t seed)
{
	for (unsigned i = 0; i < BATCHES; i++) {
		struct batch *batch = malloc(sizeof(*batch));

		for (unsigned k = 0; k < BATCH; k++)
			batch->blocks[k] = filled(16 + load_random(&seed) % 300);
		pthread_mutex_lock(&queue.lock);
		while (queue.waiting == WAITING_MOST)
			pthread_cond_wait(&queue.changed, &queue.lock);
		batch->next = queue.first;
		queue.first = batch;
		queue.waiting++;
		pthread_cond_broadcast(&queue.changed);
		pthread_mutex_unlock(&queue.lock);
	}
	pthread_mutex_lock(&queue.lock);
	queue.ended++;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static struct batch *take_batch(void)
{
	struct batch *batch;

	pthread_mutex_lock(&queue.lock);
	while (queue.first == NULL && queue.ended < THREADS / 2)
		pthread_cond_wait(&queue.changed, &queue.lock);
	batch = queue.first;
	if (batch != NULL) {
		queue.first = batch->next;
		queue.waiting--;
		pthread_cond_broadcast(&queue.changed);
	}
	pthread_mutex_unlock(&queue.lock);
	return batch;
}

static void *pass_batches(void *number)
{
	struct batch *batch;

	if ((uintptr_t)number % 2 == 0) {
		produce(seed_of(number));
		return NULL;
	}
	while ((batch = take_batch()) != NULL) {
		for (unsigned k = 0; k < BATCH; k++)
			free(batch->blocks[k]);
		free(batch);
	}
	return NULL;
}

void load_xmalloc(void)
{
	run_threads(THREADS, pass_batches);
}

/* scratch, thrash */

enum { SCRATCH_ROUNDS = 100000, SCRATCH_WRITES = 1500 };
static void *scratch_blocks[THREADS];

static void *write_blocks(void *number)
{
	free(scratch_blocks[(uintptr_t)number]);
	for (unsigned i = 0; i < SCRATCH_ROUNDS; i++) {
		volatile char *block = malloc(8);

		for (unsigned k = 0; k < SCRATCH_WRITES; k++)
			block[k % 8]++;
		free((void *)block); /* NOLINT */
	}
	return NULL;
}

void load_scratch(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		scratch_blocks[i] = malloc(8);
	run_threads(THREADS, write_blocks);
}

void load_thrash(void)
{
	memset(scratch_blocks, 0, sizeof(scratch_blocks));
	run_threads(THREADS, write_blocks);
}

/* mstress */

enum { STRESS_EPOCHS = 40, STRESS_ROUNDS = 40000, STRESS_KEPT = 4000, STRESS_SHARED = 1000 };
static void *stress_shared[STRESS_SHARED];

static size_t stress_size(uint64_t random)
{
	unsigned shift = random % 100 == 0 ? 4 + random / 100 % 8 : random % 7;

	return ((size_t)8 << shift) + (random >> 40) % ((size_t)8 << shift);
}

static void *stress(void *number)
{
	uint64_t state = seed_of(number);
	void **kept = calloc(STRESS_KEPT, sizeof(*kept));

	for (unsigned i = 0; i < STRESS_ROUNDS; i++) {
		uint64_t random = load_random(&state);
		void *block = filled(stress_size(random));

		if (random >> 30 & 1)
			free(block);
		else if (random >> 31 & 1)
			free(exchange(&stress_shared[(random >> 32) % STRESS_SHARED], block));
		else
			free(exchange(&kept[(random >> 32) % STRESS_KEPT], block));
	}
	for (unsigned i = 0; i < STRESS_KEPT; i++)
		free(kept[i]);
	free(kept);
	return NULL;
}

void load_mstress(void)
{
	for (unsigned i = 0; i < STRESS_EPOCHS; i++)
		run_threads(THREADS, stress);
	for (unsigned i = 0; i < STRESS_SHARED; i++)
		free(stress_shared[i]);
}

/* pareto_threads */

static void *replace_own(void *number)
{
	replace_pareto(seed_of(number), 6000000);
	return NULL;
}

void load_pareto_threads(void)
{
	run_threads(2, replace_own);
}

/* rptest */

enum { RP_ROUNDS = 80, RP_BLOCKS = 4000, RP_PLACES = 64 };
static void *rp_places[RP_PLACES];

static void free_list(void **list)
{
	for (unsigned i = 0; list != NULL && i < RP_BLOCKS / 4; i++)
		free(list[i]);
	free(list);
}

static void *allocate_and_pass(void *number)
{
	uint64_t state = seed_of(number);
	void **blocks = malloc(RP_BLOCKS * sizeof(*blocks));

	for (unsigned round = 0; round < RP_ROUNDS; round++) {
		void **list = malloc(RP_BLOCKS / 4 * sizeof(*list));

		for (unsigned i = 0; i < RP_BLOCKS; i++) {
			uint64_t random = load_random(&state);

			blocks[i] = filled(16 + (random >> 20) % (random % 8 == 0 ? 16000 : 1000));
		}
		for (unsigned i = 0; i < RP_BLOCKS / 4; i++)
			list[i] = blocks[4 * i];
		for (unsigned i = 0; i < RP_BLOCKS; i++)
			if (i % 4 != 0)
				free(blocks[i]);
		free_list(exchange(&rp_places[load_random(&state) % RP_PLACES], list));
	}
	free(blocks);
	return NULL;
}

void load_rptest(void)
{
	run_threads(THREADS, allocate_and_pass);
	for (unsigned i = 0; i < RP_PLACES; i++)
		free_list(rp_places[i]);
}

/* glibc_thread */

enum { GLIBC_SLOTS = 1024, GLIBC_ROUNDS = 6000000 };

static void *replace_as_glibc(void *number)
{
	uint64_t state = seed_of(number);
	void **slots = calloc(GLIBC_SLOTS, sizeof(*slots));

	for (unsigned i = 0; i < GLIBC_ROUNDS; i++) {
		uint64_t random = load_random(&state);
		unsigned slot = random % GLIBC_SLOTS,
			 k = (unsigned)__builtin_ctzll(random >> 10 | 1 << 13);

		free(slots[slot]);
		slots[slot] = filled(((size_t)4 << k) + (random >> 30) % ((size_t)4 << k));
	}
	for (unsigned i = 0; i < GLIBC_SLOTS; i++)
		free(slots[i]);
	free(slots);
	return NULL;
}

void load_glibc_thread(void)
{
	run_threads(THREADS, replace_as_glibc);
}

/* batches_remote */

enum { SH_ROUNDS = 9000, SH_BLOCKS = 900, SH_PLACES = 16 };
static void *sh_places[SH_PLACES];

/* A list of blocks, linked by their first words. */
static void free_chain(void *chain)
{
	while (chain != NULL) {
		void *next = *(void **)chain;

		free(chain);
		chain = next;
	}
}

static void *batch_blocks(void *number)
{
	static __thread void *blocks[SH_BLOCKS];
	uint64_t state = seed_of(number);

	for (unsigned round = 0; round < SH_ROUNDS; round++) {
		unsigned passed = round % 3 == 0 ? SH_BLOCKS / 10 : 0;
		void *chain = NULL;

		for (unsigned i = 0; i < SH_BLOCKS; i++)
			blocks[i] = malloc(8 + load_random(&state) % (i % 10 == 0 ? 1000 : 80));
		for (unsigned i = 0; i < passed; i++) {
			*(void **)blocks[i] = chain;
			chain = blocks[i];
		}
		for (unsigned i = passed; i < SH_BLOCKS; i++)
			free(blocks[round % 2 == 0 ? i : SH_BLOCKS - 1 - (i - passed)]);
		if (chain != NULL)
			free_chain(exchange(&sh_places[load_random(&state) % SH_PLACES], chain));
	}
	return NULL;
}

void load_batches_remote(void)
{
	run_threads(THREADS, batch_blocks);
	for (unsigned i = 0; i < SH_PLACES; i++)
		free_chain(sh_places[i]);
}

/* churn */

enum { CHURN_THREADS = 2000, CHURN_BLOCKS = 400 };

static void *churn(void *left)
{
	uint64_t state = seed_of(NULL);
	void *chain = NULL;

	free_chain(left);
	for (unsigned i = 0; i < CHURN_BLOCKS; i++) {
		void **block = malloc(16 + load_random(&state) % 2000);

		*block = chain;
		chain = block;
	}
	return chain;
}

void load_churn(void)
{
	void *chain = NULL;

	for (unsigned i = 0; i < CHURN_THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, churn, chain) != 0)
			exit(1);
		pthread_join(thread, &chain);
	}
	free_chain(chain);
}
