/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_server - starts a ClickHouse server for one machine, and stops it again.
 *
 *   struct gg_store_server server;
 *
 *   gg_store_server_start("/var/lib/geiger", &plan, &server, error);
 *   ... http://127.0.0.1:PORT, user "default", server.password ...
 *   gg_store_server_stop("/var/lib/geiger", &was_running, error);
 *
 * The server is the system's package.  Its configuration, data and logs are below the directory, it
 * listens on loopback alone, needs no root, and keeps no logs of its own in tables.  The directory
 * belongs to one user: the password in it protects the data from other users of the machine.
 *
 * The file DIR/server has pid, start time, port and password.  A pid counts only together with the
 * start time of its process, so a pid that another process has now is not mistaken for a server.
 *
 * Threads  one owner; two commands at once are kept apart by a lock on DIR/lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"

enum { GG_STORE_PASSWORD_MAX = 33 };

struct gg_store_plan {
	uint16_t port;         /* 0: a free one, or that of the last start */
	uint64_t memory_bytes; /* of all queries together */
	double wait_seconds;   /* for the server's first answer */
};

struct gg_store_server {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat */
	uint16_t port;
	char password[GG_STORE_PASSWORD_MAX];
	bool is_running;  /* that very process exists */
	bool was_running; /* gg_store_server_start() found it running, and started none */
};

/*
 * Starts the server, unless it runs already, and waits for its first answer.  -ENOENT: there is no
 * clickhouse-server; -ETIMEDOUT: no answer; -EIO: it ended, and the message has its last words.
 */
GG_MUST_CHECK int gg_store_server_start(const char *directory, const struct gg_store_plan *plan,
                                        struct gg_store_server *ret_server, struct gg_error *error);

/* Stops it and waits for its end.  *ret_was_running is false if no server ran. */
GG_MUST_CHECK int gg_store_server_stop(const char *directory, bool *ret_was_running,
                                       struct gg_error *error);

/* Reads DIR/server.  -ENOENT: no server was started there, or it was stopped. */
GG_MUST_CHECK int gg_store_server_read(const char *directory, struct gg_store_server *ret_server,
                                       struct gg_error *error);

/*
 * Makes a client from an address http://..., from the directory of a server, or from chdb:DIR for
 * an engine in this process.  -ENOTCONN: the server of that directory does not run.
 */
GG_MUST_CHECK int gg_store_open(struct gg_clickhouse *store, const char *place,
                                struct gg_error *error);
