/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_file - a file that appears under its name when it is complete, or not at all.
 *
 *   struct gg_dump_file file;
 *
 *   status = gg_dump_file_begin(&file, path);
 *   while (status == 0 && ...)
 *           status = gg_dump_file_write(&file, bytes, length);
 *   status = gg_dump_file_end(&file, status);
 *
 * If the file system can (O_TMPFILE), the file has no name while it is written, so a killed process
 * leaves nothing behind.  Otherwise it is written as PATH.PID-N.part.  rename() replaces an
 * existing file.  Character devices (/dev/null, a terminal) and pipes are written in place, and so
 * is the target of a symbolic link of ours or of root's (/dev/fd/3).  A FIFO without a reader, and
 * anything else that is no plain file, is refused.
 *
 * Never    allocates, locks, or is a cancellation point; raises neither SIGXFSZ nor SIGPIPE.
 * Waits    for the reader of a full pipe.
 * Fork     A child that returns from a handler into the middle of it writes nothing more.
 * Threads  one owner.  The struct is too large for a program's stack; map it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_DUMP_PATH_MAX = 4096, GG_DUMP_PART_MAX = 64 };

struct gg_dump_file {
	int fd;
	uint32_t pid;     /* of the process that began */
	bool is_stream;   /* is a device or a pipe, without offsets */
	bool is_in_place; /* is written under its own name: a stream, or the target of a link */
	bool is_nameless; /* was opened with O_TMPFILE */
	uint64_t offset, limit; /* bytes written; RLIMIT_FSIZE */
	char path[GG_DUMP_PATH_MAX];
	char part[GG_DUMP_PATH_MAX + GG_DUMP_PART_MAX]; /* its name until it is complete */
};

/* 0, or -Exxx; then gg_dump_file_end() is not due. */
GG_MUST_CHECK int gg_dump_file_begin(struct gg_dump_file *ret_file, const char *path);

/* A gg_dump_flush: `context` is the gg_dump_file.  0 or -Exxx. */
int gg_dump_file_write(void *context, const char *bytes, size_t length);

/*
 * With status 0 the file gets its name; else it is removed.  Returns `status`, or why the file did
 * not get its name.  -EAGAIN: nameless files do not work here; the next file has a name from the
 * beginning.
 */
GG_MUST_CHECK int gg_dump_file_end(struct gg_dump_file *file, int status);
