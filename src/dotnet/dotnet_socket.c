/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet_socket - looks into /proc and the process's directory, and exchanges messages. */
#include "dotnet/dotnet_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"

enum { FILE_MAX = 1 << 20, IPC_REPLY_MAX = 1 << 16 };

/* Reads a file of /proc/PID; a 0 byte follows it. */
static bool read_file(struct gg_buf *text, pid_t pid, const char *name)
{
	char path[64], part[4096];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (text->length < FILE_MAX && (got = read(fd, part, sizeof(part))) > 0)
		gg_buf_append(text, part, (size_t)got);
	close(fd);
	gg_buf_append(text, "", 1);
	return !text->failed && text->length > 1;
}

/* The pid in the process's own namespace, the last one of its line. */
static long inner_pid(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *line;
	long inner = pid;
	int length;

	if (!read_file(&text, pid, "status"))
		return pid;
	line = strstr(text.data, "\nNSpid:");
	if (line == NULL)
		return pid;
	for (line += strlen("\nNSpid:"); sscanf(line, " %ld%n", &inner, &length) == 1;
	     line += length)
		if (line[length] == '\n')
			break;
	return inner;
}

/* The time of the start in ticks, which is a part of the socket's name; 0: unknown. */
static uint64_t start_ticks(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *field;

	if (!read_file(&text, pid, "stat") || (field = strrchr(text.data, ')')) == NULL)
		return 0;
	for (int number = 2; number < 22 && field != NULL; number++)
		field = strchr(field + 1, ' ');
	return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/* Returns TMPDIR of the process, or NULL if it is not set or cannot be read. */
static const char *temporary_directory(struct gg_buf *environment, pid_t pid)
{
	static const char name[] = "TMPDIR=";

	if (!read_file(environment, pid, "environ"))
		return NULL;
	for (const char *text = environment->data; text < environment->data + environment->length;
	     text += strlen(text) + 1)
		if (strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == '/')
			return text + strlen(name);
	return NULL;
}

/* Finds the socket in an open directory, which belongs to the process. */
static bool find_name(struct gg_dotnet_socket *found, int directory)
{
	char prefix[64], exact[128];
	const struct dirent *entry;
	struct stat file;
	int copy = dup(directory);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	long pid = inner_pid(found->pid);
	time_t newest = 0;

	if (list == NULL) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	snprintf(prefix, sizeof(prefix), "dotnet-diagnostic-%ld-", pid);
	snprintf(exact, sizeof(exact), "%s%" PRIu64 "-socket", prefix, start_ticks(found->pid));
	while ((entry = readdir(list)) != NULL) {
		bool is_exact = strcmp(entry->d_name, exact) == 0;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    strlen(entry->d_name) >= sizeof(found->name) ||
		    fstatat(directory, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISSOCK(file.st_mode))
			continue;
		/* Another one is of an earlier process, or of another time namespace. */
		if (is_exact || file.st_mtime >= newest) {
			newest = file.st_mtime;
			snprintf(found->name, sizeof(found->name), "%s", entry->d_name);
		}
		if (is_exact)
			break;
	}
	closedir(list);
	return found->name[0] != '\0';
}

int gg_dotnet_socket_find(struct gg_dotnet_socket *ret_socket, pid_t pid, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf environment = { 0 };
	struct gg_dotnet_socket found = { .pid = pid, .directory = -1 };
	const char *places[] = { temporary_directory(&environment, pid), "/tmp" };
	char path[4200], place[32];

	for (size_t i = 0; i < GG_COUNT(places); i++) {
		if (places[i] == NULL || (size_t)snprintf(path, sizeof(path), "/proc/%d/root%s",
		                                          (int)pid, places[i]) >= sizeof(path))
			continue;
		found.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (found.directory >= 0 && find_name(&found, found.directory)) {
			*ret_socket = found;
			return 0;
		}
		if (found.directory >= 0)
			close(found.directory);
	}
	snprintf(place, sizeof(place), "process %d", (int)pid);
	return gg_error_set(error, -ENOENT, place,
	                    "Its diagnostics may be switched off (DOTNET_EnableDiagnostics=0).",
	                    "no .NET runtime answers there");
}

void gg_dotnet_socket_done(struct gg_dotnet_socket *socket)
{
	if (socket->directory >= 0)
		close(socket->directory);
	socket->directory = -1;
}

static int fail(const struct gg_dotnet_socket *socket, int why, struct gg_error *error)
{
	return gg_error_set_errno(error, why, socket->name, NULL);
}

int gg_dotnet_socket_connect(const struct gg_dotnet_socket *place, struct gg_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, why;

	/* A name by the descriptor is short enough, however long the directory's is. */
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
	                     place->directory, place->name) >= sizeof(address.sun_path))
		return fail(place, ENAMETOOLONG, error);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(place, errno, error);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	why = errno;
	close(fd);
	return fail(place, why, error);
}

