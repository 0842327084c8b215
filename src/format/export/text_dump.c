/* SPDX-License-Identifier: Apache-2.0 */
/* text_dump - stacks, sums and mappings for text dumps. */
#include "format/export/text_dump.h"

#include <stdlib.h>

#include "base/buf.h"

int gg_text_dump_append(void *context, const char *bytes, size_t length)
{
	gg_buf_append(context, bytes, length);
	return 0;
}

void gg_text_dump_add(struct gg_dump_sums *sums, const struct gg_extract_row *row)
{
	sums->live.bytes += (double)row->live.bytes;
	sums->live.count += (double)row->live.count;
	sums->allocated.bytes += (double)row->allocated.bytes;
	sums->allocated.count += (double)row->allocated.count;
}

bool gg_text_dump_walk(const struct gg_address_space *space, const struct gg_model *model,
                       uint32_t stack, struct gg_text_dump_addresses *addresses)
{
	addresses->count = 0;
	do {
		uint64_t address = gg_address_space_address(space,
		                                            gg_model_stack_frame(model, stack));

		address += addresses->count > 0 || stack == 0;
		if (!gg_array_push(addresses, address))
			return false;
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	return true;
}

void gg_text_dump_mappings(const struct gg_address_space *space, const struct gg_model *model,
                           struct gg_dump *dump)
{
	gg_dump_mappings(dump);
	for (size_t i = 0; i < space->used_count; i++) {
		const struct gg_address_space_module *module = &space->modules[space->order[i]];

		gg_dump_mapping(dump, module->start, module->end, "r-xp", module->file_offset,
		                model->modules[space->order[i]].path);
	}
}
