/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_modules - compares the modules of stacks with the loader's and the kernel's lists.
 *
 * GEIGER_MODULES selects the list.  Both must agree, also about libraries that come and go.  Every
 * allocation is a sample.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/compiler.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

enum { DEPTH = 600 };

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

static bool has_pc(const struct gg_region_module *module, uint64_t pc)
{
	for (int i = 0; i < module->range_count; i++)
		if (pc - module->ranges[i].start < module->ranges[i].end - module->ranges[i].start)
			return true;
	return false;
}

static uint64_t file_name_hash(const char *path, size_t bytes)
{
	const char *slash = memrchr(path, '/', bytes);
	uint64_t hash = 0;

	for (const char *c = slash != NULL ? slash : path; c < path + bytes; c++)
		hash = hash * 31 + (unsigned char)*c;
	return hash;
}

/* Compares a module with the loader's entry that has the same bias. */
struct truth {
	const struct gg_region_module *module;
	const char *path;
	bool found;
	unsigned different;
};

static int compare_with(struct dl_phdr_info *info, size_t size, void *context)
{
	struct truth *truth = context;
	const struct gg_region_module *m = truth->module;
	int range = 0;

	(void)size;
	if (info->dlpi_addr != m->bias)
		return 0;
	truth->found = true;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD)
			continue;
		truth->different += range >= m->range_count ||
		                    m->ranges[range].start != info->dlpi_addr + header->p_vaddr ||
		                    m->ranges[range].end !=
		                            m->ranges[range].start + header->p_memsz ||
		                    m->ranges[range].file_offset != header->p_offset;
		range++;
	}
	truth->different += range != m->range_count;
	/* The loader has the path by which a library was loaded, and no path for the program. */
	if (info->dlpi_name[0] != '\0')
		truth->different += file_name_hash(truth->path, m->path_bytes) !=
		                    file_name_hash(info->dlpi_name, strlen(info->dlpi_name));
	return 1;
}

TEST(modules_of_stacks_are_as_the_loader_has_them)
{
	struct gg_region_view view = inside_view();

	CHECK(view.module_count >= 2);
	for (uint32_t i = 0; i < view.module_count; i++) {
		struct truth truth = {
			.module = &view.modules[i],
			.path = gg_region_view_string(&view, view.modules[i].path_offset),
		};

		dl_iterate_phdr(compare_with, &truth);
		CHECK_MSG(truth.found && truth.different == 0, "%.*s: %s, %u differences",
		          (int)truth.module->path_bytes, truth.path,
		          truth.found ? "found" : "not there", truth.different);
		CHECK(truth.module->build_id_bytes > 0);
	}
	gg_region_view_done(&view);
}

/* The stack of a live block. */
struct stack {
	uint64_t pcs[DEPTH];
	uint32_t count;
	unsigned unknown; /* pcs that are in no module */
	unsigned in_path; /* in a loaded one whose path has the text */
	bool has_main;
};

static int dummy_main(void) __attribute__((noinline));

/* The end of the test's own code is not known; that of its module is. */
static bool is_program(const struct gg_region_module *module)
{
	return has_pc(module, (uintptr_t)dummy_main);
}

static int dummy_main(void)
{
	return 0;
}

static struct stack stack_of(const void *p, const char *text)
{
	struct gg_region_view view = inside_view();
	struct stack stack = { .count = 0 };

	for (uint32_t i = 0; i < view.live_count; i++)
		if (view.live[i].address == (uintptr_t)p)
			stack.count = gg_region_view_stack(&view, view.live[i].stack, stack.pcs,
			                                   DEPTH);
	for (uint32_t i = 0; i < stack.count && i < DEPTH; i++) {
		bool known = false;

		for (uint32_t j = 0; j < view.module_count; j++) {
			const struct gg_region_module *m = &view.modules[j];

			if (m->unload_ns != 0 || !has_pc(m, stack.pcs[i]))
				continue;
			known = true;
			stack.in_path += memmem(gg_region_view_string(&view, m->path_offset),
			                        m->path_bytes, text, strlen(text)) != NULL;
			/* Only calls of the program's are below its first. */
			stack.has_main |= is_program(m) && i + 4 >= stack.count;
		}
		stack.unknown += !known;
	}
	gg_region_view_done(&view);
	return stack;
}

