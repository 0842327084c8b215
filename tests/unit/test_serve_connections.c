/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve_connections - shows which connections the server closes to make room. */
#include "serve/connections.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

/* Both ends of a connection: the server's and the client's. */
struct pair {
	int ours, theirs;
	struct gg_connection *connection;
};

static struct pair connect_at(struct gg_connections *connections, int64_t now_ns)
{
	struct pair pair;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		abort();
	pair = (struct pair){ fds[0], fds[1], NULL };
	pair.connection = gg_connections_open(connections, pair.ours, now_ns);
	return pair;
}

static bool is_shut(const struct pair *pair)
{
	char byte;

	return recv(pair->theirs, &byte, 1, MSG_DONTWAIT) == 0;
}

static void disconnect(struct pair *pair)
{
	gg_connection_closed(pair->connection);
	close(pair->ours);
	close(pair->theirs);
}

TEST(a_connection_without_the_token_has_ten_seconds)
{
	struct gg_connections connections = { 0 };
	struct pair slow = connect_at(&connections, 0), known = connect_at(&connections, 0);

	gg_connection_known(known.connection);
	gg_connections_expire(&connections, 10 * SECOND);
	CHECK(!is_shut(&slow) && !is_shut(&known));
	gg_connections_expire(&connections, 10 * SECOND + 1);
	CHECK(is_shut(&slow) && !is_shut(&known));
	gg_connections_expire(&connections, 1000 * SECOND);
	CHECK(!is_shut(&known));
	disconnect(&slow);
	disconnect(&known);
}

TEST(the_oldest_without_the_token_goes_when_there_are_too_many)
{
	struct gg_connections connections = { 0 };
	struct pair known = connect_at(&connections, 0), pairs[2 * GG_CONNECTIONS_UNKNOWN_MOST];

	gg_connection_known(known.connection);
	for (int i = 0; i < 2 * GG_CONNECTIONS_UNKNOWN_MOST; i++)
		pairs[i] = connect_at(&connections, SECOND + i);
	CHECK(!is_shut(&known));
	for (int i = 0; i < 2 * GG_CONNECTIONS_UNKNOWN_MOST; i++)
		CHECK_MSG(is_shut(&pairs[i]) == (i < GG_CONNECTIONS_UNKNOWN_MOST), "%d", i);
	for (int i = 0; i < 2 * GG_CONNECTIONS_UNKNOWN_MOST; i++)
		disconnect(&pairs[i]);
	disconnect(&known);
}

TEST(a_place_that_was_left_is_taken_again)
{
	struct gg_connections connections = { 0 };

	for (int i = 0; i < 1000; i++) {
		struct pair pair = connect_at(&connections, i);

		CHECK(pair.connection != NULL && !is_shut(&pair));
		disconnect(&pair);
	}
	gg_connection_known(NULL);
	gg_connection_closed(NULL);
}
