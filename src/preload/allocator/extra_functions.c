/* SPDX-License-Identifier: Apache-2.0 */
/* extra_functions - the table of names, and how they are taken over. */
#include "runtime/platform/extra_functions.h"

#include "base/compiler.h"
#include "preload/allocator/got_patch.h"
#include "runtime/modules/proc_maps.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/real_functions.h"

struct gg_extra_functions gg_extra_functions;

/* The code of the real functions whose names were taken, and the range that spans all of it. */
static struct code_range {
	uintptr_t begin, end;
} codes[sizeof(gg_extra_functions) / sizeof(void *)], all_codes;
static size_t code_count;

/* A name, and the pointer through which its hook calls the real function. */
struct extra_name {
	const char *name;
	void *real;        /* address of that pointer */
	bool is_same_only; /* taken only if it is the function found by another name */
};

#define OWN(member)   &gg_extra_functions.member, false
#define OTHER(member) &gg_extra_functions.member, true
#define REAL(member)  &gg_real.member, true

static const struct extra_name names[] = {
	/* C++, mangled by the Itanium ABI, where m is size_t. */
	{ "_Znwm", OWN(new_one) },
	{ "_Znam", OWN(new_array) },
	{ "_ZnwmRKSt9nothrow_t", OWN(new_one_nothrow) },
	{ "_ZnamRKSt9nothrow_t", OWN(new_array_nothrow) },
	{ "_ZnwmSt11align_val_t", OWN(new_one_aligned) },
	{ "_ZnamSt11align_val_t", OWN(new_array_aligned) },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", OWN(new_one_aligned_nothrow) },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", OWN(new_array_aligned_nothrow) },
	{ "_ZdlPv", OWN(delete_one) },
	{ "_ZdaPv", OWN(delete_array) },
	{ "_ZdlPvRKSt9nothrow_t", OWN(delete_one_nothrow) },
	{ "_ZdaPvRKSt9nothrow_t", OWN(delete_array_nothrow) },
	{ "_ZdlPvm", OWN(delete_one_sized) },
	{ "_ZdaPvm", OWN(delete_array_sized) },
	{ "_ZdlPvSt11align_val_t", OWN(delete_one_aligned) },
	{ "_ZdaPvSt11align_val_t", OWN(delete_array_aligned) },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", OWN(delete_one_aligned_nothrow) },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", OWN(delete_array_aligned_nothrow) },
	{ "_ZdlPvmSt11align_val_t", OWN(delete_one_sized_aligned) },
	{ "_ZdaPvmSt11align_val_t", OWN(delete_array_sized_aligned) },
	/* jemalloc; its nallocx() and sallocx() neither allocate nor free. */
	{ "mallocx", OWN(mallocx) },
	{ "rallocx", OWN(rallocx) },
	{ "xallocx", OWN(xallocx) },
	{ "dallocx", OWN(dallocx) },
	{ "sdallocx", OWN(sdallocx) },
	/* tcmalloc (gperftools), and the old name of free(). */
	{ "tc_malloc_skip_new_handler", OWN(tc_malloc_skip_new_handler) },
	{ "tc_free_sized", OWN(tc_free_sized) },
	{ "cfree", OWN(cfree) },
	{ "tc_cfree", OTHER(cfree) },
	{ "tc_malloc", REAL(malloc) },
	{ "tc_calloc", REAL(calloc) },
	{ "tc_realloc", REAL(realloc) },
	{ "tc_free", REAL(free) },
	{ "tc_memalign", REAL(memalign) },
	{ "tc_posix_memalign", REAL(posix_memalign) },
	{ "tc_valloc", REAL(valloc) },
	{ "tc_pvalloc", REAL(pvalloc) },
	{ "tc_new", OTHER(new_one) },
	{ "tc_newarray", OTHER(new_array) },
	{ "tc_new_nothrow", OTHER(new_one_nothrow) },
	{ "tc_newarray_nothrow", OTHER(new_array_nothrow) },
	{ "tc_new_aligned", OTHER(new_one_aligned) },
	{ "tc_newarray_aligned", OTHER(new_array_aligned) },
	{ "tc_new_aligned_nothrow", OTHER(new_one_aligned_nothrow) },
	{ "tc_newarray_aligned_nothrow", OTHER(new_array_aligned_nothrow) },
	{ "tc_delete", OTHER(delete_one) },
	{ "tc_deletearray", OTHER(delete_array) },
	{ "tc_delete_nothrow", OTHER(delete_one_nothrow) },
	{ "tc_deletearray_nothrow", OTHER(delete_array_nothrow) },
	{ "tc_delete_sized", OTHER(delete_one_sized) },
	{ "tc_deletearray_sized", OTHER(delete_array_sized) },
	{ "tc_delete_aligned", OTHER(delete_one_aligned) },
	{ "tc_deletearray_aligned", OTHER(delete_array_aligned) },
	{ "tc_delete_aligned_nothrow", OTHER(delete_one_aligned_nothrow) },
	{ "tc_deletearray_aligned_nothrow", OTHER(delete_array_aligned_nothrow) },
	{ "tc_delete_sized_aligned", OTHER(delete_one_sized_aligned) },
	{ "tc_deletearray_sized_aligned", OTHER(delete_array_sized_aligned) },
};

