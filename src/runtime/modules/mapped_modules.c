/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_modules - groups mappings by file, and looks modules up in them. */
#include "runtime/modules/mapped_modules.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/modules/proc_maps.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/stack_bounds.h"

static uint32_t is_used;
static uint32_t is_busy; /* 1: a thread is between enter() and leave() */
static struct gg_proc_maps
	listed;               /* belongs to that thread; the text stays until the next reading */
static uint64_t listed_epoch; /* belongs to it as well: 1 + the epoch of the reading; 0: never */
static uint64_t failed_epoch; /* 1 + the epoch of a reading that failed */

bool gg_mapped_modules_is_used(void)
{
	return gg_load_relaxed(&is_used) != 0;
}

void gg_mapped_modules_use(void)
{
	gg_store_relaxed(&is_used, 1);
}

static bool lock(void)
{
	uint32_t expected = 0;

	/* Acquire: pairs with the release in gg_mapped_modules_leave(). */
	return gg_cas_acq_rel(&is_busy, &expected, 1);
}

void gg_mapped_modules_leave(void)
{
	gg_store_release(&is_busy, 0);
}

/* After a reading that failed, the next one waits for a change. */
static bool read_maps(uint64_t epoch, struct gg_proc_maps *ret_maps)
{
	if (gg_load_relaxed(&failed_epoch) == epoch + 1)
		return false;
	if (gg_proc_maps_read(ret_maps))
		return true;
	gg_proc_maps_done(ret_maps);
	gg_store_relaxed(&failed_epoch, epoch + 1);
	return false;
}

/* Between lock() and leave(): takes the text, unless there is one of a later epoch. */
static void keep(struct gg_proc_maps *maps, uint64_t epoch)
{
	struct gg_proc_maps older = *maps;

	if (listed_epoch <= epoch + 1) {
		older = listed;
		listed = *maps;
		listed_epoch = epoch + 1;
	}
	gg_proc_maps_done(&older);
}

bool gg_mapped_modules_enter(uint64_t epoch)
{
	struct gg_proc_maps maps;

	if (!lock())
		return false;
	if (listed_epoch < epoch + 1 && read_maps(epoch, &maps))
		keep(&maps, epoch);
	return true;
}

void gg_mapped_modules_forked(void)
{
	gg_module_lookup_forked();
	if (gg_load_relaxed(&is_busy) == 0)
		return;
	/*
	 * The thread that was changing the list is not in this process, so the list may be half
	 * changed.  Its memory is lost.
	 */
	listed = (struct gg_proc_maps){ 0 };
	listed_epoch = 0;
	gg_mapped_modules_leave();
}

/* Consecutive lines of one file, from offset 0 on: the loader maps a module like that. */
struct mapping_group {
	struct gg_maps_line first;
	uint64_t end;
	bool has_code;
};

static bool is_same_file(const struct gg_maps_line *a, const struct gg_maps_line *b)
{
	return a->path_bytes == b->path_bytes && memcmp(a->path, b->path, a->path_bytes) == 0;
}

/* Reads the next group, from the line at *at on. */
static bool next_group(const struct gg_proc_maps *maps, size_t *at, struct mapping_group *ret_group)
{
	struct gg_maps_line line;
	size_t next;

	do {
		if (!gg_proc_maps_next(maps, at, &line))
			return false;
	} while (line.path_bytes == 0 || line.offset != 0 || (line.protection & PROT_READ) == 0);
	*ret_group = (struct mapping_group){ line, line.end, (line.protection & PROT_EXEC) != 0 };
	for (next = *at; gg_proc_maps_next(maps, &next, &line); *at = next) {
		/* Zeroed memory of the module (.bss) has no name, and may lie in between. */
		if (line.path_bytes == 0)
			continue;
		if (line.offset == 0 || !is_same_file(&line, &ret_group->first))
			break;
		ret_group->end = line.end;
		ret_group->has_code |= (line.protection & PROT_EXEC) != 0;
	}
	return true;
}

