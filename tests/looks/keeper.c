/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper - allocates the shapes, and keeps the list.
 */
#include "keeper.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	CAPACITY = 400000,
	SHAPE_BYTES = 16 << 20,
	CROWD_THREADS = 4,
};

static void *map_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

struct keeper *keeper_new(void)
{
	struct keeper *keeper = (struct keeper *)map_shared(sizeof(*keeper));

	keeper->capacity = CAPACITY;
	keeper->blocks = (struct keeper_block *)map_shared(CAPACITY * sizeof(*keeper->blocks));
	return keeper;
}

void keeper_delete(struct keeper *keeper)
{
	munmap(keeper->blocks, keeper->capacity * sizeof(*keeper->blocks));
	munmap(keeper, sizeof(*keeper));
}

/* A uniform number below `limit`, by splitmix64. */
static size_t draw(struct keeper *keeper, size_t limit)
{
	uint64_t z = keeper->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (size_t)((z ^ (z >> 31)) % limit);
}

/* --- roles --- */

/* A function that allocates, which is on the stack while it does. */
#define ROLE(name, touches)                                                     \
	static __attribute__((noinline)) char *name(size_t align, size_t bytes) \
	{                                                                       \
		char *block = align > 0 ? (char *)aligned_alloc(align, bytes)   \
		                        : (char *)malloc(bytes);                \
                                                                                \
		if (touches)                                                    \
			memset(block, 1, bytes);                                \
		return block;                                                   \
	}

ROLE(keep_index, true)
ROLE(keep_names, true)
ROLE(keep_cache, true)
ROLE(keep_nodes, true)
ROLE(parse_request, true)
ROLE(expect_request, false)

const char *const keeper_role_names[KEEPER_ROLE_COUNT] = {
	[KEEPER_INDEX] = "keep_index",
	[KEEPER_NAMES] = "keep_names",
	[KEEPER_CACHE] = "keep_cache",
	[KEEPER_NODES] = "keep_nodes",
};

static struct keeper_block *list(struct keeper *keeper, enum keeper_role role, char *address,
                                 size_t bytes)
{
	size_t at = __atomic_fetch_add(&keeper->count, 1, __ATOMIC_RELAXED);

	if (at >= keeper->capacity || address == NULL)
		abort();
	keeper->blocks[at] = (struct keeper_block){ .address = address,
		                                    .size_bytes = bytes,
		                                    .usable_bytes = malloc_usable_size(address),
		                                    .role = role };
	return &keeper->blocks[at];
}

static void keep_aligned(struct keeper *keeper, enum keeper_role role, size_t align, size_t bytes)
{
	static char *(*const functions[])(size_t, size_t) = { keep_index, keep_names, keep_cache,
		                                              keep_nodes };

	list(keeper, role, functions[role](align, bytes), bytes);
}

static void keep(struct keeper *keeper, enum keeper_role role, size_t bytes)
{
	keep_aligned(keeper, role, 0, bytes);
}

void keeper_free_role(struct keeper *keeper, enum keeper_role role)
{
	for (size_t i = 0; i < keeper->count; i++) {
		struct keeper_block *block = &keeper->blocks[i];

		if (block->role != role || block->address == NULL)
			continue;
		free(block->address);
		block->address = NULL;
	}
}

/* --- requests, whose blocks go away --- */

struct requests {
	char **blocks;
	size_t count, capacity;
};

static struct requests requests_new(void)
{
	return (struct requests){ .blocks = (char **)map_shared(CAPACITY * sizeof(char *)),
		                  .capacity = CAPACITY };
}

static void request(struct requests *requests, size_t bytes)
{
	if (requests->count >= requests->capacity)
		abort();
	requests->blocks[requests->count++] = parse_request(0, bytes);
}

/* A request that the program frees without a write to its block. */
static void request_in_vain(struct requests *requests, size_t bytes)
{
	if (requests->count >= requests->capacity)
		abort();
	requests->blocks[requests->count++] = expect_request(0, bytes);
}

static void requests_free(struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++)
		free(requests->blocks[i]);
	munmap(requests->blocks, requests->capacity * sizeof(char *));
	*requests = (struct requests){ 0 };
}

/* --- shapes --- */

/* Each 64th block stays. */
static void sixty_fourth(struct keeper *keeper)
{
	struct requests requests = requests_new();

	for (size_t i = 0, bytes = 0; bytes < SHAPE_BYTES; i++) {
		size_t size = 200 + draw(keeper, 1000);

		if (i % 64 == 0)
			keep(keeper, (enum keeper_role)(i / 64 % KEEPER_ROLE_COUNT), size);
		else
			request(&requests, size);
		bytes += size;
	}
	requests_free(&requests);
}

/* Survivors of all roles are spread over a peak: one block of `every`, of a size that is drawn. */
static void spread(struct keeper *keeper, size_t every, size_t (*draw_size)(struct keeper *keeper))
{
	struct requests requests = requests_new();

	for (size_t bytes = 0; bytes < SHAPE_BYTES;) {
		size_t size = draw_size(keeper);

		if (draw(keeper, every) == 0)
			keep(keeper, (enum keeper_role)draw(keeper, KEEPER_ROLE_COUNT), size);
		else
			request(&requests, size);
		bytes += size;
	}
	requests_free(&requests);
}

static size_t draw_any_size(struct keeper *keeper)
{
	return 16 + draw(keeper, draw(keeper, 10) == 0 ? 8000 : 500);
}

