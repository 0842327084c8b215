/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_send_post - shows how a request shares its time among addresses, and what its end means.
 *
 * The test has getaddrinfo() and poll() of its own, which http_post calls instead of the library's.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/time_units.h"
#include "send/http_post.h"
#include "test.h"

static struct {
	struct sockaddr_in addresses[2];
	struct addrinfo list[2];
	int count;
	int least_timeout_ms, most_timeout_ms; /* of poll() */
} world;

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
	(void)host;
	(void)service;
	(void)hints;
	for (int i = 0; i < world.count; i++)
		world.list[i] = (struct addrinfo){
			.ai_family = AF_INET,
			.ai_socktype = SOCK_STREAM,
			.ai_addr = (struct sockaddr *)&world.addresses[i],
			.ai_addrlen = sizeof(world.addresses[i]),
			.ai_next = i + 1 < world.count ? &world.list[i + 1] : NULL
		};
	*list = world.list;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (timeout_ms < world.least_timeout_ms)
		world.least_timeout_ms = timeout_ms;
	if (timeout_ms > world.most_timeout_ms)
		world.most_timeout_ms = timeout_ms;
	return ppoll(fds, count, timeout_ms >= 0 ? &timeout : NULL, NULL);
}

static int listen_at(struct sockaddr_in *ret_address, int backlog)
{
	socklen_t size = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET,
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)ret_address, size) == 0);
	REQUIRE(listen(fd, backlog) == 0);
	REQUIRE(getsockname(fd, (struct sockaddr *)ret_address, &size) == 0);
	return fd;
}

/* Serves one request with status 200. */
static pid_t serve(int listener)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	char bytes[4096];
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	fd = accept(listener, NULL, NULL);
	if (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0 &&
	    write(fd, reply, sizeof(reply) - 1) > 0)
		shutdown(fd, SHUT_WR);
	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		continue;
	_exit(0);
}

static struct gg_http_kept *kept; /* by post_it() */
static struct gg_http_reply received;

static enum gg_http_result post_it(double timeout_seconds)
{
	const struct gg_http_post post = { .host = "receiver",
		                           .port = "1",
		                           .target = "/",
		                           .type = "text",
		                           .headers = "",
		                           .body = "body",
		                           .length = 4,
		                           .timeout_seconds = timeout_seconds,
		                           .kept = kept };
	char why[GG_HTTP_WHY_MAX];

	world.least_timeout_ms = world.most_timeout_ms = 0;
	return gg_http_post(&post, &received, why);
}

/*
 * Serves by a plan with a letter for each request: 'k' replies and keeps the connection, 'c' closes
 * it after its reply without a word, 'm' closes it without a reply, 'n' replies without a length
 * and closes if the request demands that.  The exit status is the number of connections.
 */
static pid_t serve_by_plan(int listener, const char *plan)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	static const char endless[] = "HTTP/1.1 200 OK\r\n\r\ntext";
	pid_t pid = fork();
	int fd = -1, count = 0;

	if (pid != 0)
		return pid;
	alarm(20);
	for (; *plan != '\0'; plan++) {
		char bytes[4096] = "";
		size_t length = 0;

		while (length < 4 || memcmp(bytes + length - 4, "body", 4) != 0) {
			ssize_t got = -1;

			if (fd < 0) {
				fd = accept(listener, NULL, NULL);
				count++;
				length = 0;
			}
			got = read(fd, bytes + length, sizeof(bytes) - length);
			if (got <= 0) {
				close(fd);
				fd = -1;
				length = 0;
			} else {
				length += (size_t)got;
			}
		}
		if (*plan != 'm' && write(fd, *plan == 'n' ? endless : reply,
		                          strlen(*plan == 'n' ? endless : reply)) < 0)
			_exit(99);
		if (*plan == 'n' ? strstr(bytes, "Connection: close") != NULL : *plan != 'k') {
			close(fd);
			fd = -1;
		}
	}
	_exit(count);
}

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(requests_share_a_connection_that_its_server_keeps)
{
	struct gg_http_kept mine = GG_HTTP_KEPT_NONE;
	int server = listen_at(&world.addresses[0], 5);
	pid_t pid = serve_by_plan(server, "kkkk");

	world.count = 1;
	kept = &mine;
	for (int i = 0; i < 3; i++)
		CHECK(post_it(5) == GG_HTTP_REPLIED);
	mine.used_ns -= 2 * GG_NS_PER_S; /* too long ago: a new connection */
	CHECK(post_it(5) == GG_HTTP_REPLIED);
	kept = NULL;
	gg_http_kept_close(&mine);
	CHECK(status_of(pid) == 2);
	close(server);
}

