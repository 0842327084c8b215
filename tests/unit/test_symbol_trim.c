/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_trim - shows that reports leave out only allocators' entry points and geiger's
 * frames.
 */
#include "symbol/symbol.h"

#include "base/compiler.h"
#include "test.h"

TEST(entry_points_of_allocators_are_trimmed)
{
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"posix_memalign",
		"aligned_alloc",
		"__libc_malloc",
		"__libc_memalign",
		"malloc@@GLIBC_2.2.5",
		"operator new",
		"operator new[]",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"operator new(unsigned long, std::align_val_t)",
		"_Znwm",
		"_ZnamSt11align_val_t",
		"_ZdlPvm",
		"je_malloc",
		"mallocx",
		"je_mallocx",
		"_rjem_mallocx",
		"tc_malloc",
		"tc_newarray_nothrow",
		"mi_malloc",
		"mi_new",
		"mi_zalloc",
		"__rust_alloc",
		"__rustc::__rust_alloc",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(gg_symbol_is_allocator_entry(names[i], "/lib/libx.so"), "%s", names[i]);
}

TEST(what_only_calls_them_is_not)
{
	static const char *const names[] = {
		"main",
		"strdup",
		"xmalloc",
		"new",
		"delete",
		"je_new",
		"operator newer",
		"my::malloc_wrapper",
		"ns::operator new_thing",
		"Class::operator new",
		"PyMem_Malloc",
		"std::allocator<...>::allocate",
		"_Znwhatever",
		"malloc_info",
		"mallocator",
		"",
		"__",
		"tc_",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(!gg_symbol_is_allocator_entry(names[i], "/bin/x"), "%s", names[i]);
	CHECK(!gg_symbol_is_allocator_entry(NULL, "/bin/x"));
	CHECK(!gg_symbol_is_allocator_entry(NULL, NULL));
	CHECK(!gg_symbol_is_allocator_entry("main", NULL));
}

TEST(all_frames_of_the_agent_are_trimmed)
{
	CHECK(gg_symbol_is_allocator_entry(NULL, "/usr/lib/libgeiger-agent.so"));
	CHECK(gg_symbol_is_allocator_entry("anything", "libgeiger-agent.so (deleted)"));
	CHECK(gg_symbol_is_allocator_entry("raw_malloc",
	                                   "/usr/lib/x86_64-linux-gnu/libgeiger-python.so"));
	CHECK(gg_symbol_is_allocator_entry(NULL, "/usr/local/lib/lua/5.4/geiger.so"));
	CHECK(!gg_symbol_is_allocator_entry("anything", "/usr/lib/libgeiger.so"));
}
