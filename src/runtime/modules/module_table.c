/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/modules/module_table.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"
#include "unwind/walk/module_lookup.h"

enum {
	KNOWN_PAGES = 4096, /* powers of two */
	KNOWN_STACKS = 8192,
	PAGE_SHIFT = 12,
	EPOCH_SHIFT = 52 /* above a page number */
};

enum noted_state { LOADED, UNLOADED, BEING_WRITTEN };

/* A module; the place of an unloaded one is taken by a later module. */
struct noted {
	uint64_t begin, end;
	uint64_t
		identity; /* of its name and build-id: tells two apart that came to the same place */
	uint32_t index;   /* in the region */
	uint32_t state;   /* enum noted_state: the rest holds while it is LOADED */
};

static struct noted noted[GG_MODULE_TABLE_MAX];
static uint32_t noted_count;
static uint32_t program_is_noted; /* it stays, so it need not be compared again for each page */
static uint64_t known_pages[KNOWN_PAGES];   /* page number, and its epoch above */
static uint64_t known_stacks[KNOWN_STACKS]; /* a stack's id, and its epoch above */

/* A module, whoever found it; inode 0: it does not tell. */
struct module {
	uint64_t begin, end, bias, inode;
	const char *path;
	size_t path_bytes;
};

/* _dl_find_object(), where libc has it (glibc from 2.35). */
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

static bool find_by_loader(uint64_t pc, struct module *ret_module)
{
	struct gg_module_lookup_object object;
	const struct link_map *map;
	struct gg_module_lookup_row row;

	if (finder()((void *)pc, &object) != 0)
		return false;
	map = object.link_map;
	row = gg_module_lookup_row_of(&object);
	*ret_module = (struct module){
		.begin = row.begin,
		.end = row.end,
		.bias = map->l_addr,
		.path = map->l_name,
		.path_bytes = strlen(map->l_name),
	};
	return true;
}

static bool find_by_listing(uint64_t pc, struct module *ret_module)
{
	struct gg_mapped_modules_module module;

	if (!gg_mapped_modules_find(pc, &module))
		return false;
	*ret_module = (struct module){ module.begin, module.end,  module.bias,
		                       module.inode, module.path, module.path_bytes };
	return true;
}

/* Copies the GNU build-id out of a segment of notes. */
static void find_build_id(const uint8_t *notes, size_t bytes, struct gg_module_info *info)
{
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name_bytes, id_bytes;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name_bytes = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		id_bytes = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name_bytes > bytes - at || id_bytes > bytes - at - name_bytes)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0) {
			info->build_id = notes + at + name_bytes;
			info->build_id_bytes = note.n_descsz;
			return;
		}
		at += name_bytes + id_bytes;
	}
}

/*
 * What the program headers say; those of a module whose first page has no ELF header are unknown.
 */
static void read_headers(const struct module *module, struct gg_module_info *info,
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
			find_build_id((const uint8_t *)address, headers[i].p_filesz, info);
	}
}

static uint32_t add_to_region(struct gg_module_info *info)
{
	/* The program itself has no name in the loader's list. */
	if (info->path_bytes == 0) {
		info->path = gg_process_program();
		info->path_bytes = strlen(info->path);
	}
	return gg_region_add_module(&gg_process.region, info);
}

/* The loader's own record of a module says less: another one's may be at the same address later. */
static uint64_t identity_of(const struct module *module, const struct gg_module_info *info)
{
	return gg_hash_bytes(info->path, info->path_bytes,
	                     gg_hash_bytes(info->build_id, info->build_id_bytes, module->inode));
}

