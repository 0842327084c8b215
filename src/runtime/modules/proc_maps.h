/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps - what the kernel says lies where in this process: /proc/self/maps, read at once.
 *
 *   struct gg_proc_maps maps;
 *   struct gg_proc_maps_line line;
 *
 *   if (gg_proc_maps_read(&maps) && gg_proc_maps_find(&maps, address, &line))
 *           ... line.protection ...
 *   gg_proc_maps_done(&maps);
 *
 * Full     lines beyond GG_PROC_MAPS_BYTES of text are as if they were not there.
 * Threads  each has its own; another thread may map meanwhile, and what it maps may be missing.
 * Cost     system calls, some 10 us and more: for cold paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_PROC_MAPS_BYTES = 1 << 20 };

struct gg_proc_maps {
	char *text; /* NULL: nothing was read */
	size_t length;
};

struct gg_proc_maps_line {
	uint64_t begin, end, offset; /* offset: of `begin` in the file */
	uint64_t inode;              /* of the file */
	int protection;              /* as mprotect() has it */
	const char *path;            /* path_bytes long; nothing for anonymous memory */
	size_t path_bytes;
};

/* False: it cannot be read here.  gg_proc_maps_done() in any case. */
bool gg_proc_maps_read(struct gg_proc_maps *ret_maps);
void gg_proc_maps_done(struct gg_proc_maps *maps);

/* The line that begins at *at, which it moves on; *at is 0 at first.  False: there is none. */
bool gg_proc_maps_next(const struct gg_proc_maps *maps, size_t *at,
                       struct gg_proc_maps_line *ret_line);

/* The line that an address is in. */
bool gg_proc_maps_find(const struct gg_proc_maps *maps, uint64_t address,
                       struct gg_proc_maps_line *ret_line);
