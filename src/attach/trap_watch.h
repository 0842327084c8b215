/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trap_watch - decides which threads may be waiting at a trap.
 *
 *   gg_trap_watch_begin(&watch, now_ns);                       traps were planted
 *   if (gg_trap_watch_look(&watch, &watched, pid, tid, now_ns))
 *           ... interrupt the thread, and read where it stands ...
 *   gg_trap_watch_refute(&watched, now_ns);                    it stood at no trap
 *
 * A thread at a trap runs all the time.  The kernel tells the place of a running thread only if it
 * is stopped, and a stop can be visible to a thread in a system call.  So a thread is stopped only
 * if it runs at two looks in a row and has not slept between them.
 *
 * Threads   One process uses a watch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The looks at one thread.  All zero is valid. */
struct gg_watched {
	bool is_probed;         /* it was interrupted, and has not stopped yet */
	uint64_t ran_ns;        /* a look since which it has run; 0: it slept at the last look */
	uint64_t sleeps;        /* how often it had slept at that look */
	uint64_t elsewhere_ns;  /* when it was certainly at no trap */
	uint64_t not_before_ns; /* of the next interruption */
	uint64_t pause_ns;      /* between two interruptions */
};

struct gg_trap_watch {
	uint64_t planted_ns; /* 0: no traps are planted */
	uint64_t next_ns;    /* of the next look at all threads */
	uint64_t pause_ns;   /* between two looks */
};

/* True if the thread runs, or waits for a processor. */
bool gg_trap_watch_is_running(pid_t pid, pid_t tid);

/* Begins to watch, and ends it. */
void gg_trap_watch_begin(struct gg_trap_watch *watch, uint64_t now_ns);
void gg_trap_watch_end(struct gg_trap_watch *watch);

/* Looks at one thread.  Returns true if it should be interrupted. */
bool gg_trap_watch_look(const struct gg_trap_watch *watch, struct gg_watched *watched, pid_t pid,
                        pid_t tid, uint64_t now_ns);

/* Sets the time of the next look, after one at all threads that began at `now_ns`. */
void gg_trap_watch_schedule(struct gg_trap_watch *watch, bool is_soon, uint64_t now_ns);

/* A thread that was interrupted stood elsewhere. */
void gg_trap_watch_refute(struct gg_watched *watched, uint64_t now_ns);

/* A thread has left the trap at which it stood, and may come to the next one soon. */
void gg_trap_watch_pass(struct gg_watched *watched, uint64_t now_ns);

/* Returns how long the thread may have been at a trap. */
uint64_t gg_trap_watch_stand_ns(const struct gg_trap_watch *watch, const struct gg_watched *watched,
                                uint64_t now_ns);
