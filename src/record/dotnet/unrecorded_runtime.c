/* SPDX-License-Identifier: Apache-2.0 */
/* unrecorded_runtime - looks for the socket of a runtime. */
#include "record/dotnet/unrecorded_runtime.h"

#include "dotnet/dotnet_socket.h"
#include "record/session/profile_writer.h"

bool gg_unrecorded_runtime_is_in(pid_t pid)
{
	struct gg_dotnet_socket socket;

	if (pid <= 0 || gg_dotnet_socket_find(&socket, pid, NULL) < 0)
		return false;
	gg_dotnet_socket_done(&socket);
	return true;
}

bool gg_unrecorded_runtime_note(struct gg_profile_writer *writer, pid_t pid)
{
	if (!gg_unrecorded_runtime_is_in(pid))
		return false;
	gg_profile_writer_note(writer,
	                       "Process %d runs .NET, and this is malloc's memory alone. Its "
	                       "managed memory is in the profile that geiger record or geiger "
	                       "attach writes at the end.",
	                       (int)pid);
	return true;
}
