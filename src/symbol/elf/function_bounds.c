/* SPDX-License-Identifier: Apache-2.0 */
/* function_bounds - looks up the FDE of an address in a whole file. */
#include "symbol/elf/function_bounds.h"

#include <stddef.h>

void gg_function_bounds_init(struct gg_function_bounds *bounds, Elf *elf)
{
	size_t size = 0;
	const char *bytes = elf != NULL ? elf_rawfile(elf, &size) : NULL;
	GElf_Ehdr header;

	*bounds = (struct gg_function_bounds){ 0 };
	bounds->has_cfi = bytes != NULL &&
	                  gg_cfi_module_from_file(&bounds->module, bytes, size) == 0;
	if (bounds->has_cfi && gelf_getehdr(elf, &header) != NULL)
		bounds->entry_address = header.e_entry;
}

bool gg_function_bounds_find(const struct gg_function_bounds *bounds, uint64_t address,
                             struct gg_cfi_range *ret_function)
{
	return bounds->has_cfi && gg_cfi_function_at(&bounds->module, address, ret_function);
}
