/* SPDX-License-Identifier: Apache-2.0 */
/* module_lookup - finds the module of a pc, and its CFI, while modules come and go. */
#include "unwind/walk/module_lookup.h"

#include <stddef.h>

#include "base/compiler.h"
#include "unwind/walk/stack_bounds.h"

const uint64_t gg_module_lookup_no_word;
uint64_t gg_module_lookup_loads;
uint32_t gg_module_lookup_loading;

struct gg_module_lookup gg_module_lookup __attribute__((aligned(64))) = {
	.words = { &gg_module_lookup_no_word, &gg_module_lookup_no_word, &gg_module_lookup_no_word,
	           &gg_module_lookup_no_word, &gg_module_lookup_no_word, &gg_module_lookup_no_word,
	           &gg_module_lookup_no_word, &gg_module_lookup_no_word },
};

static struct gg_module_lookup_table tables[GG_MODULE_LOOKUP_TABLES];

/*
 * The current table: its index, above that a count of publications, and above that 1 + the epoch of
 * the table.  The count tells two tables of one epoch apart.  0: there is no table yet.
 */
static uint64_t current_table;
enum { TABLE_EPOCH_SHIFT = 24 };

struct gg_module_lookup_row gg_module_lookup_program, gg_module_lookup_start;
uint64_t gg_module_lookup_arguments;

/*
 * The dynamic linker binds it with the library, so that constructors that run before
 * gg_unwind_init() have stacks.  It is weak, because a libc may lack it.
 */
#ifdef GG_OLD_GLIBC /* gg_unwind_init() looks it up: the name would bind the library to 2.35 */
gg_module_lookup_find_object *gg_module_lookup_finder;
#else
extern gg_module_lookup_find_object _dl_find_object __attribute__((weak));
gg_module_lookup_find_object *gg_module_lookup_finder = _dl_find_object;
#endif

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

struct gg_module_lookup_table *gg_module_lookup_table_take(void)
{
	for (int i = 0; i < GG_MODULE_LOOKUP_TABLES; i++) {
		uint32_t taken = 0;

		/* Acquire: pairs with the release in give_back(). */
		if (!gg_cas_acq_rel(&tables[i].is_taken, &taken, 1))
			continue;
		/* A reader that sees a new row also sees that another table is the current one. */
		gg_fence_release();
		gg_store_relaxed(&tables[i].count, 0);
		return &tables[i];
	}
	return NULL;
}

void gg_module_lookup_table_add(struct gg_module_lookup_table *table, uint64_t begin, uint64_t end)
{
	uint32_t count;

	if (table == NULL || begin >= end || table->count >= GG_MODULE_LOOKUP_ROWS)
		return;
	count = table->count;
	gg_store_relaxed(&table->rows[count].begin, begin);
	gg_store_relaxed(&table->rows[count].end, end);
	gg_store_relaxed(&table->count, count + 1);
}

static struct gg_module_lookup_table *table_of(uint64_t current)
{
	return &tables[current % GG_MODULE_LOOKUP_TABLES];
}

static void give_back(struct gg_module_lookup_table *table)
{
	gg_store_release(&table->is_taken, 0);
}

void gg_module_lookup_table_publish(struct gg_module_lookup_table *table, uint64_t epoch)
{
	const uint64_t count_mask = (UINT64_C(1) << TABLE_EPOCH_SHIFT) - GG_MODULE_LOOKUP_TABLES;
	uint64_t current = gg_load_acquire(&current_table), next;

	if (table == NULL)
		return;
	do {
		if (current >> TABLE_EPOCH_SHIFT > epoch + 1) {
			give_back(table);
			return;
		}
		next = (epoch + 1) << TABLE_EPOCH_SHIFT | (uint64_t)(table - tables) |
		       ((current + GG_MODULE_LOOKUP_TABLES) & count_mask);
		/* Release: pairs with the acquire in table_find(), which reads the rows. */
	} while (!gg_cas_acq_rel(&current_table, &current, next));
	if (current != 0)
		give_back(table_of(current));
}

bool gg_module_lookup_table_is_current(uint64_t epoch)
{
	/* Acquire: table_find() then sees this table or a later one. */
	return gg_load_acquire(&current_table) >> TABLE_EPOCH_SHIFT > epoch;
}

void gg_module_lookup_forked(void)
{
	uint64_t current = gg_load_relaxed(&current_table);

	for (int i = 0; i < GG_MODULE_LOOKUP_TABLES; i++)
		if (current == 0 || &tables[i] != table_of(current))
			give_back(&tables[i]);
}

static bool find_row(const struct gg_module_lookup_table *table, uint64_t pc,
                     struct gg_module_lookup_row *ret_row)
{
	for (uint32_t i = 0; i < gg_load_relaxed(&table->count) && i < GG_MODULE_LOOKUP_ROWS; i++) {
		ret_row->begin = gg_load_relaxed(&table->rows[i].begin);
		ret_row->end = gg_load_relaxed(&table->rows[i].end);
		if (pc - ret_row->begin < ret_row->end - ret_row->begin)
			return true;
	}
	return false;
}

bool gg_module_lookup_table_find(uint64_t pc, struct gg_module_lookup_row *ret_row)
{
	/* Acquire: pairs with the release in publish(). */
	uint64_t current = gg_load_acquire(&current_table), before;
	bool found;

	do {
		before = current;
		found = current != 0 && find_row(table_of(current), pc, ret_row);
		/*
		 * While a table is the current one, nobody changes it.  If it still is, the rows
		 * were whole all the time.
		 */
		gg_fence_acquire();
		current = gg_load_acquire(&current_table);
	} while (current != before);
	return found;
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

bool gg_module_lookup_has(uint64_t pc)
{
	gg_module_lookup_find_object *find = gg_load_relaxed(&gg_module_lookup_finder);
	struct gg_module_lookup_object found;
	struct gg_module_lookup_row row;

	if (find != NULL)
		return find((void *)(uintptr_t)pc, &found) == 0;
	return gg_module_lookup_table_find(pc, &row);
}
