/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_session - what the agent knows of the session that records this process.
 *
 * A recorder names itself in the environment (GEIGER_RECORDER) and makes the session's directory
 * before the command runs (region/session_files.h).  Without a recorder every function here answers
 * no, or does nothing.
 *
 * Threads  any, once the environment was read.  errno may change.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "region/region_file.h"
#include "region/session_files.h"

/* True if there is a recorder, and its session may hold files of this process. */
bool gg_recorded_session_exists(void);

/*
 * True if the recorder has ended.  Such a session takes no more processes: nobody would remove
 * their regions, and a program that keeps starting others would fill the memory with them.
 */
GG_COLD bool gg_recorded_session_is_over(void);

/* True in a pid namespace other than the recorder's, where the pid means nothing to it. */
GG_COLD bool gg_recorded_session_is_elsewhere(void);

/* Finds the session's second directory, which has more room.  False: the session has only one. */
GG_COLD bool gg_recorded_session_next_directory(char ret_path[GG_REGION_PATH_MAX]);

/*
 * Tells the recorder of this forked child, which has no region yet.  False: that is impossible.
 * Signal handlers may fork, so it calls nothing that they may not.
 */
GG_COLD bool gg_recorded_session_note_fork(const struct gg_session_fork *fork);

/* Tells the recorder that one more process has no region. */
GG_COLD void gg_recorded_session_count_missing(enum gg_session_missing reason);
