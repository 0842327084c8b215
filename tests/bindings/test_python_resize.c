/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_python_resize - a block moves while it is resized, and another interpreter, with a lock of
 * its own, gets the old address at once.
 */
#include <geiger/geiger.h>

#include "domain_hooks.h"
#include "embed/object_events.h"
#include "scratch.h"
#include "test.h"

enum { BLOCK_BYTES = 600 };

static char first[BLOCK_BYTES], second[BLOCK_BYTES];
static void *next_block;

/* Functions of the allocator underneath. */

static void *give_malloc(void *context, size_t bytes)
{
	(void)context;
	(void)bytes;
	return next_block;
}

/* The other interpreter allocates at the old address, by its hook. */
static void *move_realloc(void *context, void *p, size_t bytes)
{
	const struct gg_python_allocator *hooks = gg_python_hook_tables[GG_PYTHON_HOOKS_ANY];

	next_block = p;
	CHECK(hooks[GG_PYTHON_MEM].malloc(context, bytes) == p);
	return second;
}

static void *fail_realloc(void *context, void *p, size_t bytes)
{
	(void)context;
	(void)p;
	(void)bytes;
	return NULL;
}

static void ignore_free(void *context, void *p)
{
	(void)context;
	(void)p;
}

static void *no_state(void)
{
	return NULL;
}

static int never(void)
{
	return 0;
}

static uint64_t id_at(const void *block)
{
	return gg_embed_find_sample(gg_python_hooks.domains[GG_PYTHON_MEM].heap, block).id;
}

/* Every block is a sample. */
static const struct gg_python_allocator *start(void)
{
	static const struct gg_python_layout layout = { .version = 0x030c };
	static const struct gg_python python = { .layout = &layout,
		                                 .current_state = no_state,
		                                 .registered_state = no_state };
	struct gg_python_counted *mem = &gg_python_hooks.domains[GG_PYTHON_MEM];
	const struct geiger_options options = { .interval_bytes = 1,
		                                .directory = scratch_folder() };

	if (mem->heap == 0)
		REQUIRE(geiger_start(&options) == 0);
	gg_python_hooks.python = &python;
	gg_python_hooks.is_finalizing = never;
	mem->heap = geiger_heap_register("python.mem", NULL);
	mem->real.malloc = give_malloc;
	mem->real.free = ignore_free;
	return &gg_python_hook_tables[GG_PYTHON_HOOKS_ANY][GG_PYTHON_MEM];
}

TEST(a_sample_that_another_interpreter_has_at_the_old_address_stays)
{
	const struct gg_python_allocator *hooks = start();
	uint64_t before;

	gg_python_hooks.domains[GG_PYTHON_MEM].real.realloc = move_realloc;
	next_block = first;
	hooks->malloc(NULL, BLOCK_BYTES);
	before = id_at(first);
	CHECK(before != 0);
	CHECK(hooks->realloc(NULL, first, BLOCK_BYTES) == second);
	CHECK(id_at(first) != 0);
	CHECK(id_at(first) != before);
	CHECK(id_at(second) != 0);
	hooks->free(NULL, first);
	hooks->free(NULL, second);
	CHECK_EQ_U64(id_at(first), 0);
	CHECK_EQ_U64(id_at(second), 0);
}

TEST(a_resize_that_fails_leaves_the_sample)
{
	const struct gg_python_allocator *hooks = start();
	uint64_t before;

	gg_python_hooks.domains[GG_PYTHON_MEM].real.realloc = fail_realloc;
	next_block = first;
	hooks->malloc(NULL, BLOCK_BYTES);
	before = id_at(first);
	CHECK(before != 0);
	CHECK(hooks->realloc(NULL, first, BLOCK_BYTES) == NULL);
	CHECK_EQ_U64(id_at(first), before);
	hooks->free(NULL, first);
	CHECK_EQ_U64(id_at(first), 0);
}