TEST(a_connection_that_has_ended_serves_no_request)
{
	struct gg_http_kept mine = GG_HTTP_KEPT_NONE;
	int server = listen_at(&world.addresses[0], 5);
	pid_t pid = serve_by_plan(server, "cck");

	world.count = 1;
	kept = &mine;
	for (int i = 0; i < 3; i++) {
		struct pollfd end = { .fd = mine.fd, .events = POLLIN };

		if (mine.fd >= 0) /* the end of the connection comes shortly after the reply */
			REQUIRE(poll(&end, 1, 10000) == 1);
		CHECK(post_it(5) == GG_HTTP_REPLIED);
	}
	kept = NULL;
	gg_http_kept_close(&mine);
	CHECK(status_of(pid) == 3);
	close(server);
}

TEST(a_server_that_breaks_its_promise_is_trusted_no_more)
{
	struct gg_http_kept mine = GG_HTTP_KEPT_NONE;
	int server = listen_at(&world.addresses[0], 5);
	pid_t pid = serve_by_plan(server, "kmkk");

	world.count = 1;
	kept = &mine;
	CHECK(post_it(5) == GG_HTTP_REPLIED);
	CHECK(post_it(5) == GG_HTTP_NO_REPLY); /* it may have the body, so it is in doubt */
	CHECK(mine.is_off);
	CHECK(post_it(5) == GG_HTTP_REPLIED);
	CHECK(post_it(5) == GG_HTTP_REPLIED);
	CHECK(mine.fd < 0);
	kept = NULL;
	gg_http_kept_close(&mine);
	CHECK(status_of(pid) == 3);
	close(server);
}

/* The server gives up before the deadline of a minute. */
TEST(a_reply_without_a_length_ends_soon)
{
	struct gg_http_kept mine = GG_HTTP_KEPT_NONE;
	int server = listen_at(&world.addresses[0], 5);
	pid_t pid = serve_by_plan(server, "nnnn");

	world.count = 1;
	kept = &mine;
	for (int i = 0; i < 4; i++) {
		CHECK(post_it(60) == GG_HTTP_REPLIED);
		CHECK(mine.is_off && mine.fd < 0);
		CHECK(strcmp(received.body, "text") == 0);
	}
	kept = NULL;
	gg_http_kept_close(&mine);
	CHECK(status_of(pid) == 4);
	close(server);
}

TEST(an_address_that_never_answers_leaves_time_for_the_next)
{
	int silent = listen_at(&world.addresses[0], 0), server = listen_at(&world.addresses[1], 5);
	int fillers[4];
	pid_t pid;

	/* A queue of connections that is full lets further ones wait. */
	for (size_t i = 0; i < GG_COUNT(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		REQUIRE(fillers[i] >= 0);
		(void)!connect(fillers[i], (struct sockaddr *)&world.addresses[0],
		               sizeof(world.addresses[0]));
	}
	world.count = 2;
	pid = serve(server);
	CHECK(post_it(2) == GG_HTTP_REPLIED);
	CHECK(world.most_timeout_ms >= 900); /* the first address really was silent */
	for (size_t i = 0; i < GG_COUNT(fillers); i++)
		close(fillers[i]);
	close(silent);
	close(server);
	waitpid(pid, NULL, 0);
}

TEST(a_long_timeout_is_no_endless_one)
{
	static const double timeouts[] = { 30 * 86400.0, 1e30 };

	world.count = 1;
	for (size_t i = 0; i < GG_COUNT(timeouts); i++) {
		int server = listen_at(&world.addresses[0], 5);
		pid_t pid = serve(server);

		CHECK(post_it(timeouts[i]) == GG_HTTP_REPLIED);
		CHECK(world.least_timeout_ms >= 0 && world.most_timeout_ms > 0);
		close(server);
		waitpid(pid, NULL, 0);
	}
}

TEST(a_body_that_was_not_read_was_not_accepted)
{
	CHECK(gg_http_post_result(200, true) == GG_HTTP_REPLIED);
	CHECK(gg_http_post_result(200, false) == GG_HTTP_NO_REPLY);
	CHECK(gg_http_post_result(413, false) == GG_HTTP_REPLIED);
	CHECK(gg_http_post_result(0, true) == GG_HTTP_NO_REPLY);
	CHECK(gg_http_post_result(0, false) == GG_HTTP_NOT_SENT);
}
