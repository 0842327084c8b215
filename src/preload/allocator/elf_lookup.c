/* SPDX-License-Identifier: Apache-2.0 */
/* elf_lookup - walks r_debug, and searches the hash tables of each object. */
#include "runtime/platform/elf_lookup.h"

#include <stdint.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "preload/attach/loader_lock.h"

/*
 * A bit of a version index: the version is old, and only programs that were linked with it use it.
 */
static const uint16_t is_hidden = 0x8000;

/* The loader relocates these pointers, except in objects whose dynamic section is read-only. */
static const void *absolute(const struct link_map *map, Elf64_Addr address)
{
	return (const void *)(address < map->l_addr ? map->l_addr + address : address);
}

bool gg_elf_lookup_tables(const struct link_map *map, struct gg_elf_lookup_tables *ret)
{
	*ret = (struct gg_elf_lookup_tables){ .map = map, .base = map->l_addr };
	if (map->l_ld == NULL)
		return false;
	for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *table = absolute(map, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB:
			ret->symbols = table;
			break;
		case DT_STRTAB:
			ret->names = table;
			break;
		case DT_VERSYM:
			ret->versions = table;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = table;
			break;
		case DT_HASH:
			ret->sysv_hash = table;
			break;
		case DT_RELA:
			ret->relocations = table;
			break;
		case DT_RELASZ:
			ret->relocation_count = d->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_JMPREL:
			ret->calls = table;
			break;
		case DT_PLTRELSZ:
			ret->call_count = d->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_SYMBOLIC:
			ret->is_symbolic = true;
			break;
		case DT_FLAGS:
			ret->is_symbolic |= (d->d_un.d_val & DF_SYMBOLIC) != 0;
			break;
		default:
			break;
		}
	}
	return ret->symbols != NULL && ret->names != NULL;
}

