/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_operators - C++'s operator new and delete, in libgeiger-malloc.so.
 *
 * Without them, a second allocator that is loaded behind this library would serve new and delete,
 * while this library serves malloc() and free().
 *
 * Failure   Only the C++ library knows the new handler and the exception.  So if there is no
 *           memory, its operator of the same form is called.  That calls malloc() again, then the
 *           handler, and throws.
 * Replaced  A program may replace the plain forms alone.  All other forms must call these, as the
 *           standard says, and the C++ library's do.
 * Sizes     of sized deletes are not used, because programs may pass wrong ones.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "geiger/malloc.h"
#include "runtime/platform/elf_lookup.h"

/* Alignments and std::nothrow are passed as words. */
typedef void *new_function(size_t bytes, uintptr_t second, uintptr_t third);
typedef void delete_function(void *p, uintptr_t second, uintptr_t third);

/* A form whose definition the program may have replaced.  All of them cast to one type. */
struct plain_form {
	const char *name;
	void *ours;
	void *found; /* the definition that the program calls; NULL: not known yet */
};

static GG_COLD void *find_plain(struct plain_form *form)
{
	void *found = gg_elf_lookup_any(form->name);

	if (found == NULL)
		found = form->ours;
	/* Relaxed: each thread finds the same. */
	gg_store_relaxed(&form->found, found);
	return found;
}

static inline void *plain(struct plain_form *form)
{
	void *found = gg_load_relaxed(&form->found);

	return gg_likely(found != NULL) ? found : find_plain(form);
}

/* Finds a form in the C++ library, which is the object that has the new handler. */
static void *find_in_library(const char *name)
{
	struct gg_elf_lookup_tables tables;
	struct gg_elf_lookup symbol;

	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
		if (map->l_ld != _DYNAMIC && gg_elf_lookup_tables(map, &tables) &&
		    gg_elf_lookup_find(&tables, "_ZSt15get_new_handlerv", &symbol) &&
		    gg_elf_lookup_find(&tables, name, &symbol))
			return symbol.address;
	return gg_elf_lookup_next(name, NULL);
}

/*
 * The C++ library's operator of that form.  A program that has replaced the plain form gets here
 * with every call of the others, so the form is searched once.  The library stays, since it has
 * unique symbols, which glibc never unloads.
 */
static GG_COLD void *leave_to_library(const char *name, void **found, size_t bytes,
                                      uintptr_t second, uintptr_t third)
{
	/* Relaxed: each thread finds the same. */
	new_function *function = (new_function *)gg_load_relaxed(found);

	if (gg_unlikely(function == NULL)) {
		function = (new_function *)find_in_library(name);
		gg_store_relaxed(found, (void *)function);
	}
	if (function == NULL)
		abort();
	return function(bytes, second, third);
}

#define LEAVE(name) leave_to_library(#name, &found, bytes, second, third)

/* Defines an operator new by what allocates here; `name` is mangled by the Itanium ABI. */
#define NEW(name, allocation)                                                  \
	GG_EXPORT void *name(size_t bytes, uintptr_t second, uintptr_t third); \
	GG_EXPORT void *name(size_t bytes, uintptr_t second, uintptr_t third)  \
	{                                                                      \
		static void *found;                                            \
		void *p = (allocation);                                        \
                                                                               \
		return gg_likely(p != NULL) ? p : LEAVE(name);                 \
	}

/* Defines a form that calls a plain form if the program has replaced that one. */
#define NEW_BY(name, form, allocation)                                         \
	GG_EXPORT void *name(size_t bytes, uintptr_t second, uintptr_t third); \
	GG_EXPORT void *name(size_t bytes, uintptr_t second, uintptr_t third)  \
	{                                                                      \
		static void *found;                                            \
		void *p;                                                       \
                                                                               \
		if (gg_unlikely(plain(&(form)) != (form).ours))                \
			return LEAVE(name);                                    \
		p = (allocation);                                              \
		return gg_likely(p != NULL) ? p : LEAVE(name);                 \
	}

#define DELETE(name)                                                     \
	GG_EXPORT void name(void *p, uintptr_t second, uintptr_t third); \
	GG_EXPORT void name(void *p, uintptr_t second, uintptr_t third)  \
	{                                                                \
		(void)second;                                            \
		(void)third;                                             \
		geiger_free(p);                                          \
	}

#define DELETE_BY(name, form, alignment)                                    \
	GG_EXPORT void name(void *p, uintptr_t second, uintptr_t third);    \
	GG_EXPORT void name(void *p, uintptr_t second, uintptr_t third)     \
	{                                                                   \
		(void)second;                                               \
		(void)third;                                                \
		if (gg_unlikely(plain(&(form)) != (form).ours))             \
			((delete_function *)(form).found)(p, alignment, 0); \
		else                                                        \
			geiger_free(p);                                     \
	}

/* The forms that others call. */

NEW(_Znwm, geiger_malloc(bytes))
NEW(_ZnwmSt11align_val_t, geiger_aligned_alloc(second, bytes))
DELETE(_ZdlPv)
DELETE(_ZdlPvSt11align_val_t)

static struct plain_form new_one = { "_Znwm", (void *)_Znwm, NULL };
static struct plain_form new_aligned = { "_ZnwmSt11align_val_t", (void *)_ZnwmSt11align_val_t,
	                                 NULL };
static struct plain_form delete_one = { "_ZdlPv", (void *)_ZdlPv, NULL };
static struct plain_form delete_aligned = { "_ZdlPvSt11align_val_t", (void *)_ZdlPvSt11align_val_t,
	                                    NULL };

/* The forms that call them. */

NEW_BY(_Znam, new_one, geiger_malloc(bytes))
NEW_BY(_ZnwmRKSt9nothrow_t, new_one, geiger_malloc(bytes))
NEW_BY(_ZnamRKSt9nothrow_t, new_one, geiger_malloc(bytes))
NEW_BY(_ZnamSt11align_val_t, new_aligned, geiger_aligned_alloc(second, bytes))
NEW_BY(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned, geiger_aligned_alloc(second, bytes))
NEW_BY(_ZnamSt11align_val_tRKSt9nothrow_t, new_aligned, geiger_aligned_alloc(second, bytes))
DELETE_BY(_ZdaPv, delete_one, 0)
DELETE_BY(_ZdlPvm, delete_one, 0)
DELETE_BY(_ZdaPvm, delete_one, 0)
DELETE_BY(_ZdlPvRKSt9nothrow_t, delete_one, 0)
DELETE_BY(_ZdaPvRKSt9nothrow_t, delete_one, 0)
DELETE_BY(_ZdaPvSt11align_val_t, delete_aligned, second)
DELETE_BY(_ZdlPvmSt11align_val_t, delete_aligned, third)
DELETE_BY(_ZdaPvmSt11align_val_t, delete_aligned, third)
DELETE_BY(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_aligned, second)
DELETE_BY(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_aligned, second)
