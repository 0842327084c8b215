/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow - the processes of a session: finds their regions, drains them, and notices their ends.
 *
 * A process belongs to the session if its region appears in the session's directory.  It has ended when
 * its pidfd says so, or when another region of the same pid appears: it has executed another program.
  * The region is removed when what is in it has been committed to the profile.
 *
 * Full      without a descriptor left, a region stays where it is until there is one; nothing of its
 *           state is lost by that, its history may be.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/directory.h"
#include "record/target.h"

struct gg_follower {
	struct gg_follower *next;
	struct gg_target *target;
	char name[64]; /* of the region's file */
	int pidfd;     /* -1: the kernel has none; /proc is asked */
	bool has_ended;
	const char *ending; /* set with it; a static text, or one of `endings` */
	char unseen_exe[GG_REGION_EXE_MAX +
	                1];  /* that it executed, and that has no region; "": none */
	bool has_other_root; /* than we have; of that program */

	/* Of the memory snapshots (record/memory.h). */
	uint64_t next_rollup_ns, next_parts_ns;
	int64_t pss_bytes, heap_bytes, stack_bytes; /* -1: not known yet */
};

enum { GG_FOLLOW_ENDINGS = 256, GG_FOLLOW_ENDING_MAX = 32 };

struct gg_follow_name {
	char text[64];
};

struct gg_follow {
	struct gg_directory directory;
	struct gg_output *output;
	struct gg_target_set targets;
	struct gg_follower *first;
	uint32_t count;
	pid_t only_pid;  /* not 0: other processes are switched off and left out */
	bool is_over;    /* recording is: new regions are switched off */
	bool has_embryo; /* a region is being made: look again soon */
	uint64_t left_out_count;
	uint32_t hint_count;
	char hint[400];       /* the first (record/hints.h); "": none */
	struct gg_map unseen; /* programs without a region that were told of (record/unseen.h) */
	uint64_t next_unseen_ns;
	struct gg_map examined; /* programs whose files were asked for an allocator */
	/* Regions that are in the profile, and are removed when that is committed. */
	struct gg_follow_name *read_names;
	uint32_t read_count;
	struct gg_map read_map; /* by the hash of the name */
	/* How processes ended whose regions may not have been seen yet. */
	struct {
		pid_t pid;
		char text[GG_FOLLOW_ENDING_MAX];
	} endings[GG_FOLLOW_ENDINGS];
	uint32_t ending_count;
};

void gg_follow_done(struct gg_follow *follow);

/* The profile has been committed: the regions that are in it can go. */
void gg_follow_committed(struct gg_follow *follow);

/* Looks for new regions. */
int gg_follow_scan(struct gg_follow *follow);

/* A child was waited for; `status` is that of waitpid(). */
void gg_follow_reaped(struct gg_follow *follow, pid_t pid, int status);

/* Drains all; how full the fullest ring was, from 0 to 1. */
double gg_follow_drain(struct gg_follow *follow);

/* Notes what others have asked of processes (region/control.h), and which left the agent behind. */
void gg_follow_watch(struct gg_follow *follow);

/*
 * Finishes what has ended.  Whoever is seen to have ended just now waits for the next time, unless it is
 * the `last` one: how it ended may be known by then.  True: one waits.
 */
bool gg_follow_finish_ended(struct gg_follow *follow, bool last);

/* Finishes all, dead or alive; those that live on record nothing from here on. */
int gg_follow_finish_all(struct gg_follow *follow);
