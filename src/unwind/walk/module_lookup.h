/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_lookup - finds the module of a pc, and notices when modules come or go.
 *
 * A look-up calls _dl_find_object() where libc has it (glibc from 2.35): it is lock-free and made
 * for unwinders.  Other libcs need a table.  gg_module_lookup_refresh() makes one with
 * dl_iterate_phdr(), which takes a lock and therefore runs at the start, never for a sample.  Later
 * the agent makes one from /proc/self/maps (runtime/modules/mapped_modules.h), before the first
 * walk of an epoch.
 *
 * Tables.  A table that misses a module would give the walk a wrong rule, which the cache would
 * keep for the whole epoch.  So a published table never changes: a writer fills another one, and
 * then makes it the current one.  A reader takes the current table, and starts again if another
 * table has become the current one meanwhile.  Nobody waits.
 *
 * Epochs.  A rule of an unloaded module must not be used for a module that is loaded at its address
 * later.  Neither libc nor the kernel reports such changes, and hooks miss the calls of dlopen()
 * and dlclose() that libc makes itself (iconv, name services).  But the loader keeps two counts:
 * `dlpi_adds` and `dlpi_subs` of dl_iterate_phdr().  It stores the number of loads and the number
 * of modules in words of _rtld_global.
 *
 * - gg_module_lookup_refresh() finds these words by their values: a word that equals a count now
 *   may be the count, and a word that differs at the next refresh is not.
 * - A walk compares these words (at most GG_MODULE_LOOKUP_WORDS) with their values at the beginning
 *   of the epoch.  Any difference starts a new epoch.
 * - A false word costs needless epochs, so a word that changes unlike a counter is dropped.
 * - The loader counts a module before any of its code can run, so a walk that has the module's code
 *   on its stack sees the new count.
 * - The loader of musl has no such words, and never unloads.  The agent for musl hooks dlopen()
 *   and counts in a word of its own (gg_module_lookup_loads).
 * - If no word is found (a static program), the agent's hooks call gg_unwind_modules_changed().
 *
 * Threads  Any thread may call all functions but refresh(), also in signal handlers.  Only one
 *          thread at a time may call refresh().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "unwind/cfi/cfi.h"
#include "unwind/walk/rule_cache.h"

enum {
	GG_MODULE_LOOKUP_WORDS = 8,
	/* For a libc without _dl_find_object(); later modules have no CFI. */
	GG_MODULE_LOOKUP_ROWS = 512,
	GG_MODULE_LOOKUP_TABLES = 8, /* the current one, and one for each thread that fills one */
};

/* The state that each walk checks before it starts. */
struct gg_module_lookup {
	const uint64_t *words[GG_MODULE_LOOKUP_WORDS]; /* unused ones point to a constant */
	uint64_t seen[GG_MODULE_LOOKUP_WORDS];         /* their values when the epoch began */
	uint64_t epoch;                                /* counts from 0 */
	uint32_t word_count; /* how many `words` were found; it never shrinks */
};

extern struct gg_module_lookup gg_module_lookup;
extern const uint64_t gg_module_lookup_no_word; /* unused `words` point to it */

/*
 * Counts changes of the modules where no word of the loader does (musl): a hook of dlopen() adds to
 * it, and while a library is being loaded each walk does.
 */
extern uint64_t gg_module_lookup_loads;
extern uint32_t gg_module_lookup_loading; /* calls of that hook that have not returned */

/* A module by its addresses, for a libc without _dl_find_object(). */
struct gg_module_lookup_row {
	uint64_t begin, end; /* range of the mapping; the ELF header is at `begin` */
};

struct gg_module_lookup_table {
	uint32_t is_taken; /* by the thread that fills it, or because it is the current one */
	uint32_t count;
	struct gg_module_lookup_row rows[GG_MODULE_LOOKUP_ROWS];
};

