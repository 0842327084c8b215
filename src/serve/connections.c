/* SPDX-License-Identifier: Apache-2.0 */
/* connections - see connections.h. */
#include "serve/connections.h"

#include <sys/socket.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/time_units.h"

static void shut(struct gg_connection *connection)
{
	connection->is_shut = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* Counts the unknown connections that are not shut down yet, and finds the oldest. */
static size_t count_unknown(struct gg_connections *connections, struct gg_connection **ret_oldest)
{
	size_t count = 0;

	*ret_oldest = NULL;
	for (size_t i = 0; i < GG_COUNT(connections->list); i++) {
		struct gg_connection *connection = &connections->list[i];

		if (!connection->is_open || connection->is_known || connection->is_shut)
			continue;
		count++;
		if (*ret_oldest == NULL || connection->opened_ns < (*ret_oldest)->opened_ns)
			*ret_oldest = connection;
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
		struct gg_connection *connection = &connections->list[i];

		if (connection->is_open)
			continue;
		*connection = (struct gg_connection){ .fd = fd,
			                              .opened_ns = now_ns,
			                              .is_open = true };
		return connection;
	}
	return NULL;
}

void gg_connections_expire(struct gg_connections *connections, int64_t now_ns)
{
	const int64_t most_ns = GG_CONNECTIONS_HEAD_SECONDS * GG_NS_PER_S;

	for (size_t i = 0; i < GG_COUNT(connections->list); i++) {
		struct gg_connection *connection = &connections->list[i];

		if (connection->is_open && !connection->is_known && !connection->is_shut &&
		    now_ns - connection->opened_ns > most_ns)
			shut(connection);
	}
}

void gg_connection_known(struct gg_connection *connection)
{
	gg_assert(connection == NULL || connection->is_open);
	if (connection != NULL)
		connection->is_known = true;
}

void gg_connection_closed(struct gg_connection *connection)
{
	gg_assert(connection == NULL || connection->is_open);
	if (connection != NULL)
		*connection = (struct gg_connection){ 0 };
}
