/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space - one address space for all modules of an extract.
 *
 * Most formats know one process: an address means one place.  A profile may have many, each with its
 * modules elsewhere.  Each module that a row's stack goes through has one place here: where the first
 * process that the query asks for had it, or, where another module is there already or nobody knows,
 * a free one.  An address is the place's bias and the address in the file, so tools that have the files
 * find what is there.
 *
 *   struct gg_address_space space;
 *
 *   if (gg_address_space_make(&space, extract, error) < 0)
 *           return error->code;
 *   address = gg_address_space_address(&space, gg_model_stack_spot(model, stack));
 *   gg_address_space_done(&space);
 *
 * Threads   any number of readers.
 */
#pragma once

#include "format/export/extract.h"

struct gg_address_space_module {
	uint64_t start, end; /* addresses; end 0: no stack goes through the module */
	uint64_t bias;
	uint64_t file_offset; /* of start */
	bool has_names, has_files, has_lines, has_inlined;
};

struct gg_address_space {
	struct gg_address_space_module
		*modules; /* of each of the model's; 0 is none: addresses as they are */
	size_t module_count;
	uint32_t *order; /* the used ones, the program itself first */
	size_t used_count;
};

GG_MUST_CHECK int gg_address_space_make(struct gg_address_space *ret_space,
                                        const struct gg_extract *extract, struct gg_error *error);
void gg_address_space_done(struct gg_address_space *space);

static inline uint64_t gg_address_space_address(const struct gg_address_space *space,
                                                struct gg_model_spot spot)
{
	return space->modules[spot.module].bias + spot.address;
}
