/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_diagnostic_port - many runtimes connect at once, or when no descriptor is free. */
#include "record/dotnet/diagnostic_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

enum { CROWD = 100, CALLS = 200, FILES = 1100 };

/* Connects as the runtime of that number does.  Returns the descriptor. */
static int connect_as(const char *path, uint64_t number)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint8_t greeting[GG_DOTNET_IPC_GREETING_BYTES] = "ADVR_V1";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(greeting + 8, &number, sizeof(number));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	REQUIRE(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	REQUIRE(send(fd, greeting, sizeof(greeting), 0) == sizeof(greeting));
	return fd;
}

static bool is_ready(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void work_until_idle(struct gg_diagnostic_port *port)
{
	for (int i = 0; i < CALLS && is_ready(port->epoll_fd); i++)
		gg_diagnostic_port_work(port);
}

TEST(a_crowd_that_connects_at_once_gets_a_session_each)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	const char *path = scratch_path("crowd");
	int fds[CROWD];

	REQUIRE(gg_diagnostic_port_open(&port, path, scratch_folder(), true) == 0);
	for (size_t i = 0; i < CROWD; i++)
		fds[i] = connect_as(path, i + 1);
	work_until_idle(&port);
	CHECK_EQ_U64(port.runtimes.count, CROWD);
	for (size_t i = 0; i < port.runtimes.count; i++)
		CHECK(port.runtimes.items[i]->has_stream);
	for (size_t i = 0; i < CROWD; i++)
		close(fds[i]);
	gg_diagnostic_port_done(&port, true);
}

TEST(without_a_free_descriptor_the_port_is_not_ready_again_and_again)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	const char *path = scratch_path("full");
	struct rlimit before, limit;
	int fd;

	REQUIRE(gg_diagnostic_port_open(&port, path, scratch_folder(), true) == 0);
	fd = connect_as(path, 1);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit = before;
	limit.rlim_cur = (rlim_t)fd + 1; /* that descriptor is the last one */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	gg_diagnostic_port_work(&port);
	CHECK(!is_ready(port.epoll_fd));
	CHECK_EQ_U64(port.runtimes.count, 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	port.resume_ns = 1; /* the pause is over */
	gg_diagnostic_port_work(&port);
	work_until_idle(&port);
	CHECK_EQ_U64(port.runtimes.count, 1);
	close(fd);
	gg_diagnostic_port_done(&port, true);
}

TEST(a_runtime_whose_descriptors_would_be_the_last_ones_is_left_out_and_counts_once)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	const char *path = scratch_path("reserve");
	struct rlimit before, limit;
	int first, second;

	REQUIRE(gg_diagnostic_port_open(&port, path, scratch_folder(), true) == 0);
	first = connect_as(path, 1);
	second = connect_as(path, 2);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit = before;
	limit.rlim_cur = (rlim_t)second + 16;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	work_until_idle(&port);
	CHECK_EQ_U64(port.runtimes.count, 0);
	CHECK_EQ_U64(port.left_out.count, 1); /* both are of this process */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	close(first);
	close(second);
	gg_diagnostic_port_done(&port, true);
}

TEST(a_stream_that_has_ended_takes_no_descriptor_and_keeps_its_bytes)
{
	struct gg_event_stream stream;
	static const uint8_t reply[] = "DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x07\0\0\0\0\0\0";
	const uint8_t *bytes = NULL;
	int pair[2], lowest = dup(0);

	close(lowest);
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	REQUIRE(gg_event_stream_begin(&stream, pair[0], scratch_folder(), NULL, NULL) == 0);
	REQUIRE(send(pair[1], reply, GG_DOTNET_IPC_COLLECT_REPLY_BYTES, 0) ==
	        GG_DOTNET_IPC_COLLECT_REPLY_BYTES);
	REQUIRE(send(pair[1], "events", 6, 0) == 6);
	close(pair[1]);
	while (gg_event_stream_read(&stream))
		continue;
	CHECK_EQ_U64(stream.state, GG_EVENT_STREAM_ENDED);
	pair[0] = dup(0);
	CHECK_EQ_I64(pair[0], lowest);
	close(pair[0]);
	REQUIRE(gg_event_stream_map(&stream, &bytes, NULL) == 0);
	CHECK_EQ_U64(stream.bytes, 6);
	CHECK(bytes != NULL && memcmp(bytes, "events", 6) == 0);
	gg_event_stream_done(&stream);
}

