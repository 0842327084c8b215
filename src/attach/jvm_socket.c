/* SPDX-License-Identifier: Apache-2.0 */
/* jvm_socket - opens the VM's attach socket, and speaks its protocol (attach/jvm_socket.h). */
#include "attach/jvm_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

enum {
	SOCKET_WAIT_MS = 20,
	SOCKET_WAITS_MAX = 500, /* 10 s until the VM has its socket */
	SOCKET_REPLY_SECONDS = 60,
	REPLY_MAX_BYTES = 1 << 20,
	COUNTERS_MAX_BYTES = 1 << 20
};

/* --- the check --- */

/* True if the process has a handler for that signal. */
static bool handles(pid_t pid, int signal)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *caught;

	if (!gg_proc_file_read(&text, "/proc/%d/status", (int)pid))
		return false;
	caught = strstr(gg_buf_text(&text), "\nSigCgt:");
	return caught != NULL &&
	       (strtoull(caught + strlen("\nSigCgt:"), NULL, 16) >> (signal - 1) & 1) != 0;
}

static bool has_library(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/maps", (int)pid) &&
	       strstr(gg_buf_text(&text), "/libjvm.so") != NULL;
}

/*
 * Finds the text of a counter: an entry has a head of 20 bytes with the offset of its data at 16,
 * then its name.  Returns NULL if the counter is missing.
 */
static const char *find_counter(const struct gg_buf *counters, const char *name)
{
	const char *found = memmem(counters->data, counters->length, name, strlen(name) + 1);
	size_t at = found != NULL ? (size_t)(found - counters->data) : 0;
	uint32_t offset;

	if (at < 20)
		return NULL;
	memcpy(&offset, counters->data + at - 4, sizeof(offset));
	return offset < counters->length - (at - 20) ? counters->data + at - 20 + offset : NULL;
}

static bool read_file(struct gg_buf *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char bytes[16384];
	ssize_t got = 0;

	while (fd >= 0 && out->length < COUNTERS_MAX_BYTES &&
	       (got = read(fd, bytes, sizeof(bytes))) > 0)
		gg_buf_append(out, bytes, (size_t)got);
	if (fd >= 0)
		close(fd);
	return fd >= 0 && got >= 0 && out->length > 0 && !out->failed;
}

/* Reads the VM's counters.  Its map of memory has the path of that file. */
static bool read_counters(const struct gg_process_facts *facts, struct gg_buf *counters)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf maps = { 0 };
	const char *path, *end;
	char whole[512];

	if (!gg_proc_file_read(&maps, "/proc/%d/maps", (int)facts->pid))
		return false;
	path = strstr(gg_buf_text(&maps), "/tmp/hsperfdata_");
	end = path != NULL ? strchr(path, '\n') : NULL;
	if (end == NULL)
		return false;
	snprintf(whole, sizeof(whole), "/proc/%d/root%.*s", (int)facts->pid, (int)(end - path),
	         path);
	return read_file(counters, whole);
}

/* Texts of /proc/PID/FILE, each with a zero byte. */
static bool has_text(pid_t pid, const char *file, const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf all = { 0 };

	return gg_proc_file_read(&all, "/proc/%d/%s", (int)pid, file) &&
	       memmem(all.data, all.length, text, strlen(text)) != NULL;
}

/* The first of the VM's capabilities is that of being attached to. */
static bool is_disabled(const struct gg_process_facts *facts)
{
	static const char option[] = "-XX:+DisableAttachMechanism";
	GG_CLEANUP(gg_buf_done) struct gg_buf counters = { 0 };
	const char *capabilities = read_counters(facts, &counters)
	                                   ? find_counter(&counters, "sun.rt.jvmCapabilities")
	                                   : NULL;

	if (capabilities != NULL)
		return *capabilities != '1';
	return has_text(facts->pid, "cmdline", option) || has_text(facts->pid, "environ", option);
}

int gg_jvm_socket_check(const struct gg_process_facts *facts, struct gg_error *error)
{
	char place[64];

	snprintf(place, sizeof(place), "process %d", (int)facts->pid);
	if (geteuid() != 0 && geteuid() != facts->user)
		return gg_error_set(error, -EPERM, place, "Be its user, or root.",
		                    "its VM serves its own user and root");
	if (!has_library(facts->pid))
		return gg_error_set(error, -ENOTSUP, place, "Leave --only out.",
		                    "it is no Java VM: it has not loaded libjvm.so");
	if (facts->has_other_mounts)
		return gg_error_set(error, -ENOTSUP, place,
		                    "Attach inside of its container, or leave --only out.",
		                    "it is in a container, whose VM does not find the adapter");
	if (facts->state == 'T' || facts->state == 't')
		return gg_error_set(error, -ENOTSUP, place, "Let it go on first.", "it is stopped");
	if (is_disabled(facts))
		return gg_error_set(error, -ENOTSUP, place,
		                    "Leave --only out: that way does not need it.",
		                    "its VM runs with -XX:+DisableAttachMechanism");
	if (!handles(facts->pid, SIGQUIT))
		return gg_error_set(error, -ENOTSUP, place,
		                    "Leave --only out: that way does not need it.",
		                    "its VM does not handle SIGQUIT (-Xrs), or still starts");
	return 0;
}

