/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_salvage - `geiger salvage`: makes a profile of regions that no recorder has read.
 *
 * A region has the live samples and the sums of the freed ones, but no history.  So the profile
 * shows the state at one moment: now, or at the end of a dead process.  The events of .NET's
 * runtimes, which a killed recorder leaves in its session's directories, are samples in it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "record/regions/region_profile.h"

struct salvage_options {
	const char *output;
	bool quiet;
};

static const struct gg_option salvage_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct salvage_options, output), "FILE",
	  "the profile (default: salvaged.geiger)" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct salvage_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static const struct salvage_options defaults = { .output = "salvaged.geiger" };

static int run_salvage(struct gg_invocation *invocation)
{
	const struct salvage_options *given = invocation->options;
	struct gg_progress_line line;
	struct gg_salvage salvage;
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "salvage",
		                    "'geiger ls' lists the regions of this machine.",
		                    "no region given");
	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	status = gg_region_profile_salvage(invocation->operands, invocation->operand_count,
	                                   given->output, &line.progress, &salvage,
	                                   invocation->error);
	gg_progress_line_end(&line);
	if (status == 0 && !given->quiet && salvage.why[0] != '\0') {
		fprintf(stderr, "geiger: wrote %s: nothing was sampled in %u region%s: %s\n",
		        GG_PRINTABLE(given->output), salvage.region_count,
		        salvage.region_count == 1 ? "" : "s", GG_PRINTABLE(salvage.why));
	} else if (status == 0 && !given->quiet) {
		fprintf(stderr,
		        "geiger: wrote %s: %" PRIu64 " live sample%s of %u region%s, and what was "
		        "freed as sums\n",
		        GG_PRINTABLE(given->output), salvage.sample_count,
		        salvage.sample_count == 1 ? "" : "s", salvage.region_count,
		        salvage.region_count == 1 ? "" : "s");
		if (salvage.runtime_count > 0)
			fprintf(stderr, "geiger: and %" PRIu64 " sample%s of %u .NET runtime%s\n",
			        salvage.managed_sample_count,
			        salvage.managed_sample_count == 1 ? "" : "s", salvage.runtime_count,
			        salvage.runtime_count == 1 ? "" : "s");
	}
	if (status == 0 && !given->quiet && salvage.repeated_count > 0)
		fprintf(stderr,
		        "geiger: %u file%s left out: another one has the same process, as late or "
		        "later\n",
		        salvage.repeated_count, salvage.repeated_count == 1 ? " was" : "s were");
	return status == -EINVAL ? -EBADMSG
	                         : status; /* the error is in a file, not in the request */
}

const struct gg_command gg_command_salvage = {
	.name = "salvage",
	.summary = "make a profile of regions whose programs nobody recorded",
	.usage = "[OPTION]... REGION|DIRECTORY...",
	.details = "For programs that ran with the agent alone ('geiger env'), and for sessions\n"
		   "whose recorder died. Regions that are given together become one profile, in\n"
		   "which a process counts once, by the latest of its files.\n"
		   "They have no history: what is live stands in it sample by sample, what was\n"
		   "freed as sums by stack. Of a session's directory, what .NET's runtimes had\n"
		   "sent is read as well, with the history that it has, and what PyPy's garbage\n"
		   "collector reported. The regions stay where they are; 'geiger clean' removes\n"
		   "those of dead processes.\n",
	.options = salvage_option_table,
	.options_size = sizeof(struct salvage_options),
	.option_defaults = &defaults,
	.max_operands = -1,
	.run = run_salvage,
	.variables = GG_READS_PROFILE | GG_READS_DIRECTORIES,
};
