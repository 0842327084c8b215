/* SPDX-License-Identifier: Apache-2.0 */
/* attach_pid - reads the operand of `geiger attach` and `geiger detach`. */
#pragma once

#include "cli/command.h"

/* Returns the pid that the only operand of `command` is, or -EINVAL with the error filled. */
int gg_attach_pid_read(const struct gg_invocation *invocation, const char *command);
