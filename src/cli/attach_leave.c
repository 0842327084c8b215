/* SPDX-License-Identifier: Apache-2.0 */
/* attach_leave - finds the forked processes, and names those that keep the agent. */
#include "cli/attach_leave.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "attach/detachment.h"
#include "attach/forked_agents.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/regions/find_region.h"

enum {
	NAMED_MAX = 8,      /* processes that a message names */
	LEAVE_SECONDS = 30, /* for those that were forked */
	LATE_MS = 2000,     /* until an agent is in that is late */
	LATE_PAUSE_MS = 20
};

/* Says how the agent leaves a process that could not be entered. */
static void report_pending(pid_t pid)
{
	if (gg_find_region_inherited(NULL, (uint32_t)pid) != 0)
		fprintf(stderr,
		        "geiger: process %d is idle, and keeps the agent, which only passes its "
		        "calls on: 'geiger detach %d' takes it out\n",
		        (int)pid, (int)pid);
	else
		fprintf(stderr,
		        "geiger: process %d is idle: the agent goes when the process next allocates\n",
		        (int)pid);
}

void gg_attach_leave(pid_t pid, const char *directory, bool is_quiet)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(LEAVE_SECONDS * GG_NS_PER_S);
	struct gg_forked_agents found = { 0 };
	struct gg_detachment detachment;
	size_t pending_count = 0;

	gg_detachment_wait(&detachment, pid);
	if (directory[0] == '\0' || gg_forked_agents_find(&found, directory, NULL) < 0)
		return;
	for (size_t i = 0; i < found.pids.count; i++) {
		detachment.is_pending = true;
		if (found.pids.items[i] != pid && gg_clock_monotonic_ns() < end_ns)
			gg_detachment_wait(&detachment, found.pids.items[i]);
		if (!detachment.is_pending || is_quiet)
			continue;
		if (pending_count++ < NAMED_MAX)
			report_pending(found.pids.items[i]);
	}
	if (pending_count > NAMED_MAX)
		fprintf(stderr, "geiger: %zu more processes are idle as well\n",
		        pending_count - NAMED_MAX);
	gg_forked_agents_done(&found);
}

void gg_attach_leave_late(pid_t pid, struct gg_error *error)
{
	const struct timespec pause = { .tv_nsec = LATE_PAUSE_MS * GG_NS_PER_MS };
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(LATE_MS * GG_NS_PER_MS);
	struct gg_detachment detachment;
	struct gg_error ignored;
	int status;

	while ((status = gg_detachment_run(&detachment, pid, &ignored)) == -ENOENT &&
	       gg_clock_monotonic_ns() < end_ns)
		nanosleep(&pause, NULL);
	if (status == 0)
		snprintf(error->advice, sizeof(error->advice), "%s",
		         detachment.is_pending
		                 ? "The agent is in, and goes when the process next allocates."
		                 : "The agent is out again: attach later.");
}
