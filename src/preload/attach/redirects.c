/* SPDX-License-Identifier: Apache-2.0 */
/* redirects - lists the hooks that have a real function, and finds them by name. */
#include "preload/attach/redirects.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "preload/attach/dlopen_hook.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/real_functions.h"

/* Without optimization a call at the end of a function is no jump. */
#if defined(__OPTIMIZE__)
enum { CAN_HOOK_DLOPEN = 1 };
#else
enum { CAN_HOOK_DLOPEN = 0 };
#endif

enum { NAME_HASHES = 1024, HASHED_NAME_MOST = 48 };

/* The hooks whose headers do not declare them everywhere. */
void free_sized(void *p, size_t bytes);
void free_aligned_sized(void *p, size_t alignment, size_t bytes);
pid_t _Fork(void);
gg_real_handler *bsd_signal(int signal, gg_real_handler *handler);
gg_real_handler *__sysv_signal(int signal, gg_real_handler *handler);

static struct gg_redirect redirects[GG_REDIRECTS_MOST];
static size_t redirect_count;
static uint64_t allocator_base;
static uint8_t name_hashes[NAME_HASHES / 8]; /* bits of names that may be in the table */

#define HOOK(function, member, rank)                                                  \
	{                                                                             \
#function, &gg_real.member, (uintptr_t)(void (*)(void))function, rank \
	}

/* A hook, and the pointer that has the address of its real function. */
static const struct named_hook {
	const char *name;
	void *real;
	uint64_t hook;
	enum gg_redirect_rank rank;
} hooks[] = {
	HOOK(malloc, malloc, GG_REDIRECT_ALLOCATE),
	HOOK(calloc, calloc, GG_REDIRECT_ALLOCATE),
	HOOK(posix_memalign, posix_memalign, GG_REDIRECT_ALLOCATE),
	HOOK(aligned_alloc, aligned_alloc, GG_REDIRECT_ALLOCATE),
	HOOK(memalign, memalign, GG_REDIRECT_ALLOCATE),
	HOOK(valloc, valloc, GG_REDIRECT_ALLOCATE),
	HOOK(pvalloc, pvalloc, GG_REDIRECT_ALLOCATE),
	HOOK(realloc, realloc, GG_REDIRECT_CHANGE),
	HOOK(reallocarray, reallocarray, GG_REDIRECT_CHANGE),
	HOOK(free, free, GG_REDIRECT_FREE),
	HOOK(free_sized, free_sized, GG_REDIRECT_FREE),
	HOOK(free_aligned_sized, free_aligned_sized, GG_REDIRECT_FREE),
	HOOK(munmap, munmap, GG_REDIRECT_FREE),
	HOOK(mremap, mremap, GG_REDIRECT_CHANGE),
	HOOK(mmap, mmap, GG_REDIRECT_ALLOCATE),
	HOOK(mmap64, mmap, GG_REDIRECT_ALLOCATE),
	HOOK(_Fork, _Fork, GG_REDIRECT_FREE),
	HOOK(_exit, _exit, GG_REDIRECT_FREE),
	HOOK(_Exit, _exit, GG_REDIRECT_FREE),
	HOOK(prctl, prctl, GG_REDIRECT_FREE),
	HOOK(sigaction, sigaction, GG_REDIRECT_FREE),
	HOOK(signal, signal, GG_REDIRECT_FREE),
	HOOK(bsd_signal, signal, GG_REDIRECT_FREE),
	HOOK(ssignal, signal, GG_REDIRECT_FREE),
	HOOK(sysv_signal, sysv_signal, GG_REDIRECT_FREE),
	HOOK(__sysv_signal, sysv_signal, GG_REDIRECT_FREE),
};

/* Hashes the beginning of a name: names of C++ are long, and none of the table is longer. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (int i = 0; i < HASHED_NAME_MOST && name[i] != '\0'; i++)
		hash = hash * 33 + (unsigned char)name[i];
	return hash % NAME_HASHES;
}

/* Most names of a large program are of C++, and of these only operators are in the table. */
static bool is_other_cpp(const char *name)
{
	return name[0] == '_' && name[1] == 'Z' && name[2] != 'n' && name[2] != 'd';
}

