/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_set - the processes of a session: drains their regions, and notices their ends.
 *
 * A process belongs to the session if its region appears in the session's directory.  It has ended
 * when its pidfd reports so, or when another region of the same pid appears: then it has executed
 * another program.  The recorder removes a region after it has committed the region's content to
 * the profile.
 *
 * Full      without a free descriptor a region waits in its directory.  Its state is safe, but its
 *           ring may overflow meanwhile.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "record/diagnose/findings.h"
#include "record/process/exit_statuses.h"
#include "record/process/member.h"
#include "record/process/succession.h"
#include "record/regions/session_directory.h"

struct gg_idle_child;

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
	struct gg_member *first;
	uint32_t count;
	pid_t only_pid;      /* not 0: the recorder switches all other processes off */
	bool is_over;        /* recording has ended, so new regions are switched off */
	bool has_embryo;     /* some process is creating its region, so scan again soon */
	uint64_t scan_count; /* of gg_new_regions_scan() */
	bool has_new;        /* gg_process_set_listen() saw a new region; the caller clears it */
	uint64_t left_out_count;
	struct gg_idle_child *idle_children; /* process/idle_children.h */
	uint64_t idle_sample_count;          /* of all of these that have ended */
	uint32_t idle_open_count;            /* of these that have descriptors */
	uint64_t examined_ns;                /* CLOCK_MONOTONIC: when these were last examined */
	int64_t examine_left_ns;             /* processor time that is left for that */
	/* How the command's own process ended; "": it lives. */
	char command_ending[GG_EXIT_STATUS_TEXT_BYTES];
	struct gg_findings findings;
	/* Regions whose content is in the profile; gg_process_set_committed() removes them. */
	GG_ARRAY(struct gg_process_set_name) read_names;
	struct gg_map noted_ends; /* from the hash of a pid to the last end that its agent noted */
	struct gg_map read_map;   /* from the hash of a name to its index in read_names */
	GG_ARRAY(int) living_fds; /* regions of processes that outlive the recording */
	/* The regions of these children may not have been found yet. */
	struct gg_exit_statuses exit_statuses;
};

/* Call it when set->directory exists. */
void gg_process_set_begin(struct gg_process_set *set);
void gg_process_set_done(struct gg_process_set *set);

/*
 * Notes which processes have ended, and in which order regions were created and closed.  Call it as
 * soon as `pidfds_fd` or the succession's `watch_fd` is readable.  True: a process has ended.
 */
bool gg_process_set_listen(struct gg_process_set *set);

/* Adds the process of a new region, the file of that name. */
void gg_process_set_add(struct gg_process_set *set, struct gg_target *target, const char *name);

/*
 * Counts a round in which no new region was missed (struct gg_target_set).  While a process is
 * still creating its region, the round does not count: the region of a forked process begins before
 * it is complete, and its process may hold blocks that its parent frees meanwhile.
 *
 * is_recent: the process has had little time yet, so nothing else matters.  Otherwise the round
 * counts as soon as the members remember GG_PROCESS_SET_ENDED_MAX ends, because a process that
 * never completes its region must not take all memory.  Then the reports of a child that completes
 * it later say that blocks may count twice (process/inherited.c).
 */
void gg_process_set_count_round(struct gg_process_set *set, bool is_recent);

/* Ends that all members remember for an incomplete region, some 50 MB. */
enum { GG_PROCESS_SET_ENDED_MAX = 1 << 20 };

/* Returns the member of that pid, or NULL. */
struct gg_member *gg_process_set_find(struct gg_process_set *set, uint32_t pid);

/* True if the set has a region of that name, or had one that it has not removed yet. */
bool gg_process_set_has(const struct gg_process_set *set, const char *name);

/*
 * Writes the final state of an ended member, which the set then forgets.  `before_ns` is the start
 * of the program that the same process executed next; UINT64_MAX: it executed no other.
 */
int gg_process_set_finish(struct gg_process_set *set, struct gg_member *member, uint64_t before_ns);

/* Switches sampling off in the process of an open region. */
void gg_process_set_switch_off(int fd);

/* Removes the regions whose content is in the profile.  Call it after each commit. */
void gg_process_set_committed(struct gg_process_set *set);

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
