/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detachment - detaches the agent from a process.
 *
 *   status = gg_detachment_run(&detachment, pid, error);
 *
 * The control word of the region requests it, without any effect on the program's threads: the
 * agent takes its hooks away on its next cold path.  If no thread comes by for
 * GG_DETACHMENT_WAIT_MS, or if all threads sleep for 100 ms, geiger enters the process as for an
 * attach, and calls the agent.  If neither works, because the process is idle, the request stays
 * and the agent follows it later.
 *
 * A forked process without a region of its own is entered at once, because the only control word
 * that it sees is its parent's.  So is a process whose region was removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { GG_DETACHMENT_WAIT_MS = 2000 };

struct gg_detachment {
	bool was_entered;     /* a thread was borrowed for it */
	bool is_pending;      /* the agent has not followed the request yet */
	uint64_t waited_ns;   /* until the agent had gone, or until it was given up */
	uint64_t borrowed_ns; /* how long that thread did nothing else; 0: no thread was borrowed */
	char why_pending[GG_ERROR_MESSAGE_MAX];
};

/*
 * Requests the detach and waits for it.  Returns 0, also if it is pending; or -Exxx: -ESRCH: no
 * such process; -ENOENT: nothing profiles it; -EPERM: it was started with the agent; or why a
 * process that no request reaches could not be entered.
 */
GG_MUST_CHECK int gg_detachment_run(struct gg_detachment *ret_detachment, pid_t pid,
                                    struct gg_error *error);

/* Waits for a detach that has been requested, and enters the process if it has to. */
void gg_detachment_wait(struct gg_detachment *ret_detachment, pid_t pid);
