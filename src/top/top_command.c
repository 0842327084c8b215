/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_command - a recorder in a child process, which reports through a pipe that the command runs.
 */
#include "top/top_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/time_units.h"

enum {
	COMMAND_NOT_RUN = 125,
	PROFILE_PATH_BYTES = 4096,
	COPY_BYTES = 65536,
	FINISH_POLL_MS = 50,
};

struct gg_top_command {
	pid_t recorder, pid;
	char profile[PROFILE_PATH_BYTES];
	char *log;       /* NULL: none */
	bool is_log_own; /* it is temporary */
	int read_fd;     /* of the log; -1: none */
	bool has_ended;  /* the recorder */
	int exit_status; /* of the recorder */
};

/* The recorder reports this when the command runs, or cannot run. */
struct report {
	int status;      /* 0: it runs */
	int exit_status; /* of a failure */
	pid_t pid;
	char profile[PROFILE_PATH_BYTES];
	struct gg_error error;
};

/* --- the recorder --------------------------------------------------------------------------- */

static void send_report(int fd, const struct report *report)
{
	const char *at = (const char *)report;
	size_t left = sizeof(*report);

	while (left > 0) {
		ssize_t written = write(fd, at, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* nobody reads: the recording goes on without a viewer */
		at += written;
		left -= (size_t)written;
	}
}

static void tell_start(pid_t pid, const char *path, void *context)
{
	struct report report = { .pid = pid };
	int *fd = context;

	snprintf(report.profile, sizeof(report.profile), "%s", path);
	send_report(*fd, &report);
	close(*fd);
	*fd = -1;
}

/* Gives the recorder, and so the program, the log instead of the terminal. */
static void set_streams(const struct gg_top_command_options *options, int log_fd)
{
	int null_fd;

	if (!options->has_screen) {
		dup2(log_fd >= 0 ? log_fd : STDERR_FILENO, STDOUT_FILENO);
		if (log_fd >= 0)
			dup2(log_fd, STDERR_FILENO);
		return;
	}
	setsid();
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
	if (!isatty(STDIN_FILENO))
		return;
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
}

/* Runs in the child. */
static _Noreturn void record(const struct gg_top_command_options *options, int log_fd,
                             int report_fd)
{
	struct gg_session_options session = options->session;
	struct report report = { .exit_status = COMMAND_NOT_RUN };
	int exit_status;

	set_streams(options, log_fd);
	session.started = tell_start;
	session.own_group = options->has_screen;
	session.quiet = options->log != NULL;
	session.context = &report_fd;
	report.status = gg_session_run(&session, &exit_status, &report.error);
	if (report.status < 0 && report_fd >= 0) {
		report.exit_status = exit_status;
		send_report(report_fd, &report);
	}
	fflush(NULL);
	_exit(exit_status);
}

/* --- the start ------------------------------------------------------------------------------ */

/* Opens the file of the output.  Without such a file, *ret_fd is -1. */
static int open_log(struct gg_top_command *command, const struct gg_top_command_options *options,
                    int *ret_fd, struct gg_error *error)
{
	const char *directory = getenv("TMPDIR");

	*ret_fd = -1;
	if (options->log != NULL) {
		command->log = strdup(options->log);
		*ret_fd = open(options->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		               0666);
	} else if (options->has_screen) {
		command->is_log_own = true;
		if (asprintf(&command->log, "%s/geiger-top-XXXXXX",
		             directory != NULL && directory[0] == '/' ? directory : "/tmp") < 0)
			command->log = NULL;
		if (command->log != NULL)
			*ret_fd = mkostemp(command->log, O_APPEND | O_CLOEXEC);
	} else {
		return 0;
	}
	if (command->log == NULL)
		return gg_error_memory(error, "top");
	if (*ret_fd < 0)
		return gg_error_set_errno(error, errno, command->log, NULL);
	/* A terminal has no end of output that could be read again. */
	if (!isatty(*ret_fd))
		command->read_fd = open(command->log, O_RDONLY | O_CLOEXEC);
	return 0;
}

/* Waits for the report.  A recorder that ends without one was killed. */
static int take_report(struct gg_top_command *command, int fd, int *ret_exit_status,
                       struct gg_error *error)
{
	struct report report = { 0 };
	size_t length = 0;

	while (length < sizeof(report)) {
		ssize_t got = read(fd, (char *)&report + length, sizeof(report) - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	*ret_exit_status = COMMAND_NOT_RUN;
	if (length < sizeof(report))
		return gg_error_set(error, -EIO, "top", NULL, "the recorder was killed");
	if (report.status < 0) {
		*ret_exit_status = report.exit_status;
		*error = report.error;
		return report.status;
	}
	command->pid = report.pid;
	memcpy(command->profile, report.profile, sizeof(command->profile));
	command->profile[sizeof(command->profile) - 1] = '\0';
	return 0;
}

static int fork_recorder(struct gg_top_command *command,
                         const struct gg_top_command_options *options, int log_fd,
                         int *ret_exit_status, struct gg_error *error)
{
	int fds[2], status;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return gg_error_set_errno(error, errno, "top", NULL);
	fflush(NULL);
	command->recorder = fork();
	if (command->recorder == 0) {
		close(fds[0]);
		record(options, log_fd, fds[1]);
	}
	status = command->recorder < 0 ? gg_error_set_errno(error, errno, "top", NULL) : 0;
	close(fds[1]);
	if (status == 0)
		status = take_report(command, fds[0], ret_exit_status, error);
	close(fds[0]);
	return status;
}

int gg_top_command_start(struct gg_top_command **ret_command,
                         const struct gg_top_command_options *options, int *ret_exit_status,
                         struct gg_error *error)
{
	struct gg_top_command *command = calloc(1, sizeof(*command));
	int log_fd, status;

	*ret_exit_status = COMMAND_NOT_RUN;
	if (command == NULL)
		return gg_error_memory(error, "top");
	command->read_fd = -1;
	status = open_log(command, options, &log_fd, error);
	if (status == 0)
		status = fork_recorder(command, options, log_fd, ret_exit_status, error);
	if (log_fd >= 0)
		close(log_fd);
	if (status < 0) {
		if (command->recorder > 0)
			waitpid(command->recorder, NULL, 0);
		gg_top_command_free(command);
		return status;
	}
	*ret_command = command;
	return 0;
}

void gg_top_command_free(struct gg_top_command *command)
{
	if (command == NULL)
		return;
	if (command->read_fd >= 0)
		close(command->read_fd);
	/* A running program still prints to a file that the user knows by its name. */
	if (command->is_log_own && command->log != NULL &&
	    (command->has_ended || command->pid == 0))
		unlink(command->log);
	free(command->log);
	free(command);
}

/* --- while it runs -------------------------------------------------------------------------- */

pid_t gg_top_command_pid(const struct gg_top_command *command)
{
	return command->pid;
}

const char *gg_top_command_profile(const struct gg_top_command *command)
{
	return command->profile;
}

const char *gg_top_command_log(const struct gg_top_command *command)
{
	return command->log;
}

bool gg_top_command_has_ended(struct gg_top_command *command)
{
	int status;

	if (!command->has_ended && waitpid(command->recorder, &status, WNOHANG) > 0) {
		command->has_ended = true;
		command->exit_status = WIFEXITED(status) ? WEXITSTATUS(status)
		                                         : 128 + WTERMSIG(status);
	}
	return command->has_ended;
}

int gg_top_command_exit_status(const struct gg_top_command *command)
{
	return command->exit_status;
}

void gg_top_command_describe_end(const struct gg_top_command *command,
                                 struct gg_top_process *process)
{
	if (process->is_process && !process->is_alive && process->pid == (uint32_t)command->pid)
		snprintf(process->end, sizeof(process->end), "has ended with status %d",
		         command->exit_status);
}

void gg_top_command_signal(struct gg_top_command *command, int number)
{
	if (!gg_top_command_has_ended(command))
		kill(command->recorder, number);
}

static volatile sig_atomic_t passed_to; /* the recorder */

static void pass_on(int number)
{
	int saved = errno;

	kill((pid_t)passed_to, number);
	errno = saved;
}

void gg_top_command_pass_signals(const struct gg_top_command *command)
{
	const struct sigaction pass = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	passed_to = (sig_atomic_t)command->recorder;
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

void gg_top_command_append_output(const struct gg_top_command *command, size_t bytes_max,
                                  struct gg_buf *out)
{
	off_t size = command->read_fd >= 0 ? lseek(command->read_fd, 0, SEEK_END) : 0, from;
	char *text, *begin;
	ssize_t got;

	if (size <= 0)
		return;
	from = size > (off_t)bytes_max ? size - (off_t)bytes_max : 0;
	text = malloc(bytes_max + 1);
	if (text == NULL)
		return;
	got = pread(command->read_fd, text, bytes_max, from);
	text[got > 0 ? got : 0] = '\0';
	begin = from > 0 && got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
	begin = begin != NULL ? begin + 1 : text;
	gg_buf_append(out, begin, got > 0 ? (size_t)(got - (begin - text)) : 0);
	free(text);
}

/* --- the end -------------------------------------------------------------------------------- */

/* Copies what the log has behind `from` to stdout, and returns its new end. */
static off_t copy_output(const struct gg_top_command *command, off_t from)
{
	static char text[COPY_BYTES];
	ssize_t got;

	while ((got = pread(command->read_fd, text, sizeof(text), from)) > 0) {
		fwrite(text, 1, (size_t)got, stdout);
		from += got;
	}
	fflush(stdout);
	return from;
}

int gg_top_command_finish(struct gg_top_command *command, volatile sig_atomic_t *ending_signal)
{
	const struct timespec pause = { .tv_nsec = FINISH_POLL_MS * GG_NS_PER_MS };
	bool copies = command->is_log_own && command->read_fd >= 0, has_ended;
	off_t copied = 0;
	int number;

	do {
		has_ended = gg_top_command_has_ended(command);
		if (copies)
			copied = copy_output(command, copied);
		number = ending_signal != NULL ? *ending_signal : 0;
		if (number != 0)
			*ending_signal = 0;
		if (number != 0)
			gg_top_command_signal(command, number);
		if (!has_ended)
			nanosleep(&pause, NULL);
	} while (!has_ended);
	if (!copies && command->log != NULL)
		fprintf(stderr, "geiger: wrote %s; the program printed to %s\n", command->profile,
		        command->log);
	return command->exit_status;
}
