/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_scan - collects the slots of all modules, opens their pages, and writes them by rank.
 *
 * All of it runs under the loader's lock, so no module is unmapped meanwhile.
 */
#include "preload/attach/slot_scan.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "preload/allocator/got_patch.h"
#include "preload/attach/loader_lock.h"
#include "preload/attach/old_values.h"
#include "preload/attach/protections.h"
#include "preload/attach/redirects.h"
#include "runtime/syscalls.h"

enum { SLOTS_MOST = 1 << 16, PAGES_MOST = 1 << 13 };

struct found_slot {
	uint64_t *at;
	uint64_t value; /* to write */
	uint64_t old;   /* what it holds */
	enum gg_redirect_rank rank;
	bool is_unbound;
	bool is_relro; /* the loader makes its page read-only, after it has filled all slots */
	bool is_writable;
};

struct opened_page {
	uintptr_t page;
	int protection; /* before */
};

struct scan {
	bool removes;
	struct gg_slot_scan_result result;
	struct gg_protections protections;
	struct found_slot *slots; /* SLOTS_MOST of them */
	size_t slot_count;
	struct opened_page *pages; /* PAGES_MOST of them */
	size_t page_count;
};

/* The module whose relocations are being read. */
struct scanned_module {
	struct gg_elf_lookup_tables tables;
	uint64_t begin, end;             /* its addresses */
	uint64_t relro_begin, relro_end; /* gg_loaded_module */
	uint32_t slot_count;
	uint32_t foreign_count; /* slots of malloc() and its relatives that lead elsewhere */
};

/* --- collect --- */

static void collect(struct scan *scan, const struct scanned_module *module, uint64_t *slot,
                    uint64_t value, const struct gg_redirect *redirect)
{
	uint64_t old = gg_load_relaxed(slot);

	scan->slots[scan->slot_count++] = (struct found_slot){
		.at = slot,
		.value = value,
		.old = old,
		.rank = redirect->rank,
		.is_relro = (uintptr_t)slot >= module->relro_begin &&
		            (uintptr_t)slot < module->relro_end,
	};
}

/*
 * True if the slot leads to the module's linkage table, which will bind it to the real function.  A
 * module that defines the function as well may bind it to its own.
 */
static bool is_unbound(const struct scanned_module *module, const struct gg_got_patch_slot *slot,
                       uint64_t value)
{
	const Elf64_Sym *symbol = slot->symbol;
	bool is_own = symbol->st_shndx != SHN_UNDEF &&
	              (module->tables.is_symbolic ||
	               ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT ||
	               value == module->tables.base + symbol->st_value);

	return slot->is_call && !is_own && value - module->begin < module->end - module->begin;
}

static void look_at(struct scan *scan, struct scanned_module *module,
                    const struct gg_got_patch_slot *slot)
{
	const struct gg_redirect *redirect = gg_redirect_of(slot->name);
	uint64_t value;

	if (redirect == NULL ||
	    (redirect->is_extra && module->tables.base == gg_redirects_allocator()))
		return;
	value = gg_load_relaxed(slot->at);
	if (value == redirect->hook) {
		module->slot_count++;
		if (scan->removes)
			collect(scan, module, slot->at, gg_old_values_get(slot->at, redirect->real),
			        redirect);
	} else if (scan->removes || value == 0 || value == redirect->in_program) {
		return;
	} else if (value == redirect->real ||
	           (redirect->is_first && is_unbound(module, slot, value))) {
		module->slot_count++;
		collect(scan, module, slot->at, redirect->hook, redirect);
		scan->slots[scan->slot_count - 1].is_unbound = value != redirect->real;
	} else {
		/* An operator of C++ that is not the allocator's calls malloc(), which is seen. */
		scan->result.foreign_count += !redirect->is_extra;
		module->foreign_count += !redirect->is_extra;
	}
}

/*
 * The module has an allocator of its own (RTLD_DEEPBIND), so its unbound slots may lead there as
 * well.  A later scan finds those that lead to the real function after all.
 */
static void drop_unbound(struct scan *scan, struct scanned_module *module, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < scan->slot_count; i++) {
		if (scan->slots[i].is_unbound)
			module->slot_count--;
		else
			scan->slots[kept++] = scan->slots[i];
	}
	scan->slot_count = kept;
}

