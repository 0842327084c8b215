/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_session - checks whether the recorder lives, and leaves notes in its directory. */
#include "runtime/recorded_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"

bool gg_recorded_session_exists(void)
{
	return gg_process.options.recorder_pid != 0;
}

/* Writes DIRECTORY/name, where DIRECTORY is the value of GEIGER_DIR.  False: it does not fit. */
static bool name_beside(char path[GG_REGION_PATH_MAX], const char *name)
{
	const char *directory = gg_process.options.directory;

	if (strlen(directory) + strlen(name) + 2 > GG_REGION_PATH_MAX)
		return false;
	stpcpy(stpcpy(stpcpy(path, directory), "/"), name);
	return true;
}

bool gg_recorded_session_next_directory(char ret_path[GG_REGION_PATH_MAX])
{
	char link[GG_REGION_PATH_MAX];
	struct stat status;

	/* In a directory that others may write, a link of another user could lead anywhere, so only
	 * root's links and our own count. */
	return gg_recorded_session_exists() && name_beside(link, GG_SESSION_NEXT) &&
	       lstat(link, &status) == 0 && S_ISLNK(status.st_mode) &&
	       (status.st_uid == 0 || status.st_uid == geteuid()) &&
	       gg_syscall_read_link(link, ret_path, GG_REGION_PATH_MAX) > 0;
}

/* Appends to a file of the session by one write().  False: it has not all of it. */
static bool append_to(const char *name, const void *data, size_t bytes)
{
	char path[GG_REGION_PATH_MAX];
	bool is_written = false;
	int fd, cancel;

	if (!gg_recorded_session_exists() || !name_beside(path, name))
		return false;
	/* Cancellation at open() or write() would end a child within its fork(). */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = gg_syscall_open_shared(path, O_WRONLY | O_APPEND);
	if (fd >= 0) {
		is_written = gg_agent_log_write(fd, data, bytes);
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	return is_written;
}

void gg_recorded_session_count_missing(enum gg_session_missing reason)
{
	char byte = (char)reason;

	/* The file had its space from the beginning, so a full disk does not lose the byte. */
	append_to(GG_SESSION_MISSING, &byte, 1);
}

bool gg_recorded_session_note_fork(const struct gg_session_fork *fork)
{
	int saved_errno = errno;
	bool is_noted = append_to(GG_SESSION_FORKS, fork, sizeof(*fork));

	errno = saved_errno;
	return is_noted;
}

/* True in a pid namespace other than the recorder's, such as that of a container: its id means
 * another process here, or none. */
static bool is_in_other_namespace(void)
{
	char own[64] = "", expected[64], digits[GG_DIGITS_MAX];
	char *at = stpcpy(expected, "pid:[");

	if (gg_process.options.recorder_namespace == 0 ||
	    gg_syscall_read_link("/proc/self/ns/pid", own, sizeof(own)) <= 0)
		return false;
	at = stpcpy(at, gg_digits(gg_process.options.recorder_namespace, digits));
	stpcpy(at, "]");
	return strcmp(own, expected) != 0;
}

bool gg_recorded_session_is_elsewhere(void)
{
	int saved_errno = errno;
	bool is_elsewhere = is_in_other_namespace();

	errno = saved_errno;
	return is_elsewhere;
}

bool gg_recorded_session_is_over(void)
{
	pid_t pid = (pid_t)gg_process.options.recorder_pid;
	int saved_errno = errno;
	bool is_over = pid != 0 && kill(pid, 0) < 0 && errno == ESRCH && !is_in_other_namespace();

	errno = saved_errno;
	return is_over;
}
