/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_kill - kills a writer at random moments, and checks the region that it leaves.
 *
 * The writer's threads record by a script that follows from the thread's number.  Each one counts
 * in shared memory how many steps it has begun and how many it has finished.  So for each thread
 * the file must hold the results of the finished steps, and the last step either as a whole or not
 * at all.
 *
 *   GG_TEST_KILLS   how often; 50 by default, and 1000 in the default suite
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "region.h"
#include "test.h"

enum {
	THREADS = 3,
	SLOTS = 64, /* blocks of a thread: step i allocates or frees block random(i) */
	STACKS = 20
};

/* The shared memory that survives the writer. */
struct log {
	struct {
		uint64_t begun, finished;
		uint64_t padding[6];
	} threads[THREADS];
};

static struct gg_region region;
static struct log *shared_log;

/* A thread's script, replayed by the test: what step `step` does. */
struct script {
	uint64_t random;
	uint64_t sizes[SLOTS]; /* of live blocks; 0: free */
	uint64_t allocated_bytes, freed_bytes, live_bytes, live_count;
};

static void script_begin(struct script *script, int thread)
{
	memset(script, 0, sizeof(*script));
	script->random = 77 + (uint64_t)thread;
}

/* The next step: block, and its new size or 0 to free it. */
static uint64_t script_next(struct script *script, uint32_t *ret_block, uint32_t *ret_stack)
{
	uint64_t random = region_random(&script->random);
	uint32_t block = (uint32_t)(random % SLOTS);
	uint64_t size_bytes = script->sizes[block] == 0 ? random >> 20 & 0xfffff : 0;

	*ret_block = block;
	*ret_stack = (uint32_t)(random >> 45) % STACKS;
	if (script->sizes[block] == 0) {
		size_bytes += size_bytes == 0;
		script->allocated_bytes += size_bytes;
		script->live_bytes += size_bytes;
		script->live_count++;
	} else {
		script->freed_bytes += script->sizes[block];
		script->live_bytes -= script->sizes[block];
		script->live_count--;
	}
	script->sizes[block] = size_bytes;
	return size_bytes;
}

static uint64_t address_of(int thread, uint32_t block)
{
	return 0x10000 + (uint64_t)thread * 0x10000 + block * 16;
}

static void *write_for_ever(void *context)
{
	int number = (int)(intptr_t)context;
	struct gg_region_thread thread;
	struct script script;

	gg_region_thread_begin(&region, &thread, (uint32_t)number, NULL, 0);
	script_begin(&script, number);
	for (uint64_t step = 1;; step++) {
		uint32_t block, which;
		uint64_t size_bytes = script_next(&script, &block, &which);
		uint64_t pcs[] = { which + 1, which / 4 + 100, 7 };
		struct gg_allocation sample;

		gg_store_release(&shared_log->threads[number].begun, step);
		if (size_bytes > 0) {
			sample = region_sample(address_of(number, block), size_bytes,
			                       gg_region_intern(&region, &thread, pcs, 3));
			gg_region_record_alloc(&region, &thread, &sample);
		} else {
			gg_region_record_free(&region, &thread,
			                      (void *)(uintptr_t)address_of(number, block), 0, step,
			                      0);
		}
		gg_store_release(&shared_log->threads[number].finished, step);
	}
	return NULL;
}

static void become_writer(void)
{
	pthread_t threads[THREADS];

	for (intptr_t i = 1; i < THREADS; i++)
		pthread_create(&threads[i], NULL, write_for_ever, (void *)i);
	write_for_ever(NULL);
}

/* Live bytes and blocks of one thread's addresses. */
static void count_live(const struct gg_region_view *view, int thread, uint64_t *ret_bytes,
                       uint64_t *ret_count)
{
	*ret_bytes = *ret_count = 0;
	for (uint32_t i = 0; i < view->live_count; i++) {
		if (view->live[i].address >> 16 != (uint64_t)thread + 1)
			continue;
		*ret_bytes += view->live[i].size_bytes;
		++*ret_count;
	}
}