/* Sends the answer to the command that began the session, and events of so many bytes. */
static void answer_with(int fd, size_t bytes)
{
	static const uint8_t reply[] = "DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x07\0\0\0\0\0\0";
	static const uint8_t events[4096];

	REQUIRE(send(fd, reply, GG_DOTNET_IPC_COLLECT_REPLY_BYTES, 0) ==
	        GG_DOTNET_IPC_COLLECT_REPLY_BYTES);
	REQUIRE(bytes <= sizeof(events) && send(fd, events, bytes, 0) == (ssize_t)bytes);
}

TEST(all_streams_of_a_session_share_one_limit)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	const char *path = scratch_path("shared");
	int fds[3];

	REQUIRE(gg_diagnostic_port_open(&port, path, scratch_folder(), false) == 0);
	port.room_bytes = 5000;
	for (int i = 0; i < 3; i++) {
		fds[i] = connect_as(path, (uint64_t)i + 1);
		work_until_idle(&port);
		answer_with(fds[i], i == 2 ? 1000 : 3000);
		work_until_idle(&port);
	}
	REQUIRE(port.runtimes.count == 3);
	CHECK_EQ_U64(port.runtimes.items[0]->stream.bytes, 3000);
	CHECK(!port.runtimes.items[0]->stream.is_full);
	CHECK(port.runtimes.items[1]->stream.is_full);
	CHECK_EQ_U64(port.runtimes.items[2]->stream.bytes, 1000); /* the room that was left */
	CHECK_EQ_U64(port.room_bytes, 1000);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	gg_diagnostic_port_done(&port, true);
}

TEST(a_stream_that_is_kept_is_there_until_the_profile_is)
{
	for (int is_complete = 0; is_complete < 2; is_complete++) {
		struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
		const char *path = scratch_path(is_complete ? "complete" : "incomplete");
		char file[512];
		int fd;

		REQUIRE(gg_diagnostic_port_open(&port, path, scratch_folder(), true) == 0);
		fd = connect_as(path, 1);
		work_until_idle(&port);
		answer_with(fd, 100);
		work_until_idle(&port);
		snprintf(file, sizeof(file), "%s/dotnet-%d-0.nettrace", scratch_folder(),
		         (int)getpid());
		CHECK(access(file, R_OK) == 0);
		close(fd);
		gg_diagnostic_port_done(&port, is_complete);
		CHECK_EQ_I64(access(file, R_OK), is_complete ? -1 : 0);
		unlink(file);
	}
}

TEST(files_that_a_recorder_left_take_no_descriptors_and_may_be_many)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	const char *path = scratch_path("left.nettrace");
	struct gg_error error = { 0 };
	int lowest = dup(0), after;
	FILE *file;

	REQUIRE((file = fopen(path, "w")) != NULL);
	fputs("events", file);
	fclose(file);
	close(lowest);
	for (int i = 0; i < FILES; i++)
		REQUIRE(gg_diagnostic_port_add_file(&port, path, i + 1, &error) == 0);
	after = dup(0);
	CHECK_EQ_I64(after, lowest);
	close(after);
	CHECK_EQ_U64(port.runtimes.count, FILES);
	CHECK_EQ_U64(port.unread_count, 0);
	gg_diagnostic_port_done(&port, false);
}

TEST(a_file_that_cannot_be_read_is_counted_and_fails_nothing)
{
	struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
	struct gg_error error = { 0 };

	CHECK_EQ_I64(gg_diagnostic_port_add_file(&port, scratch_path("gone"), 1, &error), 0);
	CHECK_EQ_I64(gg_diagnostic_port_add_file(&port, scratch_folder(), 1, &error), 0);
	CHECK_EQ_U64(port.runtimes.count, 0);
	CHECK_EQ_U64(port.unread_count, 2);
	CHECK_EQ_I64(port.unread_status, -ENOENT);
	gg_diagnostic_port_done(&port, false);
}
