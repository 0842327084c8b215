/* SPDX-License-Identifier: Apache-2.0 */
/* Frees of pointers that are no live blocks end the process with a message. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/class_sampling.h"
#include "malloc/huge_blocks.h"
#include "random.h"
#include "test.h"

/* The message of a child that does it; "" if it lives on.  Static. */
static const char *message_of(void (*fault)(void))
{
	static char text[4096];
	int ends[2], status = 0;
	ssize_t count;
	size_t length = 0;
	pid_t child;

	REQUIRE(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		const struct rlimit no_core = { 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		alarm(60);
		dup2(ends[1], 2);
		fault();
		_exit(0);
	}
	close(ends[1]);
	while ((count = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)count;
	close(ends[0]);
	text[length] = '\0';
	REQUIRE(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status))
		return "";
	CHECK_EQ_I64(WTERMSIG(status), SIGABRT);
	return text;
}

#define CHECK_MESSAGE_OF(function, fault, what)                          \
	do {                                                             \
		const char *message = message_of(fault);                 \
		const char *begin = "geiger-malloc: " function "(0x";    \
                                                                         \
		CHECK_MSG(strncmp(message, begin, strlen(begin)) == 0 && \
		                  strstr(message, what) != NULL,         \
		          "the message is: %s", message);                \
	} while (0)
#define CHECK_MESSAGE(fault, what) CHECK_MESSAGE_OF("free", fault, what)

static void *volatile hidden; /* from the compiler, which knows what must not be freed */

static void *hide(void *p)
{
	hidden = p;
	return hidden;
}

static void free_run_twice(void)
{
	void *p = hide(geiger_malloc(100000));

	geiger_free(p);
	geiger_free(hide(p));
}

static void free_run_twice_after_trim(void)
{
	void *p = hide(geiger_malloc((size_t)20 << 20));

	geiger_free(p);
	geiger_malloc_trim();
	geiger_free(hide(p));
	geiger_free((char *)hide(p) + 5000000);
}

static void free_into_run(void)
{
	geiger_free((char *)hide(geiger_malloc(100000)) + 64);
}

/* The second run joins the first one, which is clean already. */
static void free_joined_run_twice(void)
{
	void *p = hide(geiger_malloc(200000)), *q = hide(geiger_malloc(200000));

	geiger_free(p);
	geiger_malloc_trim();
	geiger_free(q);
	geiger_malloc_trim();
	geiger_free(hide(q));
}

/* All blocks of a slab, so that it went back. */
static void free_block_of_gone_slab(void)
{
	void *blocks[2000];

	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = geiger_malloc(200);
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(blocks[i]);
	geiger_malloc_trim();
	geiger_free(hide(blocks[1000]));
}

TEST(a_run_that_is_free_is_not_freed_again)
{
	CHECK_MESSAGE(free_run_twice, "free already");
	CHECK_MESSAGE(free_run_twice_after_trim, "free already");
	CHECK_MESSAGE(free_joined_run_twice, "free already");
	CHECK_MESSAGE(free_block_of_gone_slab, "free already");
}

/* Neither the first slice nor the last one. */
static void free_middle_of_run(void)
{
	geiger_free((char *)hide(geiger_malloc(1000000)) + 500000);
}

static void free_begin_of_inner_slice(void)
{
	geiger_free((char *)hide(geiger_malloc(40000)) + GG_MALLOC_SLICE_BYTES);
}

/* Uses slabs of all sizes, and gives them back. */
static void use_slabs(void)
{
	static void *blocks[4000];

	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = geiger_malloc(i % 3 == 0 ? 20000 : i % 3 == 1 ? 3000 : 200);
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(blocks[i]);
	geiger_malloc_trim();
}

/* True if free() of the pointer would take it for a block of a slab that it is not in. */
static bool leads_elsewhere(const void *p)
{
	const struct gg_malloc_slab *slab = gg_malloc_slab_of(p);

	return gg_malloc_slab_owner(slab) > GG_MALLOC_OWNER_RUN &&
	       gg_malloc_slice_of(p) - gg_malloc_slab_slice(slab) >= slab->slice_count;
}

/*
 * Takes slabs of one slice in the memory of former slabs of 16, each beside a run.  Slices of the
 * runs led to slabs that began where the new slabs do.
 */
static void free_middle_of_run_over_former_slab(void)
{
	enum { ROUNDS = 64 };
	char *runs[ROUNDS];

	use_slabs();
	for (size_t i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < GG_MALLOC_SLICE_BYTES / 256; k++)
			hide(geiger_malloc(256));
		runs[i] = geiger_malloc((size_t)12 * GG_MALLOC_SLICE_BYTES);
	}
	for (size_t i = 0; i < ROUNDS; i++)
		for (size_t slice = 1; slice < 11; slice++)
			if (leads_elsewhere(runs[i] + slice * GG_MALLOC_SLICE_BYTES))
				return;
	geiger_free(hide(runs[ROUNDS / 2] + (size_t)5 * GG_MALLOC_SLICE_BYTES));
}

