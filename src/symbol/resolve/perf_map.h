/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map - names of JIT-compiled code from /tmp/perf-PID.map.
 *
 * A line is "START SIZE NAME": two hexadecimal numbers, and the name up to the end of the line.  A
 * later line replaces earlier lines that it overlaps, because the compiler replaced the code there.
 * Other lines are ignored; a process leaves them when it dies while it writes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gg_perf_map {
	struct gg_buf text;    /* the file; each name in it ends in a 0 byte */
	struct gg_buf entries; /* struct perf_map_entry, in the order of their begin */
};

enum { GG_PERF_MAP_MAX = 512 << 20 }; /* larger files are truncated */

/*
 * Opens the map, or a jitdump (jit_dump.h), at `path`, below `root` if that is not NULL.  Anybody
 * can create a file in /tmp, so the same files count as for perf: a regular file, not a link, that
 * the user or root owns.  For root a file of the process's user counts, too; the name has the pid.
 * -EPERM: a link or another owner.
 */
GG_MUST_CHECK int gg_perf_map_open(const char *root, const char *path);

/* Takes `text` over and empties it.  0 or -ENOMEM.  Call gg_perf_map_done() in any case. */
GG_MUST_CHECK int gg_perf_map_parse(struct gg_perf_map *map, struct gg_buf *text);

/* Returns the name of the code at a pc, or NULL. */
const char *gg_perf_map_find(const struct gg_perf_map *map, uint64_t pc);

void gg_perf_map_done(struct gg_perf_map *map);