/* --- the socket --- */

/* Whether that process listens, or another one that only made the file first. */
static bool listens(int fd, pid_t pid)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == pid;
}

/* Returns a socket that does not block, or -Exxx; -EAGAIN: too many clients wait already. */
static int connect_to(const char *path, pid_t pid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, status = 0;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		status = -errno;
	else if (!listens(fd, pid))
		status = -EPERM;
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

/* Makes the file that asks for the socket; the VM looks whether its user made it. */
static bool make_trigger(const struct gg_process_facts *facts, char path[64])
{
	static const char *const folders[] = { "cwd", "root/tmp" };

	for (int i = 0; i < 2; i++) {
		int fd;

		snprintf(path, 64, "/proc/%d/%s/.attach_pid%d", (int)facts->pid, folders[i],
		         (int)facts->inner_pid);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			continue;
		/* Root's file serves as well, but an old VM wants its own user's. */
		(void)!fchown(fd, facts->user, (gid_t)-1);
		close(fd);
		return true;
	}
	return false;
}

/* Waits until the VM has opened its socket.  Returns that, or -Exxx of the last try. */
static int wait_for_socket(const struct gg_process_facts *facts, const char *path)
{
	const struct timespec pause = { .tv_nsec = SOCKET_WAIT_MS * 1000000L };
	int fd = -EAGAIN;

	for (int i = 0; i < SOCKET_WAITS_MAX && fd < 0; i++) {
		if (kill(facts->pid, 0) < 0)
			return -ESRCH;
		nanosleep(&pause, NULL);
		fd = connect_to(path, facts->pid);
	}
	return fd;
}

/* Sets the error of wait_for_socket(); `trigger` is the file that stays. */
static int explain(int status, const char *place, const char *trigger, struct gg_error *error)
{
	char advice[160];

	if (status == -ESRCH)
		return gg_error_set(error, status, place, NULL, "it has ended");
	if (status == -EAGAIN)
		return gg_error_set(error, -ETIMEDOUT, place, NULL,
		                    "its VM took no client of its attach socket for 10 s");
	snprintf(advice, sizeof(advice),
	         "The VM may still come to it: only then remove %s, or it prints its stacks.",
	         trigger);
	return gg_error_set(error, -ETIMEDOUT, place, trigger[0] != '\0' ? advice : NULL,
	                    "its VM opened no attach socket within 10 s");
}

/* Signals that would end this process before it has removed the file; the wait is short. */
static void block_endings(sigset_t *ret_before)
{
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t all;

	sigemptyset(&all);
	for (size_t i = 0; i < GG_COUNT(endings); i++)
		sigaddset(&all, endings[i]);
	sigprocmask(SIG_BLOCK, &all, ret_before);
}

/*
 * A VM that comes to its SIGQUIT when the file is gone prints all stacks on the program's stdout.
 * So the file stays if the VM has not opened its socket in time, as where somebody has stopped the
 * process.
 */
static int ask_for_socket(const struct gg_process_facts *facts, const char *path,
                          struct gg_error *error)
{
	char trigger[64], place[64];
	int fd;

	snprintf(place, sizeof(place), "process %d", (int)facts->pid);
	if (!make_trigger(facts, trigger))
		return gg_error_set_errno(error, errno, trigger, NULL);
	if (kill(facts->pid, SIGQUIT) < 0) {
		int why = errno;

		unlink(trigger);
		return gg_error_set_errno(error, why, place, NULL);
	}
	fd = wait_for_socket(facts, path);
	if (fd >= 0 || fd == -ESRCH || fd == -EAGAIN)
		unlink(trigger);
	return fd >= 0 ? fd : explain(fd, place, trigger, error);
}

static int open_socket(const struct gg_process_facts *facts, struct gg_error *error)
{
	sigset_t before;
	char path[64], place[64];
	int fd;

	snprintf(place, sizeof(place), "process %d", (int)facts->pid);
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/.java_pid%d", (int)facts->pid,
	         (int)facts->inner_pid);
	fd = connect_to(path, facts->pid);
	if (fd >= 0)
		return fd;
	if (fd == -EPERM)
		return gg_error_set(error, fd, path, "Remove that file.",
		                    "another process has the VM's attach socket");
	if (fd == -EAGAIN) { /* clients wait there already, so nobody needs to ask */
		fd = wait_for_socket(facts, path);
		return fd >= 0 ? fd : explain(fd, place, "", error);
	}
	block_endings(&before);
	fd = ask_for_socket(facts, path, error);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

static int64_t now_ms(void)
{
	return (int64_t)(gg_clock_monotonic_ns() / (uint64_t)GG_NS_PER_MS);
}

/* Waits for these events.  Returns 0, or -Exxx; -ETIMEDOUT: the time was up. */
static int await(int fd, short events, int64_t until_ms)
{
	struct pollfd entry = { .fd = fd, .events = events };
	int64_t left_ms;
	int ready = 0;

	while (ready == 0 && (left_ms = until_ms - now_ms()) > 0) {
		ready = poll(&entry, 1, (int)left_ms);
		if (ready < 0 && errno == EINTR)
			ready = 0;
	}
	if (ready > 0)
		return 0;
	return ready < 0 ? -errno : -ETIMEDOUT;
}

static int write_all(int fd, const char *bytes, size_t length, int64_t until_ms)
{
	int status = 0;

	while (length > 0 && status == 0) {
		ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);

		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (written < 0) {
			status = await(fd, POLLOUT, until_ms);
			continue;
		}
		bytes += written;
		length -= (size_t)written;
	}
	return status;
}