/* The slab that began there went back, and another one is there: the rest of it is free. */
static void free_block_behind_new_slab(void)
{
	static char *blocks[1000];

	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = geiger_malloc(20000);
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(blocks[i]);
	geiger_malloc_trim();
	for (size_t i = 0; i < 2000; i++)
		hide(geiger_malloc(200));
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		if (leads_elsewhere(blocks[i]))
			return;
	geiger_free(hide(blocks[GG_COUNT(blocks) - 1]));
}

/* The end of the run was there before it was resized. */
static void free_former_end_of_run(void)
{
	char *p = geiger_malloc(300000), *grown;

	grown = geiger_realloc(p, 900000);
	grown = geiger_realloc(grown, 500000);
	grown = geiger_realloc(grown, 800000);
	geiger_free(hide(grown + 299000));
}

TEST(a_pointer_into_a_run_is_not_freed)
{
	CHECK_MESSAGE(free_into_run, "leads into a block");
	CHECK_MESSAGE(free_middle_of_run, "leads into a block");
	CHECK_MESSAGE(free_begin_of_inner_slice, "leads into a block");
	CHECK_MESSAGE(free_middle_of_run_over_former_slab, "leads into a block");
	CHECK_MESSAGE(free_block_behind_new_slab, "free already");
	CHECK_MESSAGE(free_former_end_of_run, "leads into a block");
}

static void free_behind_all_slices(void)
{
	size_t bytes = gg_malloc_map.limit << GG_MALLOC_SLICE_SHIFT;

	geiger_free(hide((void *)(gg_malloc_map.base + bytes))); /* NOLINT */
}

static void free_end_of_reservation(void)
{
	geiger_free(hide((void *)(gg_malloc_map.base + ((size_t)60 << 30)))); /* NOLINT */
}

TEST(a_pointer_to_memory_that_was_never_handed_out_is_not_freed)
{
	geiger_free(geiger_malloc(1));
	CHECK_MESSAGE(free_behind_all_slices, "never was one");
	CHECK_MESSAGE(free_end_of_reservation, "never was one");
}

static void resize_middle_of_run(void)
{
	hide(geiger_realloc((char *)hide(geiger_malloc(1000000)) + 500000, 2000000));
}

static void resize_in_first_slice(void)
{
	hide(geiger_realloc((char *)hide(geiger_malloc(1000000)) + 16, 50000));
}

static void resize_free_run(void)
{
	void *p = hide(geiger_malloc(1000000));

	geiger_free(p);
	hide(geiger_realloc(hide(p), 2000000));
}

static void resize_behind_all_slices(void)
{
	size_t bytes = gg_malloc_map.limit << GG_MALLOC_SLICE_SHIFT;

	hide(geiger_realloc(hide((void *)(gg_malloc_map.base + bytes)), 100)); /* NOLINT */
}

TEST(what_is_no_block_is_not_resized)
{
	geiger_free(geiger_malloc(1));
	CHECK_MESSAGE_OF("realloc", resize_middle_of_run, "leads into a block");
	CHECK_MESSAGE_OF("realloc", resize_in_first_slice, "leads into a block");
	CHECK_MESSAGE_OF("realloc", resize_free_run, "free already");
	CHECK_MESSAGE_OF("realloc", resize_behind_all_slices, "never was one");
}

static void sample_all(void)
{
	gg_malloc_set_interval(1, 1);
	for (size_t i = 0; i < 1000; i++)
		geiger_free(geiger_malloc(100));
}

static void free_sample_twice(void)
{
	void *p;

	sample_all();
	p = hide(geiger_malloc(100));
	geiger_free(p);
	geiger_free(hide(p));
}

static void free_into_sample(void)
{
	sample_all();
	geiger_free((char *)hide(geiger_malloc(100)) + 16);
}

static void resize_free_sample(void)
{
	void *p;

	sample_all();
	p = hide(geiger_malloc(100));
	geiger_free(p);
	hide(geiger_realloc(hide(p), 90));
}

static void resize_in_sample(void)
{
	sample_all();
	hide(geiger_realloc((char *)hide(geiger_malloc(100)) + 16, 90));
}

TEST(a_sample_is_not_freed_twice)
{
	CHECK_MESSAGE_OF("realloc", resize_free_sample, "free already");
	CHECK_MESSAGE_OF("realloc", resize_in_sample, "leads into a block");
	CHECK_MESSAGE(free_sample_twice, "free already");
	CHECK_MESSAGE(free_into_sample, "leads into a block");
}

