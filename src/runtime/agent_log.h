/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say - what the agent has to tell a person: that it cannot profile, or which option it does not
 * understand.  Nothing else is ever written to a stream of the program.
 *
 *   gg_agent_log("GEIGER_SCHEME: 'x' is not a scheme", "; using ", "poisson", GG_AGENT_LOG_END);
 *   geiger[4711]: GEIGER_SCHEME: 'x' is not a scheme; using poisson
 *
 * One write() to GEIGER_LOG, opened for appending for that one line, or to stderr, as long as that is
 * what it was when the program started.  In a directory that others can write, GEIGER_LOG is a plain file
 * of ours or of root's, or nothing is written (gg_syscall_open_shared).  No stdio, no signal, no allocation, errno kept.  Too long a line is cut; what a terminal would obey comes out as
 * '?' (base/printable.h).
 */
#pragma once

#include <stddef.h>

enum { GG_AGENT_LOG_LINE_MAX = 1024 };

/* Before anything is said: this is stderr. */
void gg_agent_log_init(void);

/* Lines go to that file from now on (copied); NULL or one that cannot be opened: stderr. */
void gg_agent_log_to(const char *path);

#define GG_AGENT_LOG_END ((const char *)0)

/* Says the texts, one after the other, up to GG_AGENT_LOG_END. */
__attribute__((sentinel)) void gg_agent_log(const char *text, ...);

/*
 * Writes, without the signals that would end the program: nobody reads its stderr, or its files may not
 * grow so far.  Failures are silent.
 */
void gg_agent_log_write(int fd, const char *text, size_t length);

/* In words: -ENOSPC is "no space left". */
const char *gg_agent_log_reason(int status);
