/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_memory - reads and writes the memory of another process while it runs.
 *
 *   struct gg_remote_memory memory;
 *
 *   status = gg_remote_memory_open(&memory, pid, error);
 *   status = gg_remote_memory_read(&memory, address, &word, sizeof(word));
 *   gg_remote_memory_close(&memory);
 *
 * It uses /proc/PID/mem.  The kernel checks the right to trace once, when the file is opened, and a
 * write reaches read-only pages without a change of their protection.  Opening the file has no
 * effect on the process.
 *
 * Exec     The descriptor stays with the memory that the process had.  After an exec all accesses
 *          fail with -ESRCH, so a late write never reaches another program.
 * Threads  Any number of threads may use an open memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct gg_remote_memory {
	pid_t pid;
	int fd; /* -1: closed */
};

/* Opens the memory.  Returns 0 or -Exxx: -ESRCH: no such process; -EACCES: no right to trace it. */
GG_MUST_CHECK int gg_remote_memory_open(struct gg_remote_memory *memory, pid_t pid,
                                        struct gg_error *error);
void gg_remote_memory_close(struct gg_remote_memory *memory);

/* True if the process has ended, or executes another program: it has other memory, or none. */
bool gg_remote_memory_is_gone(const struct gg_remote_memory *memory);

/* Copies all of the bytes, or returns -Exxx: -EIO for an address that is not mapped. */
GG_MUST_CHECK int gg_remote_memory_read(const struct gg_remote_memory *memory, uint64_t address,
                                        void *to, size_t bytes);
GG_MUST_CHECK int gg_remote_memory_write(const struct gg_remote_memory *memory, uint64_t address,
                                         const void *from, size_t bytes);

/* Copies as many bytes from `address` on as can be read; returns how many. */
size_t gg_remote_memory_read_most(const struct gg_remote_memory *memory, uint64_t address, void *to,
                                  size_t bytes);

/*
 * Copies a text with its 0 byte, cut to text[0..size).  An unreadable text becomes "", with -EIO.
 */
int gg_remote_memory_read_text(const struct gg_remote_memory *memory, uint64_t address, char *text,
                               size_t size);
