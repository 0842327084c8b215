/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_dump - what both text dumps, heap_v2 and gperftools', take from an extract.
 */
#pragma once

#include "base/array.h"
#include "dump/heap_text.h"
#include "format/export/address_space.h"
#include "format/export/extract.h"

/* The dump's flush: context is a gg_buf. */
int gg_text_dump_append(void *context, const char *bytes, size_t length);

/* sums += the whole numbers of the row. */
void gg_text_dump_add(struct gg_dump_sums *sums, const struct gg_extract_row *row);

struct gg_text_dump_addresses {
	GG_ARRAY(uint64_t);
};

/*
 * The addresses of a stack as a walk finds them, innermost first: of the innermost frame that of the
 * call, of all others the return address, from which readers take 1.  There is at least one, also
 * where no frame is known.  Replaces what `addresses` has; false when memory is out.
 */
bool gg_text_dump_walk(const struct gg_address_space *space, const struct gg_model *model,
                       uint32_t stack, struct gg_text_dump_addresses *addresses);

/* The list of mappings, the program itself first. */
void gg_text_dump_mappings(const struct gg_address_space *space, const struct gg_model *model,
                           struct gg_dump *dump);
