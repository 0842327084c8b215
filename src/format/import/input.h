/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input - the bytes of a file that is imported, plain or compressed, from a file or standard input.
 *
 *   struct gg_input *input;
 *
 *   if (gg_input_open(&input, path, error) < 0)            "-": standard input
 *           return error->code;
 *   while (gg_input_line(input, &line, error) > 0) ...     texts, line by line
 *   gg_input_all(input, most, &bytes, &length, error);           or everything at once
 *   gg_input_close(input);
 *
 * gzip and zstd are recognised by their first bytes; several gzip members are one file.
 *
 * Hostile files  a line has at most GG_INPUT_LINE_MAX bytes, and a whole file as many as its reader allows,
 *                after decompression: more is an error, never memory.
 * Offsets        of errors are those in the text, after decompression.
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
	GG_INPUT_HEAD_BYTES = 16384, /* that gg_input_head() shows, if there are so many */
};

/* -EBADMSG where compressed data is damaged at its root; else what the system says. */
GG_MUST_CHECK int gg_input_open(struct gg_input **ret_input, const char *path,
                                struct gg_error *error);
/* Of bytes in memory, which must outlive it; for tests. */
GG_MUST_CHECK int gg_input_of(struct gg_input **ret_input, const void *bytes, size_t length,
                              const char *name, struct gg_error *error);
void gg_input_close(struct gg_input *input); /* NULL is fine */

/*
 * How many bytes the file may have, after decompression.  Without this call a compressed file has at most 4 GiB,
 * and beyond the first 64 MiB at most 200 times its own size: real profiles shrink to a fifth or a fiftieth, and
 * a file of a few kilobytes must not fill the disk.
 */
void gg_input_limit(struct gg_input *input, uint64_t most_bytes);

/* The first bytes; they stay to be read. */
const uint8_t *gg_input_head(struct gg_input *input, size_t *ret_length);

/* A line without its end; not terminated by a 0 byte.  Valid until the next call. */
struct gg_text_line {
	const char *at;
	size_t length;
};

/* 1: a line, 0: there is no more, -Exxx.  The last line may lack its end. */
GG_MUST_CHECK int gg_input_line(struct gg_input *input, struct gg_text_line *ret_line,
                                struct gg_error *error);

/* All that is left, at most `most` bytes.  Valid until the input is closed. */
GG_MUST_CHECK int gg_input_all(struct gg_input *input, size_t most, const uint8_t **ret_bytes,
                               size_t *ret_length, struct gg_error *error);

/* Offset of the first byte of the last line, or of what gg_input_all() gave. */
uint64_t gg_input_offset(const struct gg_input *input);
const char *gg_input_name(const struct gg_input *input); /* "-" is "standard input" */
/* When the file was last changed, ns since 1970; 0: not known. */
uint64_t gg_input_time_ns(const struct gg_input *input);

/* Bytes read of the file, and its size (0: not known); for a progress bar. */
void gg_input_progress(const struct gg_input *input, uint64_t *ret_done, uint64_t *ret_size);

/* "FILE: offset N: what is wrong"; returns -EBADMSG.  offset: as of gg_input_offset(). */
int gg_input_wrong(const struct gg_input *input, uint64_t offset, struct gg_error *error,
                   const char *format, ...) GG_PRINTF(4, 5);
