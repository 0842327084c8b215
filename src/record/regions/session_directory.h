/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_directory - the directory in which the regions of one session appear.
 *
 * Each session has its own directory with mode 0700 under /dev/shm, $TMPDIR or /tmp.  Every region
 * in it belongs to the session, even if the process's parents are gone.  Processes of a root
 * session may give up their privileges before they create their regions.  So root's regions are in
 * a second directory below the first, the inner one.  All users may write into it, but nobody else
 * can list it or guess its name.
 *
 * Log      agents write their messages into `agent.log` instead of the program's standard error;
 *          they become notes of the profile.  The recorder creates that file and the count of
 *          processes without a region (region/session_files.h) in advance, for two reasons.  They
 *          have some space allocated, so a full disk does not silence agents; and in a root session
 *          no other user can put a link in their place.
 * Spare    /dev/shm may be small; containers often have 64 MiB.  So the recorder creates a second
 *          directory on another file system if it can, the spare.  Agents use it when the first one
 *          has little room left.
 * Removal  while the recorder lives, it holds a lock (flock) on the directory, so that `geiger
 *          clean` does not remove it.  The recorder removes it when the recording has ended.
 *          Processes that live on keep their mappings; their children find no directory and run
 *          unprofiled.  If the recorder was killed or could not write its profile, the directory
 *          stays for `geiger salvage`.
 * Attached a process that runs in a container, or below another root directory, cannot reach the
 *          directories of the recorder.  Its session's directory lies in its own /dev/shm, /tmp,
 *          /var/tmp or /run, and belongs to its user.  The recorder reaches it by a descriptor of
 *          the parent, even after the last process of the container.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "region/session_files.h"

enum { GG_SESSION_DIRECTORY_PATH_MAX = 400 };

#define GG_SESSION_DIRECTORY_PREFIX "geiger-session-"
#define GG_SESSION_DIRECTORY_LOG    "agent.log"

struct gg_session_directory {
	struct gg_session_directory *spare;        /* on another file system; NULL: no spare */
	char outer[GG_SESSION_DIRECTORY_PATH_MAX]; /* "": the directory does not exist */
	char path[GG_SESSION_DIRECTORY_PATH_MAX];  /* has the regions: `outer`, or the inner one */
	/* The path that processes use for it; another one if their root directory is another. */
	char name[GG_SESSION_DIRECTORY_PATH_MAX];
	int parent_fd;  /* of a directory inside; otherwise -1 */
	int fd;         /* of `path` */
	int lock_fd;    /* of `outer`; holds the lock that shows that a recorder is running */
	int missing_fd; /* of GG_SESSION_MISSING; -1: the spare has no such file */
	int forks_fd;   /* of GG_SESSION_FORKS, likewise */
	int64_t forks_read_bytes; /* what gg_session_directory_read_forks() has returned */
	int64_t forks_kept_bytes; /* forks_read_bytes when forks were last replaced */
};

/* Processes of a session that have no region. */
struct gg_session_directory_missing {
	uint64_t program_count, fork_count; /* programs after exec(), and forked children */
	uint64_t without_space_count;       /* processes of both that found no space */
	uint64_t sanitizer_count;           /* built with a sanitizer; in no other count */
};

/* Creates and locks the directory, its files, and a spare if possible. */
GG_MUST_CHECK int gg_session_directory_create(struct gg_session_directory *ret_directory,
                                              struct gg_error *error);

/*
 * Creates it where a process that runs already can reach it, as `root` shows (a descriptor of the
 * process's root directory), with the process's user as its owner.
 */
GG_MUST_CHECK int gg_session_directory_create_inside(struct gg_session_directory *ret_directory,
                                                     pid_t pid, int root, struct gg_error *error);

/* Closes the directory; `remove`: removes it and its files.  An empty spare goes in any case. */
void gg_session_directory_done(struct gg_session_directory *directory, bool remove);

/* Returns the counts of processes without a region that agents have written so far. */
void gg_session_directory_missing(const struct gg_session_directory *directory,
                                  struct gg_session_directory_missing *ret_missing);

/*
 * Reads the forks that children have noted since the last call, at most `count` of them.  Returns
 * how many.  Anybody who is in the session may have written them.
 */
size_t gg_session_directory_read_forks(struct gg_session_directory *directory,
                                       struct gg_session_fork *ret_forks, size_t count);

/* True if so many forks were read that their space should be given back. */
bool gg_session_directory_has_old_forks(const struct gg_session_directory *directory);

/*
 * Replaces the forks that were read by those that are kept, for a salvage after a kill of the
 * recorder.  The space of the others is given back, because a program that forks for days must not
 * fill the memory.
 */
void gg_session_directory_keep_forks(struct gg_session_directory *directory,
                                     const struct gg_session_fork *kept, size_t count);

/* True if the directory has a region; its spare does not count. */
bool gg_session_directory_has_region(const struct gg_session_directory *directory);

/* True if this is the name of a file beside the regions that nobody needs without the recorder. */
bool gg_session_directory_is_own(const char *name);

/* Returns the pid in the name of a .NET runtime's events; 0: this is not such a name. */
int gg_session_directory_stream_pid(const char *name);

/* Returns the pid in a region's name, geiger-PID-NUMBER.region; 0: this is not such a name. */
int gg_session_directory_region_pid(const char *name);