/* Do the live blocks have the sizes that the script says? */
static bool same_blocks(const struct gg_region_view *view, const struct script *script, int thread)
{
	uint64_t bytes, count;

	count_live(view, thread, &bytes, &count);
	if (bytes != script->live_bytes || count != script->live_count)
		return false;
	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];

		if (sample->address >> 16 == (uint64_t)thread + 1 &&
		    script->sizes[(sample->address & 0xffff) / 16] != sample->size_bytes)
			return false;
	}
	return true;
}

struct outcome {
	uint64_t finished_count, steps, last_there;
};

/* The state of a killed writer against its log. */
static void verify(int round, struct outcome *outcome)
{
	struct gg_region_view view;
	uint64_t allocated_bytes = 0;
	uint32_t stack = 0;

	if (!CHECK(region_view(&region, &view)))
		return;
	CHECK_MSG(gg_region_view_check(&view, &stack) == 0, "kill %d: stack %u is not balanced",
	          round, stack);
	outcome->finished_count += view.finished_count;
	for (int t = 0; t < THREADS; t++) {
		uint64_t begun = shared_log->threads[t].begun;
		uint64_t finished = shared_log->threads[t].finished;
		struct script script;
		uint32_t unused;
		bool same;

		script_begin(&script, t);
		for (uint64_t step = 1; step <= finished; step++)
			script_next(&script, &unused, &unused);
		same = same_blocks(&view, &script, t);
		if (!same && begun > finished) {
			script_next(&script, &unused, &unused);
			same = same_blocks(&view, &script, t);
			outcome->last_there += same;
		}
		CHECK_MSG(same, "kill %d: thread %d does not hold its %llu steps", round, t,
		          (unsigned long long)finished);
		allocated_bytes += script.allocated_bytes;
		outcome->steps += finished;
	}
	CHECK_MSG(gg_region_view_totals(&view).allocated.size_bytes == allocated_bytes,
	          "kill %d: allocated bytes", round);
	for (uint32_t i = 0; test_failed && i < GG_COUNTER_COUNT; i++)
		if (view.header.counters[i] > 0)
			printf("  %s: %llu\n", gg_region_counter_name(i),
			       (unsigned long long)view.header.counters[i]);
	gg_region_view_done(&view);
}

static bool has_begun(void)
{
	return gg_load_relaxed(&shared_log->threads[0].finished) > 0;
}

static void kill_once(int round, uint64_t *random, struct outcome *outcome)
{
	const struct timespec millisecond = { .tv_nsec = 1000000 };
	/* Up to 4 ms: from the first stores to tens of thousands of steps. */
	struct timespec delay = { .tv_nsec = (long)(region_random(random) % 4000000) };
	struct gg_region_options options;
	int wait_status = 0;
	pid_t pid;

	region_small_options(&options);
	memset(shared_log, 0, sizeof(*shared_log));
	if (!CHECK(region_make(&region, &options)))
		return;
	pid = fork();
	if (pid == 0)
		become_writer();
	/* One writer in 8 may be killed while it begins.  The others reach their steps first. */
	for (int i = 0; round % 8 != 0 && i < 5000 && !has_begun(); i++)
		nanosleep(&millisecond, NULL);
	nanosleep(&delay, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &wait_status, 0);
	CHECK(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL);
	verify(round, outcome);
	gg_region_done(&region, true);
}

TEST(a_killed_writer_leaves_what_it_had_recorded)
{
	const char *text = getenv("GG_TEST_KILLS");
	int kills = text != NULL ? atoi(text) : 50;
	struct outcome outcome = { 0 };
	uint64_t random = 12345;

	shared_log = mmap(NULL, sizeof(*shared_log), PROT_READ | PROT_WRITE,
	                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < kills && !test_failed; i++)
		kill_once(i, &random, &outcome);
	printf("%d kills after %llu steps in all; %llu operations were finished by the reader\n",
	       kills, (unsigned long long)outcome.steps,
	       (unsigned long long)outcome.finished_count);
	/*
	 * Without steps, nothing was tested.  24 to 130 of 1000 kills hit the middle of an
	 * operation.
	 */
	CHECK(outcome.steps > (uint64_t)kills / 2);
	CHECK(kills < 1000 || outcome.finished_count > 0);
	munmap(shared_log, sizeof(*shared_log));
}