static void peak(struct keeper *keeper)
{
	spread(keeper, 20, draw_any_size);
}

static size_t draw_similar_size(struct keeper *keeper)
{
	return 500 + draw(keeper, 12);
}

/* Nobody is special: roles and lifetimes are drawn for each block alike. */
static void population(struct keeper *keeper)
{
	spread(keeper, 5, draw_similar_size);
}

struct crowd_thread {
	struct keeper *keeper;
	struct requests *requests;
	pthread_barrier_t *barrier;
	unsigned number;
};

/* Allocates in an arena of its own; another thread frees. */
static void *produce(void *argument)
{
	struct crowd_thread *self = (struct crowd_thread *)argument;
	struct keeper own = { .random = self->keeper->random + self->number };

	for (size_t bytes = 0; bytes < SHAPE_BYTES / CROWD_THREADS;) {
		size_t size = 100 + draw(&own, 1500);

		if (draw(&own, 10) == 0)
			keep(self->keeper, (enum keeper_role)self->number, size);
		else
			request(self->requests, size);
		bytes += size;
	}
	pthread_barrier_wait(self->barrier);
	pthread_barrier_wait(self->barrier);
	return NULL;
}

static void producers(struct keeper *keeper)
{
	struct requests requests[CROWD_THREADS];
	struct crowd_thread threads[CROWD_THREADS];
	pthread_t ids[CROWD_THREADS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, CROWD_THREADS + 1);
	for (unsigned i = 0; i < CROWD_THREADS; i++) {
		requests[i] = requests_new();
		threads[i] = (struct crowd_thread){ keeper, &requests[i], &barrier, i };
		if (pthread_create(&ids[i], NULL, produce, &threads[i]) != 0)
			abort();
	}
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < CROWD_THREADS; i++)
		requests_free(&requests[i]);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < CROWD_THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void aligned(struct keeper *keeper)
{
	struct requests requests = requests_new();

	for (size_t bytes = 0; bytes < SHAPE_BYTES;) {
		size_t align = (size_t)64 << draw(keeper, 7), size = align * (1 + draw(keeper, 3));

		keep_aligned(keeper, (enum keeper_role)draw(keeper, KEEPER_ROLE_COUNT), align,
		             size);
		request(&requests, 16 + draw(keeper, 2000));
		bytes += align + size;
	}
	requests_free(&requests);
}

/* Blocks that grew or shrank where they were. */
static void reallocated(struct keeper *keeper)
{
	struct requests requests = requests_new();

	for (size_t bytes = 0; bytes < SHAPE_BYTES;) {
		enum keeper_role role = (enum keeper_role)draw(keeper, KEEPER_ROLE_COUNT);
		size_t from = 1000 + draw(keeper, 6000), to = 50 + draw(keeper, 8000);
		struct keeper_block *block;

		keep(keeper, role, from);
		block = &keeper->blocks[keeper->count - 1];
		block->address = (char *)realloc(block->address, to);
		memset(block->address, 1, to);
		block->size_bytes = to;
		block->usable_bytes = malloc_usable_size(block->address);
		request(&requests, 300);
		bytes += from;
	}
	requests_free(&requests);
}

/* Each block has a mapping of its own. */
static void large(struct keeper *keeper)
{
	for (size_t i = 0; i < 16; i++)
		keep(keeper, (enum keeper_role)(i % KEEPER_ROLE_COUNT),
		     (1 << 20) + draw(keeper, 1 << 20));
}

/* Most memory between the survivors was never written, so it is not resident. */
static void untouched(struct keeper *keeper)
{
	struct requests requests = requests_new();

	for (size_t i = 0, bytes = 0; bytes < SHAPE_BYTES; i++) {
		size_t size = 1000 + draw(keeper, 4000);

		if (draw(keeper, 16) == 0)
			keep(keeper, (enum keeper_role)draw(keeper, KEEPER_ROLE_COUNT), size);
		else
			request_in_vain(&requests, size);
		bytes += size;
	}
	requests_free(&requests);
}

/* The index is made among requests; all others are made at a stretch, in blocks of its size. */
static void guilty(struct keeper *keeper)
{
	struct requests requests = requests_new();

	for (size_t i = 0; i < 24000; i++)
		keep(keeper, (enum keeper_role)(1 + draw(keeper, KEEPER_ROLE_COUNT - 1)), 500);
	for (size_t i = 0; i < 64000; i++)
		if (i % 8 == 0)
			keep(keeper, KEEPER_INDEX, 500);
		else
			request(&requests, 480 + draw(keeper, 40));
	requests_free(&requests);
}

static const struct {
	const char *name;
	void (*fill)(struct keeper *keeper);
} shapes[] = {
	{ "sixty-fourth", sixty_fourth }, { "peak", peak },
	{ "producers", producers },       { "aligned", aligned },
	{ "reallocated", reallocated },   { "large", large },
	{ "population", population },     { "guilty", guilty },
	{ "untouched", untouched },
};

const char *const keeper_shapes[] = { "sixty-fourth", "peak",  "producers",  "aligned",
	                              "reallocated",  "large", "population", "guilty",
	                              "untouched",    NULL };

bool keeper_fill(struct keeper *keeper, const char *shape, uint64_t seed)
{
	keeper->random = seed * 1000003;
	/* The walk from inside takes chunks in fast bins for chunks in use. */
	mallopt(M_MXFAST, 0);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(shapes[i].name, shape) != 0)
			continue;
		shapes[i].fill(keeper);
		return true;
	}
	return false;
}
