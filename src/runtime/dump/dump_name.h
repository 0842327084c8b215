/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_name - names the dumps that the agent writes by itself, and removes old ones.
 *
 * Names are jemalloc's or gperftools' (abi/dump_triggers.h): PREFIX.4711.7.i3.heap is the eighth
 * dump of process 4711 and the fourth of kind i; the last dump has no number of its kind.
 *
 * Kept     The last dumps of a limited number stay.  The thread that finishes a dump removes the
 *          one that is too old, or its own dump if newer ones were faster.  Only dumps that this
 *          process wrote are removed: it remembers the kinds of the last GG_AGENT_DUMPS_KEPT_MAX.
 * Threads  any; numbers are taken by atomic addition.  Never allocates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/dump_triggers.h"

enum { GG_DUMP_NAME_MAX = GG_AGENT_PREFIX_MAX + 128 };

/* The numbers of a dump. */
struct gg_dump_serial {
	uint64_t sequence, of_kind;
	char kind;
};

struct gg_dump_serial gg_dump_name_next(char kind);

/* is_child: in a forked child gperftools' names get a pid, because the parent uses the others. */
void gg_dump_name_write(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                        const struct gg_dump_serial *number, bool is_child);

/* After the dump is written: registers it, and removes the dump that is too old. */
void gg_dump_name_register(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                           const struct gg_dump_serial *number, bool is_child);
