/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_set - the processes of a session: finds their regions, drains them, and notices their ends.
 *
 * A process belongs to the session if its region appears in the session's directory.  It has ended when
 * its pidfd says so, or when another region of the same pid appears: it has executed another program.
 * The region is removed when what is in it has been committed to the profile.
 *
 * When it ended   An end is noticed late, by 40 ms and more on a busy machine, and what began meanwhile must
 *                 not seem to have lived together with what had ended.  The agent states the time of an exit() or
 *                 _exit(); a process that lived longer (it freed a sample, or its pidfd said so) ended then.
 *                 A process that was killed ended when that was noticed.  In both cases it ended before its first
 *                 successor began (record/process/succession.h).
 *
 * Full      without a descriptor left, a region stays where it is until there is one; nothing of its
 *           state is lost by that, its history may be.
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
	int pidfd;     /* -1: the kernel has none; /proc is asked */
	/* CLOCK_MONOTONIC: when it was last known to live; when it was known to have ended, 0: not yet. */
	uint64_t alive_ns, noticed_ns;
	bool is_asked;      /* gg_process_set_listen() hears of its end */
	bool is_seen;       /* to have ended, by an earlier round */
	const char *ending; /* set with it; a static text, or one of `endings` */
	char unseen_exe[GG_REGION_EXE_MAX +
	                1];  /* that it executed, and that has no region; "": none */
	bool has_other_root; /* than we have; of that program */
	bool names_agent;    /* the environment of that program; or it could not be read */
	bool is_refused;     /* the loader did not load the agent nevertheless */

	uint64_t next_title_ns; /* record/process/process_names.h */

	/* Of the readings of memory (record/process/memory_readings.h). */
	struct gg_profile_memory reading; /* of the round that goes on */
	struct gg_smaps parts;            /* as last walked */
	uint64_t walked_ns;               /* CLOCK_MONOTONIC; 0: never */
};

enum { GG_PROCESS_SET_ENDINGS = 256, GG_PROCESS_SET_ENDING_MAX = 32 };

struct gg_process_set_name {
	char text[64];
};

struct gg_process_set {
	struct gg_session_directory directory;
	struct gg_succession succession;
	int pidfds_fd;     /* epoll of the followers' pidfds; -1: each is asked */
	uint64_t asked_ns; /* CLOCK_MONOTONIC: before all of them were last asked */
	struct gg_profile_writer *writer;
	struct gg_target_set targets;
	struct gg_process_set_member *first;
	uint32_t count;
	pid_t only_pid;  /* not 0: other processes are switched off and left out */
	bool is_over;    /* recording is: new regions are switched off */
	bool has_embryo; /* a region is being made: look again soon */
	bool has_new; /* one was made, by what gg_process_set_listen() has heard; the caller clears it */
	uint64_t left_out_count;
	char command_ending
		[GG_PROCESS_SET_ENDING_MAX]; /* of the command's own process; "": it lives */
	uint32_t hint_count;
	char hint[400]; /* the first (record/diagnose/diagnostics.h); "": none */
	struct gg_map
		unseen; /* programs without a region that were told of (record/diagnose/unprofiled.h) */
	uint64_t next_unseen_ns;
	struct gg_map examined; /* programs whose files were asked for an allocator */
	/* Regions that are in the profile, and are removed when that is committed. */
	GG_ARRAY(struct gg_process_set_name) read_names;
	struct gg_map read_map;   /* by the hash of the name */
	GG_ARRAY(int) living_fds; /* regions of processes that lived on */
	/* How processes ended whose regions may not have been seen yet. */
	struct {
		pid_t pid;
		char text[GG_PROCESS_SET_ENDING_MAX];
		int64_t max_rss_bytes; /* that wait4() told; -1: nothing of the program */
	} endings[GG_PROCESS_SET_ENDINGS];
	uint32_t ending_count;
};

/* The directory is there. */
void gg_process_set_begin(struct gg_process_set *set);
void gg_process_set_done(struct gg_process_set *set);

/*
 * Notes which processes have ended by now, and in which order regions were made and dropped; to be called as
 * soon as `pidfds_fd` or the succession's `watch_fd` can be read.  True: one has ended.
 */
bool gg_process_set_listen(struct gg_process_set *set);

/* The profile has been committed: the regions that are in it can go. */
void gg_process_set_committed(struct gg_process_set *set);

/* Looks for new regions. */
int gg_process_set_scan(struct gg_process_set *set);

/*
 * A child was waited for; `status` and `max_rss_bytes` are those of wait4().  -1: not known.  Its end in words, valid
 * until the next one.
 */
const char *gg_process_set_reaped(struct gg_process_set *set, pid_t pid, int status,
                                  int64_t max_rss_bytes);

/* Drains all; how full the fullest ring was, from 0 to 1. */
double gg_process_set_drain(struct gg_process_set *set);

/* Notes what others have asked of processes (region/control.h), and which left the agent behind. */
void gg_process_set_watch(struct gg_process_set *set);

/*
 * Finishes what has ended.  Whoever is seen to have ended just now waits for the next time, unless it is
 * the `last` one: how it ended may be known by then.  True: one waits.
 */
bool gg_process_set_finish_ended(struct gg_process_set *set, bool last);

/* Finishes all, dead or alive. */
int gg_process_set_finish_all(struct gg_process_set *set);

/*
 * Those that lived on are on their own.  If all is recorded they are switched off; else they go on in their
 * regions, from which the whole can be salvaged.
 */
void gg_process_set_let_go(struct gg_process_set *set, bool is_recorded);
