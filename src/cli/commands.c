/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/suggest.h"

const struct gg_command *const gg_commands[] = {
	&gg_command_help,
	NULL,
};

const struct gg_option gg_common_option_table[] = {
	{ "help", 'h', GG_OPTION_FLAG, offsetof(struct gg_common_options, help), NULL,
	  "show this help and exit" },
	{ "color", 0, GG_OPTION_CHOICE, offsetof(struct gg_common_options, color),
	  "auto|always|never", "colour the output (auto: on a terminal)" },
	GG_OPTIONS_END,
};

const struct gg_command *gg_command_find(const char *name, struct gg_error *error)
{
	struct gg_suggestion nearest = { 0 };
	char advice[128];

	for (size_t i = 0; gg_commands[i] != NULL; i++) {
		if (strcmp(gg_commands[i]->name, name) == 0)
			return gg_commands[i];
		gg_suggest(&nearest, name, gg_commands[i]->name);
	}
	if (nearest.name != NULL)
		snprintf(advice, sizeof(advice), "Did you mean '%s'?", nearest.name);
	else
		snprintf(advice, sizeof(advice), "'geiger help' lists the commands.");
	gg_error_set(error, -EINVAL, NULL, advice, "unknown command '%s'", name);
	return NULL;
}
