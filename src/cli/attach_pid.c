/* SPDX-License-Identifier: Apache-2.0 */
/* attach_pid - checks that the operand is a pid (cli/attach_pid.h). */
#include "cli/attach_pid.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int gg_attach_pid_read(const struct gg_invocation *invocation, const char *command)
{
	const char *text;
	char advice[64];
	char *end;
	long pid;

	snprintf(advice, sizeof(advice), "Give its number: geiger %s PID.", command);
	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, command, advice,
		                    "tell which process");
	text = invocation->operands[0];
	errno = 0;
	pid = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || pid < 1 || pid > INT32_MAX)
		return gg_error_set(invocation->error, -EINVAL, command, advice,
		                    "'%s' is not a pid", text);
	return (int)pid;
}
