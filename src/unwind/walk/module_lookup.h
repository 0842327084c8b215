/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_lookup - finds the module of a pc, and notices when modules come or go.
 *
 * Look-up is _dl_find_object() where libc has it (glibc from 2.35): lock-free, made for unwinders.
 * Elsewhere it is a table.  gg_module_lookup_refresh() builds it with dl_iterate_phdr(), which takes a lock
 * and therefore runs at the start, never for a sample; later the agent fills it from
 * /proc/self/maps (runtime/modules/mapped_modules.h), at the first sample of an epoch.
 *
 * Epochs.  A rule of an unloaded module must not be used for what is loaded at its address later.
 * Neither libc nor the kernel tells us, and calls of dlopen() and dlclose() that libc makes itself
 * (iconv, name services) pass no hook.  But the loader counts: `dlpi_adds` and `dlpi_subs` of
 * dl_iterate_phdr().  It keeps the number of loads and the number of modules as words of
 * _rtld_global, and gg_module_lookup_refresh() finds them there by their values: a word that equals the
 * count now may be it, one that differs at the next refresh is not.  A walk compares these words
 * (at most GG_MODULE_LOOKUP_WORDS) with what they were when the epoch began; any difference starts a
 * new one.  A word too many costs needless epochs, so one that changes as no counter does is
 * dropped.  The loader counts a module before any of its code can run, so a walk that has the
 * module's code on its stack sees the new count.
 * Where no word is found (musl, which never unloads; a static program) the agent's hooks call
 * gg_unwind_modules_changed().
 *
 * Threads   all functions but refresh: any, also in signal handlers.  refresh: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "unwind/cfi/cfi.h"
#include "unwind/walk/rule_cache.h"

enum {
	GG_MODULE_LOOKUP_WORDS = 8,
	GG_MODULE_LOOKUP_TABLE =
		512, /* modules of a libc without _dl_find_object(); more: no CFI there */
};

/* The state that a walk checks first. */
struct gg_module_lookup {
	const uint64_t *words[GG_MODULE_LOOKUP_WORDS]; /* the unused ones point to a constant */
	uint64_t seen[GG_MODULE_LOOKUP_WORDS];         /* what they were when the epoch began */
	uint64_t epoch;                                /* counts from 0 */
	uint32_t word_count; /* of `words` that were found; it never shrinks */
};

extern struct gg_module_lookup gg_module_lookup;
extern const uint64_t gg_module_lookup_no_word; /* what unused `words` point to */

/* Modules by their addresses, for want of _dl_find_object(). */
struct gg_module_lookup_row {
	uint64_t begin, end; /* of the mapping; begin is the ELF header's address */
};

/* Written between begin() and end() alone; `version` is odd meanwhile, and a reader that overlaps
 * finds nothing. */
struct gg_module_lookup_table {
	uint64_t version;
	uint32_t count;
	struct gg_module_lookup_row rows[GG_MODULE_LOOKUP_TABLE];
};

extern struct gg_module_lookup_table gg_module_lookup_table;

/* Fills it anew: by refresh(), and by who has the modules from elsewhere.  One at a time. */
void gg_module_lookup_table_begin(void);
void gg_module_lookup_table_add(uint64_t begin, uint64_t end);
void gg_module_lookup_table_end(void);

/* The row that has this pc; false if none has. */
bool gg_module_lookup_table_find(uint64_t pc, struct gg_module_lookup_row *ret_row);

/*
 * The main program; all 0: not known.  It stays where it is, so its header may be read at any time.
 * Where there are holes between its segments, _dl_find_object() tells the segment, not the module.
 */
extern struct gg_module_lookup_row gg_module_lookup_program;

/* The loader's entry, from which constructors of libraries are called: without CFI it has no caller. */
extern struct gg_module_lookup_row gg_module_lookup_start;

/* What _dl_find_object() fills, as glibc 2.35 and later declare it. */
struct gg_module_lookup_object {
	unsigned long long flags;
	void *map_start, *map_end;
	void *link_map;
	void *eh_frame;
	unsigned long long reserved[8];
};

/* All of the module that was found. */
struct gg_module_lookup_row gg_module_lookup_row_of(const struct gg_module_lookup_object *found);

typedef int gg_module_lookup_find_object(void *address, struct gg_module_lookup_object *ret_object);
extern gg_module_lookup_find_object *gg_module_lookup_finder; /* _dl_find_object; NULL: not there */

/* Asks the loader (init.c). */
void gg_module_lookup_refresh(void);

/* Modules were loaded or unloaded since the epoch began. */
void gg_module_lookup_new_epoch(void);

/* The epoch that the modules are in now. */
static inline uint64_t gg_module_lookup_epoch(void)
{
	uint64_t differs = 0;

	for (uint32_t i = 0; i < gg_load_relaxed(&gg_module_lookup.word_count); i++)
		differs |= gg_load_relaxed(gg_load_relaxed(&gg_module_lookup.words[i])) ^
		           gg_load_relaxed(&gg_module_lookup.seen[i]);
	if (__builtin_expect(differs != 0, 0))
		gg_module_lookup_new_epoch();
	/* Pairs with the release in new_epoch(): whoever sees the counts seen sees the epoch. */
	gg_fence_acquire();
	return gg_load_relaxed(&gg_module_lookup.epoch);
}

/* The epoch as cache entries carry it. */
static inline uint64_t gg_module_lookup_cache_epoch(uint64_t epoch)
{
	return GG_RULE_CACHE_EPOCH(epoch % GG_RULE_CACHE_EPOCHS + 1);
}

/* Fills the module whose code has this pc; false if none has. */
bool gg_module_lookup_find(uint64_t pc, struct gg_cfi_module *ret_module);

/* The same by the table alone, as a libc without _dl_find_object() has it; for tests. */
bool gg_module_lookup_find_in_table(uint64_t pc, struct gg_cfi_module *ret_module);
