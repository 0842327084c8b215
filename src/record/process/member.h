/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member - a process of a session's set (process/process_set.h): its region and its pidfd.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/process/heap_walks.h"
#include "record/process/smaps.h"
#include "record/process/target.h"

/* State of the schedule of looks (process/look_schedule.h).  All zero: there was no look yet. */
struct gg_look_schedule {
	uint64_t last_ns, next_ns; /* CLOCK_MONOTONIC: the last look; none before next_ns */
	int64_t rss_bytes;         /* of the last look */
	double live_bytes;
	uint32_t chosen_max;    /* 0: GG_LOOK_CHOSEN_MAX */
	bool leaves_out_blocks; /* they take too long */
	/* Looks in a row during which the process freed many of the chosen samples. */
	uint32_t unsettled_count;
	int64_t reading_rss_bytes; /* as the round of the last look read it */
	struct gg_heap_walks heap_walks;
};

struct gg_member {
	struct gg_member *next;
	struct gg_target *target;
	char name[64]; /* of the region's file */
	int pidfd;     /* -1: the kernel has no pidfds, so the recorder polls /proc */
	/* CLOCK_MONOTONIC: when it was last seen alive, and when its end was noticed or 0. */
	uint64_t alive_ns, noticed_ns;
	uint64_t waited_by_ns; /* its parent waited for it, and ended at this time; 0: unknown */
	/* its pidfd is in the epoll set, so gg_process_set_listen() notices its end */
	bool is_asked;
	bool is_seen;       /* an earlier round noticed that it has ended */
	const char *ending; /* set when it has ended: a static text or one of gg_exit_statuses */
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
	uint64_t walks_cost_ns;           /* processor time of all walks */
	struct gg_look_schedule looks;
};

/*
 * Makes a member of a process.  Its pidfd joins the epoll set; -1: there is no such set.  NULL: no
 * memory.
 */
struct gg_member *gg_member_new(struct gg_target *target, const char *name, int epoll_fd);
void gg_member_free(struct gg_member *member);

/* Returns the pidfd of a process; -1: the process has ended, or the kernel lacks pidfds. */
int gg_member_open_pidfd(uint32_t pid);

/* True if some process has waited for the process of a pidfd.  False also if that is not known. */
bool gg_member_is_reaped(int pidfd);

/* Notes that it has ended, and takes its pidfd out of the epoll set. */
void gg_member_note_end(struct gg_member *member, int epoll_fd);

/*
 * True if some process has waited for its end, so that the kernel has nothing of it any more.
 * False also if that is not known.
 */
bool gg_member_is_waited_for(const struct gg_member *member);

/* True if the process has ended.  Polls /proc if the epoll set does not have its pidfd. */
bool gg_member_has_ended(struct gg_member *member, int epoll_fd);
