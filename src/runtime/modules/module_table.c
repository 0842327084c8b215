/* SPDX-License-Identifier: Apache-2.0 */
/* module_table - finds the module of a pc, and registers each module once. */
#include "runtime/modules/module_table.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/elf_note.h"
#include "base/hash.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/stack_bounds.h"

enum {
	KNOWN_PAGES = 4096, /* powers of two */
	KNOWN_STACKS = 8192,
	PAGE_SHIFT = 12,
	EPOCH_SHIFT = 52 /* above a page number */
};

enum registered_state { LOADED, UNLOADED, BEING_WRITTEN };

/* A registered module.  A later module takes the entry of an unloaded one. */
struct registered_module {
	uint64_t begin, end;
	uint64_t identity; /* hash of name and build-id: tells successors at one address apart */
	uint32_t index;    /* in the region's module table */
	uint32_t state; /* enum registered_state; the other members are valid while it is LOADED */
};

static struct registered_module registered[GG_MODULE_TABLE_MAX];
static uint32_t registered_count;
static uint32_t program_is_registered; /* the program is never unloaded, so it is looked up once */
static uint64_t known_pages[KNOWN_PAGES];   /* page number, and above it the epoch */
static uint64_t known_stacks[KNOWN_STACKS]; /* stack id, and above it the epoch */

/* A module that the loader or the list of mappings has; inode 0: unknown. */
struct found_module {
	uint64_t begin, end, bias, inode;
	const char *path;
	size_t path_bytes;
};

/* Looks _dl_find_object() up; NULL without it (glibc before 2.35). */
static gg_module_lookup_find_object *finder(void)
{
	static gg_module_lookup_find_object *function;
	gg_module_lookup_find_object *known = gg_load_relaxed(&function);

	if (known == NULL) {
		known = (gg_module_lookup_find_object *)gg_elf_lookup_next("_dl_find_object", NULL);
		gg_store_relaxed(&function, known);
	}
	return known;
}

static bool find_by_loader(uint64_t pc, struct found_module *ret_module)
{
	struct gg_module_lookup_object object;
	const struct link_map *map;
	struct gg_module_lookup_row row;

	if (finder()((void *)pc, &object) != 0)
		return false;
	map = object.link_map;
	row = gg_module_lookup_row_of(&object);
	/* Another thread may unload the module now if the pc is wrong. */
	if (!gg_stack_bounds_is_readable(row.begin))
		return false;
	*ret_module = (struct found_module){
		.begin = row.begin,
		.end = row.end,
		.bias = map->l_addr,
		.path = map->l_name,
		.path_bytes = strlen(map->l_name),
	};
	return true;
}

static bool find_by_listing(uint64_t pc, struct found_module *ret_module)
{
	struct gg_mapped_modules_module module;

	if (!gg_mapped_modules_find(pc, &module))
		return false;
	*ret_module = (struct found_module){ module.begin, module.end,  module.bias,
		                             module.inode, module.path, module.path_bytes };
	return true;
}

/*
 * Reads the ranges and the build-id.  Without an ELF header in the first page, the range is the
 * whole module.
 */
static void read_headers(const struct found_module *module, struct gg_module_info *info,
                         struct gg_region_range ranges[GG_REGION_RANGES_MAX])
{
	const uint8_t *start = (const uint8_t *)module->begin;
	size_t bytes = module->end - module->begin;
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
	const Elf64_Phdr *headers;

	ranges[0] = (struct gg_region_range){ .start = module->begin, .end = module->end };
	info->ranges = ranges;
	info->range_count = 1;
	if (bytes < 4096 || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_phoff > 4096 - sizeof(*headers) ||
	    elf->e_phnum > (4096 - elf->e_phoff) / sizeof(*headers))
		return;
	headers = (const Elf64_Phdr *)(start + elf->e_phoff);
	info->range_count = 0;
	for (int i = 0; i < elf->e_phnum; i++) {
		uint64_t address = info->bias + headers[i].p_vaddr;

		if (headers[i].p_type == PT_LOAD && info->range_count < GG_REGION_RANGES_MAX)
			ranges[info->range_count++] = (struct gg_region_range){
				.start = address,
				.end = address + headers[i].p_memsz,
				.file_offset = headers[i].p_offset
			};
		if (headers[i].p_type == PT_NOTE && info->build_id == NULL &&
		    address - (uintptr_t)start < bytes &&
		    headers[i].p_filesz <= bytes - (address - (uintptr_t)start))
			info->build_id_bytes = gg_elf_note_build_id(
				(const uint8_t *)address, headers[i].p_filesz, &info->build_id);
	}
}

