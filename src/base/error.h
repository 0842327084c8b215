/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error - what went wrong, in a form that helps the person who reads it.
 *
 * Host-side functions return 0 or a negative errno value (-Exxx) and, when they fail, fill the
 * `struct gg_error` that the caller hands in.  A command prints it as one line:
 *
 *   geiger: PLACE: MESSAGE. ADVICE
 *   geiger: --interval: '12x' is not a size. Give a size such as 512KiB or 1M.
 *
 * By convention -EINVAL means "asked wrongly" (exit status 2), anything else "it failed" (1).
 *
 * Ownership  the texts are copied into the struct; nothing to free; too long a text is cut.
 * Threads    one owner at a time.  No allocation: usable when memory is out.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* Sizes of the texts, with their 0 byte. */
enum { GG_ERROR_PLACE_MAX = 512, GG_ERROR_MESSAGE_MAX = 512, GG_ERROR_ADVICE_MAX = 256 };

struct gg_error {
	int code;                           /* negative errno value; 0: no error */
	char place[GG_ERROR_PLACE_MAX];     /* where: an option, a file and offset, a command */
	char message[GG_ERROR_MESSAGE_MAX]; /* what and why; a clause without its full stop */
	char advice[GG_ERROR_ADVICE_MAX];   /* what to do; a whole sentence, or empty */
};

/* Long enough for every formatted error: an escaped byte takes 4, and there are separators. */
enum {
	GG_ERROR_LINE_MAX = 4 * (GG_ERROR_PLACE_MAX + GG_ERROR_MESSAGE_MAX + GG_ERROR_ADVICE_MAX) +
	                    8
};

/*
 * Fills `error` (NULL: nobody wants to know) and returns `code`, so that a failing function can
 * end with one line.  `place` and `advice` are plain texts and may be NULL; only the message is a
 * format.  The texts may point into `error` itself.
 *
 *   return gg_error_set(error, -EBADMSG, path, "Record it again.", "not a profile: %s", why);
 */
int gg_error_set(struct gg_error *error, int code, const char *place, const char *advice,
                 const char *format, ...) GG_PRINTF(5, 6);

/* The same for a failed system call: the message is what strerror says of `errno_value` (> 0). */
int gg_error_set_errno(struct gg_error *error, int errno_value, const char *place,
                       const char *advice);

/* The same with -ENOMEM: memory ran out at `place`, such as a path or "merge". */
int gg_error_memory(struct gg_error *error, const char *place);

/* Replaces the place by a formatted one, as a caller does who knows more: "FILE: offset 12". */
void gg_error_set_place(struct gg_error *error, const char *format, ...) GG_PRINTF(2, 3);

/*
 * Writes "PLACE: MESSAGE. ADVICE" to line[0..size) as a terminated string and returns its length;
 * it is cut to fit.  What a terminal would obey is escaped (printable.h): the texts may quote hostile input.
 */
size_t gg_error_format(const struct gg_error *error, char *line, size_t size);
