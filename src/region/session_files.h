/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_files - names the files beside the regions in a session's directory, for the agent and
 * the recorder.
 *
 * The recorder makes all but one of them before the command runs, so nobody else can.  In a session
 * of root, other users may write into that directory; it is sticky, so files of root stay.
 *
 *   next-directory      a symbolic link to a second directory, on another file system: regions go
 *                       there if the first one has too little space
 *   dotnet-events       the socket to which .NET's runtimes connect (DOTNET_DiagnosticPorts);
 *                       in a root session it is in the outer directory
 *   dotnet-PID-NUMBER.nettrace
 *                       the events that a runtime has sent so far.  These files are in the outer
 *                       one of the second directories, because /dev/shm is memory.
 *   missing-processes   one byte for each process without a region, enum gg_session_missing.  Its
 *                       space is allocated at the start, so a byte can be appended even on a full
 *                       disk.
 *   collections-PID-TICKS-NUMBER
 *                       what the garbage collector of a process did.  The process makes this file
 *                       itself (record/process/collections.h).
 *   forked-processes    a struct gg_session_fork for each forked child, which the child appends
 *                       before the program's code runs in it.  A child creates its region with
 *                       its first sample, which may never come.  When there are many, the recorder
 *                       replaces those that it has read by a head (struct gg_session_forks_head),
 *                       the forks of children that may still be idle, and a hole.
 */
#pragma once

#include <stdint.h>

#define GG_SESSION_NEXT               "next-directory"
#define GG_SESSION_DOTNET             "dotnet-events"
#define GG_SESSION_MISSING            "missing-processes"
#define GG_SESSION_FORKS              "forked-processes"

#define GG_SESSION_COLLECTIONS_PREFIX "collections-"

#define GG_SESSION_STREAM_PREFIX      "dotnet-"
#define GG_SESSION_STREAM_SUFFIX      ".nettrace"

enum gg_session_missing {
	GG_SESSION_MISSING_SPACE = 1, /* a program: its region had no space */
	GG_SESSION_MISSING_OTHER,     /* a program: another reason, which the log has */
	GG_SESSION_MISSING_FORK_SPACE,
	GG_SESSION_MISSING_FORK_OTHER,
	/* A program built with a sanitizer, which brings its own malloc. */
	GG_SESSION_MISSING_SANITIZER,
};

/* The region whose samples the child inherited is named as in struct gg_region_header. */
struct gg_session_fork {
	uint32_t pid; /* in the child's own namespace */
	uint32_t ancestor_pid;
	uint64_t ancestor_start_ns;
	uint64_t fork_ns;  /* CLOCK_MONOTONIC just before the fork */
	uint64_t noted_ns; /* ... and after it, when the child wrote this */
	/*
	 * The child holds what its ancestor held at these times: those of its own fork, or of the
	 * fork of an idle process between the two.
	 */
	uint64_t held_fork_ns, held_noted_ns;
	uint32_t is_elsewhere; /* 1: pid is of another namespace than the recorder's */
	uint32_t mark;         /* GG_SESSION_FORK_MARK */
};

/* As large as a fork, which has a pid. */
struct gg_session_forks_head {
	uint32_t no_pid, reserved; /* 0 */
	uint64_t kept_count;       /* forks that stand behind the head, before the hole */
	/* 0: they are not written yet, so forks may be missing; 1: all that are missing are over */
	uint64_t is_complete;
	uint64_t zeros[3];
	uint32_t zero;
	uint32_t mark; /* GG_SESSION_FORK_MARK */
};

_Static_assert(sizeof(struct gg_session_forks_head) == sizeof(struct gg_session_fork),
               "a reader of forks takes the head for one without a pid");

/* Ends each record, so that a reader finds the next one behind bytes that a full disk left. */
#define GG_SESSION_FORK_MARK UINT32_C(0x6b726f66)
