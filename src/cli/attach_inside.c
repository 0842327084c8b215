/* SPDX-License-Identifier: Apache-2.0 */
/* attach_inside - the recorder's side of the exchange (cli/attach_inside.h). */
#include "cli/attach_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/attach_leave.h"
#include "record/process/proc_file.h"
#include "record/session/session.h"

struct inside {
	const struct gg_attach_options *given;
	const char *agent;
	struct gg_attach_request request;
};

/* --- the exchange --- */

static bool write_all(const void *bytes, size_t length)
{
	const char *next = bytes;

	while (length > 0) {
		ssize_t written = write(STDOUT_FILENO, next, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		next += written;
		length -= (size_t)written;
	}
	return true;
}

static bool read_all(void *bytes, size_t length)
{
	char *next = bytes;

	while (length > 0) {
		ssize_t got = read(STDIN_FILENO, next, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		next += got;
		length -= (size_t)got;
	}
	return true;
}

/* The adapter for Python: as the settings say, or else the user's environment.  "": none. */
static const char *find_adapter(const struct gg_launch_environment *settings)
{
	static const char name[] = "GEIGER_PYTHON=";
	const char *text = NULL, *own = getenv("GEIGER_PYTHON");

	while ((text = gg_launch_environment_next(settings, text)) != NULL)
		if (strncmp(text, name, strlen(name)) == 0)
			return text + strlen(name);
	return own != NULL && own[0] == '/' ? own : "";
}

/* From now on a byte on standard input, or its end, ends the recording like a signal. */
static bool listen_for_end(void)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL);

	return flags >= 0 && fcntl(STDIN_FILENO, F_SETOWN, getpid()) == 0 &&
	       fcntl(STDIN_FILENO, F_SETSIG, SIGTERM) == 0 &&
	       fcntl(STDIN_FILENO, F_SETFL, flags | O_ASYNC) == 0;
}

/* The session calls it when its recorder is ready. */
static int let_attach(const struct gg_launch_environment *settings, void *context,
                      struct gg_error *error)
{
	static const char recording[] = "recording\n";
	GG_CLEANUP(gg_buf_done) struct gg_buf lines = { 0 };
	struct inside *inside = context;
	struct gg_attach_result result;
	int status;

	inside->request.version = GG_ATTACH_VERSION;
	inside->request.bytes = sizeof(inside->request);
	/* The process loads the adapter by itself, with Python's lock. */
	status = gg_attach_run_fill(&inside->request, settings, true, error);
	if (status < 0)
		return status;
	gg_buf_printf(&lines, "%d\n%s\n%s\n", (int)getpid(), inside->agent, find_adapter(settings));
	if (lines.failed)
		return gg_error_memory(error, "attach");
	if (!write_all(lines.data, lines.length) ||
	    !write_all(&inside->request, sizeof(inside->request)) ||
	    !read_all(&result, sizeof(result)))
		return gg_error_set(error, -ECANCELED, "attach", NULL,
		                    "the process has not attached the agent");
	result.reason[sizeof(result.reason) - 1] = '\0';
	if (result.status < 0)
		return gg_error_set(error, result.status, "the agent", NULL, "%s",
		                    result.reason[0] != '\0' ? result.reason
		                                             : strerror(-result.status));
	if (!listen_for_end() || !write_all(recording, strlen(recording)))
		return gg_error_set_errno(error, errno, "attach", NULL);
	return 0;
}

/* The session calls it when the profile is complete. */
static void report_written(const char *path, void *context)
{
	static const char written[] = "written\n";

	(void)path;
	(void)context;
	if (!write_all(written, strlen(written)))
		return; /* the process has ended, or does not want to know */
}

/* --- the recording --- */

/*
 * Leaves its parent, and the terminal: Ctrl-C is for the program.  Does not return in the parent,
 * which the program waits for.  A program that adopts orphans becomes the parent again.
 */
static int leave_parent(struct gg_error *error)
{
	pid_t child = fork();

	if (child < 0)
		return gg_error_set_errno(error, errno, "attach", NULL);
	if (child > 0)
		_exit(0);
	setsid();
	return 0;
}

int gg_attach_inside(pid_t pid, const char *agent, const struct gg_attach_options *given,
                     struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct inside inside = { .given = given, .agent = agent };
	char *command[] = { NULL, NULL };
	struct gg_session_options options = {
		.command = command,
		.pid = pid,
		.enter = let_attach,
		.output = given->output,
		.max_seconds = given->max_seconds,
		.no_symbols = given->no_symbols,
		.quiet = given->quiet,
		.completed = report_written,
		.context = &inside,
	};
	int exit_status, status;

	status = leave_parent(error);
	if (status < 0)
		return status;
	if (!gg_proc_file_read_command(&text, (uint32_t)pid))
		return gg_error_set_errno(error, ESRCH, "attach", NULL);
	command[0] = (char *)(uintptr_t)gg_buf_text(&text);
	gg_cli_sampling_set_session(&given->sampling, &options);
	status = gg_session_run(&options, &exit_status, error);
	if (status < 0)
		return status == -EINVAL ? -EIO : status;
	gg_attach_leave(pid, inside.request.directory, given->quiet);
	return exit_status;
}
