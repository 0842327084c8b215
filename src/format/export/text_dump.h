/* SPDX-License-Identifier: Apache-2.0 */
/* text_dump - turns rows of an extract into sums and addresses for heap_v2 and gperftools. */
#pragma once

#include "base/array.h"
#include "dump/heap_text.h"
#include "format/export/address_space.h"
#include "format/export/extract.h"

/* The flush function of a dump; context is a gg_buf. */
int gg_text_dump_append(void *context, const char *bytes, size_t length);

/* Adds the whole numbers of the row to the sums. */
void gg_text_dump_add(struct gg_dump_sums *sums, const struct gg_extract_row *row);

struct gg_text_dump_addresses {
	GG_ARRAY(uint64_t);
};

/*
 * Replaces the content of `addresses` with a stack as an unwinder finds it, innermost first.  The
 * innermost address is that of the call; the others are return addresses, from which readers
 * subtract 1.  There is at least one address, even if no frame is known.  Returns false when memory
 * runs out.
 */
bool gg_text_dump_walk(const struct gg_address_space *space, const struct gg_model *model,
                       uint32_t stack, struct gg_text_dump_addresses *addresses);

/* Writes the list of mappings, the program itself first. */
void gg_text_dump_mappings(const struct gg_address_space *space, const struct gg_model *model,
                           struct gg_dump *dump);