/*
 * Makes a table: take() returns an empty one, add() adds a row, and publish() makes it the current
 * one, unless the current one is of a later epoch.  `epoch` is the epoch that began before the
 * modules were read.  take() returns NULL if threads that were stopped have all tables; add() and
 * publish() accept NULL and do nothing.
 */
struct gg_module_lookup_table *gg_module_lookup_table_take(void);
void gg_module_lookup_table_add(struct gg_module_lookup_table *table, uint64_t begin, uint64_t end);
void gg_module_lookup_table_publish(struct gg_module_lookup_table *table, uint64_t epoch);

/* True if the current table was made in this epoch or in a later one. */
bool gg_module_lookup_table_is_current(uint64_t epoch);

/* In a forked child: other threads, which were filling tables, exist in the parent alone. */
void gg_module_lookup_forked(void);

/* Finds the row that contains pc.  Returns false if no row does. */
bool gg_module_lookup_table_find(uint64_t pc, struct gg_module_lookup_row *ret_row);

/*
 * The main program; all 0: unknown.  It is never unmapped, so its header can be read at any time.
 * For a module with holes between its segments, _dl_find_object() returns the segment instead of
 * the module.
 */
extern struct gg_module_lookup_row gg_module_lookup_program;

/*
 * The loader's entry code, which calls the constructors of libraries.  It has no CFI and no caller.
 */
extern struct gg_module_lookup_row gg_module_lookup_start;

/* The place of the number of arguments, below which the main stack begins; 0: unknown. */
extern uint64_t gg_module_lookup_arguments;

/* The result of _dl_find_object(), as glibc 2.35 and later declare it. */
struct gg_module_lookup_object {
	unsigned long long flags;
	void *map_start, *map_end;
	void *link_map;
	void *eh_frame;
	unsigned long long reserved[8];
};

/* Returns the whole module of a result of _dl_find_object(). */
struct gg_module_lookup_row gg_module_lookup_row_of(const struct gg_module_lookup_object *found);

typedef int gg_module_lookup_find_object(void *address, struct gg_module_lookup_object *ret_object);
/* _dl_find_object; NULL: libc lacks it */
extern gg_module_lookup_find_object *gg_module_lookup_finder;

/* Reads the modules and the counts from the loader (init.c). */
void gg_module_lookup_refresh(void);

/* Starts a new epoch, because modules were loaded or unloaded. */
void gg_module_lookup_new_epoch(void);

/* Returns the current epoch of the modules.  Starts a new one if a count has changed. */
static inline uint64_t gg_module_lookup_epoch(void)
{
	uint64_t differs = 0;

	for (uint32_t i = 0; i < gg_load_relaxed(&gg_module_lookup.word_count); i++)
		differs |= gg_load_relaxed(gg_load_relaxed(&gg_module_lookup.words[i])) ^
		           gg_load_relaxed(&gg_module_lookup.seen[i]);
	if (__builtin_expect(differs != 0, 0))
		gg_module_lookup_new_epoch();
	/*
	 * Pairs with the release in new_epoch(): a thread that sees the new counts in `seen` also
	 * sees the new epoch.
	 */
	gg_fence_acquire();
	return gg_load_relaxed(&gg_module_lookup.epoch);
}

/* Returns an epoch in the form of cache entries. */
static inline uint64_t gg_module_lookup_cache_epoch(uint64_t epoch)
{
	return GG_RULE_CACHE_EPOCH(epoch % GG_RULE_CACHE_EPOCHS + 1);
}

/* Fills *ret_module with the module that contains pc.  Returns false if no module does. */
bool gg_module_lookup_find(uint64_t pc, struct gg_cfi_module *ret_module);

/* True if a module contains pc, with or without CFI. */
bool gg_module_lookup_has(uint64_t pc);

/* Finds the module by the table alone, as with a libc without _dl_find_object(); for tests. */
bool gg_module_lookup_find_in_table(uint64_t pc, struct gg_cfi_module *ret_module);
