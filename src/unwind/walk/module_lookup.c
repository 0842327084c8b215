/* SPDX-License-Identifier: Apache-2.0 */
/* module_lookup - finds the module of a pc, and its CFI, while modules come and go. */
#include "unwind/walk/module_lookup.h"

#include <stddef.h>

#include "base/compiler.h"
#include "unwind/walk/stack_bounds.h"

const uint64_t gg_module_lookup_no_word;

struct gg_module_lookup gg_module_lookup __attribute__((aligned(64))) = {
	.words = { &gg_module_lookup_no_word, &gg_module_lookup_no_word, &gg_module_lookup_no_word,
	           &gg_module_lookup_no_word, &gg_module_lookup_no_word, &gg_module_lookup_no_word,
	           &gg_module_lookup_no_word, &gg_module_lookup_no_word },
};

struct gg_module_lookup_table gg_module_lookup_table;
struct gg_module_lookup_row gg_module_lookup_program, gg_module_lookup_start;

/*
 * The dynamic linker binds it with the library, so that constructors that run before
 * gg_unwind_init() have stacks.  It is weak, because a libc may lack it.
 */
extern gg_module_lookup_find_object _dl_find_object __attribute__((weak));
gg_module_lookup_find_object *gg_module_lookup_finder = _dl_find_object;

GG_COLD void gg_module_lookup_new_epoch(void)
{
	uint64_t values[GG_MODULE_LOOKUP_WORDS];
	uint64_t epoch;

	/*
	 * Read the values first: the next walk then notices a module that comes or goes after this.
	 */
	for (int i = 0; i < GG_MODULE_LOOKUP_WORDS; i++)
		values[i] = gg_load_relaxed(gg_load_relaxed(&gg_module_lookup.words[i]));
	gg_fence_acquire();
	epoch = gg_load_acquire(&gg_module_lookup.epoch);
	/*
	 * Cache entries hold only 15 epoch numbers.  Before they start again, the table must be
	 * emptied, or an entry from 15 epochs ago would look current.
	 */
	if ((epoch + 1) % GG_RULE_CACHE_EPOCHS == 0)
		gg_rule_cache_clear();
	/*
	 * If another thread was faster, its epoch began after this thread read the values, so it is
	 * new enough.
	 */
	gg_cas_acq_rel(&gg_module_lookup.epoch, &epoch, epoch + 1);
	for (int i = 0; i < GG_MODULE_LOOKUP_WORDS; i++)
		gg_store_release(&gg_module_lookup.seen[i], values[i]);
}

/* Module look-up. */

void gg_module_lookup_table_begin(void)
{
	gg_store_relaxed(&gg_module_lookup_table.version, gg_module_lookup_table.version + 1);
	/* A reader that sees a new row also sees the odd version. */
	gg_fence_release();
	gg_store_relaxed(&gg_module_lookup_table.count, 0);
}

void gg_module_lookup_table_add(uint64_t begin, uint64_t end)
{
	uint32_t count = gg_load_relaxed(&gg_module_lookup_table.count);

	if (begin >= end || count >= GG_MODULE_LOOKUP_TABLE)
		return;
	gg_store_relaxed(&gg_module_lookup_table.rows[count].begin, begin);
	gg_store_relaxed(&gg_module_lookup_table.rows[count].end, end);
	gg_store_relaxed(&gg_module_lookup_table.count, count + 1);
}

void gg_module_lookup_table_end(void)
{
	/* Pairs with the acquire in table_find(). */
	gg_store_release(&gg_module_lookup_table.version, gg_module_lookup_table.version + 1);
}

bool gg_module_lookup_table_find(uint64_t pc, struct gg_module_lookup_row *ret_row)
{
	const struct gg_module_lookup_table *const table = &gg_module_lookup_table;
	/*
	 * Acquire: pairs with the release in table_end().  An even version means that the rows are
	 * whole now; if the version is the same at the end, they were whole all the time.
	 */
	uint64_t version = gg_load_acquire(&table->version);
	struct gg_module_lookup_row row = { 0 };

	for (uint32_t i = 0; i < gg_load_relaxed(&table->count) && i < GG_MODULE_LOOKUP_TABLE;
	     i++) {
		row.begin = gg_load_relaxed(&table->rows[i].begin);
		row.end = gg_load_relaxed(&table->rows[i].end);
		if (pc - row.begin < row.end - row.begin)
			break;
	}
	/* With the same version, no row changed while this thread read. */
	gg_fence_acquire();
	if (version % 2 != 0 || gg_load_relaxed(&table->version) != version ||
	    pc - row.begin >= row.end - row.begin)
		return false;
	*ret_row = row;
	return true;
}

/*
 * Finds the sections of a module that may be unloaded.  A wrong return address may point into a
 * module that another thread unloads now.  Reading its header would then wait for munmap(), and
 * fault.  The kernel waits as well when it probes the header, but returns an error.
 */
static bool find_sections(const struct gg_module_lookup_row *row, struct gg_cfi_module *ret_module)
{
	return gg_stack_bounds_is_readable(row->begin) &&
	       gg_cfi_module_from_memory(ret_module, (const void *)(uintptr_t)row->begin,
	                                 row->end - row->begin) == 0;
}

bool gg_module_lookup_find_in_table(uint64_t pc, struct gg_cfi_module *ret_module)
{
	struct gg_module_lookup_row row;

	return gg_module_lookup_table_find(pc, &row) && find_sections(&row, ret_module);
}

struct gg_module_lookup_row gg_module_lookup_row_of(const struct gg_module_lookup_object *found)
{
	struct gg_module_lookup_row row = { (uintptr_t)found->map_start,
		                            (uintptr_t)found->map_end };
	const struct gg_module_lookup_row *program = &gg_module_lookup_program;

	return row.begin - program->begin < program->end - program->begin ? *program : row;
}

/*
 * The sections of the main program, which is never unloaded.  Most pcs are in it, and finding its
 * sections each time would cost as much as the search in them.
 */
static struct gg_cfi_module program;
static uint32_t program_state;
enum { PROGRAM_UNKNOWN, PROGRAM_FILLING, PROGRAM_KNOWN };

static bool find_program(struct gg_cfi_module *ret_module)
{
	const struct gg_module_lookup_row *row = &gg_module_lookup_program;
	uint32_t state = gg_load_acquire(&program_state);

	if (state == PROGRAM_KNOWN) {
		*ret_module = program;
		return true;
	}
	if (gg_cfi_module_from_memory(ret_module, (const void *)(uintptr_t)row->begin,
	                              row->end - row->begin) != 0)
		return false;
	/* If a signal interrupts this thread here, the handler finds the sections itself. */
	if (state == PROGRAM_UNKNOWN && gg_cas_acq_rel(&program_state, &state, PROGRAM_FILLING)) {
		program = *ret_module;
		/* Release: pairs with the acquire above. */
		gg_store_release(&program_state, PROGRAM_KNOWN);
	}
	return true;
}

bool gg_module_lookup_find(uint64_t pc, struct gg_cfi_module *ret_module)
{
	gg_module_lookup_find_object *find = gg_load_relaxed(&gg_module_lookup_finder);
	struct gg_module_lookup_object found;
	struct gg_module_lookup_row row;

	if (find == NULL)
		return gg_module_lookup_find_in_table(pc, ret_module);
	if (find((void *)(uintptr_t)pc, &found) != 0)
		return false;
	row = gg_module_lookup_row_of(&found);
	if (row.begin == gg_module_lookup_program.begin)
		return find_program(ret_module);
	return find_sections(&row, ret_module);
}
