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

#define CHECK_MESSAGE(fault, what)                                               \
	do {                                                                     \
		const char *message = message_of(fault);                         \
                                                                                 \
		CHECK_MSG(strncmp(message, "geiger-malloc: free(0x", 22) == 0 && \
		                  strstr(message, what) != NULL,                 \
		          "the message is: %s", message);                        \
	} while (0)

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

TEST(a_pointer_into_a_run_is_not_freed)
{
	CHECK_MESSAGE(free_into_run, "leads into a block");
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

TEST(a_sample_is_not_freed_twice)
{
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
}
