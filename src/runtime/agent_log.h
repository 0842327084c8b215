/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_log - the agent's messages to a person: it cannot profile, or does not understand an
 * option.
 *
 *   gg_agent_log("GEIGER_SCHEME: 'x' is not a scheme", "; using ", "poisson", GG_AGENT_LOG_END);
 *   geiger[4711]: GEIGER_SCHEME: 'x' is not a scheme; using poisson
 *
 * The agent writes nothing else to the program's streams, except reports of memory errors
 * (gg_agent_log_text).  A message is one write() to the file
 * GEIGER_LOG, opened for appending for that one line.  Without GEIGER_LOG it goes to stderr, if
 * that is still what it was when the program started.  In a directory that other users can write,
 * GEIGER_LOG must be a plain file of root's or of the program's user (gg_syscall_open_shared).
 *
 * Never    uses stdio, allocates, or raises a signal; errno is kept.
 * Full     A line that is too long is cut.  Bytes that a terminal obeys become '?'
 *          (base/printable.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GG_AGENT_LOG_LINE_MAX = 1024 };

/* Once, before the first message: remembers what stderr is. */
void gg_agent_log_init(void);

/* Sends messages to that file from now on; NULL or "": to stderr.  The path is copied. */
void gg_agent_log_to(const char *path);

#define GG_AGENT_LOG_END ((const char *)0)

/* Writes one line of all the texts up to GG_AGENT_LOG_END. */
__attribute__((sentinel)) void gg_agent_log(const char *text, ...);

/*
 * Writes text of several lines, as it is, to where messages go.  False: there is no such place now,
 * for example because stderr is a full pipe.
 */
bool gg_agent_log_text(const char *text, size_t length);

/*
 * Writes without SIGPIPE, which a pipe without a reader raises, and without SIGXFSZ, which the
 * limit of file sizes raises: both would end the program.  False: not all of it was written.
 */
bool gg_agent_log_write(int fd, const char *text, size_t length);

/* The words for a status: "no space left" for -ENOSPC. */
const char *gg_agent_log_reason(int status);
