/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_check - `geiger check`: finds out whether a profile is complete and free of contradictions.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/command.h"
#include "profile/profile.h"

struct check_options {
	bool quiet, json;
};

/* The problems of a run are printed as text, or collected as JSON. */
struct check_output {
	const struct check_options *options;
	struct gg_buf text;
	struct gg_json json;
};

static const struct gg_option check_option_table[] = {
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct check_options, json), NULL, "print JSON" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct check_options, quiet), NULL,
	  "print nothing; the exit status tells" },
	GG_OPTIONS_END,
};

/* The file may have put line feeds into the text; GG_PRINTABLE() keeps it on one line. */
static void print_problem(const char *problem, void *context)
{
	struct check_output *output = context;

	if (output->options->json)
		gg_json_text(&output->json, NULL, problem);
	else if (!output->options->quiet)
		puts(GG_PRINTABLE(problem));
}

/*
 * gg_profile_check() returns the number of problems, or a negative errno value if it could not
 * check.
 */
static int run_check(struct gg_invocation *invocation)
{
	const struct check_options *options = invocation->options;
	struct check_output output = { .options = options };
	struct gg_profile *profile;
	int count;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "check",
		                    "Name one: geiger check FILE.", "no profile was given");
	count = gg_profile_open(&profile, invocation->operands[0], invocation->error);
	if (count < 0)
		return count;
	output.json.out = &output.text;
	gg_json_open(&output.json, NULL, '{');
	gg_json_integer(&output.json, "version", 1);
	gg_json_open(&output.json, "problems", '[');
	count = gg_profile_check(profile, print_problem, &output, invocation->error);
	gg_profile_close(profile);
	gg_json_close(&output.json);
	gg_json_bool(&output.json, "is_whole", count == 0);
	gg_json_close(&output.json);
	if (count >= 0 && options->json && !options->quiet)
		puts(gg_buf_text(&output.text));
	else if (count == 0 && !options->quiet)
		puts("whole: no contradiction found");
	gg_buf_done(&output.text);
	if (count < 0)
		return count;
	/* Problems are an answer (exit status 1), not an error of the command. */
	return count > 0;
}

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "there is no problem" },
	{ "1", "there is a problem, or the file is no profile" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_check = {
	.name = "check",
	.summary = "find out whether a profile is whole",
	.usage = "[OPTION]... FILE",
	.details =
		"Looks for damage of the file, ids without a row, times and stacks out of\n"
		"order, samples that contradict their scheme, and processes whose totals\n"
		"(allocated minus freed) differ from their live samples.  Prints one line for\n"
		"each kind of problem, with the first row that has it.  Exits with 1 if there is\n"
		"one.\n",
	.options = check_option_table,
	.options_size = sizeof(struct check_options),
	.max_operands = 1,
	.run = run_check,
	.variables = GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
