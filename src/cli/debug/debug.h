/* SPDX-License-Identifier: Apache-2.0 */
/* debug - the verbs of `geiger debug`, each in a file of its own; cmd_debug.c lists them. */
#pragma once

#include "cli/command.h"

extern const struct gg_command gg_command_debug_cost;
extern const struct gg_command gg_command_debug_region;
extern const struct gg_command gg_command_debug_symbol;
extern const struct gg_command gg_command_debug_unwind;
