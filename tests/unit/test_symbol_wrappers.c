/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_wrappers - shows which functions count as wrappers of the allocator, and which as
 * start code.
 */
#include "symbol/symbol.h"

#include "base/compiler.h"
#include "test.h"

TEST(functions_that_allocate_for_their_callers_are_wrappers)
{
	static const char *const names[] = {
		"xmalloc",
		"xcalloc",
		"zmalloc",
		"ztrymalloc_usable_internal",
		"strdup",
		"g_malloc0",
		"sqlite3DbMallocRawNN",
		"Perl_safesysmalloc",
		"PyMem_RawMalloc",
		"_PyObject_GC_Alloc",
		"objspace_xmalloc0",
		"palloc0",
		"xmalloc(unsigned long)",
		"std::__new_allocator<...>::allocate",
		"std::vector<...>::push_back",
		"__gnu_cxx::new_allocator<...>::allocate",
		"alloc::alloc::alloc",
		"alloc::raw_vec::RawVec<T,A>::grow_one",
		"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
		"hashbrown::raw::RawTable<T,A>::reserve_rehash",
		"<&mut W as core::fmt::Write>::write_str",
		"<[T] as alloc::slice::hack::ConvertVec>::to_vec",
		"os::malloc(unsigned long, MEMFLAGS)",
		"<str>::repeat",
		"<[alloc::string::String]>::concat",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(gg_symbol_is_wrapper(names[i]), "%s", names[i]);
}

TEST(functions_that_decide_what_to_allocate_are_not)
{
	static const char *const names[] = {
		"main",
		"",
		"parse_config",
		"xmalloc_stats",
		"my_xmalloc",
		"Parser::strdup_all",
		"standard::vector",
		"mystd::vector<...>::push_back",
		"corelib::run",
		"alloc_table",
		"core_init",
		"<work::Node as core::clone::Clone>::clone",
		"<T as work::Grow>::grow",
		"<Tree as core::clone::Clone>::clone",
		"<&",
		"<[u8] as mine::Encode>::encode",
		"<str as mine::Encode>::encode",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(!gg_symbol_is_wrapper(names[i]), "%s", names[i]);
}

TEST(the_list_is_sorted_and_each_of_its_names_is_found)
{
	const char *before = "", *origin, *name;

	for (size_t i = 0; (name = gg_symbol_wrapper(i, &origin)) != NULL; i++) {
		CHECK_MSG(strcmp(before, name) < 0, "%s stands before %s", before, name);
		CHECK_MSG(gg_symbol_is_wrapper(name), "%s", name);
		CHECK_MSG(origin[0] != '\0', "%s", name);
		before = name;
	}
	CHECK(before[0] != '\0');
}

TEST(code_that_starts_programs_and_threads_is_start_code)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_main@@GLIBC_2.34",
		"start_thread",
		"__clone3",
		"std::rt::lang_start::{{closure}}",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(gg_symbol_is_start_code(names[i]), "%s", names[i]);
}

TEST(functions_with_similar_names_are_no_start_code)
{
	static const char *const names[] = { "",        "main",          "start",
		                             "_start2", "clone_tree",    "__libc_start",
		                             "Restart", "start_threads", "std::rt::panic" };

	for (size_t i = 0; i < GG_COUNT(names); i++)
		CHECK_MSG(!gg_symbol_is_start_code(names[i]), "%s", names[i]);
}
