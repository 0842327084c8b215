/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands - the table of all commands, and the look-up of a command by its words.
 *
 * A build without SQLite or zlib has no profiles.  It keeps the commands that need no profiles:
 * lab, debug and help.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "cli/command.h"
#include "cli/suggest.h"
#include "record/regions/find_region.h"

const struct gg_command *const gg_commands[] = {
#if GG_HAS_PROFILE
	&gg_command_record,  &gg_command_attach, &gg_command_detach, &gg_command_report,
	&gg_command_tree,    &gg_command_leaks,  &gg_command_diff,   &gg_command_timeline,
	&gg_command_why,     &gg_command_sql,    &gg_command_check,  &gg_command_symbolize,
	&gg_command_salvage, &gg_command_env,    &gg_command_ls,     &gg_command_clean,
	&gg_command_control, &gg_command_export, &gg_command_import, &gg_command_merge,
	&gg_command_html,    &gg_command_serve,  &gg_command_send,   &gg_command_top,
	&gg_command_pack,    &gg_command_faults, &gg_command_fleet,
#endif
	&gg_command_lab,     &gg_command_debug,  &gg_command_help,   NULL,
};

const struct gg_option gg_common_option_table[] = {
	{ "help", 'h', GG_OPTION_FLAG, offsetof(struct gg_common_options, help), NULL,
	  "show this help and exit" },
	{ "color", 0, GG_OPTION_CHOICE, offsetof(struct gg_common_options, color),
	  "auto|always|never", "color the output (auto: on a terminal)" },
	GG_OPTIONS_END,
};

const struct gg_option gg_global_option_table[] = {
	{ "version", 0, GG_OPTION_FLAG, offsetof(struct gg_global_options, version), NULL,
	  "print the version and exit" },
	GG_OPTIONS_END,
};

const char gg_program_summary[] = "a sampling memory profiler for Linux";
const char gg_program_details[] =
	"geiger samples allocated bytes at random, and reports who allocated them and who\n"
	"still holds them, each with a confidence interval.\n"
	"\n"
	"Sizes are given as 4096, 512KiB, 1.5MiB, 2GiB or 10kB; shares as 0.95.\n";

/* Returns the last word of a command's name: "error" for "lab error". */
static const char *last_word(const struct gg_command *command)
{
	const char *blank = strrchr(command->name, ' ');

	return blank != NULL ? blank + 1 : command->name;
}

/* True if the word is a pid, or the name of a profile: people forget the command before it. */
static bool is_profile(const char *word)
{
	return gg_find_region_is_pid(word) || strcmp(gg_path_extension(word), ".geiger") == 0;
}

/* Looks a word up in a list of commands.  `family` is the command whose verbs they are, or NULL. */
static const struct gg_command *find_in(const struct gg_command *const *list, const char *word,
                                        const struct gg_command *family, struct gg_error *error)
{
	struct gg_suggestion nearest = { 0 };
	char advice[160];

	for (; *list != NULL; list++) {
		if (strcmp(last_word(*list), word) == 0)
			return *list;
		gg_suggest(&nearest, word, last_word(*list));
	}
	if (nearest.name != NULL)
		snprintf(advice, sizeof(advice), "Did you mean '%s'?", nearest.name);
	else if (family == NULL && strcmp(word, "version") == 0)
		snprintf(advice, sizeof(advice), "'geiger --version' prints it.");
	else if (family != NULL)
		snprintf(advice, sizeof(advice), "'geiger help %s' lists the commands.",
		         family->name);
	else if (is_profile(word))
		snprintf(advice, sizeof(advice), "'geiger report %.60s' shows it.", word);
	else /* the word is probably the name of a program */
		snprintf(
			advice, sizeof(advice),
			"'geiger record %.60s' would profile it; 'geiger help' lists the commands.",
			word);
	gg_error_set(error, -EINVAL, family != NULL ? family->name : NULL, advice,
	             "unknown command '%s'", word);
	return NULL;
}

const struct gg_command *gg_command_find(char *const *words, int count, int *ret_used_count,
                                         struct gg_error *error)
{
	const struct gg_command *command = find_in(gg_commands, words[0], NULL, error);
	int used_count = 1;

	/* An option after the family's name, such as --help, belongs to the family. */
	if (command != NULL && command->verbs != NULL && count > 1 && words[1][0] != '-') {
		command = find_in(command->verbs, words[1], command, error);
		used_count++;
	}
	if (command != NULL)
		*ret_used_count = used_count;
	return command;
}

int gg_command_parse(const struct gg_command *command, int argc, char **argv, void *options,
                     struct gg_common_options *common, struct gg_error *error)
{
	struct gg_option_set sets[2] = { { gg_common_option_table, common } };
	char place[GG_ERROR_PLACE_MAX];
	size_t set_count = 1;
	int operand_count;

	if (command->options != NULL) {
		if (command->option_defaults != NULL)
			memcpy(options, command->option_defaults, command->options_size);
		sets[set_count++] = (struct gg_option_set){ command->options, options };
	}
	operand_count = gg_options_parse(sets, set_count, command->option_mode, argc, argv, error);
	if (operand_count >= 0)
		return operand_count;
	/*
	 * Puts the command in front of the option: "report: --limit".  The copy is needed, because
	 * the new place goes into the same buffer.
	 */
	snprintf(place, sizeof(place), "%s", error->place);
	gg_error_set_place(error, "%s%s%s", command->name, place[0] != '\0' ? ": " : "", place);
	return operand_count;
}
