/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/say.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/digits.h"

static char log_path[512]; /* "": stderr */

struct line {
	char text[GG_SAY_LINE_MAX];
	size_t used;
};

static void add(struct line *line, const char *text)
{
	for (; *text != '\0' && line->used < sizeof(line->text) - 1; text++)
		line->text[line->used++] = (unsigned char)*text >= ' ' ? *text : '?';
}

/* Writes, without the SIGPIPE that ends the program if nobody reads its stderr. */
static void write_out(int fd, const struct line *line)
{
	static const struct timespec now = { 0, 0 };
	sigset_t pipe, before, pending;
	bool was_pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	if (write(fd, line->text, line->used) < 0 && errno == EPIPE && !was_pending)
		sigtimedwait(&pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gg_say_to(const char *path)
{
	size_t length = path != NULL ? strlen(path) : 0;

	if (length < sizeof(log_path))
		memcpy(log_path, path != NULL ? path : "", length + 1);
}

void gg_say(const char *text, ...)
{
	struct line line = { .used = 0 };
	char digits[GG_DIGITS_MAX];
	int saved_errno = errno, fd = -1;
	va_list texts;

	add(&line, "geiger[");
	add(&line, gg_digits((unsigned long)getpid(), digits));
	add(&line, "]: ");
	va_start(texts, text);
	for (const char *next = text; next != NULL; next = va_arg(texts, const char *))
		add(&line, next);
	va_end(texts);
	line.text[line.used++] = '\n';
	if (log_path[0] != '\0')
		fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	/* Who named a file does not want it on stderr, also when the file cannot be had. */
	if (fd >= 0 || log_path[0] == '\0')
		write_out(fd >= 0 ? fd : STDERR_FILENO, &line);
	if (fd >= 0)
		close(fd);
	errno = saved_errno;
}
