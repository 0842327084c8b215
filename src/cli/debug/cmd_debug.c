/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_debug - `geiger debug`: the family of commands that show geiger's own machinery. */
#include "cli/command.h"
#include "cli/debug/debug.h"

const struct gg_command gg_command_debug = {
	.name = "debug",
	.summary = "look inside geiger's own machinery",
	.usage = "COMMAND [OPTION]...",
	.verbs = (const struct gg_command *const[]){ &gg_command_debug_cost,
	                                             &gg_command_debug_region,
#if GG_HAS_PROFILE
	                                             &gg_command_debug_symbol,
#endif
	                                             &gg_command_debug_unwind, NULL },
};
