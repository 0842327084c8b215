/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - makes the completion script for bash, and the table that both shells' scripts use.
 *
 * A script consists of a generated part and a fixed part.  The generated part is the shell function
 * _geiger_table: a case for each command with its verbs, options, kinds of values, and kind of
 * operands.  The fixed part, the driver, walks along the words of the line.  It calls _geiger_table
 * for each verb that it passes, and so knows at the cursor which options and operands may follow.
 */
#include "cli/complete.h"

#include <ctype.h>
#include <string.h>

#include "cli/command.h"
#if GG_HAS_PROFILE
#include "format/export/export.h"
#endif

/*
 * The part of the script that is the same for all commands: how bash reads a command line.  It
 * follows the rules of options.h.
 */
static const char driver[] =
	"# Sets COMPREPLY to what of these words begins with $cur.\n"
	"_geiger_words()\n"
	"{\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"# Completes $cur by a kind: @files, @directories, @nothing, or words with | between.\n"
	"_geiger_kind()\n"
	"{\n"
	"\tcase $1 in\n"
	"\t@files)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\t\t;;\n"
	"\t@directories)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"\t\t;;\n"
	"\t@nothing) ;;\n"
	"\t*) _geiger_words \"${1//|/ }\" ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# Sets $kind to that of the option's value; false: it takes none.\n"
	"_geiger_value()\n"
	"{\n"
	"\tlocal value\n"
	"\tfor value in $values; do\n"
	"\t\t[[ $value == \"$1=\"* ]] || continue\n"
	"\t\tkind=${value#*=}\n"
	"\t\treturn 0\n"
	"\tdone\n"
	"\treturn 1\n"
	"}\n"
	"\n"
	"_geiger()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} command=geiger word i kind='' pending='' ended=''\n"
	"\tlocal verbs options values operands\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\t_geiger_table geiger\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $pending ]]; then\n"
	"\t\t\t[[ $word == = ]] || pending='' # --option = value: bash takes them apart\n"
	"\t\telif [[ ! $ended && $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\telif [[ ! $ended && $word == -* ]]; then\n"
	"\t\t\t! _geiger_value \"$word\" || pending=$word\n"
	"\t\telif [[ \" $verbs \" == *\" $word \"* ]]; then\n"
	"\t\t\tcommand+=\" $word\"\n"
	"\t\t\t_geiger_table \"$command\"\n"
	"\t\telif [[ $operands == @command ]]; then\n"
	"\t\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t\t_command_offset \"$i\"\n"
	"\t\t\telse\n"
	"\t\t\t\t_geiger_kind @files\n"
	"\t\t\tfi\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $cur == = && $pending ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ ! $ended && $cur == --*=* ]] && _geiger_value \"${cur%%=*}\"; then\n"
	"\t\tpending=${cur%%=*}\n"
	"\t\tcur=${cur#*=}\n"
	"\tfi\n"
	"\tif [[ $pending ]]; then\n"
	"\t\t_geiger_value \"$pending\"\n"
	"\t\t_geiger_kind \"$kind\"\n"
	"\telif [[ ! $ended && $cur == -* ]]; then\n"
	"\t\t_geiger_words \"$options\"\n"
	"\telif [[ $verbs ]]; then\n"
	"\t\t_geiger_words \"$verbs\"\n"
	"\telif [[ $operands == @command ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_geiger_kind \"$operands\"\n"
	"\tfi\n"
	"}\n"
	"complete -F _geiger geiger\n";

/*
 * Prints the alternatives of a usage: "on|off|interval|snapshot|status" for "PID on|off|interval
 * SIZE|snapshot FILE|status".  Words in capitals stand for other text, so the loop skips them.
 */
static bool print_alternatives(const char *text, FILE *stream)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz-";
	bool any = false;

	while (*text != '\0') {
		size_t length = strcspn(text, "| ");

		if (islower((unsigned char)text[0]) && strspn(text, word) == length) {
			fprintf(stream, "%s%.*s", any ? "|" : "", (int)length, text);
			any = true;
		}
		text += length + (text[length] != '\0');
	}
	return any;
}

/* True if the text contains one of the words. */
static bool has_word(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strstr(text, *words) != NULL)
			return true;
	return false;
}

static void print_formats(FILE *stream)
{
#if GG_HAS_PROFILE
	for (size_t i = 0; gg_export_formats[i] != NULL; i++)
		fprintf(stream, "%s%s", i > 0 ? "|" : "", gg_export_formats[i]->name);
#else
	fputs("@nothing", stream);
#endif
}

/* Prints the kind of an option's value, which its placeholder determines. */
static void print_kind(const char *placeholder, FILE *stream)
{
	static const char *const files[] = { "FILE", "PROFILE", "REGION", "TRACE", "BEFORE", NULL };
	static const char *const directories[] = { "DIR", NULL };

	/*
	 * The first test that matches decides: a placeholder such as "FILE|auto" offers its
	 * choices, not files.
	 */
	if (strcmp(placeholder, "FORMAT") == 0)
		print_formats(stream);
	else if (print_alternatives(placeholder, stream))
		return;
	else if (has_word(placeholder, files))
		fputs("@files", stream);
	else if (has_word(placeholder, directories))
		fputs("@directories", stream);
	else
		fputs("@nothing", stream);
}

/*
 * Prints the kind of a command's operands, which its usage determines.  The first test that matches
 * decides.
 */
