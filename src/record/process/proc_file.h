/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file - reads small files of /proc and of control groups as text.
 *
 * Threads   any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Reads the whole file into `text`; false: it cannot be read, or is empty. */
bool gg_proc_file_read(struct gg_buf *text, const char *format, ...) GG_PRINTF(2, 3);

/* Returns the value of a line "Name:   123 kB" in bytes; -1: there is no such line. */
int64_t gg_proc_file_find_kb(const char *text, const char *name);

/* Returns the value of a line "name 123"; -1: there is no such line. */
int64_t gg_proc_file_find_number(const char *text, const char *name);