/* The limit is one of the whole reply: a VM that sends byte after byte must end as well. */
static int read_reply(int fd, struct gg_buf *reply, int64_t until_ms)
{
	char bytes[4096];
	ssize_t got = 1;
	int status = 0;

	while (status == 0 && got != 0 && reply->length < REPLY_MAX_BYTES) {
		status = await(fd, POLLIN, until_ms);
		got = status == 0 ? read(fd, bytes, sizeof(bytes)) : 0;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (got > 0)
			gg_buf_append(reply, bytes, (size_t)got);
	}
	return reply->failed ? -ENOMEM : status;
}

/*
 * A line with 0 if the VM understood, and then "return code: 0", or since JDK 24 nothing, if the
 * library was content.  Otherwise it is the reason in words.
 */
static int judge_reply(const char *reply, const char *place, struct gg_error *error)
{
	const char *rest = strchr(reply, '\n'), *code;

	rest = rest != NULL ? rest + 1 : "";
	code = strstr(rest, "return code: ");
	if (strncmp(reply, "0\n", 2) == 0 &&
	    (code != NULL ? strncmp(code + 13, "0", 1) == 0 : rest[0] == '\0' || rest[0] == '0'))
		return 0;
	/* The VM tells nothing but the number, and the adapter writes its reason to stderr. */
	if (code != NULL)
		return gg_error_set(error, -EIO, place,
		                    "Its own stderr has the reason, in a line of libgeiger-jvm.",
		                    "its VM loaded the adapter, which could not begin (%.*s)",
		                    (int)strcspn(rest, "\n"), rest);
	rest = rest[0] != '\0' ? rest : reply;
	return gg_error_set(error, -EIO, place, "Its own stderr may have the reason.",
	                    "its VM did not load the adapter: %.*s", (int)strcspn(rest, "\n"),
	                    rest);
}

int gg_jvm_socket_load(const struct gg_process_facts *facts, const char *library,
                       const char *options, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf request = { 0 }, reply = { 0 };
	const char *words[] = { "1", "load", library, "true", options };
	int fd = open_socket(facts, error), status;
	int64_t until_ms = now_ms() + SOCKET_REPLY_SECONDS * INT64_C(1000);
	char place[64];

	if (fd < 0)
		return fd;
	snprintf(place, sizeof(place), "process %d", (int)facts->pid);
	for (size_t i = 0; i < GG_COUNT(words); i++)
		gg_buf_append(&request, words[i], strlen(words[i]) + 1);
	status = request.failed ? -ENOMEM : write_all(fd, request.data, request.length, until_ms);
	if (status == 0)
		status = read_reply(fd, &reply, until_ms);
	if (status == 0)
		status = judge_reply(gg_buf_text(&reply), place, error);
	else if (status == -ETIMEDOUT)
		status = gg_error_set(error, status, place, NULL,
		                      "its VM did not answer within %d s", SOCKET_REPLY_SECONDS);
	else
		status = gg_error_set_errno(error, -status, place, NULL);
	close(fd);
	return status;
}
