/* SPDX-License-Identifier: Apache-2.0 */
/*
 * musl_libc - what differs in programs of musl: its allocator's functions, and dlopen().
 *
 * Allocator  calloc(), memalign(), posix_memalign() and valloc() of musl call malloc() and
 *            aligned_alloc() by name, so they would call the hooks, and a block would count twice.
 *            Here they are made of the real malloc() and aligned_alloc().  If malloc() was
 *            replaced, musl's calloc() clears memory in the same way as the one here.
 * dlopen()   The loader of musl has no count of modules that the unwinder could watch.  So the hook
 *            counts loads.  Constructors of a library run before the hook can count, so each walk
 *            counts as long as a library is being loaded (gg_mapped_modules_refresh()).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/real_functions.h"
#include "unwind/walk/module_lookup.h"

enum { CLEARED_PAGE_BYTES = 4096 };

/* Clears a block, without writing to pages that are zero: new pages of the kernel stay shared. */
static void *clear(void *block, size_t bytes)
{
	char *at = block, *end = at + bytes;
	char *page = at + (-(uintptr_t)at & (CLEARED_PAGE_BYTES - 1));

	if (bytes < 2 * CLEARED_PAGE_BYTES)
		return memset(block, 0, bytes);
	memset(at, 0, (size_t)(page - at));
	for (; page + CLEARED_PAGE_BYTES <= end; page += CLEARED_PAGE_BYTES) {
		const uint64_t *words = (const uint64_t *)(const void *)page;
		uint64_t any = 0;

		for (size_t i = 0; i < CLEARED_PAGE_BYTES / sizeof(*words); i++)
			any |= words[i];
		if (any != 0)
			memset(page, 0, CLEARED_PAGE_BYTES);
	}
	memset(page, 0, (size_t)(end - page));
	return block;
}

static void *musl_calloc(size_t count, size_t bytes)
{
	size_t total;
	void *block;

	if (__builtin_mul_overflow(count, bytes, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	block = gg_real.malloc(total);
	return block != NULL ? clear(block, total) : NULL;
}

static int musl_posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
	void *block;

	if (alignment < sizeof(void *))
		return EINVAL;
	block = gg_real.aligned_alloc(alignment, bytes);
	if (block == NULL)
		return errno;
	*ret_block = block;
	return 0;
}

static void *musl_valloc(size_t bytes)
{
	return gg_real.aligned_alloc(getauxval(AT_PAGESZ), bytes);
}

#ifdef GG_STATIC
/* The functions here are right over any allocator, and a static program has no dlopen(). */
void gg_real_replace(struct gg_real *real)
{
	gg_store_relaxed(&real->calloc, musl_calloc);
	gg_store_relaxed(&real->memalign, real->aligned_alloc);
	gg_store_relaxed(&real->posix_memalign, musl_posix_memalign);
	gg_store_relaxed(&real->valloc, musl_valloc);
}
#else
static void *(*real_dlopen)(const char *file, int mode);

static bool is_in(const struct gg_elf_lookup_tables *libc, const char *name, const void *function)
{
	struct gg_elf_lookup symbol;

	return gg_elf_lookup_find(libc, name, &symbol) && symbol.address == function;
}

/* Replaces the functions that are musl's, and not those of another allocator. */
void gg_real_replace(struct gg_real *real)
{
	struct gg_elf_lookup_tables libc;
	struct gg_elf_lookup start;

	gg_store_relaxed((void **)&real_dlopen, gg_elf_lookup_next("dlopen", NULL));
	if (!gg_elf_lookup_find_next("__libc_start_main", &start) ||
	    !gg_elf_lookup_tables(start.map, &libc))
		return;
	if (is_in(&libc, "calloc", (void *)real->calloc))
		gg_store_relaxed(&real->calloc, musl_calloc);
	if (is_in(&libc, "memalign", (void *)real->memalign))
		gg_store_relaxed(&real->memalign, real->aligned_alloc);
	if (is_in(&libc, "posix_memalign", (void *)real->posix_memalign))
		gg_store_relaxed(&real->posix_memalign, musl_posix_memalign);
	if (is_in(&libc, "valloc", (void *)real->valloc))
		gg_store_relaxed(&real->valloc, musl_valloc);
}

/* musl ignores where the call comes from. */
GG_EXPORT void *dlopen(const char *file, int mode)
{
	void *library;

	if (gg_load_relaxed((void **)&real_dlopen) == NULL)
		gg_real_find();
	gg_add_relaxed(&gg_module_lookup_loading, 1);
	library = real_dlopen(file, mode);
	/* Release: a thread that sees the new count sees the modules. */
	gg_add_acq_rel(&gg_module_lookup_loads, 1);
	gg_add_release(&gg_module_lookup_loading, -1);
	return library;
}
#endif

const char *gg_real_other_allocator(void)
{
	return NULL;
}
