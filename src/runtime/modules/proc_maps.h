/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps - reads and parses /proc/self/maps, the kernel's list of this process's mappings.
 *
 *   struct gg_proc_maps maps;
 *   struct gg_maps_line line;
 *
 *   if (gg_proc_maps_read(&maps) && gg_proc_maps_find(&maps, address, &line))
 *           ... line.protection ...
 *   gg_proc_maps_done(&maps);
 *
 * Full     Lines beyond GG_PROC_MAPS_BYTES of text are ignored.
 * Threads  each has its own; mappings that other threads make meanwhile may be missing.
 * Cost     system calls of 10 us and more: for cold paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/maps_line.h"

enum { GG_PROC_MAPS_BYTES = 1 << 20 };

struct gg_proc_maps {
	char *text; /* NULL: there was no memory */
	size_t length;
};

/* False: the file cannot be read.  gg_proc_maps_done() is due in both cases. */
bool gg_proc_maps_read(struct gg_proc_maps *ret_maps);
void gg_proc_maps_done(struct gg_proc_maps *maps);

/*
 * Parses the line at *at, which is 0 at first, and advances *at.  False: there are no more lines.
 */
bool gg_proc_maps_next(const struct gg_proc_maps *maps, size_t *at, struct gg_maps_line *ret_line);

/* Finds the line of the mapping that has the address. */
bool gg_proc_maps_find(const struct gg_proc_maps *maps, uint64_t address,
                       struct gg_maps_line *ret_line);
