/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error - describes a failure in a form that helps the person who reads it.
 *
 * Host-side functions return 0 or a negative errno value (-Exxx).  When they fail, they also fill
 * the `struct gg_error` of the caller.  A command prints it as one line:
 *
 *   geiger: PLACE: MESSAGE. ADVICE
 *   geiger: --interval: '12x' is not a size. Give a size such as 512KiB or 1M.
 *
 * By convention -EINVAL means that the request was wrong (exit status 2).  Every other status means
 * that the work failed (exit status 1).
 *
 * Ownership  The struct holds copies of the texts; there is nothing to free.  Long texts are cut.
 * Threads    One owner at a time.  No function allocates, so errors work when memory is out.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* Sizes of the texts, with their 0 byte. */
enum { GG_ERROR_PLACE_MAX = 512, GG_ERROR_MESSAGE_MAX = 512, GG_ERROR_ADVICE_MAX = 256 };

struct gg_error {
	int status;                         /* negative errno value; 0: no error */
	char place[GG_ERROR_PLACE_MAX];     /* an option, a file and offset, or a command */
	char message[GG_ERROR_MESSAGE_MAX]; /* a clause without its full stop */
	char advice[GG_ERROR_ADVICE_MAX];   /* the reader's next step, or empty */
};

/*
 * The length of the longest formatted error: each byte may need 4 for its escape, plus separators.
 */
enum {
	GG_ERROR_LINE_MAX = 4 * (GG_ERROR_PLACE_MAX + GG_ERROR_MESSAGE_MAX + GG_ERROR_ADVICE_MAX) +
	                    8
};

/*
 * Fills `error` and returns `status`, so that a failing function can end with one line.  `error`
 * may be NULL if the caller needs only the status.  `place` and `advice` are plain texts and may be
 * NULL; only the message is a format.  The texts may point into `error` itself.
 *
 *   return gg_error_set(error, -EBADMSG, path, "Record it again.", "not a profile: %s", why);
 */
int gg_error_set(struct gg_error *error, int status, const char *place, const char *advice,
                 const char *format, ...) GG_PRINTF(5, 6);

/* Describes a failed system call: the message is strerror() of `errno_value`, which is positive. */
int gg_error_set_errno(struct gg_error *error, int errno_value, const char *place,
                       const char *advice);

/*
 * Describes why a file could not be made at `path`, as gg_error_set_errno() does.  If the directory
 * is what is missing, the message names it, because the system's words are about the file.
 */
int gg_error_set_output(struct gg_error *error, int errno_value, const char *path);

/* Describes a lack of memory (-ENOMEM) at `place`, such as a path or "merge". */
int gg_error_memory(struct gg_error *error, const char *place);

/* Replaces the place by a formatted one, for callers that know it better: "FILE: offset 12". */
void gg_error_set_place(struct gg_error *error, const char *format, ...) GG_PRINTF(2, 3);

/*
 * Writes "PLACE: MESSAGE. ADVICE" to line[0..size) as a terminated string, cut to fit, and returns
 * its length.  The texts may quote hostile input, so the function escapes the characters that a
 * terminal would obey (printable.h).
 */
size_t gg_error_format(const struct gg_error *error, char *line, size_t size);
