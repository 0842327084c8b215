/* SPDX-License-Identifier: Apache-2.0 */
/* detachment - writes the control word and waits (attach/detachment.h). */
#include "attach/detachment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/attachment.h"
#include "attach/survey.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/regions/find_region.h"
#include "region/control.h"
#include "region/reader/view.h"

enum { CHECK_MS = 10 };

/* Writes the request into the region. */
static int request(const char *path, const char *pid, struct gg_error *error)
{
	const struct gg_region_change change = { .detach = true };
	struct gg_region_header header;
	int fd = gg_region_control_open(path, error), status;

	if (fd < 0)
		return fd;
	status = gg_region_header_read(&header, fd, path, error);
	if (status == 0 && header.attach.attached_ns == 0)
		status = gg_error_set(error, -EPERM, pid, "'geiger control PID off' pauses it.",
		                      "it was started with the agent, which stays in it");
	if (status == 0)
		status = gg_region_control_write(fd, &change, error);
	close(fd);
	return status;
}

/* Enters the process and calls the agent.  On failure `why_pending` tells what forbids it. */
static bool enter(struct gg_detachment *detachment, pid_t pid)
{
	struct gg_attachment attachment;
	struct gg_error error = { 0 };
	struct gg_survey survey;
	int status = gg_survey_read(&survey, pid, &error);

	if (status == 0) {
		status = gg_survey_refuse_all_but(&survey, "profiled", &error);
		if (status == 0)
			status = gg_attachment_undo(&attachment, &survey, &error);
		gg_survey_done(&survey);
	}
	detachment->was_entered = status == 0;
	snprintf(detachment->why_pending, sizeof(detachment->why_pending), "%s", error.message);
	/* The agent has just followed the request itself, or the process has ended. */
	return status == 0 || status == -EALREADY || status == -ESRCH;
}

void gg_detachment_wait(struct gg_detachment *ret_detachment, pid_t pid)
{
	const struct timespec pause = { 0, CHECK_MS * GG_NS_PER_MS };
	uint64_t begin_ns = gg_clock_monotonic_ns();
	struct gg_detachment detachment = { 0 };

	while (gg_survey_is_recording(pid) &&
	       gg_clock_monotonic_ns() - begin_ns <
	               (uint64_t)(GG_DETACHMENT_WAIT_MS * GG_NS_PER_MS))
		nanosleep(&pause, NULL);
	if (gg_survey_is_recording(pid))
		detachment.is_pending = !enter(&detachment, pid);
	detachment.waited_ns = gg_clock_monotonic_ns() - begin_ns;
	*ret_detachment = detachment;
}

int gg_detachment_run(struct gg_detachment *ret_detachment, pid_t pid, struct gg_error *error)
{
	char name[32], *path = NULL;
	int status;

	snprintf(name, sizeof(name), "%d", (int)pid);
	status = gg_find_region(&path, name, error);
	if (status == 0)
		status = request(path, name, error);
	free(path);
	if (status == 0)
		gg_detachment_wait(ret_detachment, pid);
	return status;
}
