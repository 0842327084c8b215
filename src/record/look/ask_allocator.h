/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_allocator - requests a look at the allocator from the agent, and adds the answer to a look.
 *
 *   gg_look_request(fd, GG_LOOK_ANSWER_MS);  before the live samples are read
 *   ...                                      the look from outside
 *   gg_look_add_answer(&look, fd, &samples);
 *
 * Allocators that keep no headers beside their blocks tell the use of their memory from inside
 * alone, so the agent asks them (docs/AGENT.md, "Calls of the allocator").  The answer is in the
 * region.  It comes with the program's next samples.  A program that takes no samples does not
 * answer, and then the answer to an earlier request counts.
 *
 * Hostile  the program writes the region: the numbers of each block are checked against each other.
 * Threads  any; one call at a time for each look.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/look.h"
#include "record/look/look_samples.h"

enum {
	GG_LOOK_REQUEST_PAUSE_S = 10, /* the shortest time between two requests to a process */
	/* How long to wait for an answer: for a recorder, which has rings to drain, and for a
	 * command that a person has entered. */
	GG_LOOK_ANSWER_MS = 20,
	GG_LOOK_ANSWER_MOST_MS = 300,
};

/*
 * Requests a look unless the last one is younger than GG_LOOK_REQUEST_PAUSE_S, and waits up to
 * `wait_ms` for the answer.  Does nothing for allocators that the agent does not ask.  `fd` is the
 * region.  Returns true if the answer came.
 */
bool gg_look_request(int fd, int wait_ms);

/*
 * Adds the agent's last complete look to a look at the same process: totals, and the pinned bytes
 * of blocks that both looks have.  Sets the allocator, and as reason why no block has any.
 * Changes nothing if the allocator is not one that the agent asks.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_look_add_answer(struct gg_look *look, int fd,
                                     const struct gg_look_samples *samples);
