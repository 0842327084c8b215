/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_file - makes the file of a region, reserves its space, and makes the only system calls of
 * this layer.
 *
 * The file has its full size from the start but no space: it uses as much disk as was reserved.
 * Nothing may be written before gg_region_file_reserve() succeeds.  So a full disk becomes an error
 * code, never a SIGBUS in the profiled program.
 *
 * Space is allocated by populating pages through the mapping (MADV_POPULATE_WRITE, Linux 5.14),
 * which fails where a store would raise SIGBUS.  So no descriptor stays open, and a program that
 * lists its descriptors finds no foreign one.  An older kernel needs a descriptor for fallocate().
 * Programs close descriptors that are not theirs and reuse the numbers, so each use first checks
 * that the descriptor still belongs to this file.
 *
 * No function calls malloc() or stdio; errno is kept.  Paths are built in fixed buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_REGION_PATH_MAX = 512 };

struct gg_region_file {
	uint8_t *base; /* NULL: not mapped */
	uint64_t bytes;
	uint64_t device, inode; /* identity of the file: the descriptor must still have it */
	int fd;                 /* -1: no descriptor is needed */
	bool is_locked;         /* the lock is held: gg_region_file_is_used() is right */
	bool is_full;           /* its file system had too little space at creation */
	bool is_tight; /* its file system had so little space that busy processes may fill it */
	/*
	 * Stores into a page without changing it; 0: the page has no space.  The owner of the
	 * structure sets it for a process that may make no system calls.  NULL: use system calls.
	 */
	int (*touch)(void *page);
	char path[GG_REGION_PATH_MAX]; /* "" for a memfd */
};

/*
 * Makes a new file DIRECTORY/name with mode 0600 and that many bytes, and maps it.  Returns 0, or
 * -Exxx with *ret_map untouched and no file left; -EFBIG: a file size limit forbids it.
 *
 * directory NULL: only the directory of GEIGER_DIR is tried.  Without GEIGER_DIR, it is the first
 * of /dev/shm, $TMPDIR, and /tmp that has room, otherwise the first that permits the file.  With a
 * directory, the function does not read the environment, because the program may be changing it.
 */
GG_MUST_CHECK int gg_region_file_create(struct gg_region_file *ret_map, const char *directory,
                                        const char *name, uint64_t bytes);

/*
 * Call it after gg_region_file_create() returned `status`.  If that call failed, or found little
 * room, this function makes the file in `directory`, provided that there is more room.  Returns 0
 * with the better file in *map, or `status`.
 */
GG_MUST_CHECK int gg_region_file_create_roomier(struct gg_region_file *map, int status,
                                                const char *directory, const char *name,
                                                uint64_t bytes);

/* Makes and maps a file without a place in any directory (memfd_create()). */
GG_MUST_CHECK int gg_region_file_create_anonymous(struct gg_region_file *ret_map, const char *name,
                                                  uint64_t bytes);

/*
 * Allocates space for [offset, offset + bytes).  Returns 0 or -Exxx; errno is kept.  Any thread may
 * call it.
 */
GG_MUST_CHECK int gg_region_file_reserve(struct gg_region_file *map, uint64_t offset,
                                         uint64_t bytes);

/*
 * True if a process that may write the region has mapped it.  The mapping holds a lock that was
 * taken on its open file.  So any end of the process releases the lock, and pids do not matter.  A
 * forked child holds its parent's lock until it has a region of its own.
 */
bool gg_region_file_is_used(int fd);

/* Detaches a forked child that may still write: its stores no longer reach the file. */
void gg_region_file_detach(const struct gg_region_file *map);

/* Unmaps and closes the file.  The file stays unless `remove` is true. */
void gg_region_file_done(struct gg_region_file *map, bool remove);
