/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_locations - the locations of an exported profile.proto, with their mappings and functions.
 *
 *   gg_pprof_locations_init(&table, extract, &strings, error);
 *   id = gg_pprof_locations_id(&table, stack);                    for each frame of a sample
 *   gg_pprof_locations_put(&table, &profile);                    all that samples refer to
 *   gg_pprof_locations_done(&table);
 *
 * A location is an address, and its lines are the calls inlined there.  A frame without a name gets
 * a function named by module and offset, because pprof would show nothing otherwise.  Names are
 * full, and pprof shortens them for display.  The system name is the linker's name, or the short
 * name if the linker has no name for it.
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"

struct gg_pprof_locations {
	const struct gg_extract *extract;
	struct gg_string_table *strings; /* of the file */
	struct gg_address_space space;
	struct gg_buf location_bytes, function_bytes; /* fields of the message Profile */
	uint64_t location_count, function_count;
	struct gg_map function_of, location_of; /* function and file; module and address */
	uint64_t *location_of_stack;            /* by stack; 0: not made yet */
	bool failed;                            /* memory ran out */
};

GG_MUST_CHECK int gg_pprof_locations_init(struct gg_pprof_locations *ret_table,
                                          const struct gg_extract *extract,
                                          struct gg_string_table *strings, struct gg_error *error);
/* Also frees the memory of a table whose gg_pprof_locations_init() failed. */
void gg_pprof_locations_done(struct gg_pprof_locations *table);

/* Returns the id of the location of a stack's innermost frame. */
uint64_t gg_pprof_locations_id(struct gg_pprof_locations *table, uint32_t stack);
/* Appends mappings, locations and functions.  Returns false if memory ran out. */
GG_MUST_CHECK bool gg_pprof_locations_put(struct gg_pprof_locations *table, struct gg_buf *out);
