/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_threads - stops the threads that run, while code is written that they could execute.
 *
 *   event = gg_held_threads_take(&held, &tracer);
 *   ... write code ...
 *   gg_held_threads_release(&held, &tracer);
 *
 * Why      A processor that fetches an instruction while another one writes it may see a mixture of
 *          the old and the new bytes.  Linux copies code by a string instruction where the
 *          processor has fast ones (FSRM), and such a copy is not seen as a whole.  On a Xeon of
 *          2023, one attach in 300 ended a program that makes threads all the time.
 * Threads  Each one that runs or waits for a processor is stopped.  A thread that sleeps is left
 *          alone, because it could notice the stop.  If it wakes up just then, a crash needs that
 *          it also reaches the function within the few nanoseconds of the copy.
 * Waiting  A thread that waits for a processor stops before it executes anything more, so geiger
 *          waits for GG_HELD_THREADS_US at most.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "attach/tracer.h"
#include "base/array.h"

enum { GG_HELD_THREADS_US = 300 };

/* All zero is valid.  The arrays keep their memory for the next time. */
struct gg_held_threads {
	GG_ARRAY(pid_t) asked;   /* they were interrupted, and have not stopped yet */
	GG_ARRAY(pid_t) stopped; /* they stand */
	uint64_t begin_ns;
};

/*
 * Stops the threads that run.  Returns GG_TRACER_TIMEOUT, or GG_TRACER_EXEC or GG_TRACER_ENDED if
 * the program is gone.  Release them in any case.
 */
enum gg_tracer_event gg_held_threads_take(struct gg_held_threads *held, struct gg_tracer *tracer);

/* Lets them run on.  Adds the time for which they stood to tracer->longest_stand_ns. */
void gg_held_threads_release(struct gg_held_threads *held, struct gg_tracer *tracer);
