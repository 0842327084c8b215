/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { EXEC_FAILED = 127 };

static void become(const char *const argv[], const char *const environment[], int out, int err)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(EXEC_FAILED);
	for (; environment != NULL && *environment != NULL; environment++) {
		if (strchr(*environment, '=') != NULL)
			putenv((char *)*environment);
		else
			unsetenv(*environment);
	}
	execvp(argv[0], (char *const *)argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(EXEC_FAILED);
}

/* Moves what is there to read into the buffer; false at the end of the stream. */
static bool drain(int fd, struct gg_buf *buf)
{
	char bytes[65536];
	ssize_t count = read(fd, bytes, sizeof(bytes));

	if (count > 0)
		gg_buf_append(buf, bytes, (size_t)count);
	return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Reads both streams until both end (true) or the deadline passes (false). */
static bool collect(struct child *child, int out, int err, uint64_t deadline_ns)
{
	struct pollfd streams[2] = { { .fd = out, .events = POLLIN },
		                     { .fd = err, .events = POLLIN } };
	struct gg_buf *bufs[2] = { &child->out, &child->err };

	while (streams[0].fd >= 0 || streams[1].fd >= 0) {
		uint64_t now_ns = gg_clock_monotonic_ns();

		if (now_ns >= deadline_ns)
			return false;
		poll(streams, 2, (int)((deadline_ns - now_ns) / 1000000) + 1);
		for (int i = 0; i < 2; i++)
			if (streams[i].revents != 0 && !drain(streams[i].fd, bufs[i]))
				streams[i].fd = -1;
	}
	return true;
}

/* Waits for the end of the process until the deadline. */
static bool wait_until(pid_t pid, int *ret_wait_status, uint64_t deadline_ns)
{
	while (gg_clock_monotonic_ns() < deadline_ns) {
		if (waitpid(pid, ret_wait_status, WNOHANG) == pid)
			return true;
		usleep(1000);
	}
	return false;
}

bool child_run(struct child *child, const char *const argv[], const char *const environment[],
               double limit_seconds)
{
	uint64_t deadline_ns = gg_clock_monotonic_ns() + (uint64_t)(limit_seconds * 1e9);
	int out[2], err[2], wait_status = 0;
	pid_t pid;

	*child = (struct child){ .exit_status = EXEC_FAILED };
	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	if (pipe2(err, O_CLOEXEC) < 0) {
		close(out[0]);
		close(out[1]);
		return false;
	}
	pid = fork();
	if (pid == 0)
		become(argv, environment, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (pid > 0) {
		/* Both read to their end, then it exits; whatever is late is the same lateness. */
		child->timed_out = !collect(child, out[0], err[0], deadline_ns) ||
		                   !wait_until(pid, &wait_status, deadline_ns);
		if (child->timed_out) {
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL); /* it may not have made its group yet */
			waitpid(pid, &wait_status, 0);
		}
		child->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
		                                              : WEXITSTATUS(wait_status);
	}
	close(out[0]);
	close(err[0]);
	return pid > 0;
}

void child_done(struct child *child)
{
	gg_buf_done(&child->out);
	gg_buf_done(&child->err);
}

bool child_succeeds(const char *const argv[])
{
	struct child child;
	bool succeeds = child_run(&child, argv, NULL, 60) && child.exit_status == 0;

	child_done(&child);
	return succeeds;
}

bool child_can_have_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	bool can = false;
	char *name;
	int terminal;

	if (master < 0)
		return false;
	name = grantpt(master) == 0 && unlockpt(master) == 0 ? ptsname(master) : NULL;
	if (name != NULL) {
		terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
		can = terminal >= 0;
		if (can)
			close(terminal);
	}
	close(master);
	return can;
}
