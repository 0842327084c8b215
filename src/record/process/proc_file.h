/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file - reads small files of /proc and of control groups as text.
 *
 * Threads   any.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Reads the whole file into `text`; false: it cannot be read, or is empty. */
bool gg_proc_file_read(struct gg_buf *text, const char *format, ...) GG_PRINTF(2, 3);

/*
 * Returns the next entry of an open directory whose name is a number, such as a pid in /proc or a
 * thread in /proc/PID/task; 0: there is no other.
 */
uint32_t gg_proc_file_next_number(DIR *directory);

/*
 * Reads the command line of a process, its arguments separated by blanks; false: it is a thread of
 * the kernel, or gone.  A program that shows a title there leaves zeros behind it; they are no part
 * of the text.
 */
bool gg_proc_file_read_command(struct gg_buf *text, uint32_t pid);

/* Returns the resident set size of a process, 0 for one that has ended; -1: unknown. */
int64_t gg_proc_file_rss_bytes(uint32_t pid);

/* Returns the value of a line "Name:   123 kB" in bytes; -1: there is no such line. */
int64_t gg_proc_file_find_kb(const char *text, const char *name);

/* Returns the value of a line "name 123"; -1: there is no such line. */
int64_t gg_proc_file_find_number(const char *text, const char *name);
