/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/symbol.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* What look-ups need of an object's dynamic section. */
struct tables {
	const Elf64_Sym *symbols;
	const char *names;
	const uint16_t *versions; /* of each symbol; NULL: none */
	const uint32_t *gnu_hash; /* NULL: none */
	const uint32_t *sysv_hash;
	Elf64_Addr base;
};

/* The loader has made these pointers absolute, except in objects whose section is read-only. */
static const void *absolute(const struct link_map *map, Elf64_Addr address)
{
	return (const void *)(address < map->l_addr ? map->l_addr + address : address);
}

static bool read_tables(const struct link_map *map, struct tables *ret)
{
	*ret = (struct tables){ .base = map->l_addr };
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
		default:
			break;
		}
	}
	return ret->symbols != NULL && ret->names != NULL;
}

/* Is it the function's default version, defined here? */
static bool is_match(const struct tables *t, uint32_t index, const char *name)
{
	const Elf64_Sym *symbol = &t->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const uint16_t hidden = 0x8000; /* an old version, kept for programs linked to it */

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       (t->versions == NULL || (t->versions[index] & hidden) == 0) &&
	       strcmp(t->names + symbol->st_name, name) == 0;
}

/* DT_GNU_HASH: header, Bloom filter, buckets, and a chain of hashes whose lowest bit ends a bucket. */
static uint32_t find_gnu(const struct tables *t, const char *name)
{
	const uint32_t bucket_count = t->gnu_hash[0], first = t->gnu_hash[1];
	const uint32_t filter_words = t->gnu_hash[2];
	const uint32_t *buckets = t->gnu_hash + 4 +
	                          filter_words * (sizeof(Elf64_Addr) / sizeof(uint32_t));
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381;

	for (const char *c = name; *c != '\0'; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (bucket_count == 0 || buckets[hash % bucket_count] < first)
		return 0;
	for (uint32_t i = buckets[hash % bucket_count];; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is_match(t, i, name))
			return i;
		if (chain[i - first] & 1)
			return 0;
	}
}

/* DT_HASH: the number of buckets and of symbols, the buckets, the chains. */
static uint32_t find_sysv(const struct tables *t, const char *name)
{
	for (uint32_t i = 1; i < t->sysv_hash[1]; i++)
		if (is_match(t, i, name))
			return i;
	return 0;
}

static void *address_of(const struct tables *t, uint32_t index)
{
	Elf64_Addr address = t->base + t->symbols[index].st_value;

	/* An indirect function's symbol is the function that chooses it. */
	if (ELF64_ST_TYPE(t->symbols[index].st_info) == STT_GNU_IFUNC)
		address = ((Elf64_Addr(*)(unsigned long))address)(getauxval(AT_HWCAP));
	return (void *)address;
}

void *gg_symbol_next(const char *name, void *instead)
{
	const struct link_map *map = _r_debug.r_map;

	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	while (map != NULL && (map = map->l_next) != NULL) {
		struct tables t;
		uint32_t index = 0;

		if (!read_tables(map, &t))
			continue;
		if (t.gnu_hash != NULL)
			index = find_gnu(&t, name);
		else if (t.sysv_hash != NULL)
			index = find_sysv(&t, name);
		if (index != 0)
			return address_of(&t, index);
	}
	return instead;
}
