/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete_zsh - makes the completion script for zsh.
 *
 * The script serves in two ways: as a file named _geiger in a folder of $fpath, where zsh loads it
 * at the first completion, and by `source`.  Its last lines find out which of the two it is.
 */
#include "cli/complete.h"

/*
 * The part of the script that is the same for all commands: how zsh reads a command line.  It
 * follows the rules of options.h.
 */
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

/*
 * Prints an item 'NAME:HELP' of an array for _describe.  A single quote would end the quoted word
 * of zsh, so it becomes '\''.
 */
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

void gg_complete_print_zsh(FILE *stream)
{
	static const struct gg_complete_shell zsh = {
		.print = print_described,
		.case_begin = "(",
		.list_begin = "(",
		.list_end = ")",
		.value_begin = "\n\t\t\t",
		.value_middle = " '",
		.value_end = "'",
	};

	fputs("#compdef geiger\n"
	      "# zsh completion for geiger " GG_VERSION
	      ", made by 'geiger help --completion zsh'.\n"
	      "\n"
	      "# Sets what may follow a command: verbs and options with their help, kinds of values and "
	      "operands.\n",
	      stream);
	gg_complete_print_table(&zsh, stream);
	fputs(driver, stream);
}
