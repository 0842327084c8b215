/* SPDX-License-Identifier: Apache-2.0 */
/* got_patch - walks relocations and writes slots. */
#include "preload/allocator/got_patch.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "runtime/syscalls.h"

#if defined(__x86_64__)
enum { IN_CALLS = R_X86_64_JUMP_SLOT, IN_TABLE = R_X86_64_GLOB_DAT, IN_DATA = R_X86_64_64 };
#else /* aarch64; src/unwind/arch/arch.h rejects other processors */
enum { IN_CALLS = R_AARCH64_JUMP_SLOT, IN_TABLE = R_AARCH64_GLOB_DAT, IN_DATA = R_AARCH64_ABS64 };
#endif

/* Release: a thread that calls through the slot sees the variables that the new function reads. */
static void store(void *at, uint64_t value, size_t bytes)
{
	if (bytes == sizeof(uint16_t))
		gg_store_release((uint16_t *)at, (uint16_t)value);
	else
		gg_store_release((uint64_t *)at, value);
}

bool gg_got_patch_write(const struct gg_proc_maps *maps, void *at, uint64_t value, size_t bytes)
{
	const uintptr_t page_bytes = getauxval(AT_PAGESZ);
	void *page = (void *)((uintptr_t)at & ~(page_bytes - 1));
	struct gg_maps_line line;

	if (!gg_proc_maps_find(maps, (uintptr_t)at, &line) || (line.protection & PROT_READ) == 0)
		return false;
	if ((line.protection & PROT_WRITE) != 0) {
		store(at, value, bytes);
		return true;
	}
	if (!gg_syscall_protect(page, page_bytes, line.protection | PROT_WRITE))
		return false;
	store(at, value, bytes);
	gg_syscall_protect(page, page_bytes, line.protection);
	return true;
}

/* All changes, and the range of their `from`: most slots are outside it and need no comparison. */
struct got_patch_job {
	const struct gg_got_patch_change *changes;
	size_t count;
	uint64_t least, most;
	const struct gg_proc_maps *maps;
};

/*
 * Changes the slot of one relocation if a change matches.  The range of `from` excludes most slots
 * without a comparison of names.  A change whose `from` is 0 matches any value; the range does not
 * apply then.
 */
static void change(const struct gg_elf_lookup_tables *t, const Elf64_Rela *relocation,
                   const struct got_patch_job *job)
{
	uint64_t *slot = (uint64_t *)(t->base + relocation->r_offset);
	const Elf64_Sym *symbol = &t->symbols[ELF64_R_SYM(relocation->r_info)];
	uint64_t value = gg_load_relaxed(slot);

	if (job->least != 0 && (value < job->least || value > job->most))
		return;
	for (size_t i = 0; i < job->count; i++) {
		const struct gg_got_patch_change *c = &job->changes[i];

		if ((c->from == 0 || c->from == value) && c->to != value &&
		    strcmp(c->name, t->names + symbol->st_name) == 0) {
			gg_got_patch_write(job->maps, slot, c->to, sizeof(*slot));
			return;
		}
	}
}

/* True if the relocation leads to a slot. */
static bool is_slot(const Elf64_Rela *relocation)
{
	uint32_t type = ELF64_R_TYPE(relocation->r_info);

	/* With an addend the slot points inside a function. */
	return (type == IN_CALLS || type == IN_TABLE || type == IN_DATA) &&
	       ELF64_R_SYM(relocation->r_info) != 0 &&
	       (type != IN_DATA || relocation->r_addend == 0) &&
	       relocation->r_offset % sizeof(uint64_t) == 0;
}

static void change_all(const struct gg_elf_lookup_tables *t, const Elf64_Rela *relocations,
                       size_t relocation_count, const struct got_patch_job *job)
{
	for (size_t i = 0; relocations != NULL && i < relocation_count; i++)
		if (is_slot(&relocations[i]))
			change(t, &relocations[i], job);
}

/* The relocation of that number: those of data, and then those of the linkage table. */
static const Elf64_Rela *relocation_at(const struct gg_elf_lookup_tables *t, size_t number)
{
	size_t data_count = t->relocations != NULL ? t->relocation_count : 0;

	/* Some linkers count those of the linkage table as the last ones of data as well. */
	if (t->calls > t->relocations && t->calls < t->relocations + data_count)
		data_count = (size_t)(t->calls - t->relocations);
	if (number < data_count)
		return &t->relocations[number];
	number -= data_count;
	return t->calls != NULL && number < t->call_count ? &t->calls[number] : NULL;
}

bool gg_got_patch_next(const struct gg_elf_lookup_tables *t, size_t *at,
                       struct gg_got_patch_slot *ret)
{
	const Elf64_Rela *relocation;

	while ((relocation = relocation_at(t, *at)) != NULL) {
		++*at;
		if (!is_slot(relocation))
			continue;
		ret->at = (uint64_t *)(t->base + relocation->r_offset);
		ret->symbol = &t->symbols[ELF64_R_SYM(relocation->r_info)];
		ret->name = t->names + ret->symbol->st_name;
		ret->is_call = ELF64_R_TYPE(relocation->r_info) == IN_CALLS;
		return true;
	}
	return false;
}

void gg_got_patch_change(const struct link_map *map, const struct gg_got_patch_change *changes,
                         size_t count, const struct gg_proc_maps *maps)
{
	struct got_patch_job job = { changes, count, UINT64_MAX, 0, maps };
	struct gg_elf_lookup_tables t;

	for (size_t i = 0; i < count; i++) {
		if (changes[i].from < job.least)
			job.least = changes[i].from;
		if (changes[i].from > job.most)
			job.most = changes[i].from;
	}
	if (!gg_elf_lookup_tables(map, &t))
		return;
	change_all(&t, t.relocations, t.relocation_count, &job);
	change_all(&t, t.calls, t.call_count, &job);
}