/* Is it noted?  Others that lie there are gone: two modules cannot share an address. */
static bool is_noted(const struct module *module, uint64_t identity, uint64_t now_ns)
{
	uint32_t count = gg_load_acquire(&noted_count);
	bool found = false;

	for (uint32_t i = 0; i < count && i < GG_MODULE_TABLE_MAX; i++) {
		struct noted *n = &noted[i];
		uint32_t loaded = LOADED;

		/* Acquire: pairs with the release in note_module(). */
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

/* A place for another module, being written; NULL: there is none. */
static struct noted *take_place(void)
{
	uint32_t count = gg_load_acquire(&noted_count), place;

	for (uint32_t i = 0; i < count && i < GG_MODULE_TABLE_MAX; i++) {
		uint32_t unloaded = UNLOADED;

		if (gg_load_relaxed(&noted[i].state) == UNLOADED &&
		    gg_cas_acq_rel(&noted[i].state, &unloaded, BEING_WRITTEN))
			return &noted[i];
	}
	place = gg_add_relaxed(&noted_count, 1);
	if (place >= GG_MODULE_TABLE_MAX) {
		gg_store_relaxed(&noted_count, GG_MODULE_TABLE_MAX);
		return NULL;
	}
	/* Until it is written its `end` is 0, which is in nobody's way. */
	return &noted[place];
}

static void note_module(const struct module *module, uint64_t epoch, uint64_t now_ns)
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
	struct noted *place;
	uint64_t identity;

	if (is_program && gg_load_relaxed(&program_is_noted) != 0)
		return;
	read_headers(module, &info, ranges);
	identity = identity_of(module, &info);
	if (is_noted(module, identity, now_ns))
		return;
	place = take_place();
	if (place == NULL) {
		gg_region_count(&gg_process.region, GG_COUNT_DROP_MODULES, 1);
		return;
	}
	gg_store_relaxed(&place->begin, module->begin);
	gg_store_relaxed(&place->identity, identity);
	gg_store_relaxed(&place->index, add_to_region(&info));
	gg_store_release(&place->end, module->end);
	/* Last: now the rest holds. */
	gg_store_release(&place->state, LOADED);
	if (is_program)
		gg_store_relaxed(&program_is_noted, 1);
}

/* False: it cannot be told now. */
static bool note(uint64_t pc, uint64_t epoch, uint64_t now_ns)
{
	struct module module;

	if (!gg_mapped_modules_is_used()) {
		if (find_by_loader(pc, &module))
			note_module(&module, epoch, now_ns);
		return true;
	}
	if (!gg_mapped_modules_enter())
		return false;
	if (find_by_listing(pc, &module))
		note_module(&module, epoch, now_ns);
	gg_mapped_modules_leave();
	return true;
}

void gg_module_table_init(bool by_listing)
{
	if (by_listing || finder() == NULL)
		gg_mapped_modules_use();
}

bool gg_module_table_are_one_module(uint64_t pc, uint64_t other)
{
	struct gg_module_lookup_row a, b;
	struct module c, d;

	if (gg_mapped_modules_is_used())
		return gg_module_lookup_table_find(pc, &a) &&
		       gg_module_lookup_table_find(other, &b) && a.begin == b.begin;
	return find_by_loader(pc, &c) && find_by_loader(other, &d) && c.begin == d.begin;
}

void gg_module_table_note(uint32_t stack, const uint64_t *pcs, uint32_t count, uint64_t now_ns)
{
	uint64_t epoch = gg_module_lookup_epoch();
	/* Relaxed, as below: words that say all; the worst is to look twice. */
	uint64_t *known_stack = &known_stacks[stack % KNOWN_STACKS];
	uint64_t stack_entry = stack | epoch << 32;

	if (stack >= GG_STACK_FIRST && gg_load_relaxed(known_stack) == stack_entry)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = pcs[i] >> PAGE_SHIFT, entry = page | epoch << EPOCH_SHIFT;
		uint64_t *known = &known_pages[page % KNOWN_PAGES];

		if (gg_load_relaxed(known) == entry)
			continue;
		if (note(pcs[i], epoch, now_ns))
			gg_store_relaxed(known, entry);
	}
	gg_store_relaxed(known_stack, stack_entry);
}
