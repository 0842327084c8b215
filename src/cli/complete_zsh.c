/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/complete.h"

#include <string.h>

/* What the tables cannot say: how a line is read.  The same rules as in options.h. */
static const char driver[] =
	"# Completes by a kind: @files, @directories, @nothing, or words with | between.\n"
	"_geiger_kind()\n"
	"{\n"
	"\tcase $1 in\n"
	"\t(@files) _files ;;\n"
	"\t(@directories) _files -/ ;;\n"
	"\t(@nothing) return 1 ;;\n"
	"\t(*) compadd -- ${(s:|:)1} ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_geiger()\n"
	"{\n"
	"\tlocal command=geiger word pending ended operands kind\n"
	"\tlocal -a verbs options\n"
	"\tlocal -A values\n"
	"\tinteger i\n"
	"\n"
	"\t_geiger_table geiger\n"
	"\tfor ((i = 2; i < CURRENT; i++)); do\n"
	"\t\tword=$words[i]\n"
	"\t\tif [[ -n $pending ]]; then\n"
	"\t\t\tpending=\n"
	"\t\telif [[ -z $ended && $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\telif [[ -z $ended && $word == -* ]]; then\n"
	"\t\t\t((! $+values[$word])) || pending=$word\n"
	"\t\telif [[ -n ${verbs[(r)${(b)word}:*]} ]]; then\n"
	"\t\t\tcommand+=\" $word\"\n"
	"\t\t\t_geiger_table $command\n"
	"\t\telif [[ $operands == @command ]]; then\n"
	"\t\t\tshift $((i - 1)) words\n"
	"\t\t\t((CURRENT -= i - 1))\n"
	"\t\t\t_normal\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ -n $pending ]]; then\n"
	"\t\t_geiger_kind $values[$pending]\n"
	"\telif [[ -z $ended && $PREFIX == --*=* ]] && (($+values[${PREFIX%%=*}])); then\n"
	"\t\tkind=$values[${PREFIX%%=*}]\n"
	"\t\tcompset -P 1 '*='\n"
	"\t\t_geiger_kind $kind\n"
	"\telif [[ -z $ended && $PREFIX == -* ]]; then\n"
	"\t\t_describe -o option options\n"
	"\telif (($#verbs)); then\n"
	"\t\t_describe command verbs\n"
	"\telif [[ $operands == @command ]]; then\n"
	"\t\t_command_names -e\n"
	"\telse\n"
	"\t\t_geiger_kind $operands\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# As a file of $fpath it is the function; `source` defines it.\n"
	"if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
	"\t_geiger \"$@\"\n"
	"else\n"
	"\tcompdef _geiger geiger\n"
	"fi\n";

/* 'NAME:HELP' of an array for _describe; zsh ends a quoted word at a single quote. */
static void print_described(const char *dashes, const char *name, size_t name_length,
                            const char *help, FILE *stream)
{
	fprintf(stream, "\n\t\t\t'%s%.*s:", dashes, (int)name_length, name);
	for (; *help != '\0'; help++)
		if (*help == '\'')
			fputs("'\\''", stream);
		else
			fputc(*help, stream);
	fputs("'", stream);
}

static void print_options(const struct gg_option *options, FILE *stream)
{
	for (const struct gg_option *o = options; o != NULL && o->name != NULL; o++) {
		print_described("--", o->name, strlen(o->name), o->help, stream);
		if (o->letter != 0)
			print_described("-", &o->letter, 1, o->help, stream);
	}
}

static void print_values(const struct gg_option *options, FILE *stream)
{
	for (const struct gg_option *o = options; o != NULL && o->name != NULL; o++) {
		if (o->placeholder == NULL)
			continue;
		fprintf(stream, "\n\t\t\t--%s '", o->name);
		gg_complete_print_kind(o->placeholder, stream);
		fputs("'", stream);
		if (o->letter == 0)
			continue;
		fprintf(stream, "\n\t\t\t-%c '", o->letter);
		gg_complete_print_kind(o->placeholder, stream);
		fputs("'", stream);
	}
}

static void print_verbs(const struct gg_command *const *list, FILE *stream)
{
	for (; list != NULL && *list != NULL; list++) {
		const char *blank = strrchr((*list)->name, ' ');
		const char *name = blank != NULL ? blank + 1 : (*list)->name;

		print_described("", name, strlen(name), (*list)->summary, stream);
	}
}

/* A case of the table; `own` are its options beside those that all have. */
static void print_case(const char *name, const struct gg_command *const *verbs,
                       const struct gg_option *own, const struct gg_command *command, FILE *stream)
{
	fprintf(stream, "\t('geiger%s%s')\n\t\tverbs=(", name[0] != '\0' ? " " : "", name);
	print_verbs(verbs, stream);
	fputs(")\n\t\toptions=(", stream);
	print_options(own, stream);
	print_options(gg_common_option_table, stream);
	fputs(")\n\t\tvalues=(", stream);
	print_values(own, stream);
	print_values(gg_common_option_table, stream);
	fputs(")\n\t\toperands='", stream);
	gg_complete_print_operands(command, stream);
	fputs("'\n\t\t;;\n", stream);
}

static void print_cases(const struct gg_command *const *list, FILE *stream)
{
	for (; *list != NULL; list++) {
		/* What help explains are the commands themselves, and their verbs. */
		bool is_help = *list == &gg_command_help;

		print_case((*list)->name, is_help ? gg_commands : (*list)->verbs, (*list)->options,
		           *list, stream);
		if ((*list)->verbs == NULL)
			continue;
		print_cases((*list)->verbs, stream);
		fprintf(stream, "\t('geiger help %s') verbs=(", (*list)->name);
		print_verbs((*list)->verbs, stream);
		fputs(") ;;\n", stream);
	}
}

void gg_complete_print_zsh(FILE *stream)
{
	fputs("#compdef geiger\n"
	      "# zsh completion for geiger " GG_VERSION
	      ", made by 'geiger help --completion zsh'.\n"
	      "\n"
	      "# Sets what may follow a command: verbs and options with their help, kinds of values and "
	      "operands.\n"
	      "_geiger_table()\n"
	      "{\n"
	      "\tcase $1 in\n",
	      stream);
	print_case("", gg_commands, gg_global_option_table, NULL, stream);
	print_cases(gg_commands, stream);
	fputs("\t(*) verbs=() ;; # of 'help': there is no more to say\n\tesac\n}\n\n", stream);
	fputs(driver, stream);
}