static void print_operands(const struct gg_command *command, FILE *stream)
{
	static const char *const others[] = { "COMMAND [ARGUMENT]", NULL };
	static const char *const files[] = { "FILE", "PROFILE", "REGION", "BEFORE", NULL };
	static const char *const directories[] = { "DIRECTORY", NULL };

	if (command == NULL || command->max_operands == 0)
		fputs("@nothing", stream);
	else if (has_word(command->usage, others))
		fputs("@command", stream);
	else if (strchr(command->usage, '|') != NULL && print_alternatives(command->usage, stream))
		return;
	else if (has_word(command->usage, files))
		fputs("@files", stream);
	else if (has_word(command->usage, directories))
		fputs("@directories", stream);
	else
		fputs("@nothing", stream);
}

static void print_text(const char *dashes, const char *name, size_t name_length, const char *help,
                       FILE *stream)
{
	(void)help;
	fprintf(stream, " %s%.*s", dashes, (int)name_length, name);
}

static void print_options(const struct gg_option *options, const struct gg_complete_shell *shell,
                          FILE *stream)
{
	struct gg_option_walk walk;

	gg_option_walk_begin(&walk, options);
	for (; walk.option != NULL; gg_option_walk_next(&walk)) {
		const struct gg_option *o = walk.option;

		shell->print("--", o->name, strlen(o->name), o->help, stream);
		if (o->letter != 0)
			shell->print("-", &o->letter, 1, o->help, stream);
	}
}

static void print_value(const char *dashes, const char *name, size_t name_length,
                        const char *placeholder, const struct gg_complete_shell *shell,
                        FILE *stream)
{
	fprintf(stream, "%s%s%.*s%s", shell->value_begin, dashes, (int)name_length, name,
	        shell->value_middle);
	print_kind(placeholder, stream);
	fputs(shell->value_end, stream);
}

static void print_values(const struct gg_option *options, const struct gg_complete_shell *shell,
                         FILE *stream)
{
	struct gg_option_walk walk;

	gg_option_walk_begin(&walk, options);
	for (; walk.option != NULL; gg_option_walk_next(&walk)) {
		const struct gg_option *o = walk.option;

		if (o->placeholder == NULL)
			continue;
		print_value("--", o->name, strlen(o->name), o->placeholder, shell, stream);
		if (o->letter != 0)
			print_value("-", &o->letter, 1, o->placeholder, shell, stream);
	}
}

static void print_verbs(const struct gg_command *const *list, const struct gg_complete_shell *shell,
                        FILE *stream)
{
	for (; list != NULL && *list != NULL; list++) {
		const char *blank = strrchr((*list)->name, ' ');
		const char *name = blank != NULL ? blank + 1 : (*list)->name;

		shell->print("", name, strlen(name), (*list)->summary, stream);
	}
}

/*
 * Prints a case of the table.  `own` are the options of this command, beside those of every
 * command.
 */
static void print_case(const char *name, const struct gg_command *const *verbs,
                       const struct gg_option *own, const struct gg_command *command,
                       const struct gg_complete_shell *shell, FILE *stream)
{
	const char *begin = shell->list_begin, *end = shell->list_end;

	fprintf(stream, "\t%s'geiger%s%s')\n\t\tverbs=%s", shell->case_begin,
	        name[0] != '\0' ? " " : "", name, begin);
	print_verbs(verbs, shell, stream);
	fprintf(stream, "%s\n\t\toptions=%s", end, begin);
	print_options(own, shell, stream);
	print_options(gg_common_option_table, shell, stream);
	fprintf(stream, "%s\n\t\tvalues=%s", end, begin);
	print_values(own, shell, stream);
	print_values(gg_common_option_table, shell, stream);
	fprintf(stream, "%s\n\t\toperands='", end);
	print_operands(command, stream);
	fputs("'\n\t\t;;\n", stream);
}

static void print_cases(const struct gg_command *const *list, const struct gg_complete_shell *shell,
                        FILE *stream)
{
	for (; *list != NULL; list++) {
		/* The operands of `help` are the commands and their verbs. */
		bool is_help = *list == &gg_command_help;

		print_case((*list)->name, is_help ? gg_commands : (*list)->verbs, (*list)->options,
		           *list, shell, stream);
		if ((*list)->verbs == NULL)
			continue;
		print_cases((*list)->verbs, shell, stream);
		fprintf(stream, "\t%s'geiger help %s') verbs=%s", shell->case_begin, (*list)->name,
		        shell->list_begin);
		print_verbs((*list)->verbs, shell, stream);
		fprintf(stream, "%s ;;\n", shell->list_end);
	}
}

void gg_complete_print_table(const struct gg_complete_shell *shell, FILE *stream)
{
	fputs("_geiger_table()\n{\n\tcase $1 in\n", stream);
	print_case("", gg_commands, gg_global_option_table, NULL, shell, stream);
	print_cases(gg_commands, shell, stream);
	fprintf(stream, "\t%s*) verbs=%s%s ;; # of 'help': there is no more to say\n\tesac\n}\n\n",
	        shell->case_begin, shell->list_begin, shell->list_end);
}

void gg_complete_print_bash(FILE *stream)
{
	static const struct gg_complete_shell bash = {
		.print = print_text,
		.case_begin = "",
		.list_begin = "'",
		.list_end = "'",
		.value_begin = " ",
		.value_middle = "=",
		.value_end = "",
	};

	fputs("# bash completion for geiger " GG_VERSION
	      ", made by 'geiger help --completion bash'.\n"
	      "\n"
	      "# Sets what may follow a command: verbs, options, kinds of their values, operands.\n",
	      stream);
	gg_complete_print_table(&bash, stream);
	fputs(driver, stream);
}
