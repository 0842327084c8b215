/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - the agent's state in this process: is it recording, with which settings, into what.
 *
 *   unstarted --first allocation that is due--> starting --> running   or   off for good
 *   running   --first cold path of a forked child--> adopting --> running  or   off for good
 *   unstarted --libgeiger-compat is there, and profiling was not asked for--> waiting --> starting
 *
 * Start      by the first allocation, which may come before any constructor, or by the agent's own
 *            constructor.  Threads that come while another one starts pass through unsampled.
 * Fork       is noticed by a page that the kernel wipes in a forked child, at the child's first cold
 *            path: so children that exec at once cost nothing, and no fork passes unnoticed, also
 *            not one by a bare system call.  A vfork child shares the memory and is not one: what
 *            it allocates is the parent's, and recorded as such.  Kernels before 4.14 and qemu have no
 *            such page; there pthread_atfork() alone tells.
 * Marks      are drawn anew at the fork, for the thread that forked, by seeds that follow from the
 *            parent's and the child's number.  Children of a bare clone() run no code of ours then:
 *            the first mark of each is where its parent's was, and all later ones are its own.  So each
 *            by itself is unbiased, but siblings have their first mark in common.
 * Settings   interval and active may be changed by another process, in the region's control word.
 *            A thread looks at it when its sampler is due, at least once in GG_ENVIRONMENT_VISIT_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "region/writer/region.h"
#include "runtime/environment.h"
#include "runtime/thread.h"

enum gg_process_state {
	GG_PROCESS_UNSTARTED,
	GG_PROCESS_STARTING,
	GG_PROCESS_RUNNING,
	GG_PROCESS_WAITING, /* until the program asks: libgeiger-compat wishes so */
	GG_PROCESS_OFF,     /* it cannot record, which was said */
};

struct gg_process {
	struct gg_region region; /* first: free() reads its first word */
	uint32_t state;          /* enum gg_process_state */
	uint32_t *same_process;  /* enum gg_process_same, in a page that a fork wipes */

	/* Settings.  Any thread may change and read them; each is a word of its own. */
	uint32_t generation; /* processes forked since the first one: samplers start anew */
	/* Of the two below; also at the end of the startup interval, and with each new plan. */
	uint32_t change_count;
	uint64_t interval_bytes;
	uint32_t is_active;
	uint64_t seen_wish;            /* change_count of the control word */
	uint64_t startup_used_bytes;   /* estimated, by the samples of the startup interval */
	uint64_t next_stream;          /* of random numbers: one a thread */
	uint32_t fork_count;           /* twice what this process and its ancestors forked */
	uint32_t pid;                  /* of who has the region, or tried to */
	struct gg_environment options; /* constant once running */
};

extern struct gg_process gg_process __attribute__((visibility("hidden")));

enum gg_process_same {
	GG_PROCESS_WIPED, /* a child of a bare clone() */
	GG_PROCESS_SAME,
	GG_PROCESS_ADOPTING,
	GG_PROCESS_FORKED /* a child after gg_process_forked() */
};

/* Starts or adopts if need be.  False: nothing can be recorded, now or ever. */
GG_COLD bool gg_process_prepare(void);

struct gg_agent_wish;

/*
 * Starts because the program says so (geiger_start()), with what it asks for.  0, also where it runs
 * already; or why not: then nothing is said, and it may be tried again.
 */
GG_COLD int gg_process_begin(const struct gg_agent_wish *wish);

/*
 * Before a fork and, in the parent, after it: the child is to know its number.  Twice, because a handler
 * may fork in between.
 */
void gg_process_count_fork(void);

/* From the constructor: says that the program is left to a sanitizer, and counts it. */
void gg_process_leave_to(const char *runtime);

/* In a child, before anything else of ours runs there. */
void gg_process_forked(void);

/* The process ends in order: its region gets the time. */
void gg_process_end(void);

/* On the sample path (gg_thread_enter), before anything else there. */
static inline bool gg_process_is_ready(void)
{
	/* Acquire: what was set up before is seen. */
	return (gg_likely(gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING) &&
	        gg_likely(gg_load_acquire(gg_process.same_process) == GG_PROCESS_SAME)) ||
	       gg_process_prepare();
}

/*
 * Is this a vfork child?  It shares the memory, and nothing else.  (A forked one that has not been noticed
 * yet has a page that was wiped.)
 */
bool gg_process_is_vforked(void);

/* The program's file. */
const char *gg_process_exe(void);

/* The same as it was executed: a link may say which of several programs in one file it is. */
const char *gg_process_program(void);

/* Takes over what another process wishes, if that is new. */
void gg_process_look_at_control(void);

/* Brings the thread's sampler up to the settings. */
GG_COLD void gg_process_update_sampler(struct gg_thread *t);

/* Is the startup interval in use? */
static inline bool gg_process_is_startup(void)
{
	return gg_load_relaxed(&gg_process.startup_used_bytes) < gg_process.options.startup_bytes;
}

/* Counts a sample that was drawn with the startup interval. */
void gg_process_count_startup(const struct gg_draw *draw, uint64_t size_bytes);

/* Adds a sample, which stands for `count` allocations, to what the optimal scheme plans by (rate_plan.h). */
void gg_process_learn(double count, uint64_t size_bytes);
