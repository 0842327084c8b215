/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_files - what a session's directory has beside the regions, for the agent and the recorder.
 *
 * The recorder makes all of it before the command runs, so nobody else can.  In root's sessions others may
 * write into that directory; it is sticky, so what root has put there stays.
 *
 *   next-directory      a symbolic link to a second directory, on another file system: regions go there
 *                       where the first one has too little space
 *   missing-processes   a byte for each process that has no region, enum gg_session_missing.  It has its
 *                       space from the beginning: the byte can be appended where the disk is full.
 */
#pragma once

#define GG_SESSION_NEXT    "next-directory"
#define GG_SESSION_MISSING "missing-processes"

enum gg_session_missing {
	GG_SESSION_MISSING_SPACE = 1, /* a program: there was no space for its region */
	GG_SESSION_MISSING_OTHER,     /* a program: another reason, in the log */
	GG_SESSION_MISSING_FORK_SPACE,
	GG_SESSION_MISSING_FORK_OTHER,
	GG_SESSION_MISSING_SANITIZER, /* a program built with a sanitizer, which has malloc itself */
};
