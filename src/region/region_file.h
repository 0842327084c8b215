/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_file - the file that a region lives in, and the only system calls of this layer.
 *
 * The file is made at its full size but without space: it costs what was reserved of it.  Nothing
 * may be written before gg_region_file_reserve() said yes, so a full disk is an answer here and never
 * a SIGBUS in the profiled program.
 *
 * Space is had by populating pages through the mapping (MADV_POPULATE_WRITE, Linux 5.14), which fails
 * where a store would raise SIGBUS; so no descriptor stays, and a program that looks at its own finds
 * none of ours.  An older kernel needs one, for fallocate().  Programs close descriptors that are not
 * theirs and reuse the numbers, so each use first asks whether it is still our file.
 *
 * No malloc, no stdio, errno kept.  Paths are built in fixed buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_REGION_PATH_MAX = 512 };

struct gg_region_file {
	uint8_t *base; /* NULL: not mapped */
	uint64_t bytes;
	uint64_t device, inode; /* what the descriptor must still be */
	int fd;                 /* -1: none is needed */
	bool is_locked;         /* gg_region_file_is_used() is right */
	bool is_full;           /* there was too little space when it was made */
	bool is_tight;          /* ... or so little that busy processes may fill it up */
	/* Stores into a page without changing it; false: it has no space.  Of its owner, for a process
	 * that may make no system calls.  NULL: system calls. */
	int (*touch)(void *page);
	char path[GG_REGION_PATH_MAX]; /* "" for a memfd */
};

/*
 * Makes DIRECTORY/name, new, 0600, bytes long, and maps it.  directory NULL: that of GEIGER_DIR, and
 * nowhere else; without GEIGER_DIR the first of /dev/shm, $TMPDIR and /tmp that has room, else the first
 * that lets us.  With a directory the environment is not looked at: a program may be changing it.
 * 0 or -Exxx with *ret_map untouched and no file left; -EFBIG: a file size limit forbids it.
 */
GG_MUST_CHECK int gg_region_file_create(struct gg_region_file *ret_map, const char *directory,
                                        const char *name, uint64_t bytes);

/*
 * After gg_region_file_create() returned `status`: where that failed, or found little room, the file is made
 * in `directory` instead if there is more room.  0 with *map, the better one; or `status`.
 */
GG_MUST_CHECK int gg_region_file_create_roomier(struct gg_region_file *map, int status,
                                                const char *directory, const char *name,
                                                uint64_t bytes);

/* The same without a place in any directory: memfd_create(). */
GG_MUST_CHECK int gg_region_file_create_anonymous(struct gg_region_file *ret_map, const char *name,
                                                  uint64_t bytes);

/* Gives [offset, offset + bytes) space.  0 or -Exxx; errno is kept.  Any thread. */
GG_MUST_CHECK int gg_region_file_reserve(struct gg_region_file *map, uint64_t offset,
                                         uint64_t bytes);

/*
 * Is the file of a region mapped by a process that may write it?  The mapping holds a lock that was taken
 * on its open file: so whatever ends the process ends the lock, and pids do not matter.  A forked child
 * holds its parent's until it has a region of its own.
 */
bool gg_region_file_is_used(int fd);

/* In a forked child that may still write: what it writes is no longer seen in the file. */
void gg_region_file_detach(const struct gg_region_file *map);

/* Unmaps and closes; the file stays unless `remove`. */
void gg_region_file_done(struct gg_region_file *map, bool remove);