static void check_stack(const void *p, const char *path)
{
	struct stack stack = stack_of(p, path);

	CHECK_MSG(stack.count > 3, "%u frames", stack.count);
	CHECK_MSG(stack.unknown == 0, "%s: %u pcs of %u are in no module", path, stack.unknown,
	          stack.count);
	CHECK_MSG(stack.in_path > 0, "no frame is in %s", path);
	CHECK_MSG(stack.has_main, "the stack through %s does not reach main()", path);
}

static void *from_callback;

static int allocate_in_callback(void)
{
	from_callback = call_malloc(4000);
	return 1;
}

typedef int reused_function(int (*callback)(void));

/* Loads it, allocates under a call of it, and returns where the call is. */
static void *call_library(const char *path, void **ret_library)
{
	reused_function *call;

	*ret_library = dlopen(path, RTLD_NOW);
	if (!CHECK_MSG(*ret_library != NULL, "%s", dlerror()))
		return NULL;
	call = (reused_function *)dlsym(*ret_library, "reused_call");
	CHECK_EQ_I64(call(allocate_in_callback), 2);
	return (void *)call;
}

TEST(a_library_that_is_loaded_later_is_on_record_and_walked_through)
{
	void *library, *p;

	if (call_library(getenv("REUSED_SMALL"), &library) == NULL)
		return;
	p = from_callback;
	check_stack(p, "reused-small");
	call_free(p);
	dlclose(library);
}

TEST(a_library_that_takes_the_place_of_another_is_told_from_it)
{
	struct gg_region_view view;
	unsigned unloaded = 0;
	void *small, *large, *library;

	small = call_library(getenv("REUSED_SMALL"), &library);
	call_free(from_callback);
	dlclose(library);
	large = call_library(getenv("REUSED_LARGE"), &library);
	if (small != large)
		SKIP("the loader put it elsewhere");
	check_stack(from_callback, "reused-large");
	call_free(from_callback);
	dlclose(library);
	view = inside_view();
	for (uint32_t i = 0; i < view.module_count; i++)
		unloaded += view.modules[i].unload_ns != 0 &&
		            memmem(gg_region_view_string(&view, view.modules[i].path_offset),
		                   view.modules[i].path_bytes, "reused-small", 12) != NULL;
	gg_region_view_done(&view);
	CHECK_MSG(unloaded > 0, "nothing was unloaded");
}

TEST(a_forked_child_knows_its_modules_too)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		void *library, *p;

		if (call_library(getenv("REUSED_LARGE"), &library) == NULL)
			_exit(1);
		p = from_callback;
		check_stack(p, "reused-large");
		fflush(stdout);
		_exit(test_failed);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* More than the agent's list of loaded modules holds at once (GG_MODULE_TABLE_MAX). */
TEST(libraries_that_take_turns_by_the_thousand_are_all_on_record)
{
	struct gg_region_view view;
	uint64_t strings;
	void *library;

	view = inside_view();
	strings = gg_region_table_of(&view.header, GG_TABLE_STRINGS)->used_count;
	gg_region_view_done(&view);
	for (int i = 0; i < 2200; i++) {
		if (call_library(getenv(i % 2 == 0 ? "REUSED_SMALL" : "REUSED_LARGE"), &library) ==
		    NULL)
			return;
		if (i == 2199)
			check_stack(from_callback, "reused-large");
		call_free(from_callback);
		dlclose(library);
	}
	view = inside_view();
	CHECK_EQ_U64(view.header.counters[GG_COUNT_DROP_MODULES], 0);
	/* Their paths are there once. */
	strings = gg_region_table_of(&view.header, GG_TABLE_STRINGS)->used_count - strings;
	CHECK_MSG(strings < 10000, "%llu bytes", (unsigned long long)strings);
	gg_region_view_done(&view);
}

TEST(stacks_end_where_threads_and_the_program_begin)
{
	struct gg_region_view view = inside_view();
	uint64_t whole = view.header.unwind_endings[0], all = 0;

	for (size_t i = 0; i < GG_COUNT(view.header.unwind_endings); i++)
		all += view.header.unwind_endings[i];
	CHECK_MSG(all > 0 && whole == all, "%lu of %lu", (unsigned long)whole, (unsigned long)all);
	gg_region_view_done(&view);
}
