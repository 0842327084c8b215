/* SPDX-License-Identifier: Apache-2.0 */
/* top_attach - the command `geiger attach` as a child, whose messages come through a pipe. */
#include "top/top_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct gg_top_attach {
	uint32_t pid;
	pid_t child;
	int fd;                        /* of its messages */
	char text[GG_TOP_MESSAGE_MAX]; /* as far as it has come */
	size_t length;
};

extern char **environ;

static int spawn(struct gg_top_attach *attach, int output_fd)
{
	char pid[16], *arguments[] = { (char[]){ "geiger" }, (char[]){ "attach" }, (char[]){ "-q" },
		                       pid, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int status;

	snprintf(pid, sizeof(pid), "%" PRIu32, attach->pid);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	/* Ctrl-C is for the screen. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	status = posix_spawn(&attach->child, "/proc/self/exe", &actions, &attributes, arguments,
	                     environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -status;
}

struct gg_top_attach *gg_top_attach_start(uint32_t pid)
{
	struct gg_top_attach *attach = calloc(1, sizeof(*attach));
	int fds[2], status;

	if (attach == NULL)
		return NULL;
	attach->pid = pid;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		free(attach);
		return NULL;
	}
	status = spawn(attach, fds[1]);
	close(fds[1]);
	if (status < 0) {
		close(fds[0]);
		free(attach);
		return NULL;
	}
	attach->fd = fds[0];
	fcntl(attach->fd, F_SETFL, O_NONBLOCK);
	return attach;
}

uint32_t gg_top_attach_pid(const struct gg_top_attach *attach)
{
	return attach->pid;
}

/* Reads what has come; what does not fit is dropped. */
static void read_messages(struct gg_top_attach *attach)
{
	char some[256];
	ssize_t got;

	while ((got = read(attach->fd, some, sizeof(some))) > 0) {
		size_t room = sizeof(attach->text) - 1 - attach->length;
		size_t taken = (size_t)got < room ? (size_t)got : room;

		memcpy(attach->text + attach->length, some, taken);
		attach->length += taken;
	}
}

bool gg_top_attach_has_ended(struct gg_top_attach *attach, bool *ret_is_attached,
                             char message[GG_TOP_MESSAGE_MAX])
{
	static const char prefix[] = "geiger: ";
	const char *text = attach->text;
	int status;

	read_messages(attach);
	if (waitpid(attach->child, &status, WNOHANG) <= 0)
		return false;
	read_messages(attach);
	attach->child = 0;
	if (strncmp(text, prefix, strlen(prefix)) == 0)
		text += strlen(prefix);
	*ret_is_attached = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!*ret_is_attached)
		snprintf(message, GG_TOP_MESSAGE_MAX, "%.*s", (int)strcspn(text, "\n"),
		         text[0] != '\0' ? text : "the attach failed");
	return true;
}

void gg_top_attach_free(struct gg_top_attach *attach)
{
	if (attach == NULL)
		return;
	close(attach->fd);
	free(attach);
}