/* More than a refill later. */
static void allocate_some(size_t bytes)
{
	for (size_t i = 0; i < 4000; i++)
		hide(geiger_malloc(bytes));
}

static void free_block_twice(void)
{
	void *p = hide(geiger_malloc(100));

	geiger_free(p);
	geiger_free(hide(p));
	allocate_some(100);
}

static void free_block_among_others(void)
{
	void *blocks[5];

	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = hide(geiger_malloc(500));
	for (size_t i = 0; i < 4; i++)
		geiger_free(blocks[i]);
	geiger_free(hide(blocks[1]));
	geiger_free(blocks[4]);
	allocate_some(500);
}

TEST(a_block_that_was_freed_twice_is_found_when_its_slab_hands_blocks_out)
{
	CHECK_MESSAGE(free_block_twice, "freed twice");
	CHECK_MESSAGE(free_block_among_others, "freed twice");
}

static void *free_in_thread(void *p)
{
	geiger_free(p);
	geiger_free(hide(p));
	return NULL;
}

static void *free_into_in_thread(void *p)
{
	geiger_free((char *)p + 8);
	return NULL;
}

static void *resize_in_thread(void *p)
{
	return geiger_realloc((char *)p + 8, 90);
}

static void resize_in_remote(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, resize_in_thread, hide(geiger_malloc(100)));
	pthread_join(thread, NULL);
}

static void free_remote_twice(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, free_in_thread, hide(geiger_malloc(100)));
	pthread_join(thread, NULL);
}

static void free_into_remote(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, free_into_in_thread, hide(geiger_malloc(100)));
	pthread_join(thread, NULL);
}

TEST(a_block_of_another_thread_is_not_freed_twice)
{
	CHECK_MESSAGE(free_remote_twice, "free already");
	CHECK_MESSAGE(free_into_remote, "leads into a block");
	CHECK_MESSAGE_OF("realloc", resize_in_remote, "leads into a block");
}

static void *fuzzed;

static void free_fuzzed(void)
{
	geiger_free(fuzzed);
}

/*
 * Slabs of 16, 4 and 1 slices and runs take each other's place, so that stale entries would lead to
 * slabs that begin where former ones did.
 */
static void churn(void *blocks[], size_t count, uint64_t *random)
{
	static const size_t sizes[] = { 20000, 500000, 200, 100000, 3000 };

	for (size_t i = 0; i < 3 * count; i++) {
		uint64_t r = random_next(random) >> 8;
		size_t bytes = sizes[i / (count / 2) % GG_COUNT(sizes)];

		geiger_free(blocks[r % count]);
		blocks[r % count] = geiger_malloc(bytes);
		if (bytes > GG_MALLOC_CLASS_BYTES_MAX)
			blocks[r % count] = geiger_realloc(blocks[r % count],
			                                   (r >> 20) % 900000 + 40000);
		if (i % 512 == 0)
			geiger_malloc_trim();
	}
}

static size_t count_stale_entries(void)
{
	size_t count = 0;

	for (size_t slice = gg_malloc_arena_first_slice(); slice < gg_malloc_map.limit; slice++)
		count += leads_elsewhere((void *)(gg_malloc_map.base + /* NOLINT */
		                                  (slice << GG_MALLOC_SLICE_SHIFT)));
	return count;
}

/* The fast path takes pointers into slabs of the own thread for blocks (docs/MALLOC.md). */
TEST(any_pointer_that_leads_into_no_slab_ends_with_a_message)
{
	enum { BLOCKS = 2000, TRIES = 50 };
	static void *blocks[BLOCKS];
	uint64_t random = 77;
	unsigned tried = 0;

	for (unsigned i = 0; i < 8; i++) {
		churn(blocks, BLOCKS, &random);
		CHECK_EQ_U64(count_stale_entries(), 0);
	}
	while (tried < TRIES) {
		size_t first = gg_malloc_arena_first_slice(), r = random_next(&random) >> 8;
		size_t slice = first + r % (gg_malloc_map.limit - first);
		uintptr_t start = gg_malloc_map.base + (slice << GG_MALLOC_SLICE_SHIFT);

		if (gg_malloc_slab_owner(gg_malloc_map.entries[slice]) > GG_MALLOC_OWNER_SLOTS)
			continue;
		fuzzed = (void *)(start + 16 + (r >> 32) % 1000 * 16); /* NOLINT */
		tried++;
		CHECK_MESSAGE(free_fuzzed, "block");
	}
	for (size_t i = 0; i < BLOCKS; i++)
		geiger_free(blocks[i]);
}
