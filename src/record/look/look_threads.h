/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_threads - the threads of a process, and where their stacks are.
 *
 *   struct gg_look_threads threads = { 0 };
 *
 *   gg_look_threads_read(&threads, pid);
 *   gg_look_threads_done(&threads);
 *
 * The kernel shows the stack pointer of a thread that waits (/proc/PID/task/TID/syscall), to a
 * reader that may trace the process.  Nothing is shown of a thread that runs.
 *
 * Cost      some 5 us for each thread, of which the reader asks GG_LOOK_THREADS_MAX at most.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

enum { GG_LOOK_THREADS_MAX = 1024 };

struct gg_look_threads {
	int64_t count;                     /* of all threads; -1: unknown */
	int64_t busy_count;                /* of those that run, or of which nobody knows */
	GG_ARRAY(uint64_t) stack_pointers; /* ascending */
};

void gg_look_threads_read(struct gg_look_threads *threads, pid_t pid);
void gg_look_threads_done(struct gg_look_threads *threads);
