/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map - names of code that a compiler made at run time: /tmp/perf-PID.map.
 *
 * A line is "START SIZE NAME", both numbers hexadecimal, the name up to the end of the line.  A later
 * line wins over an earlier one that it overlaps: the code there was replaced.  Other lines are left
 * out; they are what a process leaves that died while it wrote.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gg_perf_map {
	struct gg_buf text;    /* the file; each name in it ends in a 0 byte */
	struct gg_buf entries; /* struct entry, in the order of their begin */
};

enum { GG_PERF_MAP_MAX = 512 << 20 }; /* a larger file is cut there */

/*
 * Opens the map at `path`, below `root` if that is not NULL.  Anybody can make a file in /tmp, so it is believed
 * only as perf does: a plain file and no link, of the user's own or of root's; for root also of the user whose
 * process runs under the number that its name has.  -EPERM: it is a link, or of somebody else.
 */
GG_MUST_CHECK int gg_perf_map_open(const char *root, const char *path);

/* Takes over `text`, which is then empty.  0 or -ENOMEM.  Call gg_perf_map_done() in any case. */
GG_MUST_CHECK int gg_perf_map_parse(struct gg_perf_map *map, struct gg_buf *text);

/* The name of the code at a pc, or NULL. */
const char *gg_perf_map_find(const struct gg_perf_map *map, uint64_t pc);

void gg_perf_map_done(struct gg_perf_map *map);
