/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_log - builds a line and writes it with one write(), so that lines of processes do not mix.
 */
#include "runtime/agent_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/printable.h"
#include "runtime/digits.h"
#include "runtime/syscalls.h"

static char log_path[512]; /* "": stderr */

/*
 * The file of stderr at the start.  A daemon closes all descriptors, and later its descriptor 2 may
 * be a database.
 */
static struct stat stderr_at_start;
static bool had_stderr;

struct log_line {
	char text[GG_AGENT_LOG_LINE_MAX];
	size_t used;
};

/* Texts may be hostile, such as a file's name, so characters that control a terminal become '?'. */
static void add(struct log_line *line, const char *text)
{
	for (size_t length = strlen(text); length > 0;) {
		int code_point;
		size_t bytes = gg_printable_next(text, length, &code_point);
		bool is_shown = code_point >= 0 && gg_printable_is_harmless((unsigned)code_point);

		if (line->used + bytes >= sizeof(line->text))
			return;
		if (is_shown)
			memcpy(line->text + line->used, text, bytes);
		else
			line->text[line->used] = '?';
		line->used += is_shown ? bytes : 1;
		text += bytes;
		length -= bytes;
	}
}

/* False for a full pipe or a stopped terminal: the program would wait for its reader. */
static bool is_writable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	/*
	 * poll() fails with EINVAL if the program may have no descriptors; write() reports other
	 * errors.
	 */
	return poll(&poll_fd, 1, 0) != 0;
}

/*
 * A write to a closed pipe or beyond the file limit raises a signal that would end the program.  It
 * is blocked during the write, and taken from the pending ones afterwards.
 */
bool gg_agent_log_write(int fd, const char *text, size_t length)
{
	static const struct timespec now = { 0, 0 };
	sigset_t ours, before, pending;
	ssize_t written;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	written = write(fd, text, length);
	if (written < 0 && (errno == EPIPE || errno == EFBIG)) {
		/* A signal that was pending before is the program's, so it stays pending. */
		if (sigismember(&pending, SIGPIPE) == 1)
			sigdelset(&ours, SIGPIPE);
		if (sigismember(&pending, SIGXFSZ) == 1)
			sigdelset(&ours, SIGXFSZ);
		sigtimedwait(&ours, NULL, &now);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return written == (ssize_t)length;
}

/* True if descriptor 2 is still the file that it was at the start. */
static bool is_stderr(void)
{
	struct stat now;

	return had_stderr && fstat(STDERR_FILENO, &now) == 0 &&
	       now.st_dev == stderr_at_start.st_dev && now.st_ino == stderr_at_start.st_ino &&
	       now.st_rdev == stderr_at_start.st_rdev;
}

void gg_agent_log_init(void)
{
	int saved_errno = errno;

	had_stderr = fstat(STDERR_FILENO, &stderr_at_start) == 0;
	errno = saved_errno;
}

void gg_agent_log_to(const char *path)
{
	size_t length = path != NULL ? strlen(path) : 0;

	if (length < sizeof(log_path))
		memcpy(log_path, path != NULL ? path : "", length + 1);
}

bool gg_agent_log_text(const char *text, size_t length)
{
	int saved_errno = errno, fd = -1, cancel;

	/* Both open() and write() are cancellation points. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* With GEIGER_LOG nothing goes to stderr, even if the file cannot be opened. */
	if (log_path[0] != '\0')
		fd = gg_syscall_open_shared(log_path, O_WRONLY | O_APPEND | O_CREAT);
	else if (is_stderr() && is_writable(STDERR_FILENO))
		fd = STDERR_FILENO;
	if (fd >= 0)
		gg_agent_log_write(fd, text, length);
	if (fd >= 0 && log_path[0] != '\0')
		close(fd);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return fd >= 0;
}

void gg_agent_log(const char *text, ...)
{
	struct log_line line = { .used = 0 };
	char digits[GG_DIGITS_MAX];
	int saved_errno = errno;
	va_list texts;

	add(&line, "geiger[");
	add(&line, gg_digits((unsigned long)getpid(), digits));
	add(&line, "]: ");
	va_start(texts, text);
	for (const char *next = text; next != NULL; next = va_arg(texts, const char *))
		add(&line, next);
	va_end(texts);
	gg_assert(line.used < sizeof(line.text));
	line.text[line.used++] = '\n';
	(void)gg_agent_log_text(line.text, line.used);
	errno = saved_errno;
}

const char *gg_agent_log_reason(int status)
{
	switch (-status) {
	case EACCES:
	case EPERM:
		return "not permitted";
	case EROFS:
		return "read-only file system";
	case ENOENT:
	case ENOTDIR:
		return "no such directory";
	case ENOSPC:
	case EDQUOT:
		return "no space left";
	case EFBIG:
		return "over the limit for file sizes";
	case ENOMEM:
		return "out of memory";
	case EOVERFLOW:
		return "the user does not exist in this user namespace";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return "the system call failed";
	}
}
