/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space - puts all modules of an extract into one address space.
 *
 * Most formats describe one process, where an address means one function.  A profile may have many
 * processes, each with its modules at different addresses.  Here each module in a row's stack has
 * one address range.  It is the range that the first process of the query used.  If that range is
 * taken or unknown, the module gets a free one.  An address is the sum of the range's bias and the
 * address in the file, so tools that have the files can resolve it.
 *
 *   struct gg_address_space space;
 *
 *   if (gg_address_space_make(&space, extract, error) < 0)
 *           return error->status;
 *   address = gg_address_space_address(&space, gg_model_stack_frame(model, stack));
 *   gg_address_space_done(&space);
 *
 * Threads   any number of readers.
 */
#pragma once

#include "format/export/extract.h"

struct gg_address_space_module {
	uint64_t start, end; /* addresses; end 0: no stack uses the module */
	uint64_t bias;
	uint64_t file_offset; /* the offset in the file at `start` */
	bool has_names, has_files, has_lines, has_inlined;
};

struct gg_address_space {
	struct gg_address_space_module *modules; /* by number in the model; 0: no module, bias 0 */
	size_t module_count;
	uint32_t *order; /* the modules in use, the program itself first */
	size_t used_count;
};

GG_MUST_CHECK int gg_address_space_make(struct gg_address_space *ret_space,
                                        const struct gg_extract *extract, struct gg_error *error);
void gg_address_space_done(struct gg_address_space *space);

static inline uint64_t gg_address_space_address(const struct gg_address_space *space,
                                                const struct gg_model_frame *frame)
{
	return space->modules[frame->module].bias + frame->address;
}
