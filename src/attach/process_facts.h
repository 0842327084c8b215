/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_facts - reads the files of /proc/PID that tell whether a process can be attached to.
 *
 *   struct gg_process_facts facts;
 *
 *   if (gg_process_facts_read(&facts, pid, error) == 0 && facts.tracer != 0)
 *           ...
 *
 * Nothing here stops the process, and nothing needs the right to trace it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { GG_FACTS_NAME_MAX = 64, GG_FACTS_PATH_MAX = 4096 };

struct gg_process_facts {
	pid_t pid;
	uint64_t start_ticks; /* as in a region's header */
	pid_t process;        /* the process, if `pid` is one of its threads; otherwise `pid` */
	pid_t parent;
	pid_t tracer;    /* 0: no other process traces it */
	pid_t inner_pid; /* its pid in its own namespace */
	char state;      /* as in /proc/PID/status: R, S, D, T, t, Z, X, I */
	char name[GG_FACTS_NAME_MAX];
	char program
		[GG_FACTS_PATH_MAX]; /* path of the executable; "": unknown or a kernel thread */
	uid_t user;                  /* its effective user */
	uint32_t thread_count;
	int seccomp_mode;           /* 0, 1 (strict) or 2 (filters); -1: unknown */
	int64_t seccomp_filters;    /* -1: unknown */
	bool has_inherited_filters; /* its container or its parent installed all of its filters */
	bool has_mixed_filters;     /* a thread has more or fewer filters than the main one */
	bool has_shadow_stack;
	bool is_kernel_thread; /* only seen in the pid namespace of the machine */
	bool is_frozen;        /* its control group is */
	bool lacks_proc;       /* no /proc is mounted below its root directory */
	/* Its namespaces differ from the caller's. */
	bool has_other_mounts, has_other_pids, has_other_users;
};

/* Returns 0, or -ESRCH if there is no such process. */
GG_MUST_CHECK int gg_process_facts_read(struct gg_process_facts *ret_facts, pid_t pid,
                                        struct gg_error *error);

/* True if the kernel shows the filters of other processes to the caller. */
bool gg_process_facts_can_read_filters(void);
