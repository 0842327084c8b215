/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_directory - where the regions of one session appear, and nobody else's.
 *
 * A directory of its own, 0700, under /dev/shm, $TMPDIR or /tmp: what is in it belongs to the session,
 * whatever became of the process's parents.  A root session's processes may give up their
 * privileges before they make a region; theirs is a second directory below it, open to all but without
 * a listing, whose name nobody can guess.
 *
 * Beside the regions there is `agent.log`: what agents have to say goes there and not to the program's
 * standard error, and comes out as notes of the profile.  It and the count of processes without a region
 * (region/session_files.h) are made here, with some space, so that a full disk does not silence agents, and
 * so that in root's session no other user can put a link in their places.
 *
 * /dev/shm may be small: containers often have 64 MiB.  So there is a second directory, the spare, on
 * another file system, where one can be made.  Agents go there when the first one has little room left.
 *
 * While the recorder lives it holds a lock (flock) on the directory, so that nobody clears it away.
 * It is removed when the recording has ended.  Processes that live on then keep what they have mapped;
 * their children find no directory, are not profiled, and say so to a log that is not there.  If the
 * recorder was killed, or could not write its profile, it stays with the regions, for a salvage.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

enum { GG_SESSION_DIRECTORY_PATH_MAX = 400 };

#define GG_SESSION_DIRECTORY_PREFIX "geiger-session-"
#define GG_SESSION_DIRECTORY_LOG    "agent.log"

struct gg_session_directory {
	struct gg_session_directory *spare;        /* on another file system; NULL: there is none */
	char outer[GG_SESSION_DIRECTORY_PATH_MAX]; /* "": none */
	char path[GG_SESSION_DIRECTORY_PATH_MAX];  /* of the regions; the outer one, or below it */
	int fd;                                    /* of `path` */
	int lock_fd;    /* of the outer one, locked: a recorder is at work */
	int missing_fd; /* of GG_SESSION_MISSING; -1: none */
};

/* Processes of a session that have no region. */
struct gg_session_directory_missing {
	uint64_t program_count, fork_count; /* for want of space, or for another reason: */
	uint64_t without_space_count;       /* of both */
	uint64_t sanitizer_count;           /* built with a sanitizer; in no other count */
};

GG_MUST_CHECK int gg_session_directory_create(struct gg_session_directory *ret_directory,
                                              struct gg_error *error);

/* Closes; removes it and what is in it if `remove`. */
void gg_session_directory_done(struct gg_session_directory *directory, bool remove);

/* What agents have counted so far. */
void gg_session_directory_missing(const struct gg_session_directory *directory,
                                  struct gg_session_directory_missing *ret_missing);

bool gg_session_directory_has_region(const struct gg_session_directory *directory);

/* Is it a file that we put beside the regions? */
bool gg_session_directory_is_own(const char *name);

/* Is it a region's name, geiger-PID-NUMBER.region?  The pid, or 0. */
int gg_session_directory_region_pid(const char *name);
