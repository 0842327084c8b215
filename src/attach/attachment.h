/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attachment - attaches the agent to a running process, step by step.
 *
 *   struct gg_attachment_options options = { .agent = path, .request = request };
 *   struct gg_attachment attachment;
 *
 *   if (gg_survey_read(&survey, pid, error) == 0 && gg_survey_refuse(&survey, error) == 0)
 *           status = gg_attachment_run(&attachment, &survey, &options, error);
 *
 *   1. A helper process traces all threads without stopping any (tracer.h).
 *   2. It waits for a thread at a safe point (safe_point.h), and borrows it (borrowed_thread.h).
 *   3. The thread loads the agent (agent_carrier.h) and calls the agent's entry
 *      (abi/attach_request.h); all other threads run on.
 *   4. The thread goes on where it was, and the helper ends, which detaches all threads.
 *
 * Guardian  The calling process waits for the helper.  If somebody kills the helper while traps are
 *           planted, the caller removes them.  If somebody kills the caller, the helper cancels.
 * Windows   If the helper and its guardian end together while traps are planted, threads that
 *           enter the allocator afterwards spin there, until the next attach or detach takes the
 *           traps out (trap_repair.h).
 * Signals   SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel the search, and reach the caller after it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/attach_request.h"
#include "attach/survey.h"
#include "base/error.h"

struct gg_attachment_options {
	const char *agent; /* path of the agent's library */
	/* version and bytes are filled in */
	struct gg_attach_request request;
};

/* How it went. */
struct gg_attachment {
	struct gg_attach_result result; /* of the agent's entry */
	uint64_t waited_ns;             /* until a thread was at a safe point */
	uint64_t borrowed_ns;           /* how long that thread ran our code */
	uint64_t borrowed_run_ns;       /* the part of it on a processor; 0: unknown */
	uint64_t longest_stand_ns;      /* of the other threads, at a trap */
	uint32_t repaired_count;        /* functions that had a trap of a killed geiger */
	uint64_t refused_count;         /* threads that were not at a safe point */
	uint32_t java;     /* enum gg_region_java, if gg_attach_result_await_java() found it */
	bool was_idle;     /* the thread waited in a system call */
	bool was_resident; /* the agent was there from an earlier attach */
	bool is_lost; /* the thread went home by itself: the agent may get in after the failure */
	bool is_settled; /* false: a trap may still be on its way to a thread without a processor */
};

/*
 * Attaches.  Returns 0 or -Exxx, with the process as it was: -ETIMEDOUT: no safe point came in
 * time; -ECANCELED; -ESRCH: the process has ended; the status of the agent's entry.
 */
GG_MUST_CHECK int gg_attachment_run(struct gg_attachment *ret_attachment,
                                    const struct gg_survey *survey,
                                    const struct gg_attachment_options *options,
                                    struct gg_error *error);

/*
 * Restores the functions of the allocator in which a geiger that was killed has left its traps.
 * Nothing may trace the process.  Returns how many functions there were.
 */
uint32_t gg_attachment_repair(const struct gg_survey *survey);

/* Detaches an agent that no thread of the process notices, by the same way.  Errors as above. */
GG_MUST_CHECK int gg_attachment_undo(struct gg_attachment *ret_attachment,
                                     const struct gg_survey *survey, struct gg_error *error);
