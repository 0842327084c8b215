/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input - reads a file to import, plain or compressed, from disk or standard input.
 *
 *   struct gg_input *input;
 *
 *   if (gg_input_open(&input, path, error) < 0)            "-": standard input
 *           return error->status;
 *   while (gg_input_line(input, &line, error) > 0) ...     line by line
 *   gg_input_all(input, most, &bytes, &length, error);     or everything at once
 *   gg_input_close(input);
 *
 * The first bytes of a file identify gzip and zstd.  Several gzip members make one file.
 *
 * Hostile files  A line has at most GG_INPUT_LINE_MAX bytes, and a file at most as many bytes as
 *                its reader allows, after decompression.  A larger file causes an error instead of
 *                using more memory.
 * Offsets        of errors count bytes after decompression.
 * Threads        one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"

struct gg_input;

enum {
	GG_INPUT_LINE_MAX = 16 << 20,
	GG_INPUT_HEAD_BYTES = 16384, /* the most that gg_input_head() returns */
};

/* Returns -EBADMSG if the head of compressed data is damaged, or the error of the system. */
GG_MUST_CHECK int gg_input_open(struct gg_input **ret_input, const char *path,
                                struct gg_error *error);
/* Reads from memory, which must outlive the input; for tests. */
GG_MUST_CHECK int gg_input_of(struct gg_input **ret_input, const void *bytes, size_t length,
                              const char *name, struct gg_error *error);
void gg_input_close(struct gg_input *input); /* NULL is fine */

/*
 * Limits the bytes of the file after decompression.  Without this call a compressed file has at
 * most 4 GiB, and beyond the first 64 MiB at most 200 times its compressed size.  Real profiles
 * compress to between a fifth and a fiftieth of their size, and a file of a few kilobytes must not
 * fill the disk.
 */
void gg_input_limit(struct gg_input *input, uint64_t most_bytes);

/* Returns the first bytes without consuming them. */
const uint8_t *gg_input_head(struct gg_input *input, size_t *ret_length);

/* A line without its end and without a terminating 0 byte.  It is valid until the next call. */
struct gg_text_line {
	const char *at;
	size_t length;
};

/* Returns 1 for a line, 0 at the end, or -Exxx.  The last line may lack its end. */
GG_MUST_CHECK int gg_input_line(struct gg_input *input, struct gg_text_line *ret_line,
                                struct gg_error *error);

/*
 * Returns the next part of the file in units of so many bytes, valid until the next call.  Returns
 * 1 for a part, 0 at the end, or -Exxx.  The last part may end within a unit.
 */
GG_MUST_CHECK int gg_input_units(struct gg_input *input, size_t unit_bytes,
                                 const uint8_t **ret_bytes, size_t *ret_length,
                                 struct gg_error *error);

/* Reads the rest of the file, at most `most` bytes.  They are valid until the input is closed. */
GG_MUST_CHECK int gg_input_all(struct gg_input *input, size_t most, const uint8_t **ret_bytes,
                               size_t *ret_length, struct gg_error *error);

/* Returns the offset of the last line's first byte, or of the first byte of what was read last. */
uint64_t gg_input_offset(const struct gg_input *input);
bool gg_input_is_standard(const struct gg_input *input); /* true for "-" */
const char *gg_input_name(const struct gg_input *input); /* "-" is "standard input" */
/* Returns when the file was last changed, in ns since 1970; 0: unknown. */
uint64_t gg_input_time_ns(const struct gg_input *input);

/* Returns the bytes read from the file, and its size (0: unknown), for a progress bar. */
void gg_input_progress(const struct gg_input *input, uint64_t *ret_done, uint64_t *ret_size);

/* Sets the error "FILE: offset N: TEXT" and returns -EBADMSG. offset is like gg_input_offset(). */
int gg_input_wrong(const struct gg_input *input, uint64_t offset, struct gg_error *error,
                   const char *format, ...) GG_PRINTF(4, 5);