static void scan_module(const struct gg_loaded_module *loaded, void *context)
{
	struct link_map map = { .l_addr = loaded->base, .l_ld = loaded->dynamic };
	struct scanned_module module = { .begin = loaded->begin,
		                         .end = loaded->end,
		                         .relro_begin = loaded->relro_begin,
		                         .relro_end = loaded->relro_end };
	struct gg_got_patch_slot slot;
	struct scan *scan = context;
	size_t first;

	/* Not the slots of this library. */
	if (map.l_ld == _DYNAMIC || !gg_elf_lookup_tables(&map, &module.tables))
		return;
	first = scan->slot_count;
	for (size_t at = 0; gg_got_patch_next(&module.tables, &at, &slot);) {
		if (scan->slot_count == SLOTS_MOST)
			scan->result.unwritable_count += gg_redirect_of(slot.name) != NULL;
		else
			look_at(scan, &module, &slot);
	}
	if (module.foreign_count > 0)
		drop_unbound(scan, &module, first);
	scan->result.module_count += module.slot_count > 0;
	scan->result.slot_count += module.slot_count;
}

/* --- write --- */

/*
 * True if the page can be written until close_pages().  One that the loader will make read-only
 * cannot be while it is still writable: another thread loads the module, and may close the page
 * before the slot is written.  A later scan finds it closed.
 */
static bool open_page(struct scan *scan, const struct found_slot *slot, uint64_t page_bytes)
{
	const uintptr_t page = (uintptr_t)slot->at & ~(page_bytes - 1);
	int protection;

	for (size_t i = scan->page_count; i > 0 && i + 8 > scan->page_count; i--)
		if (scan->pages[i - 1].page == page)
			return true;
	if (!gg_protections_find(&scan->protections, page, &protection))
		return false;
	if ((protection & PROT_WRITE) != 0)
		return !slot->is_relro || scan->removes;
	if (scan->page_count == PAGES_MOST ||
	    !gg_syscall_protect((void *)page, page_bytes, protection | PROT_WRITE))
		return false;
	scan->pages[scan->page_count++] = (struct opened_page){ page, protection };
	return true;
}

static void open_pages(struct scan *scan, uint64_t page_bytes)
{
	for (size_t i = 0; i < scan->slot_count; i++) {
		struct found_slot *slot = &scan->slots[i];

		slot->is_writable = open_page(scan, slot, page_bytes);
		if (!slot->is_writable) {
			scan->result.unwritable_count++;
			scan->result.slot_count--;
		}
	}
}

static void write_rank(struct scan *scan, enum gg_redirect_rank rank)
{
	for (size_t i = 0; i < scan->slot_count; i++) {
		struct found_slot *slot = &scan->slots[i];
		uint64_t old = slot->old;

		if (slot->rank != rank || !slot->is_writable)
			continue;
		if (!scan->removes)
			gg_old_values_put(slot->at, old);
		/* Another thread may be binding the slot.  Then it holds the real function, and
		 * the next scan finds it.  Release: a thread that calls the hook finds the
		 * variables that the hook reads. */
		if (gg_cas_acq_rel(slot->at, &old, slot->value))
			scan->result.changed_count++;
	}
}

static void close_pages(struct scan *scan, uint64_t page_bytes)
{
	for (size_t i = 0; i < scan->page_count; i++)
		gg_syscall_protect((void *)scan->pages[i].page, page_bytes,
		                   scan->pages[i].protection);
}

static void run(void *context)
{
	const uint64_t page_bytes = getauxval(AT_PAGESZ);
	struct scan *scan = context;

	gg_loader_lock_each(scan_module, scan);
	if (scan->slot_count == 0)
		return;
	gg_protections_read(&scan->protections);
	open_pages(scan, page_bytes);
	for (int i = 0; i < GG_REDIRECT_RANKS; i++)
		write_rank(scan,
		           (enum gg_redirect_rank)(scan->removes ? GG_REDIRECT_RANKS - 1 - i : i));
	close_pages(scan, page_bytes);
	gg_protections_done(&scan->protections);
}

static struct gg_slot_scan_result scan_all(bool removes)
{
	struct scan scan = { .removes = removes };

	scan.slots = gg_syscall_map(SLOTS_MOST * sizeof(*scan.slots));
	scan.pages = gg_syscall_map(PAGES_MOST * sizeof(*scan.pages));
	if (scan.slots != NULL && scan.pages != NULL)
		gg_loader_lock_call(run, &scan);
	if (scan.slots != NULL)
		gg_syscall_unmap(scan.slots, SLOTS_MOST * sizeof(*scan.slots));
	if (scan.pages != NULL)
		gg_syscall_unmap(scan.pages, PAGES_MOST * sizeof(*scan.pages));
	return scan.result;
}

struct gg_slot_scan_result gg_slot_scan_place(void)
{
	return scan_all(false);
}

struct gg_slot_scan_result gg_slot_scan_remove(void)
{
	struct gg_slot_scan_result result = scan_all(true);

	gg_old_values_clear();
	return result;
}
