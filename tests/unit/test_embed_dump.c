/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_embed_dump - runs everything that dumps touch at once.
 *
 * Threads record and free, while others dump, reset, set triggers, and switch sampling on and off.
 * libgeiger has the agent's code, so this program brings it under the thread sanitizer.
 *
 *   GG_TEST_HAMMER_SECONDS   how long; 3 by default
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/agent_functions.h"
#include "agent/dump_text.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "scratch.h"
#include "test.h"

enum { RECORDERS = 4, OBJECTS = 500 };

static const struct gg_agent_functions *agent = &gg_agent_functions;
static const char *directory;
static uint32_t is_over;
static uint64_t dump_count, reset_count, recorded_count;

static void start(void)
{
	static bool is_started;
	struct gg_agent_request request = { .interval_bytes = 1, .seed = 7 };

	if (is_started)
		return;
	is_started = true;
	directory = request.directory = scratch_new_folder();
	CHECK_EQ_I64(agent->start(&request), 0);
}

static uint64_t record(uint64_t key, uint64_t bytes)
{
	/* No code is there; it makes some stacks. */
	const uint64_t pcs[3] = { 0x1000 + key % 50 * 16, 0x2000 + key % 7 * 16, 0x3000 };
	const struct gg_agent_sample sample = {
		.key = key,
		.size_bytes = bytes,
		.draw = { .sampling_interval = 1, .sample_point_count = 1 },
		.pcs = pcs,
		.pc_count = 3,
	};

	return agent->record(&sample);
}

static void *record_and_close(void *number)
{
	uint64_t first = ((uint64_t)(uintptr_t)number + 1) << 32;

	for (uint64_t round = 0; gg_load_relaxed(&is_over) == 0; round++) {
		for (uint64_t i = 0; i < OBJECTS; i++)
			gg_add_relaxed(&recorded_count,
			               record(first + i * 16, 100 + (round + i) % 10) != 0);
		for (uint64_t i = 0; i < OBJECTS; i++)
			agent->close(first + i * 16, 0);
	}
	return NULL;
}

static void *dump(void *nothing)
{
	char path[64];

	for (unsigned i = 0; gg_load_relaxed(&is_over) == 0; i++) {
		enum gg_agent_dump_form form = (enum gg_agent_dump_form)(GG_AGENT_DUMP_HEAP_V2 +
		                                                         i % 3);
		struct dump_text text;

		snprintf(path, sizeof(path), "%s/own.%u.heap", directory, i % 3);
		if (!CHECK_EQ_I64(agent->dump(path, form), 0))
			break;
		CHECK(dump_text_read(path, &text) && text.is_whole);
		/* At an interval of 1 what is printed are sums, and what is live was allocated. */
		CHECK_EQ_U64(text.stacks.live_bytes, text.total.live_bytes);
		if (form != GG_AGENT_DUMP_HEAP_V2_LIVE)
			CHECK(text.stacks.bytes == text.total.bytes &&
			      text.total.bytes >= text.total.live_bytes);
		CHECK(text.total.live_bytes <= (uint64_t)RECORDERS * OBJECTS * 110);
		CHECK(agent->dump_next('m') != -EINVAL);
		gg_add_relaxed(&dump_count, 1);
	}
	return nothing;
}

static void *reset(void *nothing)
{
	while (gg_load_relaxed(&is_over) == 0) {
		int status = agent->dump_reset();

		CHECK_MSG(status == 0 || status == -EBUSY, "%d", status);
		gg_add_relaxed(&reset_count, status == 0);
		usleep(1000);
	}
	return nothing;
}

static void *toggle(void *nothing)
{
	struct gg_agent_triggers triggers = { .keep = 5 };

	snprintf(triggers.prefix, sizeof(triggers.prefix), "%s/d", directory);
	for (unsigned i = 0; gg_load_relaxed(&is_over) == 0; i++) {
		const struct gg_agent_request request = { .set_active = true,
			                                  .active = i % 2 == 0 };
		struct gg_agent_triggers seen;

		CHECK_EQ_I64(agent->change(&request), 0);
		triggers.allocated_bytes = i % 3 == 0 ? 0 : 10000000;
		triggers.growth_bytes = i % 4 == 0 ? 0 : 10000;
		CHECK_EQ_I64(agent->set_triggers(&triggers), 0);
		CHECK(agent->get_triggers(&seen) == 0 && strcmp(seen.prefix, triggers.prefix) == 0);
		usleep(2000);
	}
	return nothing;
}

