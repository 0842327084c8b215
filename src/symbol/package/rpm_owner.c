/* SPDX-License-Identifier: Apache-2.0 */
/* rpm_owner - runs rpm -qf, and reads its line. */
#include "symbol/package/rpm_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 256 };

extern char **environ;

/* Starts rpm with its standard output in the pipe and without the other streams. */
static bool start(const char *path, int output, pid_t *ret_pid)
{
	const char *const arguments[] = { "rpm", "-qf", "--queryformat", "%{NAME}\n", path, NULL };
	posix_spawn_file_actions_t actions;
	bool is_started;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	is_started = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
	             posix_spawn_file_actions_adddup2(&actions, output, 1) == 0 &&
	             posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
	             posix_spawnp(ret_pid, "rpm", &actions, NULL, (char *const *)arguments,
	                          environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	return is_started;
}

/* Reads up to the end or the time limit.  Returns the number of bytes. */
static size_t read_answer(int fd, char *answer, size_t max)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t length = 0;
	ssize_t count = 1;

	while (length < max && count > 0 && poll(&poll_fd, 1, GG_RPM_OWNER_SECONDS * 1000) > 0) {
		count = read(fd, answer + length, max - length);
		length += count > 0 ? (size_t)count : 0;
	}
	return length;
}

char *gg_rpm_owner(const char *path)
{
	char answer[NAME_MAX_BYTES] = { 0 };
	size_t length = 0, line;
	int ends[2];
	pid_t pid;

	if (path[0] != '/' || pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	if (start(path, ends[1], &pid)) {
		close(ends[1]);
		length = read_answer(ends[0], answer, sizeof(answer));
		kill(pid, SIGKILL); /* no effect if it has ended: it is not waited for yet */
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	} else {
		close(ends[1]);
	}
	close(ends[0]);
	for (line = 0; line < length && answer[line] != '\n'; line++)
		;
	/* Without a package, rpm prints a sentence. */
	if (line == 0 || line == length || memchr(answer, ' ', line) != NULL)
		return NULL;
	return strndup(answer, line);
}
