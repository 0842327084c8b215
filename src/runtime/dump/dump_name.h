/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_name - what the dumps that the agent writes by itself are called, and which of them stay.
 *
 * Names are jemalloc's or gperftools' (abi/dump_triggers.h): PREFIX.4711.7.i3.heap is the eighth dump of process
 * 4711 and the fourth of kind i; the final one has no number of its kind.
 *
 * Kept     the last so many of those that were given names here; who finishes a dump removes the one that is too
 *          old, or its own where newer ones were faster.  One that is removed by us must have been written by us: the
 *          kinds of the last GG_AGENT_DUMPS_KEPT_MAX are remembered.
 * Threads  any; numbers are taken by atomic addition.  Never allocates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/dump_triggers.h"

enum { GG_DUMP_NAME_MAX = GG_AGENT_PREFIX_MAX + 128 };

/* Which dump it is. */
struct gg_dump_place {
	uint64_t sequence, of_kind;
	char kind;
};

struct gg_dump_place gg_dump_name_next(char kind);

/* is_child: of a fork, where gperftools' names would be those of its parent. */
void gg_dump_name_write(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                        const struct gg_dump_place *number, bool is_child);

/* After the dump is written. */
void gg_dump_name_keep(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                       const struct gg_dump_place *number, bool is_child);
