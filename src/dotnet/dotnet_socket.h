/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_socket - finds and asks the socket at which a .NET runtime takes commands.
 *
 *   struct gg_dotnet_socket socket;
 *   struct gg_dotnet_ipc_info info;
 *
 *   gg_dotnet_socket_find(&socket, pid, error);         -ENOENT: no runtime of .NET is there
 *   gg_dotnet_socket_info(&socket, &info, error);
 *   connection = gg_dotnet_socket_send(&socket, &message, error);
 *   gg_dotnet_socket_done(&socket);
 *
 * The runtime makes the socket in its TMPDIR, or else in /tmp, as it sees them itself: in a
 * container below another root directory, and with the pid of its own pid namespace.
 *
 * Waits    at most GG_DOTNET_IPC_WAIT_MS for an answer, as a runtime that is stopped gives none.
 * Threads  one owner.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "dotnet/dotnet_ipc.h"

enum { GG_DOTNET_IPC_WAIT_MS = 10000 };

struct gg_dotnet_socket {
	pid_t pid;
	int directory; /* descriptor; -1: closed */
	char name[128];
};

GG_MUST_CHECK int gg_dotnet_socket_find(struct gg_dotnet_socket *ret_socket, pid_t pid,
                                        struct gg_error *error);
void gg_dotnet_socket_done(struct gg_dotnet_socket *socket);

/* Connects without waiting.  Returns the descriptor of the connection, or -Exxx. */
GG_MUST_CHECK int gg_dotnet_socket_connect(const struct gg_dotnet_socket *socket,
                                           struct gg_error *error);

/* Connects and sends a message.  Returns the descriptor of the connection, or -Exxx. */
GG_MUST_CHECK int gg_dotnet_socket_send(const struct gg_dotnet_socket *socket,
                                        const struct gg_buf *message, struct gg_error *error);

/* Asks the runtime about itself.  Call gg_dotnet_ipc_info_done() after success. */
GG_MUST_CHECK int gg_dotnet_socket_info(const struct gg_dotnet_socket *socket,
                                        struct gg_dotnet_ipc_info *ret_info,
                                        struct gg_error *error);