/* Not strcmp(), which may be that of a sanitizer that is not initialized yet. */
static bool is_same_text(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* True if the symbol is a definition of that name; `hidden` selects default or hidden versions. */
static bool is_match(const struct gg_elf_lookup_tables *t, uint32_t index, const char *name,
                     uint16_t hidden)
{
	const Elf64_Sym *symbol = &t->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       (t->versions == NULL || (t->versions[index] & is_hidden) == hidden) &&
	       is_same_text(t->names + symbol->st_name, name);
}

/*
 * DT_GNU_HASH: header, Bloom filter, buckets, and a chain of hashes whose lowest bit ends a bucket.
 */
static uint32_t find_gnu(const struct gg_elf_lookup_tables *t, const char *name, uint16_t hidden)
{
	const uint32_t bucket_count = t->gnu_hash[0], first = t->gnu_hash[1];
	const uint32_t filter_words = t->gnu_hash[2];
	const uint64_t *filter = (const uint64_t *)(const void *)(t->gnu_hash + 4);
	const uint32_t *buckets = (const uint32_t *)(filter + filter_words);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381;
	uint64_t word;

	for (const char *c = name; *c != '\0'; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (filter_words == 0 || bucket_count == 0)
		return 0;
	/*
	 * The Bloom filter: two bits of one word.  Most objects do not define the name, and end
	 * here.
	 */
	word = filter[hash / 64 % filter_words];
	if ((word >> hash % 64 & word >> (hash >> t->gnu_hash[3]) % 64 & 1) == 0 ||
	    buckets[hash % bucket_count] < first)
		return 0;
	for (uint32_t i = buckets[hash % bucket_count];; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is_match(t, i, name, hidden))
			return i;
		if (chain[i - first] & 1)
			return 0;
	}
}

/* DT_HASH: the number of buckets and of symbols, the buckets, the chains. */
static uint32_t find_sysv(const struct gg_elf_lookup_tables *t, const char *name, uint16_t hidden)
{
	for (uint32_t i = 1; i < t->sysv_hash[1]; i++)
		if (is_match(t, i, name, hidden))
			return i;
	return 0;
}

static uint32_t find(const struct gg_elf_lookup_tables *t, const char *name, uint16_t hidden)
{
	if (t->gnu_hash != NULL)
		return find_gnu(t, name, hidden);
	return t->sysv_hash != NULL ? find_sysv(t, name, hidden) : 0;
}

static void *address_of(const struct gg_elf_lookup_tables *t, uint32_t index)
{
	Elf64_Addr address = t->base + t->symbols[index].st_value;

	/*
	 * The symbol of an indirect function is its resolver, which gets the processor's features.
	 */
	if (ELF64_ST_TYPE(t->symbols[index].st_info) == STT_GNU_IFUNC)
		address = ((Elf64_Addr(*)(unsigned long))address)(getauxval(AT_HWCAP));
	return (void *)address;
}

bool gg_elf_lookup_find(const struct gg_elf_lookup_tables *t, const char *name,
                        struct gg_elf_lookup *ret)
{
	uint32_t index = find(t, name, 0);

	if (index == 0)
		return false;
	*ret = (struct gg_elf_lookup){ address_of(t, index), t->symbols[index].st_size, t->map };
	return true;
}

static Elf64_Addr undefined_in(const struct gg_elf_lookup_tables *t, const Elf64_Rela *relocations,
                               size_t count, const char *name)
{
	for (size_t i = 0; relocations != NULL && i < count; i++) {
		const Elf64_Sym *symbol = &t->symbols[ELF64_R_SYM(relocations[i].r_info)];

		if (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0 &&
		    is_same_text(t->names + symbol->st_name, name))
			return t->base + symbol->st_value;
	}
	return 0;
}

Elf64_Addr gg_elf_lookup_undefined(const struct gg_elf_lookup_tables *t, const char *name)
{
	/* The object has a relocation for its own slot of the function. */
	Elf64_Addr address = undefined_in(t, t->calls, t->call_count, name);

	return address != 0 ? address : undefined_in(t, t->relocations, t->relocation_count, name);
}

static bool find_in(const struct link_map *map, const char *name, struct gg_elf_lookup *ret)
{
	struct gg_elf_lookup_tables t;

	return gg_elf_lookup_tables(map, &t) && gg_elf_lookup_find(&t, name, ret);
}

const struct link_map *gg_elf_lookup_our_map(void)
{
	const struct link_map *map = _r_debug.r_map;

	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

/* libc starts the program, so libc alone has this function. */
static bool is_libc(const struct link_map *map)
{
	struct gg_elf_lookup symbol;

	return find_in(map, "__libc_start_main", &symbol);
}

bool gg_elf_lookup_is_late(void)
{
	static uint32_t known; /* 0: not yet; 1: no; 2: yes.  Relaxed: all threads find the same. */
	const struct link_map *map = _r_debug.r_map;
	uint32_t answer = gg_load_relaxed(&known);

	if (answer == 0) {
		while (map != NULL && map->l_ld != _DYNAMIC && !is_libc(map))
			map = map->l_next;
		answer = map != NULL && map->l_ld == _DYNAMIC ? 1 : 2;
		gg_store_relaxed(&known, answer);
	}
	return answer == 2;
}

/*
 * Returns the first object whose definition may be the next one, and then the one after `map`.  In
 * a process that was running when this library came, all others count, from the program on.
 */
static const struct link_map *first_candidate(void)
{
	const struct link_map *map = gg_elf_lookup_is_late() ? _r_debug.r_map
	                                                     : gg_elf_lookup_our_map();

	return map != NULL && map->l_ld == _DYNAMIC ? map->l_next : map;
}

static const struct link_map *next_candidate(const struct link_map *map)
{
	map = map->l_next;
	return map != NULL && map->l_ld == _DYNAMIC ? map->l_next : map;
}

bool gg_elf_lookup_find_next(const char *name, struct gg_elf_lookup *ret)
{
	for (const struct link_map *map = first_candidate(); map != NULL; map = next_candidate(map))
		if (find_in(map, name, ret))
			return true;
	return false;
}

void gg_elf_lookup_next_all(struct gg_elf_lookup_name *wanted, size_t count)
{
	struct gg_elf_lookup_tables t;
	struct gg_elf_lookup symbol;

	for (size_t i = 0; i < count; i++) {
		wanted[i].address = NULL;
		wanted[i].map = NULL;
	}
	for (const struct link_map *map = first_candidate(); map != NULL;
	     map = next_candidate(map)) {
		if (!gg_elf_lookup_tables(map, &t))
			continue;
		for (size_t i = 0; i < count; i++)
			if (wanted[i].address == NULL &&
			    gg_elf_lookup_find(&t, wanted[i].name, &symbol)) {
				wanted[i].address = symbol.address;
				wanted[i].map = map;
			}
	}
}

void *gg_elf_lookup_next(const char *name, void *instead)
{
	struct gg_elf_lookup symbol;

	return gg_elf_lookup_find_next(name, &symbol) ? symbol.address : instead;
}

struct any {
	const char *name;
	void *address; /* NULL: not found */
};

/* Under the loader's lock, if this process may take it. */
static void find_any(void *context)
{
	struct any *any = context;
	struct gg_elf_lookup symbol;

	for (const struct link_map *map = _r_debug.r_map; map != NULL && any->address == NULL;
	     map = map->l_next)
		if (find_in(map, any->name, &symbol))
			any->address = symbol.address;
}

void *gg_elf_lookup_any(const char *name)
{
	struct any any = { .name = name };

	gg_loader_lock_call(find_any, &any);
	return any.address;
}

const uint16_t *gg_elf_lookup_hidden(const char *name, void **ret_address)
{
	const struct link_map *map = gg_elf_lookup_our_map();
	struct gg_elf_lookup_tables t;
	uint32_t index;

	if (map == NULL || !gg_elf_lookup_tables(map, &t) || t.versions == NULL ||
	    (index = find(&t, name, is_hidden)) == 0)
		return NULL;
	*ret_address = address_of(&t, index);
	return t.versions + index;
}
