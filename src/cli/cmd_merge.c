/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_merge - `geiger merge`: adds up profiles of many processes or machines.
 *
 * Only one profile is open at a time.  The merge itself holds sums by stack and set of labels.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/scratch.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "format/merge/merge.h"
#include "region/layout.h"

struct merge_options {
	const char *output;
	struct gg_option_pairs labels;
	bool hosts, quiet;
};

static const struct gg_option merge_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct merge_options, output), "FILE",
	  "the profile (default: merged.geiger)" },
	{ "label", 'l', GG_OPTION_PAIRS, offsetof(struct merge_options, labels), "KEY=VALUE",
	  "a label for all of them, over their own; repeatable" },
	{ "hosts", 0, GG_OPTION_FLAG, offsetof(struct merge_options, hosts), NULL,
	  "make a label 'host' of where each was recorded" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct merge_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static const struct merge_options defaults = { .output = "merged.geiger" };

/*
 * Imports the file of another tool into a profile in memory, because the merge adds up only
 * profiles.
 */
static int import_in_memory(struct gg_profile **ret_profile, struct gg_input *input,
                            const struct gg_progress *progress, struct gg_error *error)
{
	const struct gg_import_options options = { .progress = progress };
	struct gg_import_result result;
	struct gg_profile *profile;
	int status = gg_profile_create(&profile, NULL, error);

	if (status < 0)
		return status;
	status = gg_import(profile, input, &options, &result, error);
	if (status == 0)
		status = gg_import_session(profile, &result, 1, error);
	if (status < 0) {
		gg_profile_close(profile);
		return status == -EINVAL ? -EBADMSG : status;
	}
	*ret_profile = profile;
	return 0;
}

/*
 * True for a profile or a region of geiger, which the merge opens in place.  Standard input has no
 * path, so open_any() imports it.
 */
static bool is_ours(struct gg_input *input)
{
	size_t length;
	const uint8_t *head = gg_input_head(input, &length);

	return (length >= 16 && memcmp(head, "SQLite format 3", 16) == 0) ||
	       (length >= 8 && memcmp(head, &(uint64_t){ GG_REGION_MAGIC }, 8) == 0);
}

/* Opens a profile or a region in place, and imports any other file. */
static int open_any(struct gg_profile **ret_profile, const char *path,
                    const struct gg_progress *progress, struct gg_error *error)
{
	struct gg_input *input;
	int status = gg_input_open(&input, path, error);

	if (status < 0)
		return status;
	if (is_ours(input) && strcmp(path, "-") != 0) {
		gg_input_close(input);
		return gg_cli_open_profile(ret_profile, path, progress, error);
	}
	status = import_in_memory(ret_profile, input, progress, error);
	gg_input_close(input);
	return status;
}

static int merge_all(struct gg_merge *merge, const struct gg_invocation *invocation,
                     const struct gg_progress *progress)
{
	int status = 0;

	for (int i = 0; i < invocation->operand_count && status == 0; i++) {
		struct gg_profile *profile;

		gg_progress_report(progress, (uint64_t)i, (uint64_t)invocation->operand_count,
		                   "merging profiles");
		status = open_any(&profile, invocation->operands[i], progress, invocation->error);
		if (status < 0)
			break;
		status = gg_merge_add(merge, profile, invocation->error);
		gg_profile_close(profile);
	}
	return status == 0 ? gg_merge_finish(merge, invocation->error) : status;
}

static int run_merge(struct gg_invocation *invocation)
{
	const struct merge_options *given = invocation->options;
	struct gg_import_label labels[GG_OPTION_PAIRS_MAX];
	struct gg_merge_options options = { labels, given->labels.count, given->hosts };
	struct gg_progress_line line;
	struct gg_profile *out;
	struct gg_merge *merge = NULL;
	int status = 0;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "merge",
		                    "Name some: geiger merge A B -o FILE.", "no profile was given");
	for (size_t i = 0; i < given->labels.count; i++)
		labels[i] = (struct gg_import_label){ given->labels.pairs[i].key,
			                              given->labels.pairs[i].value };
	/* A second `merge *.geiger` would add the sum of the first run to its own parts. */
	for (int i = 0; i < invocation->operand_count && status == 0; i++)
		status = gg_cli_check_output("merge", invocation->operands[i], given->output,
		                             invocation->error);
	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	gg_scratch_remove_at_signals();
	if (status == 0)
		status = gg_profile_create_whole(&out, given->output, invocation->error);
	if (status < 0)
		return status;
	status = gg_merge_new(&merge, out, &options, invocation->error);
	if (status == 0)
		status = merge_all(merge, invocation, &line.progress);
	gg_merge_free(merge);
	if (status == 0) {
		gg_profile_report_progress(out, &line.progress);
		status = gg_profile_finish(out, invocation->error);
	}
	gg_profile_close(out);
	gg_progress_line_end(&line);
	if (status == 0 && !given->quiet)
		fprintf(stderr, "geiger: wrote %s: the sum of %d profile%s\n",
		        GG_PRINTABLE(given->output), invocation->operand_count,
		        invocation->operand_count == 1 ? "" : "s");
	return status == -EINVAL ? -EBADMSG
	                         : status; /* the error is in a file, not in the request */
}

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "the profiles were merged" },
	{ "1", "a profile is wrong, and nothing was written" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_merge = {
	.name = "merge",
	.summary = "add up profiles of many processes or machines",
	.usage = "[OPTION]... PROFILE...",
	.details =
		"Each sample is scaled by its own probability before anything is added up, so\n"
		"profiles may have different sampling intervals. Stacks are matched by build-id\n"
		"and address, or by the names of their functions. What is kept is what each stack\n"
		"holds at the end and what it allocated, for each set of labels; times and\n"
		"threads are not, apart from what garbage collectors reported. Labels are those\n"
		"of the profiles (geiger import --label), and 'geiger report --by-label KEY'\n"
		"groups by them. Files of other tools are taken as they are.\n",
	.options = merge_option_table,
	.options_size = sizeof(struct merge_options),
	.option_defaults = &defaults,
	.max_operands = -1,
	.run = run_merge,
	.variables = GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
