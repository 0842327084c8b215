/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of an unloaded library are not used for what is loaded at its address. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "test.h"
#include "unwind/unwind.h"
#include "unwind/walk/module_lookup.h"

typedef int reused_function(int (*callback)(void));

static struct gg_stack_cache stack_cache;
static struct gg_unwind_thread thread = { .stack_cache = &stack_cache };
static uint64_t pcs[GG_UNWIND_KEEP];
static struct gg_unwind_stack stack;
static bool stop;

__attribute__((constructor)) static void init(void)
{
	gg_unwind_init();
}

__attribute__((noinline)) static int capture(void)
{
	gg_unwind_capture(&thread, pcs, GG_UNWIND_KEEP, 0, &stack);
	return (int)stack.count;
}

/*
 * Captures through the library; *ret_site is where it calls from.  The frames outside are compared.
 */
static bool capture_through(const char *path, uint64_t *ret_site)
{
	static uint32_t expected_count;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	reused_function *call;
	bool is_right;

	if (!CHECK_MSG(library != NULL, "%s", dlerror()))
		return false;
	call = (reused_function *)(uintptr_t)dlsym(library, "reused_call");
	call(capture);
	*ret_site = stack.frames[1];
	if (expected_count == 0)
		expected_count = stack.count;
	is_right = CHECK_EQ_U64(stack.ending, GG_UNWIND_COMPLETE) &&
	           CHECK_EQ_U64(stack.count, expected_count) &&
	           CHECK(stack.frames[1] - (uintptr_t)call < 4096);
	CHECK_EQ_I64(dlclose(library), 0);
	return is_right;
}

TEST(a_library_loaded_where_another_was_has_its_own_rules)
{
	const char *const paths[] = { getenv("REUSED_SMALL"), getenv("REUSED_LARGE") };
	unsigned same_count = 0;

	/* Enough for the epoch's number to come round several times. */
	for (unsigned i = 0; i < 200; i++) {
		uint64_t site[2];

		if (!capture_through(paths[0], &site[0]) || !capture_through(paths[1], &site[1]))
			return;
		same_count += site[0] == site[1];
	}
	printf("%u of 200 times at the same address\n", same_count);
	if (same_count == 0)
		SKIP("the loader has used no address twice"); /* qemu's way of mapping */
}

TEST(every_load_and_unload_begins_a_new_epoch)
{
	uint64_t before = gg_module_lookup_epoch(), loaded;
	void *library = dlopen(getenv("REUSED_SMALL"), RTLD_NOW);

	CHECK(before == gg_module_lookup_epoch() || library != NULL);
	loaded = gg_module_lookup_epoch();
	CHECK(loaded > before);
	CHECK_EQ_U64(gg_module_lookup_epoch(), loaded);
	dlclose(library);
	CHECK(gg_module_lookup_epoch() > loaded);
}

TEST(the_words_that_count_loads_survive_a_refresh)
{
	unsigned count = 0;
	uint64_t before;
	void *library;

	gg_unwind_modules_changed();
	for (int i = 0; i < GG_MODULE_LOOKUP_WORDS; i++)
		count += gg_module_lookup.words[i] !=
		         gg_module_lookup.words[GG_MODULE_LOOKUP_WORDS - 1];
	CHECK(count >= 1);
	before = gg_module_lookup_epoch();
	library = dlopen(getenv("REUSED_LARGE"), RTLD_NOW);
	CHECK(gg_module_lookup_epoch() > before);
	dlclose(library);
}

static void *load_and_unload(void *unused)
{
	while (!gg_load_relaxed(&stop)) {
		void *library = dlopen(getenv("REUSED_LARGE"), RTLD_NOW);

		if (library != NULL)
			dlclose(library);
	}
	return unused;
}

TEST(walks_are_right_while_another_thread_loads_and_unloads)
{
	pthread_t other;
	uint64_t site;

	if (!CHECK_EQ_I64(pthread_create(&other, NULL, load_and_unload, NULL), 0))
		return;
	for (unsigned i = 0; i < 300; i++)
		if (!capture_through(getenv("REUSED_SMALL"), &site))
			break;
	gg_store_relaxed(&stop, true);
	pthread_join(other, NULL);
}
