/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jvm_join - when the adapter's thread joins a VM.  The VM is jvm/fake_vm.c, and its threads
 * are ours, with the names of HotSpot's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "embed/sampling_settings.h"
#include "jvm/join.h"
#include "jvm/vm.h"
#include "test.h"

static uint32_t begin_count;
static const char *logged;

/* --- what the thread calls --- */

const char *gg_jvm_begin(JavaVM *vm, bool is_live)
{
	CHECK(vm != NULL && is_live);
	gg_add_release(&begin_count, 1);
	return NULL;
}

bool gg_jvm_is_begun(void)
{
	return false;
}

static void take_log(const char *line)
{
	gg_store_release(&logged, line);
}

static const struct gg_agent_functions functions = { .log = take_log };
struct gg_embed_settings gg_embed_settings = { .agent = &functions };

/* --- the VM --- */

static void pause_ms(int ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

static void *run_named(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (;;)
		pause_ms(1000);
	return NULL;
}

static void start_thread(const char *name)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, run_named, (void *)(uintptr_t)name) == 0);
	pthread_detach(thread);
}

/* Waits for what must come. */
static void await(const uint32_t *count, uint32_t least)
{
	for (int i = 0; i < 60000 && gg_load_acquire(count) < least; i++)
		pause_ms(1);
	CHECK_EQ_U64(gg_load_acquire(count), least);
}

static void *load(const char *variable)
{
	return dlopen(getenv(variable), RTLD_NOW | RTLD_LOCAL);
}

TEST(a_vm_that_is_not_hotspot_is_left_alone_with_a_line)
{
	void *library = load("OTHER_VM");

	REQUIRE(library != NULL);
	CHECK(gg_jvm_join_start() == 0);
	for (int i = 0; i < 60000 && gg_load_acquire(&logged) == NULL; i++)
		pause_ms(1);
	REQUIRE(logged != NULL);
	CHECK(strstr(logged, "not HotSpot") != NULL);
	CHECK_EQ_U64(begin_count, 0);
	dlclose(library);
}

/* The steps of one start: each thread of the VM comes later than the one before. */
TEST(a_vm_is_joined_when_it_is_complete_and_not_while_it_starts)
{
	void *library = load("FAKE_VM");
	uint32_t *attach_count;

	REQUIRE(library != NULL);
	attach_count = dlsym(library, "fake_vm_attach_count");
	REQUIRE(attach_count != NULL);
	start_thread("VM Thread");
	CHECK(gg_jvm_join_start() == 0);
	/* GG_JVM_SERVED_WAITS pass many times, but there is no heap yet. */
	pause_ms(1000);
	CHECK_EQ_U64(gg_load_acquire(attach_count), 0);
	start_thread("Service Thread");
	await(attach_count, 1);
	await(&begin_count, 1);

	/* The second start has periodic tasks. */
	start_thread("VM Periodic Tas");
	CHECK(gg_jvm_join_start() == 0);
	await(attach_count, 2);
	await(&begin_count, 2);
}