static bool begins_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

/* The rank of a function of extra_functions.h. */
static enum gg_redirect_rank rank_of(const char *name)
{
	static const char *const allocating[] = {
		"_Zn",       "tc_new",     "mallocx",           "tc_malloc",   "tc_calloc",
		"tc_valloc", "tc_pvalloc", "tc_posix_memalign", "tc_memalign",
	};

	if (strcmp(name, "rallocx") == 0 || strcmp(name, "xallocx") == 0 ||
	    strcmp(name, "tc_realloc") == 0)
		return GG_REDIRECT_CHANGE;
	for (size_t i = 0; i < GG_COUNT(allocating); i++)
		if (begins_with(name, allocating[i]))
			return GG_REDIRECT_ALLOCATE;
	return GG_REDIRECT_FREE;
}

/* The value of an undefined symbol is the function's address for the whole process. */
static uint64_t address_in_program(const char *name)
{
	struct gg_elf_lookup_tables program;
	const struct link_map *map = _r_debug.r_map;

	return map != NULL && gg_elf_lookup_tables(map, &program)
	               ? gg_elf_lookup_undefined(&program, name)
	               : 0;
}

static void add(const struct gg_redirect *redirect)
{
	uint32_t hash = hash_of(redirect->name);

	if (redirect_count == GG_REDIRECTS_MOST)
		return;
	redirects[redirect_count] = *redirect;
	redirects[redirect_count++].in_program = address_in_program(redirect->name);
	name_hashes[hash / 8] |= (uint8_t)(1 << hash % 8);
}

static void add_all(void)
{
	struct gg_extra_function extra[GG_REDIRECTS_MOST];
	size_t extra_count = gg_extra_functions_find(extra, GG_COUNT(extra));
	struct gg_elf_lookup real;

	/* A function without a definition has a substitute of ours, and no slot leads to it. */
	for (size_t i = 0; i < GG_COUNT(hooks); i++)
		if (gg_elf_lookup_find_next(hooks[i].name, &real))
			add(&(struct gg_redirect){ .name = hooks[i].name,
			                           .real = (uintptr_t)real.address,
			                           .hook = hooks[i].hook,
			                           .rank = hooks[i].rank,
			                           .is_first = true });
	if (CAN_HOOK_DLOPEN && gg_elf_lookup_find_next("dlopen", &real)) {
		gg_attach_real_dlopen = (void *(*)(const char *, int))real.address;
		add(&(struct gg_redirect){ .name = "dlopen",
		                           .real = (uintptr_t)real.address,
		                           .hook = (uintptr_t)gg_attach_dlopen,
		                           .rank = GG_REDIRECT_FREE,
		                           .is_first = true });
	}
	for (size_t i = 0; i < extra_count; i++)
		add(&(struct gg_redirect){ .name = extra[i].name,
		                           .real = extra[i].real,
		                           .hook = extra[i].hook,
		                           .rank = rank_of(extra[i].name),
		                           .is_first = extra[i].is_first,
		                           .is_extra = true });
}

bool gg_redirects_find(void)
{
	struct gg_elf_lookup allocator;

	if (redirect_count > 0)
		return true;
	if (!gg_elf_lookup_find_next("malloc", &allocator) ||
	    !gg_elf_lookup_find_next("free", &allocator))
		return false;
	allocator_base = allocator.map->l_addr;
	add_all();
	return true;
}

const struct gg_redirect *gg_redirects(size_t *ret_count)
{
	*ret_count = redirect_count;
	return redirects;
}

const struct gg_redirect *gg_redirect_of(const char *name)
{
	uint32_t hash;

	if (is_other_cpp(name))
		return NULL;
	hash = hash_of(name);
	if ((name_hashes[hash / 8] & 1 << hash % 8) == 0)
		return NULL;
	for (size_t i = 0; i < redirect_count; i++)
		if (strcmp(redirects[i].name, name) == 0)
			return &redirects[i];
	return NULL;
}

uint64_t gg_redirects_allocator(void)
{
	return allocator_base;
}
