/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/printable.h"

#define LAST_SECONDS  5.0
#define EVERY_SECONDS 60.0
enum { END_SECONDS = 60 /* afterwards the process hangs, and is killed */ };

/* Reads the path that the recorder writes.  False: the recorder ended without a profile. */
static bool read_path(int fd, char path[PATH_MAX])
{
	size_t length = 0;

	while (length < PATH_MAX) {
		ssize_t count = read(fd, path + length, PATH_MAX - length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		length += (size_t)count;
		if (path[length - 1] == '\0')
			return true;
	}
	return false;
}

/* Prints the result, with the command that sends what waits. */
static void print_result(const struct gg_sender_result *result,
                         const struct gg_send_options *options,
                         const struct gg_sender_options *sender)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf waits = { 0 };

	gg_buf_printf(&waits, ". Later: geiger send %s", GG_PRINTABLE(sender->target));
	if (options->to != NULL)
		gg_buf_printf(&waits, " --to %s", GG_PRINTABLE(options->to));
	if (options->state != NULL)
		gg_buf_printf(&waits, " --state %s", GG_PRINTABLE(options->state));
	gg_send_settings_print_result(result, sender->state != NULL, gg_buf_text(&waits));
}

/* The process: waits for the profile, and sends it until the recorder ends. */
static int follow(const struct gg_send_options *options, const struct gg_send_settings *settings,
                  int fd, bool quiet)
{
	struct gg_sender_options sender = {
		.flush_seconds = LAST_SECONDS,
		.confidence = 0.95,
		.until_fd = fd,
		.ignores_signals = true,
		.tell = quiet ? NULL : gg_send_settings_tell,
	};
	struct gg_sender_result result;
	struct gg_error error = { 0 };
	char path[PATH_MAX], line[GG_ERROR_LINE_MAX];

	if (!read_path(fd, path))
		return 0;
	gg_send_settings_sender(settings, options, &sender);
	sender.target = path;
	if (sender.every_seconds <= 0)
		sender.every_seconds = EVERY_SECONDS;
	if (gg_sender_run(&sender, &result, &error) < 0) {
		gg_error_format(&error, line, sizeof(line));
		fprintf(stderr, "geiger: %s\n", line);
		return 1;
	}
	if (!quiet)
		print_result(&result, options, &sender);
	return !gg_sender_has_sent_all(&result);
}

/*
 * Like fork(), but the child's end sends no signal.  A child made so is found by __WCLONE alone.
 */
static pid_t fork_unnoticed(void)
{
	return (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
}

static void run_child(const struct gg_send_options *options,
                      const struct gg_send_settings *settings, int fd, bool quiet)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t signals;

	sigfillset(&signals);
	sigdelset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	setpgid(0, 0); /* the terminal's signals are for the command */
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	_exit(follow(options, settings, fd, quiet));
}

int gg_record_sender_start(struct gg_record_sender *ret_sender,
                           const struct gg_send_options *options, bool quiet,
                           struct gg_error *error)
{
	struct gg_send_settings settings;
	int fds[2], status = gg_send_settings_make(&settings, options, "record", error);

	if (status < 0)
		return status;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		gg_send_settings_done(&settings);
		return gg_error_set_errno(error, errno, "record: --send", NULL);
	}
	fflush(NULL);
	ret_sender->pid = fork_unnoticed();
	if (ret_sender->pid == 0) {
		close(fds[1]);
		run_child(options, &settings, fds[0], quiet);
	}
	if (ret_sender->pid < 0)
		status = gg_error_set_errno(error, errno, "record: --send", NULL);
	close(fds[0]);
	if (status == 0)
		ret_sender->fd = fds[1];
	else
		close(fds[1]);
	gg_send_settings_done(&settings);
	return status;
}

void gg_record_sender_follow(const struct gg_record_sender *sender, const char *path)
{
	char whole[PATH_MAX];
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	if (sender->pid == 0 || realpath(path, whole) == NULL)
		return;
	sigaction(SIGPIPE, &ignore, &before); /* it may have failed already, and said so */
	if (write(sender->fd, whole, strlen(whole) + 1) < 0)
		errno = 0;
	sigaction(SIGPIPE, &before, NULL);
}

void gg_record_sender_end(struct gg_record_sender *sender)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	if (sender->pid == 0)
		return;
	close(sender->fd);
	for (int i = 0; i < END_SECONDS * 100; i++) {
		if (waitpid(sender->pid, NULL, WNOHANG | __WCLONE) != 0)
			return;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "geiger: the sender hangs, so geiger ends it\n");
	kill(sender->pid, SIGKILL);
	waitpid(sender->pid, NULL, __WCLONE);
}
