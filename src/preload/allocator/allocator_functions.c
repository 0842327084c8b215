/* SPDX-License-Identifier: Apache-2.0 */
/* allocator_functions - looks the functions up in the object that has the real malloc(). */
#include "runtime/platform/allocator_functions.h"

#include <string.h>

#include "base/compiler.h"
#include "runtime/platform/elf_lookup.h"

struct gg_allocator_functions gg_allocator_functions;

/* Finds the function in the object; NULL: it is not there. */
static void *find(const struct gg_elf_lookup_tables *allocator, const char *name)
{
	struct gg_elf_lookup symbol;

	return gg_elf_lookup_find(allocator, name, &symbol) ? symbol.address : NULL;
}

/* Sets the addresses of a shared library, whose ELF header is at its base. */
static bool set_addresses(const struct link_map *map)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)map->l_addr;
	const Elf64_Phdr *segments;
	Elf64_Addr end = 0;

	/* A base of 0 is that of a program at fixed addresses, whose header is elsewhere. */
	if (map->l_addr == 0 || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	segments = (const Elf64_Phdr *)(map->l_addr + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_vaddr + segments[i].p_memsz > end)
			end = segments[i].p_vaddr + segments[i].p_memsz;
	gg_allocator_functions.begin = map->l_addr;
	gg_allocator_functions.end = map->l_addr + end;
	return true;
}

void gg_allocator_functions_find(void)
{
	struct gg_allocator_functions *functions = &gg_allocator_functions;
	struct gg_elf_lookup_tables allocator;
	struct gg_elf_lookup malloc_symbol;

	/* Another allocator may be loaded as well, and knows none of the blocks. */
	if (functions->own_slab != NULL) {
		functions->allocator = GG_REGION_ALLOCATOR_GEIGER;
		return;
	}
	if (!gg_elf_lookup_find_next("malloc", &malloc_symbol) ||
	    !gg_elf_lookup_tables(malloc_symbol.map, &allocator) ||
	    !set_addresses(malloc_symbol.map))
		return;
	functions->mallctlnametomib = find(&allocator, "mallctlnametomib");
	functions->mallctlbymib = find(&allocator, "mallctlbymib");
	functions->get_numeric_property = find(&allocator, "MallocExtension_GetNumericProperty");
	functions->mi_process_info = find(&allocator, "mi_process_info");
	if (functions->mallctlnametomib != NULL && functions->mallctlbymib != NULL)
		functions->allocator = GG_REGION_ALLOCATOR_JEMALLOC;
	else if (functions->get_numeric_property != NULL)
		functions->allocator = GG_REGION_ALLOCATOR_TCMALLOC;
	else if (functions->mi_process_info != NULL)
		functions->allocator = GG_REGION_ALLOCATOR_MIMALLOC;
}
