/* SPDX-License-Identifier: Apache-2.0 */
/* operator_frames - the code ranges of operator new in the libraries loaded at the start. */
#include "runtime/platform/operator_frames.h"

#include <stddef.h>

#include "base/compiler.h"
#include "runtime/platform/elf_lookup.h"

enum { RANGES_MAX = 64 }; /* 8 for each library; the frames of further libraries stay in dumps */

static struct {
	uint64_t begin, end;
} ranges[RANGES_MAX];
static size_t range_count;

/* Mangled by the Itanium ABI, where m is size_t. */
static const char *const names[] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
};

void gg_operator_frames_find(void)
{
	struct gg_elf_lookup_tables tables;
	struct gg_elf_lookup symbol;

	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
		if (map->l_ld == _DYNAMIC || !gg_elf_lookup_tables(map, &tables))
			continue;
		for (size_t i = 0; i < GG_COUNT(names) && range_count < RANGES_MAX; i++)
			if (gg_elf_lookup_find(&tables, names[i], &symbol) && symbol.bytes > 0) {
				ranges[range_count].begin = (uintptr_t)symbol.address;
				ranges[range_count++].end = (uintptr_t)symbol.address +
				                            symbol.bytes;
			}
	}
}

bool gg_operator_frames_has(uint64_t pc)
{
	/*
	 * A return address may be one past the end of the function, so compare the call before it.
	 */
	for (size_t i = 0; i < range_count; i++)
		if (pc - 1 - ranges[i].begin < ranges[i].end - ranges[i].begin)
			return true;
	return false;
}
