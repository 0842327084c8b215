/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim - recognizes the frames of an allocator, which top every stack and say nothing about it.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/path.h"
#include "symbol/elf/sysroot_path.h"
#include "symbol/symbol.h"

/* The functions of malloc's family, without the prefixes that allocators put before them. */
static const char *const family[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"reallocf",
	"recallocarray",
	"memalign",
	"aligned_alloc",
	"valloc",
	"posix_memalign",
	"pvalloc",
	"free",
	"aligned_realloc",
	"cfree",
	"freezero",
	"free_sized",
	"free_aligned_sized",
	"mallocx",
	"rallocx",
	"xallocx",
	"sallocx",
	"dallocx",
	"sdallocx",
};
static const char *const prefixes[] = {
	"",    "__",  "__libc_", "__GI_",  "__GI___libc_", "__wrap_",
	"je_", "tc_", "mi_",     "_rjem_", "_rjem_je_",
};

/* The functions that C++ calls if tcmalloc or mimalloc is linked in. */
static const char *const news[] = {
	"new",
	"newarray",
	"new_nothrow",
	"newarray_nothrow",
	"new_aligned",
	"newarray_aligned",
	"new_aligned_nothrow",
	"newarray_aligned_nothrow",
	"delete",
	"deletearray",
	"delete_sized",
	"deletearray_sized",
	"delete_nothrow",
	"deletearray_nothrow",
	"delete_aligned",
	"deletearray_aligned",
	"new_n",
};
static const char *const new_prefixes[] = { "tc_", "mi_" };

/* Names that follow no pattern. */
static const char *const others[] = {
	"mi_malloc_aligned",
	"mi_malloc_small",
	"mi_mallocn",
	"mi_zalloc",
	"mi_zalloc_aligned",
	"mi_zalloc_small",
	"mi_calloc_aligned",
	"mi_realloc_aligned",
	"mi_reallocn",
	"mi_rezalloc",
	"mi_recalloc",
	"mi_free_size",
	"mi_free_size_aligned",
	"mi_free_aligned",
	"prof_backtrace_impl",
	"prof_backtrace",
	"je_prof_backtrace",
	"je_prof_tctx_create",
	"prof_alloc_prep",
	"imalloc",
	"imalloc_body",
	"je_malloc_default",
	"irallocx_prof",
	"operator new",
	"operator new[]",
	"operator delete",
	"operator delete[]",
	"__rust_alloc",
	"__rust_alloc_zeroed",
	"__rust_realloc",
	"__rust_dealloc",
	"__rg_alloc",
	"__rg_alloc_zeroed",
	"__rg_realloc",
	"__rg_dealloc",
	"__rdl_alloc",
	"__rdl_alloc_zeroed",
	"__rdl_realloc",
	"__rdl_dealloc",
	"__rustc::__rust_alloc",
	"__rustc::__rust_alloc_zeroed",
	"__rustc::__rust_realloc",
	"__rustc::__rust_dealloc",
	"geiger_bump_alloc", /* inline functions of libgeiger's headers */
	"geiger_bump_alloc_slow",
	"geiger_due",
};

/* operator new and delete as linkage names.  Letters for their arguments follow. */
static const char *const mangled[] = { "_Znw", "_Zna", "_Zdl", "_Zda" };

static bool is_in(const char *const *list, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == length && memcmp(list[i], name, length) == 0)
			return true;
	return false;
}

static bool is_prefixed(const char *const *prefix_list, size_t prefix_count,
                        const char *const *list, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < prefix_count; i++) {
		size_t prefix = strlen(prefix_list[i]);

		if (length > prefix && memcmp(name, prefix_list[i], prefix) == 0 &&
		    is_in(list, count, name + prefix, length - prefix))
			return true;
	}
	return false;
}

/*
 * True for modules that consist of the allocator alone: the agent, the adapters of runtimes, and
 * allocator libraries.  Stacks that other profilers took begin inside these libraries.
 */
static bool is_allocator(const char *module)
{
	static const char *const names[] = { "libgeiger-agent.so",
		                             "libgeiger-python.so",
		                             "memfd:geiger-agent",
		                             "memfd:libgeiger-python.so",
		                             "geiger.so",
		                             "libjemalloc.so",
		                             "libtcmalloc",
		                             "libmimalloc",
		                             "libheaptrack_preload.so" };
	const char *name = gg_path_base(module);

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool gg_symbol_is_allocator_entry(const char *function, const char *module)
{
	size_t length;

	if (module != NULL && is_allocator(module))
		return true;
	if (function == NULL)
		return false;
	/* The name ends before its arguments and its symbol version. */
	length = strcspn(function, "(@");
	if (is_in(others, GG_COUNT(others), function, length) ||
	    is_prefixed(prefixes, GG_COUNT(prefixes), family, GG_COUNT(family), function, length) ||
	    is_prefixed(new_prefixes, GG_COUNT(new_prefixes), news, GG_COUNT(news), function,
	                length))
		return true;
	/*
	 * The first argument is a size_t (m, or j on 32 bits) or a pointer (P).  Other names only
	 * begin alike.
	 */
	for (size_t i = 0; i < GG_COUNT(mangled); i++)
		if (strncmp(function, mangled[i], 4) == 0 &&
		    (function[4] == 'm' || function[4] == 'j' || function[4] == 'P'))
			return true;
	return false;
}