static uint32_t add_to_region(struct gg_module_info *info)
{
	/* The program has an empty name in the loader's list. */
	if (info->path_bytes == 0) {
		info->path = gg_process_program();
		info->path_bytes = strlen(info->path);
	}
	return gg_region_add_module(&gg_process.region, info);
}

/* The address of the loader's record would not do: another module may get the same record later. */
static uint64_t identity_of(const struct found_module *module, const struct gg_module_info *info)
{
	return gg_hash_bytes(info->path, info->path_bytes,
	                     gg_hash_bytes(info->build_id, info->build_id_bytes, module->inode));
}

/*
 * True if the module is registered.  Other registered modules at its addresses are closed, because
 * two modules cannot share an address: they must have been unloaded.
 */
static bool is_registered(const struct found_module *module, uint64_t identity, uint64_t now_ns)
{
	uint32_t count = gg_load_acquire(&registered_count);
	bool found = false;

	for (uint32_t i = 0; i < count && i < GG_MODULE_TABLE_MAX; i++) {
		struct registered_module *n = &registered[i];
		uint32_t loaded = LOADED;

		/* Acquire: pairs with the release in register_module(). */
		if (gg_load_acquire(&n->state) != LOADED ||
		    gg_load_acquire(&n->end) <= module->begin ||
		    gg_load_relaxed(&n->begin) >= module->end)
			continue;
		if (gg_load_relaxed(&n->identity) == identity && n->begin == module->begin &&
		    n->end == module->end) {
			found = true;
		} else if (gg_cas_acq_rel(&n->state, &loaded, BEING_WRITTEN)) {
			if (n->index != GG_INDEX_NONE)
				gg_region_unload_module(&gg_process.region, n->index, now_ns);
			gg_store_release(&n->state, UNLOADED);
		}
	}
	return found;
}

/* Takes an entry in state BEING_WRITTEN.  NULL: the table is full. */
static struct registered_module *take_entry(void)
{
	uint32_t count = gg_load_acquire(&registered_count), slot;

	for (uint32_t i = 0; i < count && i < GG_MODULE_TABLE_MAX; i++) {
		uint32_t unloaded = UNLOADED;

		if (gg_load_relaxed(&registered[i].state) == UNLOADED &&
		    gg_cas_acq_rel(&registered[i].state, &unloaded, BEING_WRITTEN))
			return &registered[i];
	}
	slot = gg_add_relaxed(&registered_count, 1);
	if (slot >= GG_MODULE_TABLE_MAX) {
		gg_store_relaxed(&registered_count, GG_MODULE_TABLE_MAX);
		return NULL;
	}
	/* Until the entry is written its `end` is 0, so it overlaps no module. */
	return &registered[slot];
}

static void register_module(const struct found_module *module, uint64_t epoch, uint64_t now_ns)
{
	struct gg_region_range ranges[GG_REGION_RANGES_MAX];
	struct gg_module_info info = {
		.path = module->path,
		.path_bytes = module->path_bytes,
		.bias = module->bias,
		.load_ns = now_ns,
		.generation = (uint32_t)epoch,
	};
	bool is_program = module->begin == gg_module_lookup_program.begin;
	struct registered_module *slot;
	uint64_t identity;

	if (is_program && gg_load_relaxed(&program_is_registered) != 0)
		return;
	read_headers(module, &info, ranges);
	identity = identity_of(module, &info);
	if (is_registered(module, identity, now_ns))
		return;
	slot = take_entry();
	if (slot == NULL) {
		gg_region_count(&gg_process.region, GG_COUNT_DROP_MODULES, 1);
		return;
	}
	gg_store_relaxed(&slot->begin, module->begin);
	gg_store_relaxed(&slot->identity, identity);
	gg_store_relaxed(&slot->index, add_to_region(&info));
	gg_store_release(&slot->end, module->end);
	gg_assert(module->begin < module->end && info.range_count <= GG_REGION_RANGES_MAX);
	/* Release, and last: the other members are valid now. */
	gg_store_release(&slot->state, LOADED);
	if (is_program)
		gg_store_relaxed(&program_is_registered, 1);
}