/* Files with code, and the kernel's vDSO; not [heap] and its like. */
static bool is_module(const struct mapping_group *group)
{
	return group->has_code &&
	       (group->first.path[0] == '/' ||
	        (group->first.path_bytes == 6 && memcmp(group->first.path, "[vdso]", 6) == 0));
}

static void publish(const struct gg_proc_maps *maps, uint64_t epoch)
{
	struct gg_module_lookup_table *table = gg_module_lookup_table_take();
	struct mapping_group group;

	for (size_t at = 0; next_group(maps, &at, &group);)
		if (is_module(&group))
			gg_module_lookup_table_add(table, group.first.begin, group.end);
	gg_module_lookup_table_publish(table, epoch);
	/* The unwinder may have found _dl_find_object(), which GEIGER_MODULES=maps overrules. */
	gg_store_relaxed(&gg_module_lookup_finder, NULL);
}

/*
 * Each thread reads the list itself.  If one waited for another, a handler could wait for the
 * thread that it interrupted.  If it went on without the list, its walk would have wrong rules.
 */
static GG_COLD void read_again(uint64_t epoch)
{
	struct gg_proc_maps maps;

	if (!read_maps(epoch, &maps))
		return;
	publish(&maps, epoch);
	if (lock()) {
		keep(&maps, epoch);
		gg_mapped_modules_leave();
	} else {
		gg_proc_maps_done(&maps);
	}
}

void gg_mapped_modules_refresh(void)
{
	uint64_t epoch;

	if (gg_likely(!gg_mapped_modules_is_used()))
		return;
	/* A library is being loaded: its constructors run before the loader's caller can count. */
	if (gg_unlikely(gg_load_relaxed(&gg_module_lookup_loading) != 0))
		gg_add_acq_rel(&gg_module_lookup_loads, 1);
	/* The epoch is read before the list, so a change during the reading causes another one. */
	epoch = gg_module_lookup_epoch();
	if (!gg_module_lookup_table_is_current(epoch))
		read_again(epoch);
}

/* Reads the program headers, which are mapped: the module has a frame on this thread's stack. */
static uint64_t bias_of(const struct mapping_group *group)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)group->first.begin;
	const Elf64_Phdr *headers;

	if (group->first.end - group->first.begin < 4096 ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phoff > 4096 - sizeof(*headers) ||
	    elf->e_phnum > (4096 - elf->e_phoff) / sizeof(*headers))
		return group->first.begin;
	headers = (const Elf64_Phdr *)(group->first.begin + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (headers[i].p_type == PT_LOAD)
			return group->first.begin - (headers[i].p_vaddr & ~UINT64_C(4095));
	return group->first.begin;
}

static size_t without(const char *path, size_t path_bytes, const char *ending)
{
	size_t length = strlen(ending);

	return path_bytes > length && memcmp(path + path_bytes - length, ending, length) == 0
	               ? path_bytes - length
	               : path_bytes;
}

bool gg_mapped_modules_find(uint64_t pc, struct gg_mapped_modules_module *ret_module)
{
	struct mapping_group group;

	for (size_t at = 0; next_group(&listed, &at, &group);) {
		const struct gg_maps_line *first = &group.first;

		if (pc - first->begin >= group.end - first->begin || !is_module(&group))
			continue;
		/* Another thread may unload the module now if the pc is wrong. */
		if (!gg_stack_bounds_is_readable(first->begin))
			return false;
		*ret_module = (struct gg_mapped_modules_module){
			.begin = first->begin,
			.end = group.end,
			.bias = bias_of(&group),
			.inode = first->inode,
			.path = first->path,
			.path_bytes = without(first->path, first->path_bytes, " (deleted)"),
		};
		if (first->path[0] == '[') {
			/* The name that the loader gives it. */
			ret_module->path = "linux-vdso.so.1";
			ret_module->path_bytes = strlen(ret_module->path);
		}
		return true;
	}
	return false;
}