/* A name that will be taken. */
struct taken_name {
	const uint16_t *version; /* the word of the hook in our table of symbol versions */
	void *hook;
};

static void add_code(uintptr_t begin, size_t bytes)
{
	if (code_count == 0 || begin < all_codes.begin)
		all_codes.begin = begin;
	if (begin + bytes > all_codes.end)
		all_codes.end = begin + bytes;
	codes[code_count++] = (struct code_range){ begin, begin + bytes };
}

/* True if the loader finds the function in the allocator, and not in an object before it. */
static bool is_first(const struct extra_name *name, const struct gg_elf_lookup_tables *allocator)
{
	struct gg_elf_lookup next;

	return gg_elf_lookup_find_next(name->name, &next) && next.map == allocator->map;
}

/*
 * Finds the function in the allocator, and our hook.  False: it is not there.  It sets the pointer
 * in gg_extra_functions; no thread can have reached the hook yet.
 */
static bool find(const struct extra_name *name, const struct gg_elf_lookup_tables *allocator,
                 struct taken_name *ret, struct gg_elf_lookup *ret_real)
{
	void **real = name->real;

	if (!gg_elf_lookup_find(allocator, name->name, ret_real) ||
	    (name->is_same_only && *real != ret_real->address))
		return false;
	ret->version = gg_elf_lookup_hidden(name->name, &ret->hook);
	if (ret->version == NULL)
		return false;
	if (!name->is_same_only) {
		*real = ret_real->address;
		add_code((uintptr_t)ret_real->address, ret_real->bytes);
	}
	return true;
}

/* Finds the allocator: the object whose malloc() follows ours.  Returns false without one. */
static bool find_allocator(struct gg_elf_lookup_tables *ret_allocator)
{
	struct gg_elf_lookup malloc_symbol;

	return gg_elf_lookup_find_next("malloc", &malloc_symbol) &&
	       gg_elf_lookup_tables(malloc_symbol.map, ret_allocator);
}

size_t gg_extra_functions_find(struct gg_extra_function *ret_functions, size_t most)
{
	struct gg_elf_lookup_tables allocator;
	struct gg_elf_lookup real;
	struct taken_name taken;
	size_t count = 0;

	if (!find_allocator(&allocator))
		return 0;
	for (size_t i = 0; i < GG_COUNT(names) && count < most; i++)
		if (find(&names[i], &allocator, &taken, &real))
			ret_functions[count++] = (struct gg_extra_function){
				.name = names[i].name,
				.real = (uintptr_t)real.address,
				.hook = (uintptr_t)taken.hook,
				.is_first = is_first(&names[i], &allocator),
			};
	return count;
}

/*
 * Takes the names in two steps, so that other threads may allocate meanwhile:
 *
 *   1. find() sets the pointers of gg_extra_functions for each name that is taken.  So each hook is
 *      complete before any thread can reach it.
 *   2. The slots change.  The allocator's own slots lead to its own functions from now on, so that
 *      its calls do not pass the hooks.  Then the hooks become visible to the loader.  Last, the
 *      slots of all other objects change from the real functions to the hooks.
 */
void gg_extra_functions_take(void)
{
	struct gg_got_patch_change to_real[GG_COUNT(names)], to_hook[GG_COUNT(names)];
	struct taken_name taken[GG_COUNT(names)];
	struct gg_elf_lookup_tables allocator;
	struct gg_elf_lookup real;
	struct gg_proc_maps maps;
	size_t count = 0;

	if (!find_allocator(&allocator))
		return;
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		if (!is_first(&names[i], &allocator) ||
		    !find(&names[i], &allocator, &taken[count], &real))
			continue;
		to_real[count] = (struct gg_got_patch_change){ names[i].name, 0,
			                                       (uintptr_t)real.address };
		to_hook[count] = (struct gg_got_patch_change){ names[i].name,
			                                       (uintptr_t)real.address,
			                                       (uintptr_t)taken[count].hook };
		count++;
	}
	if (count == 0)
		return;
	if (gg_proc_maps_read(&maps)) {
		gg_got_patch_change(allocator.map, to_real, count, &maps);
		for (size_t i = 0; i < count; i++)
			gg_got_patch_write(&maps, (void *)(uintptr_t)taken[i].version,
			                   VER_NDX_GLOBAL, sizeof(*taken[i].version));
		for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
			if (map != allocator.map && map->l_ld != _DYNAMIC)
				gg_got_patch_change(map, to_hook, count, &maps);
	}
	gg_proc_maps_done(&maps);
}

bool gg_extra_functions_has_code(const void *pc)
{
	/* Quick answer for callers in the program. */
	if ((uintptr_t)pc - all_codes.begin >= all_codes.end - all_codes.begin)
		return false;
	for (size_t i = 0; i < code_count; i++)
		if ((uintptr_t)pc - codes[i].begin < codes[i].end - codes[i].begin)
			return true;
	return false;
}
