/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - the agent's state in this process: whether it records, with which settings, and where.
 *
 *   UNSTARTED --first allocation whose sample is due--> STARTING --> RUNNING  or  OFF for good
 *   UNSTARTED --libgeiger-compat is loaded and no option enables profiling--> WAITING --> STARTING
 *   DETACHED  --an attach, of an agent that was loaded late--> STARTING --> RUNNING
 *   RUNNING   --a detach, also by the control word--> DETACHING --> DETACHED
 *   RUNNING   --first cold path of a forked child adopts it--> RUNNING  or  OFF for good
 *
 * Start      start.h makes the changes of state.  This module only holds the state, so every module
 *            of the runtime may include it, and it includes none of them.
 * Fork       The kernel wipes one page in a forked child, and the child notices that on its first
 *            cold path.  A child that executes another program at once therefore costs nothing, and
 *            a fork by a bare system call is noticed as well.  A vfork child shares the memory of
 *            its parent, so its allocations count as the parent's.  Kernels before 4.14 and qemu do
 *            not wipe the page; there only the handlers of pthread_atfork() notice a fork.
 * Threads    The comments in gg_process say which threads may change each member.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "region/writer/region.h"
#include "runtime/environment.h"

enum gg_process_state {
	GG_PROCESS_UNSTARTED,
	GG_PROCESS_STARTING,
	GG_PROCESS_RUNNING,
	GG_PROCESS_WAITING,   /* for the program to start it: libgeiger-compat wants that */
	GG_PROCESS_OFF,       /* it cannot record, and the log says why */
	GG_PROCESS_DETACHED,  /* it was loaded late, and hooks only pass calls on */
	GG_PROCESS_DETACHING, /* as DETACHED, and threads may still be on the sample path */
};

struct gg_process {
	struct gg_region region; /* first: free() reads its first word */
	uint32_t state;          /* enum gg_process_state */
	uint32_t *same_process;  /* enum gg_process_same, in the page that a fork wipes */

	/* Settings.  Any thread may change and read them; each is one word. */
	uint32_t generation; /* 1 in the first process; grows with each adoption */
	/*
	 * Grows with each change of interval_bytes and is_active, with each new rate plan, and at
	 * the end of the startup interval.  Each thread compares it with the count that it saw
	 * last.
	 */
	uint32_t change_count;
	uint64_t interval_bytes; /* the sampling interval */
	uint32_t is_active;
	uint64_t applied_request_count; /* change_count of the region's control word */
	uint64_t startup_used_bytes;    /* estimated from samples of the startup interval */
	uint64_t next_stream;           /* of random numbers: each thread takes one */
	uint32_t fork_count; /* twice the number of forks by this process and its ancestors */
	uint32_t pid;        /* of the process that made the region, or tried to */
	/* As of the fork, in a child that gg_fork_handlers_in_child() has noticed; otherwise 0. */
	uint64_t fork_ns;
	/*
	 * The times of the fork at which an ancestor held what this process holds, as in struct
	 * gg_session_fork; 0: this process has a region of its own.
	 */
	uint64_t held_fork_ns, held_noted_ns;
	uint32_t parent_pid;
	struct gg_environment options; /* constant while RUNNING */

	/*
	 * Only in an agent that was attached.  The number of threads on the sample path tells when
	 * the region of a detached agent may go; the thread that ends the last one calls `retire`.
	 */
	uint32_t counts_threads; /* 1: from the first attach on */
	uint32_t inside_count;
	struct gg_region_attach attach; /* for the header of the region; all 0: not attached */
	void (*retire)(void);

	/* Makes the region of a forked child.  start.c sets it before the state is RUNNING. */
	bool (*adopt)(void);
};

extern struct gg_process gg_process __attribute__((visibility("hidden")));

/* The values of the page that a fork wipes. */
enum gg_process_same {
	GG_PROCESS_WIPED, /* a child whose fork ran no code of ours, as after a bare clone() */
	GG_PROCESS_SAME,
	GG_PROCESS_ADOPTING,
	GG_PROCESS_FORKED /* a child in which gg_fork_handlers_in_child() has run */
};

/* True while the process records into a region of its own. */
static inline bool gg_process_is_current(void)
{
	/*
	 * Acquire: pairs with the release of the starting thread, whose settings are then visible.
	 */
	return gg_likely(gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING) &&
	       gg_likely(gg_load_acquire(gg_process.same_process) == GG_PROCESS_SAME);
}

/* Adopts the region if this is a new child of a running process. */
GG_COLD bool gg_process_adopt(void);

/*
 * True if the process records, after adoption where a fork made that necessary.  The caller is on
 * the sample path (gg_thread_enter) and has not used the region yet.  It starts nothing: the hooks
 * call gg_start_ensure() instead.
 */
static inline bool gg_process_ensure_current(void)
{
	return gg_process_is_current() || gg_process_adopt();
}

/* True in a child that has no region of its own yet and is not making one. */
bool gg_process_is_new_child(uint32_t same_process);

/* True in a vfork child, which shares nothing with its parent but the memory. */
bool gg_process_is_vforked(void);

/* The texts of this process for the header of its region. */
struct gg_process_identity {
	uint32_t command_bytes, exe_bytes;
	char command[GG_REGION_COMMAND_MAX]; /* arguments, each ends with a zero byte */
	char exe[GG_REGION_EXE_MAX];         /* the file of the program */
};

/* Reads the texts again.  One thread at a time, while it starts or adopts. */
const struct gg_process_identity *gg_process_identify(void);

/* The path by which the program was executed, where that says more than the name of its file: one
 * file may hold several programs, and a link chooses between them.  Else the program's file. */
const char *gg_process_program(void);