/* False: another thread uses the list of mappings, so try again at the next sample. */
static bool register_pc(uint64_t pc, uint64_t epoch, uint64_t now_ns)
{
	struct found_module module;

	if (!gg_mapped_modules_is_used()) {
		if (find_by_loader(pc, &module))
			register_module(&module, epoch, now_ns);
		return true;
	}
	if (!gg_mapped_modules_enter(epoch))
		return false;
	if (find_by_listing(pc, &module))
		register_module(&module, epoch, now_ns);
	gg_mapped_modules_leave();
	return true;
}

void gg_module_table_init(bool by_listing)
{
	if (by_listing || finder() == NULL)
		gg_mapped_modules_use();
}

void gg_module_table_forget(void)
{
	memset(registered, 0, sizeof(registered));
	memset(known_pages, 0, sizeof(known_pages));
	memset(known_stacks, 0, sizeof(known_stacks));
	gg_store_relaxed(&registered_count, 0);
	gg_store_relaxed(&program_is_registered, 0);
}

bool gg_module_table_are_one_module(uint64_t pc, uint64_t other)
{
	struct gg_module_lookup_row a, b;
	struct found_module c, d;

	if (gg_mapped_modules_is_used())
		return gg_module_lookup_table_find(pc, &a) &&
		       gg_module_lookup_table_find(other, &b) && a.begin == b.begin;
	return find_by_loader(pc, &c) && find_by_loader(other, &d) && c.begin == d.begin;
}

bool gg_module_table_find(uint64_t pc, char *ret_path, size_t path_max, uint64_t *ret_bias)
{
	bool is_listing = gg_mapped_modules_is_used(), found;
	struct found_module module;
	const char *path;
	size_t bytes;

	if (is_listing && !gg_mapped_modules_enter(gg_module_lookup_epoch()))
		return false;
	found = is_listing ? find_by_listing(pc, &module) : find_by_loader(pc, &module);
	if (found) {
		path = module.path_bytes > 0 ? module.path : gg_process_program();
		bytes = module.path_bytes > 0 ? module.path_bytes : strlen(path);
		bytes = bytes < path_max ? bytes : path_max - 1;
		memcpy(ret_path, path, bytes);
		ret_path[bytes] = '\0';
		*ret_bias = module.bias;
	}
	if (is_listing)
		gg_mapped_modules_leave();
	return found;
}

void gg_module_table_register(uint32_t stack, const uint64_t *pcs, uint32_t count, uint64_t now_ns)
{
	uint64_t epoch = gg_module_lookup_epoch();
	/*
	 * Relaxed, as below: each word is complete by itself, and a stale one costs a second look-
	 * up.
	 */
	uint64_t *known_stack = &known_stacks[stack % KNOWN_STACKS];
	uint64_t stack_entry = stack | epoch << 32;

	if (stack >= GG_STACK_FIRST && gg_load_relaxed(known_stack) == stack_entry)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = pcs[i] >> PAGE_SHIFT, entry = page | epoch << EPOCH_SHIFT;
		uint64_t *known = &known_pages[page % KNOWN_PAGES];

		if (gg_load_relaxed(known) == entry)
			continue;
		if (register_pc(pcs[i], epoch, now_ns))
			gg_store_relaxed(known, entry);
	}
	gg_store_relaxed(known_stack, stack_entry);
}
