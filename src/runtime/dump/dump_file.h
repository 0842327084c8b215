/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_file - a file that appears under its name when it is whole, or not at all.
 *
 *   struct gg_dump_file file;
 *
 *   status = gg_dump_file_begin(&file, path);
 *   while (status == 0 && ...)
 *           status = gg_dump_file_write(&file, bytes, length);
 *   status = gg_dump_file_end(&file, status);
 *
 * Written without a name (O_TMPFILE) where the file system can, so that a process that is killed leaves
 * nothing behind; else as PATH.PID-N.part, which is renamed.  What is there already is replaced by
 * rename.  A character device (/dev/null, a terminal) and a pipe are written to as they are; so is the file
 * that a symbolic link of ours or of root's leads to (/dev/fd/3).  A FIFO that nobody reads, and anything
 * else that is no plain file, is refused.
 *
 * Never    allocates, locks, or is a cancellation point; raises no SIGXFSZ or SIGPIPE.
 * Waits    where a pipe is full and has a reader, for that.
 * Fork     a child that comes back from a handler into the middle of it writes nothing more.
 * Threads  one owner.  Kept in mapped memory: it is too large for a program's stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_DUMP_PATH_MAX = 4096, GG_DUMP_PART_MAX = 64 };

struct gg_dump_file {
	int fd;
	uint32_t pid;           /* of who began */
	bool is_stream;         /* has no offsets */
	bool is_in_place;       /* has no other name: a stream, or what a link leads to */
	bool is_nameless;       /* O_TMPFILE */
	uint64_t offset, limit; /* bytes; RLIMIT_FSIZE */
	char path[GG_DUMP_PATH_MAX];
	char part[GG_DUMP_PATH_MAX + GG_DUMP_PART_MAX]; /* its name until it is whole */
};

/* 0, or -Exxx with nothing to end. */
GG_MUST_CHECK int gg_dump_file_begin(struct gg_dump_file *ret_file, const char *path);

/* 0 or -Exxx.  context: the gg_dump_file; the form of gg_dump_flush. */
int gg_dump_file_write(void *context, const char *bytes, size_t length);

/*
 * status 0: it gets its name; else it goes away.  status, or why it did not get its name.  -EAGAIN: files
 * without a name do not work here; the next one has one from the beginning.
 */
GG_MUST_CHECK int gg_dump_file_end(struct gg_dump_file *file, int status);