int gg_dotnet_socket_send(const struct gg_dotnet_socket *place, const struct gg_buf *message,
                          struct gg_error *error)
{
	int fd, why;

	if (message->failed)
		return gg_error_memory(error, "attach");
	fd = gg_dotnet_socket_connect(place, error);
	/* A new connection has room for a message, so that nothing waits here. */
	if (fd < 0 ||
	    send(fd, message->data, message->length, MSG_NOSIGNAL) == (ssize_t)message->length)
		return fd;
	why = errno;
	close(fd);
	return fail(place, why, error);
}

/* Reads one reply.  Returns 0, -ETIMEDOUT, -EBADMSG or what recv() says. */
static int await_reply(int fd, uint8_t bytes[IPC_REPLY_MAX], struct gg_dotnet_ipc_reply *ret_reply)
{
	uint64_t end_ns = gg_clock_monotonic_ns() +
	                  (uint64_t)GG_DOTNET_IPC_WAIT_MS * (uint64_t)GG_NS_PER_MS;
	size_t length = 0;
	int status = 0;

	while (status == 0) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (gg_clock_monotonic_ns() >= end_ns)
			return -ETIMEDOUT;
		if (poll(&poll_fd, 1, 100) <= 0)
			continue;
		got = recv(fd, bytes + length, IPC_REPLY_MAX - length, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		length += (size_t)got;
		status = gg_dotnet_ipc_read_reply(bytes, length, ret_reply);
	}
	return status < 0 ? status : 0;
}

static int ask_info(const struct gg_dotnet_socket *socket, bool is_old,
                    struct gg_dotnet_ipc_info *ret_info, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	struct gg_dotnet_ipc_reply reply;
	uint8_t bytes[IPC_REPLY_MAX];
	int fd, status;

	gg_dotnet_ipc_ask_info(&message, is_old);
	fd = gg_dotnet_socket_send(socket, &message, error);
	if (fd < 0)
		return fd;
	status = await_reply(fd, bytes, &reply);
	close(fd);
	if (status == 0 && !reply.is_ok)
		return -ENOTSUP;
	if (status == 0)
		status = gg_dotnet_ipc_read_info(reply.payload, reply.payload_bytes, is_old,
		                                 ret_info);
	return status < 0 ? fail(socket, -status, error) : 0;
}

int gg_dotnet_socket_info(const struct gg_dotnet_socket *socket,
                          struct gg_dotnet_ipc_info *ret_info, struct gg_error *error)
{
	int status = ask_info(socket, false, ret_info, error);

	if (status == -ENOTSUP)
		status = ask_info(socket, true, ret_info, error);
	if (status != -ENOTSUP)
		return status;
	/* .NET Core 3.1 does not know the question. */
	*ret_info = (struct gg_dotnet_ipc_info){ 0 };
	gg_buf_append(&ret_info->texts, "", 1);
	return ret_info->texts.failed ? gg_error_memory(error, "attach") : 0;
}
