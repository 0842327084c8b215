/* SPDX-License-Identifier: Apache-2.0 */
/* detachment - writes the control word and waits (attach/detachment.h). */
#include "attach/detachment.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/attachment.h"
#include "attach/survey.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "record/regions/find_region.h"
#include "region/control.h"
#include "region/reader/view.h"

enum { CHECK_MS = 10, ASLEEP_CHECKS = 10 };

/* Opens an attached agent's region.  -EPERM: the agent of a program that was started with it. */
static int open_attached(const char *path, const char *pid, struct gg_error *error)
{
	struct gg_region_header header;
	int fd = gg_region_control_open(path, error), status;

	if (fd < 0)
		return fd;
	status = gg_region_header_read(&header, fd, path, error);
	if (status == 0 && header.attach.attached_ns == 0)
		status = gg_error_set(error, -EPERM, pid, "'geiger control PID off' pauses it.",
		                      "it was started with the agent, which stays in it");
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

/* Writes the request into the region. */
static int request(const char *path, const char *pid, struct gg_error *error)
{
	const struct gg_region_change change = { .detach = true };
	int fd = open_attached(path, pid, error), status = fd;

	if (fd >= 0)
		status = gg_region_control_write(fd, &change, error);
	if (fd >= 0)
		close(fd);
	return status;
}

/* Enters the process and calls the agent.  Returns 0 if it is detached, or -Exxx. */
static int enter(struct gg_detachment *detachment, pid_t pid, struct gg_error *error)
{
	struct gg_attachment attachment;
	struct gg_survey survey;
	int status = gg_survey_read(&survey, pid, error);

	if (status == 0) {
		status = gg_survey_refuse_all_but(&survey, "profiled", error);
		if (status == 0)
			status = gg_attachment_undo(&attachment, &survey, error);
		gg_survey_done(&survey);
	}
	detachment->was_entered = status == 0;
	detachment->borrowed_ns = status == 0 ? attachment.borrowed_ns : 0;
	/* The agent has just followed the request itself, or the process has ended. */
	if (status == -EALREADY && gg_survey_is_recording(pid))
		return status;
	return status == -EALREADY || status == -ESRCH ? 0 : status;
}

/* The reason in a message of the way in, which is that of an attach. */
static const char *reason_in(const char *message)
{
	static const char prefix[] = "not attached: ";
	const char *reason = strstr(message, prefix);

	return reason != NULL ? reason + strlen(prefix) : message;
}

/* True if no thread of the process runs or is ready to run. */
static bool is_asleep(pid_t pid)
{
	char path[32];
	bool is_asleep = true;
	uint32_t tid;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks != NULL && is_asleep && (tid = gg_proc_file_next_number(tasks)) != 0) {
		GG_CLEANUP(gg_buf_done) struct gg_buf status = { 0 };
		const char *name_end;

		/* The state follows the name, which may hold parentheses. */
		if (gg_proc_file_read(&status, "%s/%u/stat", path, (unsigned int)tid) &&
		    (name_end = strrchr(gg_buf_text(&status), ')')) != NULL)
			is_asleep = strncmp(name_end, ") R", 3) != 0;
	}
	if (tasks != NULL)
		closedir(tasks);
	return tasks != NULL && is_asleep;
}

/* Waits until the agent has gone, but no longer than it is likely to see the request. */
static void await_agent(pid_t pid, uint64_t begin_ns)
{
	const struct timespec pause = { 0, CHECK_MS * GG_NS_PER_MS };
	uint64_t end_ns = begin_ns + (uint64_t)(GG_DETACHMENT_WAIT_MS * GG_NS_PER_MS);
	int asleep_count = 0;

	while (gg_survey_is_recording(pid) && asleep_count < ASLEEP_CHECKS &&
	       gg_clock_monotonic_ns() < end_ns) {
		nanosleep(&pause, NULL);
		asleep_count = is_asleep(pid) ? asleep_count + 1 : 0;
	}
}

void gg_detachment_wait(struct gg_detachment *ret_detachment, pid_t pid)
{
	uint64_t begin_ns = gg_clock_monotonic_ns();
	struct gg_detachment detachment = { 0 };
	struct gg_error error = { 0 };

	await_agent(pid, begin_ns);
	if (gg_survey_is_recording(pid))
		detachment.is_pending = enter(&detachment, pid, &error) < 0;
	snprintf(detachment.why_pending, sizeof(detachment.why_pending), "%s",
	         reason_in(error.message));
	detachment.waited_ns = gg_clock_monotonic_ns() - begin_ns;
	*ret_detachment = detachment;
}

/*
 * Detaches a process that no request can reach: a forked one that has recorded nothing yet, because
 * its parent would follow the request; or one whose region was removed.  It is entered at once.
 */
static int run_unreachable(struct gg_detachment *ret_detachment, pid_t pid, const char *path,
                           const char *name, struct gg_error *error)
{
	struct gg_detachment detachment = { 0 };
	uint64_t begin_ns = gg_clock_monotonic_ns();
	struct gg_error reason = { 0 };
	int fd = path != NULL ? open_attached(path, name, error) : -1, status;

	if (path != NULL && fd < 0)
		return fd;
	if (fd >= 0)
		close(fd);
	status = enter(&detachment, pid, &reason);
	if (status < 0)
		return gg_error_set(error, status, name, reason.advice, "not detached: %s",
		                    reason_in(reason.message));
	detachment.waited_ns = gg_clock_monotonic_ns() - begin_ns;
	*ret_detachment = detachment;
	return 0;
}

/* No agent is found.  Traps that a killed geiger has left there are taken out all the same. */
static int repair(pid_t pid, int status, struct gg_error *error)
{
	struct gg_survey survey;
	char name[32];
	uint32_t count = 0;

	if (gg_survey_read(&survey, pid, NULL) == 0) {
		if (survey.facts.tracer == 0)
			count = gg_attachment_repair(&survey);
		gg_survey_done(&survey);
	}
	if (count == 0)
		return status;
	snprintf(name, sizeof(name), "%d", (int)pid);
	return gg_error_set(error, status, name, NULL,
	                    "no agent is attached; %" PRIu32 " functions of its allocator go on "
	                    "that a geiger which was killed had left standing still",
	                    count);
}

int gg_detachment_run(struct gg_detachment *ret_detachment, pid_t pid, struct gg_error *error)
{
	char name[32], *path = NULL;
	int status;

	snprintf(name, sizeof(name), "%d", (int)pid);
	if (gg_find_region_inherited(&path, (uint32_t)pid) != 0) {
		status = run_unreachable(ret_detachment, pid, path, name, error);
	} else {
		status = gg_find_region(&path, name, error);
		if (status < 0 && gg_survey_is_recording(pid))
			return run_unreachable(ret_detachment, pid, NULL, name, error);
		if (status < 0)
			status = repair(pid, status, error);
		if (status == 0)
			status = request(path, name, error);
		if (status == 0)
			gg_detachment_wait(ret_detachment, pid);
	}
	free(path);
	return status;
}
