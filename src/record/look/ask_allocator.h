/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_allocator - requests a look at the allocator from the agent, and adds the answer to a look.
 *
 *   gg_look_request(fd, GG_LOOK_ANSWER_MS);  before the live samples are read
 *   ...                                      the look from outside
 *   gg_look_add_answer(&look, &process, &samples, request_ns);
 *
 * Allocators that keep no headers beside their blocks tell the use of their memory from inside
 * alone, so the agent asks them (docs/AGENT.md, "Calls of the allocator").  The answer is in the
 * region.  It comes with the program's next samples.
 *
 * Idle     a program that takes no samples does not answer.  Its last answer counts, whatever its
 *          age, if hardly any samples were freed or added since: then its heap is still the same.
 *          The total "jemalloc.changed" (of libgeiger-malloc "geiger-malloc.changed") bounds the
 *          bytes that changed, and estimates widen by them.
 *          Otherwise the look says why it has no answer.
 *
 * Hostile  the program writes the region: the numbers of each block are checked against each other.
 * Threads  any; one call at a time for each look.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/look.h"
#include "record/look/look_samples.h"

struct gg_look_process {
	int fd;    /* of its region */
	pid_t pid; /* in the caller's namespace */
};

enum {
	/* How long to wait for an answer: for a recorder, which has rings to drain, and for a
	 * command that a person has entered. */
	GG_LOOK_ANSWER_MS = 20,
	GG_LOOK_ANSWER_MOST_MS = 300,
};

/*
 * Requests a look, and waits up to `wait_ms` for the answer.  Does nothing for allocators that the
 * agent does not ask.  Nor does it if `wait_ms` is that of a recorder, and the last look is so
 * young that looks would take more than 1 % of the program's time.  `fd` is the region.  Returns
 * true if the answer came.
 */
bool gg_look_request(int fd, int wait_ms);

/*
 * Adds the agent's last complete look to a look at the same process: totals, and the pinned bytes
 * of blocks that both looks have.  An answer that began before `request_ns`, the time of the
 * request, is left out if more than 5 % of its samples changed since.  Sets the allocator, and as
 * reason why no block has any.
 * Changes nothing if the allocator is not one that the agent asks.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_look_add_answer(struct gg_look *look, const struct gg_look_process *process,
                                     const struct gg_look_samples *samples, uint64_t request_ns);
