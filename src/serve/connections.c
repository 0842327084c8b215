/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/connections.h"

#include <sys/socket.h>

#include "base/compiler.h"

static void shut(struct gg_connection *connection)
{
	connection->is_shut = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* How many are unknown and not on their way out, and the oldest of them. */
static size_t count_unknown(struct gg_connections *connections, struct gg_connection **ret_oldest)
{
	size_t count = 0;

	*ret_oldest = NULL;
	for (size_t i = 0; i < GG_COUNT(connections->list); i++) {
		struct gg_connection *of = &connections->list[i];

		if (!of->is_open || of->is_known || of->is_shut)
			continue;
		count++;
		if (*ret_oldest == NULL || of->opened_ns < (*ret_oldest)->opened_ns)
			*ret_oldest = of;
	}
	return count;
}

struct gg_connection *gg_connections_open(struct gg_connections *connections, int fd,
                                          int64_t now_ns)
{
	struct gg_connection *oldest;

	if (count_unknown(connections, &oldest) >= GG_CONNECTIONS_UNKNOWN_MOST)
		shut(oldest);
	for (size_t i = 0; i < GG_COUNT(connections->list); i++) {
		struct gg_connection *of = &connections->list[i];

		if (of->is_open)
			continue;
		*of = (struct gg_connection){ .fd = fd, .opened_ns = now_ns, .is_open = true };
		return of;
	}
	return NULL;
}

void gg_connections_expire(struct gg_connections *connections, int64_t now_ns)
{
	const int64_t most_ns = GG_CONNECTIONS_HEAD_SECONDS * INT64_C(1000000000);

	for (size_t i = 0; i < GG_COUNT(connections->list); i++) {
		struct gg_connection *of = &connections->list[i];

		if (of->is_open && !of->is_known && !of->is_shut &&
		    now_ns - of->opened_ns > most_ns)
			shut(of);
	}
}

void gg_connection_known(struct gg_connection *connection)
{
	if (connection != NULL)
		connection->is_known = true;
}

void gg_connection_closed(struct gg_connection *connection)
{
	if (connection != NULL)
		*connection = (struct gg_connection){ 0 };
}
