/* SPDX-License-Identifier: Apache-2.0 */
/* symtab - collects the symbols of code in ELF files, and finds the one at an address. */
#include "symbol/elf/symtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/binary_search.h"

struct symtab_entry {
	uint64_t begin, end; /* end == begin: no size, until gg_symtab_sort() gives it one */
	uint64_t limit;      /* end of its section, which bounds a symbol without a size */
	const char *name;
	uint8_t binding_rank, underscores;
	bool is_sized;
};

static struct symtab_entry *entries_of(const struct gg_symtab *symtab)
{
	return (struct symtab_entry *)symtab->entries.data;
}

static size_t count_of(const struct gg_symtab *symtab)
{
	return symtab->entries.length / sizeof(struct symtab_entry);
}

/* --- reading ------------------------------------------------------------------------------ */

enum { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL };

static uint8_t rank_of_binding(unsigned char info)
{
	switch (GELF_ST_BIND(info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return RANK_GLOBAL;
	case STB_WEAK:
		return RANK_WEAK;
	default:
		return RANK_LOCAL;
	}
}

/*
 * True if the symbol may be code: a function, or a symbol without a type that assembler code made
 * visible.
 */
static bool is_code(const GElf_Sym *symbol, const GElf_Shdr *section)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && (section->sh_flags & SHF_EXECINSTR) != 0 &&
	       GELF_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static void add_symbol(struct gg_symtab *symtab, Elf *elf, const GElf_Sym *symbol, size_t strings)
{
	struct symtab_entry entry = { .begin = symbol->st_value, .is_sized = symbol->st_size > 0 };
	GElf_Shdr header;
	Elf_Scn *section;

	/* Undefined, absolute and common symbols have no place in the file. */
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return;
	section = elf_getscn(elf, symbol->st_shndx);
	if (section == NULL || gelf_getshdr(section, &header) == NULL || !is_code(symbol, &header))
		return;
	entry.name = elf_strptr(elf, strings, symbol->st_name);
	if (entry.name == NULL || entry.name[0] == '\0' || entry.name[0] == '$')
		return; /* $x and $d mark code and data on aarch64 */
	if (__builtin_add_overflow(entry.begin, symbol->st_size, &entry.end) ||
	    __builtin_add_overflow(header.sh_addr, header.sh_size, &entry.limit))
		return;
	entry.binding_rank = rank_of_binding(symbol->st_info);
	entry.underscores = (uint8_t)(strspn(entry.name, "_") & 255);
	gg_buf_append(&symtab->entries, &entry, sizeof(entry));
}

static Elf_Scn *find_table(Elf *elf, uint32_t type, GElf_Shdr *ret_header)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;)
		if (gelf_getshdr(section, ret_header) != NULL && ret_header->sh_type == type)
			return section;
	return NULL;
}

void gg_symtab_add(struct gg_symtab *symtab, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = find_table(elf, SHT_SYMTAB, &header);
	Elf_Data *data;
	GElf_Sym symbol;

	if (section == NULL)
		section = find_table(elf, SHT_DYNSYM, &header);
	if (section == NULL)
		return;
	data = elf_getdata(section, NULL);
	for (int i = 1; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++)
		add_symbol(symtab, elf, &symbol, header.sh_link);
}

/* --- looking up --------------------------------------------------------------------------- */

/*
 * Orders symbols by address.  Symbols at the same address stand in the order of preference, the
 * best one last, because the search goes backward.
 */
static int compare(const void *left, const void *right)
{
	const struct symtab_entry *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->is_sized != b->is_sized)
		return a->is_sized ? 1 : -1;
	if ((a->binding_rank == RANK_LOCAL) != (b->binding_rank == RANK_LOCAL))
		return a->binding_rank == RANK_LOCAL ? -1 : 1;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores ? 1 : -1;
	if (a->binding_rank != b->binding_rank)
		return a->binding_rank < b->binding_rank ? 1 : -1;
	return -strcmp(a->name, b->name);
}

void gg_symtab_sort(struct gg_symtab *symtab)
{
	struct symtab_entry *entries = entries_of(symtab);
	size_t count = count_of(symtab);
	uint64_t next = UINT64_MAX, max_end = 0;

	if (count == 0)
		return;
	qsort(entries, count, sizeof(*entries), compare);
	/*
	 * Goes backward, so that `next` is the nearest higher address of another symbol.  A symbol
	 * without a size ends there, or at the end of its section.
	 */
	for (size_t i = count; i-- > 0;) {
		if (!entries[i].is_sized)
			entries[i].end = next < entries[i].limit ? next : entries[i].limit;
		if (i > 0 && entries[i - 1].begin != entries[i].begin)
			next = entries[i].begin;
	}
	for (size_t i = 0; i < count; i++) {
		/*
		 * The running maximum lets a search stop early: no earlier entry reaches an address
		 * beyond it.
		 */
		if (entries[i].end > max_end)
			max_end = entries[i].end;
		gg_buf_append(&symtab->max_ends, &max_end, sizeof(max_end));
	}
	gg_assert(symtab->max_ends.failed ||
	          symtab->max_ends.length / sizeof(max_end) == count_of(symtab));
}

/* Returns the best symbol at an address; see gg_symtab_find(). */
static const struct symtab_entry *find(const struct gg_symtab *symtab, uint64_t address,
                                       uint64_t function_begin)
{
	const struct symtab_entry *entries = entries_of(symtab), *without_size = NULL;
	const uint64_t *max_ends = (const uint64_t *)symtab->max_ends.data;
	size_t next;

	if (symtab->max_ends.failed || symtab->entries.failed)
		return NULL;
	next = gg_lower_bound(0, count_of(symtab), i, entries[i].begin <= address);
	for (; next > 0 && max_ends[next - 1] > address; next--) {
		const struct symtab_entry *entry = &entries[next - 1];

		if (address >= entry->end)
			continue;
		if (entry->is_sized)
			return entry;
		/*
		 * A symbol without a size only guesses its end, so an earlier symbol whose size
		 * covers the address wins.
		 */
		if (without_size == NULL && entry->begin >= function_begin)
			without_size = entry;
	}
	return without_size;
}

const char *gg_symtab_find(const struct gg_symtab *symtab, uint64_t address,
                           uint64_t function_begin)
{
	const struct symtab_entry *entry = find(symtab, address, function_begin);

	return entry != NULL ? entry->name : NULL;
}

const char *gg_symtab_find_public_name(const struct gg_symtab *symtab, uint64_t address,
                                       const char *name)
{
	const struct symtab_entry *first = entries_of(symtab), *best = find(symtab, address, 0);

	if (best == NULL || best->binding_rank == RANK_LOCAL)
		return NULL;
	/* The best name of an address stands after the others. */
	for (const struct symtab_entry *other = best; other->begin == best->begin; other--) {
		if (strcmp(other->name, name) == 0)
			return best->name;
		if (other == first)
			break;
	}
	return NULL;
}

void gg_symtab_done(struct gg_symtab *symtab)
{
	gg_buf_done(&symtab->entries);
	gg_buf_done(&symtab->max_ends);
}
