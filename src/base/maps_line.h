/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps_line - parses one line of /proc/PID/maps, the kernel's list of a process's mappings.
 *
 *   7f1c2e000000-7f1c2e021000 r-xp 00001000 fe:01 1312  /usr/lib/libz.so.1
 *   BEGIN       -END          PERM OFFSET   DEVICE INODE PATH
 *
 *   if (gg_maps_line_parse(text, length, &line) && (line.protection & PROT_EXEC) != 0)
 *           ... line.begin ...
 *
 * Hostile  The text may have any bytes: lines also come from files.  A line without device, inode
 *          or path is valid, because tools other than the kernel leave them out.
 * Threads  Any thread, also in a signal handler: the function is pure, allocates nothing, and calls
 *          no function of libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_maps_line {
	uint64_t begin, end; /* begin < end */
	uint64_t offset;     /* of `begin` in the file */
	uint64_t inode;      /* of the file; 0: anonymous memory, or unknown */
	int protection;      /* PROT_READ, PROT_WRITE, PROT_EXEC */
	const char *path;    /* in the text, path_bytes long; 0 bytes for anonymous memory */
	size_t path_bytes;
};

/*
 * Parses the text up to its first line feed, or all of it.  Returns false, with *ret_line
 * untouched, if it is not such a line, or if a number has more than 64 bits.
 */
bool gg_maps_line_parse(const char *text, size_t length, struct gg_maps_line *ret_line);
