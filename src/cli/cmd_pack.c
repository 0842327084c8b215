/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_pack - `geiger pack`: makes the file of a profile smaller, or an ordinary SQLite file again.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/printable.h"
#include "base/scratch.h"
#include "cli/command.h"
#include "profile/packed.h"

struct pack_options {
	const char *output;
	bool undo;
};

static const struct gg_option pack_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct pack_options, output), "FILE",
	  "write it there (default: in place)" },
	{ "undo", 0, GG_OPTION_FLAG, offsetof(struct pack_options, undo), NULL,
	  "make an ordinary profile of a packed one" },
	GG_OPTIONS_END,
};

static int run_pack(struct gg_invocation *invocation)
{
	const struct pack_options *given = invocation->options;
	const char *path = invocation->operands[0];
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "pack",
		                    "Name one: geiger pack FILE.", "no profile was given");
	gg_scratch_remove_at_signals();
	status = given->undo ? gg_profile_unpack(path, given->output, invocation->error)
	                     : gg_profile_pack(path, given->output, invocation->error);
	if (status > 0)
		fprintf(stderr, "geiger: %s is %s already\n", GG_PRINTABLE(path),
		        given->undo ? "an ordinary profile" : "packed");
	return status < 0 ? status : 0;
}

const struct gg_command gg_command_pack = {
	.name = "pack",
	.summary = "make the file of a profile smaller, or an ordinary one again",
	.usage = "[OPTION]... FILE",
	.details =
		"Packs the tables of a complete profile, to a fifth to a tenth of their size.\n"
		"All commands read packed profiles, 'geiger sql' too.  Other programs that read\n"
		"SQLite files find no tables in them; for these, --undo makes an ordinary\n"
		"profile.  Profiles of 'geiger record --exact' are packed from the beginning.\n",
	.options = pack_option_table,
	.options_size = sizeof(struct pack_options),
	.option_mode = GG_OPTIONS_ANYWHERE,
	.max_operands = 1,
	.run = run_pack,
	.variables = GG_READS_PROFILE,
};