TEST(eight_threads_at_once_harm_nothing)
{
	const char *seconds = getenv("GG_TEST_HAMMER_SECONDS");
	static const struct gg_agent_triggers none;
	pthread_t threads[RECORDERS + 4];
	struct dump_text text;
	char path[600];

	start();
	snprintf(path, sizeof(path), "%s", directory);
	/* The first settings, so that a name is there for the first dump. */
	{
		struct gg_agent_triggers triggers = { .keep = 5 };

		snprintf(triggers.prefix, sizeof(triggers.prefix), "%s/d", directory);
		CHECK_EQ_I64(agent->set_triggers(&triggers), 0);
	}
	for (uintptr_t i = 0; i < RECORDERS; i++)
		pthread_create(&threads[i], NULL, record_and_close, (void *)i);
	pthread_create(&threads[RECORDERS], NULL, dump, NULL);
	pthread_create(&threads[RECORDERS + 1], NULL, dump, NULL);
	pthread_create(&threads[RECORDERS + 2], NULL, reset, NULL);
	pthread_create(&threads[RECORDERS + 3], NULL, toggle, NULL);
	sleep(seconds != NULL ? (unsigned)atoi(seconds) : 3);
	/* A busy machine may have let none of them finish yet. */
	for (int i = 0;
	     i < 60 && (gg_load_relaxed(&dump_count) == 0 || gg_load_relaxed(&reset_count) == 0 ||
	                gg_load_relaxed(&recorded_count) == 0);
	     i++)
		sleep(1);
	gg_store_relaxed(&is_over, 1);
	for (size_t i = 0; i < GG_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	printf("%llu dumps, %llu resets, %llu samples\n", (unsigned long long)dump_count,
	       (unsigned long long)reset_count, (unsigned long long)recorded_count);
	CHECK(dump_count > 0 && reset_count > 0 && recorded_count > 0);
	CHECK_EQ_I64(agent->set_triggers(&none), 0);
	CHECK_MSG(dump_text_strangers(directory) == 0, "%s", path);
	CHECK(dump_text_count(directory, "", path) > 0 && dump_text_read(path, &text) &&
	      text.is_whole);
}

TEST(after_a_reset_what_is_new_counts)
{
	struct dump_text text;
	char path[64];

	start();
	snprintf(path, sizeof(path), "%s/after.heap", directory);
	CHECK(record(UINT64_C(100) << 32, 5000) != 0);
	CHECK_EQ_I64(agent->dump_reset(), 0);
	CHECK(record(UINT64_C(101) << 32, 300) != 0 && record(UINT64_C(102) << 32, 400) != 0);
	agent->close(UINT64_C(101) << 32, 0);
	agent->close(UINT64_C(100) << 32, 0);
	CHECK(agent->dump(path, GG_AGENT_DUMP_HEAP_V2) == 0 && dump_text_read(path, &text));
	CHECK_MSG(text.total.live_count == 1 && text.total.live_bytes == 400 &&
	                  text.total.count == 2 && text.total.bytes == 700,
	          "%llu: %llu [%llu: %llu]", (unsigned long long)text.total.live_count,
	          (unsigned long long)text.total.live_bytes, (unsigned long long)text.total.count,
	          (unsigned long long)text.total.bytes);
	agent->close(UINT64_C(102) << 32, 0);
}

/* In a child: records one object, and ends with a dump of the end. */
static _Noreturn void end_with_a_dump(const char *prefix)
{
	struct gg_agent_triggers triggers = { .final = true };

	snprintf(triggers.prefix, sizeof(triggers.prefix), "%s", prefix);
	if (agent->set_triggers(&triggers) < 0 || record(UINT64_C(103) << 32, 5000) == 0)
		_exit(1);
	exit(0);
}

/* The destructor must come along: this program links libgeiger.a. */
TEST(a_program_that_links_libgeiger_statically_writes_its_dump_of_the_end)
{
	const char *own = scratch_new_folder();
	char prefix[64], path[600] = "";
	int status = -1;
	pid_t child;

	start();
	snprintf(prefix, sizeof(prefix), "%s/last", own);
	fflush(stdout);
	child = fork();
	if (child == 0)
		end_with_a_dump(prefix);
	CHECK_EQ_I64(waitpid(child, &status, 0), child);
	CHECK_EQ_I64(status, 0);
	CHECK_EQ_I64(dump_text_count(own, "f", path), 1);
}
