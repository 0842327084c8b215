/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_set - the processes of a session: finds their regions, drains them, and notices their
 * ends.
 *
 * A process belongs to the session if its region appears in the session's directory.  It has ended
 * when its pidfd reports so, or when another region of the same pid appears: then it has executed
 * another program.  The recorder removes a region after it has committed the region's content to
 * the profile.
 *
 * End time  the recorder notices an end 40 ms late or more on a busy machine.  Processes that began
 *           in that time must not seem to have lived together with the one that ended.  The agent
 *           records the time of an exit() or _exit().  If the process provably lived longer (it
 *           freed a sample later), it ended then.  A process that was killed ended when the
 *           recorder noticed it.  In both cases it ended before its first successor began
 *           (process/succession.h).
 * Full      without a free descriptor a region waits in its directory.  Its state is safe, but its
 *           ring may overflow meanwhile.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "record/process/smaps.h"
#include "record/process/succession.h"
#include "record/process/target.h"
#include "record/regions/session_directory.h"

struct gg_process_set_member {
	struct gg_process_set_member *next;
	struct gg_target *target;
	char name[64]; /* of the region's file */
	int pidfd;     /* -1: the kernel has no pidfds, so the recorder polls /proc */
	/* CLOCK_MONOTONIC: when it was last seen alive, and when its end was noticed or 0. */
	uint64_t alive_ns, noticed_ns;
	/* its pidfd is in the epoll set, so gg_process_set_listen() notices its end */
	bool is_asked;
	bool is_seen;       /* an earlier round noticed that it has ended */
	const char *ending; /* set when it has ended: a static text or one of `endings` */
	/* the program without a region that it executed; "": it executed no such program */
	char unseen_exe[GG_REGION_EXE_MAX + 1];
	bool has_other_root; /* that program has another root directory than the recorder */
	bool names_agent;    /* that program's LD_PRELOAD has the agent, or cannot be read */
	bool is_refused;     /* the loader did not load the agent nevertheless */

	uint64_t next_title_ns; /* record/process/process_names.h */

	/* State of the memory readings (record/process/memory_readings.h). */
	struct gg_profile_memory reading; /* of the current round */
	struct gg_smaps parts;            /* of the last walk */
	uint64_t walked_ns;               /* CLOCK_MONOTONIC; 0: never */
};

enum { GG_PROCESS_SET_ENDINGS = 256, GG_PROCESS_SET_ENDING_MAX = 32 };

struct gg_process_set_name {
	char text[64];
};

struct gg_process_set {
	struct gg_session_directory directory;
	struct gg_succession succession;
	int pidfds_fd;     /* epoll of the members' pidfds; -1: the recorder polls each member */
	uint64_t asked_ns; /* CLOCK_MONOTONIC: just before the last epoll_wait() */
	struct gg_profile_writer *writer;
	struct gg_target_set targets;
	struct gg_process_set_member *first;
	uint32_t count;
	pid_t only_pid;  /* not 0: the recorder switches all other processes off */
	bool is_over;    /* recording has ended, so new regions are switched off */
	bool has_embryo; /* some process is creating its region, so scan again soon */
	bool has_new;    /* gg_process_set_listen() saw a new region; the caller clears it */
	uint64_t left_out_count;
	char command_ending
		[GG_PROCESS_SET_ENDING_MAX]; /* how the command's own process ended; "": it lives */
	uint32_t hint_count;
	char hint[400]; /* the first hint (record/diagnose/diagnostics.h); "": there is no hint */
	/* programs without a region that a note reports (record/diagnose/unprofiled.h) */
	struct gg_map unseen;
	uint64_t next_unseen_ns;
	struct gg_map examined; /* programs whose files were searched for an allocator */
	/* Regions whose content is in the profile; gg_process_set_committed() removes them. */
	GG_ARRAY(struct gg_process_set_name) read_names;
	struct gg_map read_map;   /* from the hash of a name to its index in read_names */
	GG_ARRAY(int) living_fds; /* regions of processes that outlive the recording */
	/* A ring with the ends of children; the recorder may not have found their regions yet. */
	struct {
		pid_t pid;
		char text[GG_PROCESS_SET_ENDING_MAX];
		int64_t max_rss_bytes; /* as wait4() reports; -1: unknown */
	} endings[GG_PROCESS_SET_ENDINGS];
	uint32_t ending_count;
};

/* Call it when set->directory exists. */
void gg_process_set_begin(struct gg_process_set *set);
void gg_process_set_done(struct gg_process_set *set);

/*
 * Notes which processes have ended, and in which order regions were created and closed.  Call it as
 * soon as `pidfds_fd` or the succession's `watch_fd` is readable.  True: a process has ended.
 */
bool gg_process_set_listen(struct gg_process_set *set);

/* Removes the regions whose content is in the profile.  Call it after each commit. */
void gg_process_set_committed(struct gg_process_set *set);

/* Finds new regions and opens them, oldest first. */
int gg_process_set_scan(struct gg_process_set *set);

/*
 * Notes that wait4() returned a child, with its `status` and maximum resident size; -1: unknown.
 * Returns a text that describes the end, valid until the ring of endings wraps around.
 */
const char *gg_process_set_reaped(struct gg_process_set *set, pid_t pid, int status,
                                  int64_t max_rss_bytes);

/* Drains all rings.  Returns how full the fullest ring was, from 0 to 1. */
double gg_process_set_drain(struct gg_process_set *set);

/* Notes changes of the controls (region/control.h), and members that execute without the agent. */
void gg_process_set_watch(struct gg_process_set *set);

/*
 * Finishes the members that have ended.  A member whose end was noticed just now waits for the next
 * call, because wait4() may tell by then how it ended; not if this is the `last` call.  True: some
 * member waits.
 */
bool gg_process_set_finish_ended(struct gg_process_set *set, bool last);

/* Finishes all members, dead or alive. */
int gg_process_set_finish_all(struct gg_process_set *set);

/*
 * Lets go of the processes that outlive the recording.  If the profile is complete, the recorder
 * switches them off; otherwise they go on in their regions, so that the user can salvage those.
 */
void gg_process_set_let_go(struct gg_process_set *set, bool is_recorded);
