/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loaded.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/process.h"
#include "agent/symbol.h"
#include "agent/system.h"
#include "base/atomic.h"
#include "base/hash.h"
#include "unwind/modules.h"

enum {
	KNOWN_PAGES = 4096, /* powers of two */
	KNOWN_STACKS = 8192,
	PAGE_SHIFT = 12,
	EPOCH_SHIFT = 52 /* above a page number */
};

/* Of each module noted; only `is_unloaded` changes later. */
struct noted {
	uint64_t begin, end;
	uint64_t
		identity; /* of its name and build-id: tells two apart that came to the same place */
	uint32_t index;   /* in the region */
	uint32_t is_unloaded;
};

static struct noted noted[GG_LOADED_MAX];
static uint32_t noted_count;
static uint64_t known_pages[KNOWN_PAGES];   /* page number, and its epoch above */
static uint64_t known_stacks[KNOWN_STACKS]; /* a stack's id, and its epoch above */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */

typedef int find_object(void *pc, struct dl_find_object *ret_object);

static bool find(uint64_t pc, struct dl_find_object *ret_object)
{
	static find_object *function;
	find_object *known = gg_load_relaxed(&function);

	if (known == NULL) {
		known = (find_object *)gg_symbol_next("_dl_find_object", NULL);
		gg_store_relaxed(&function, known);
	}
	return known != NULL && known((void *)pc, ret_object) == 0;
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

/* What the program headers say; those of a module whose first page has no ELF header are unknown. */
static void read_headers(const struct dl_find_object *object, struct gg_module_info *info,
                         struct gg_region_range ranges[GG_REGION_RANGES_MAX])
{
	const uint8_t *start = object->dlfo_map_start;
	size_t bytes = (size_t)((uint8_t *)object->dlfo_map_end - start);
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
	const Elf64_Phdr *headers;

	ranges[0] = (struct gg_region_range){ .start = (uintptr_t)start,
		                              .end = (uintptr_t)object->dlfo_map_end };
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
	char exe[GG_REGION_EXE_MAX];
	ssize_t length;

	/* The program itself has no name. */
	if (info->path_bytes == 0) {
		length = gg_system_read_link("/proc/self/exe", exe, sizeof(exe));
		info->path = length > 0 ? exe : "";
		info->path_bytes = strlen(info->path);
	}
	return gg_region_add_module(&gg_process.region, info);
}

/* The loader's own record of a module says less: another one's may be at the same address later. */
static uint64_t identity_of(const struct gg_module_info *info)
{
	return gg_hash_bytes(info->path, info->path_bytes,
	                     gg_hash_bytes(info->build_id, info->build_id_bytes, 0));
}

/* Is it noted?  Others that lie there are gone: two modules cannot share an address. */
static bool is_noted(const struct dl_find_object *object, uint64_t identity, uint64_t now_ns)
{
	uint64_t begin = (uintptr_t)object->dlfo_map_start, end = (uintptr_t)object->dlfo_map_end;
	uint32_t count = gg_load_acquire(&noted_count);
	bool found = false;

	for (uint32_t i = 0; i < count && i < GG_LOADED_MAX; i++) {
		struct noted *n = &noted[i];

		if (gg_load_acquire(&n->end) <= begin || n->begin >= end ||
		    gg_load_relaxed(&n->is_unloaded))
			continue;
		if (n->identity == identity && n->begin == begin && n->end == end) {
			found = true;
		} else {
			gg_store_relaxed(&n->is_unloaded, 1);
			if (n->index != GG_INDEX_NONE)
				gg_region_unload_module(&gg_process.region, n->index, now_ns);
		}
	}
	return found;
}

static void note(uint64_t pc, uint64_t epoch, uint64_t now_ns)
{
	struct gg_region_range ranges[GG_REGION_RANGES_MAX];
	struct gg_module_info info = { .generation = (uint32_t)epoch };
	struct dl_find_object object;
	uint64_t identity;
	uint32_t place;

	if (!find(pc, &object))
		return;
	info.path = object.dlfo_link_map->l_name;
	info.path_bytes = strlen(info.path);
	info.bias = object.dlfo_link_map->l_addr;
	read_headers(&object, &info, ranges);
	identity = identity_of(&info);
	if (is_noted(&object, identity, now_ns))
		return;
	place = gg_add_relaxed(&noted_count, 1);
	if (place >= GG_LOADED_MAX) {
		gg_store_relaxed(&noted_count, GG_LOADED_MAX);
		gg_region_count(&gg_process.region, GG_COUNT_DROP_MODULES, 1);
		return;
	}
	info.load_ns = now_ns;
	noted[place].begin = (uintptr_t)object.dlfo_map_start;
	noted[place].identity = identity;
	noted[place].index = add_to_region(&info);
	/* Last, by release: until then the place holds nothing. */
	gg_store_release(&noted[place].end, (uintptr_t)object.dlfo_map_end);
}

bool gg_loaded_are_one_module(uint64_t pc, uint64_t other)
{
	struct dl_find_object a, b;

	return find(pc, &a) && find(other, &b) && a.dlfo_link_map == b.dlfo_link_map;
}

#else

bool gg_loaded_are_one_module(uint64_t pc, uint64_t other)
{
	(void)pc;
	(void)other;
	return false;
}

static void note(uint64_t pc, uint64_t epoch, uint64_t now_ns)
{
	(void)pc;
	(void)epoch;
	(void)now_ns;
}

#endif

void gg_loaded_note(uint32_t stack, const uint64_t *pcs, uint32_t count, uint64_t now_ns)
{
	uint64_t epoch = gg_modules_epoch();
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
		note(pcs[i], epoch, now_ns);
		gg_store_relaxed(known, entry);
	}
	gg_store_relaxed(known_stack, stack_entry);
}
