/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man - prints manual pages from the tables of commands and options, in the format of scdoc(5).
 *
 * The help and the manual page have the same source, so they cannot disagree.  Text of the tables
 * is plain, so all of scdoc's marks in it are escaped.  The exception are tables and examples,
 * which go into literal blocks.
 */
#include "cli/man.h"
#include "cli/command.h"

#include <stdbool.h>
#include <string.h>

/* Prints text and escapes the characters that are marks of scdoc. */
static void print_text(const char *text, size_t length, FILE *stream)
{
	for (size_t i = 0; i < length; i++) {
		bool is_mark = strchr("*_\\#`<>~", text[i]) != NULL;

		/*
		 * At the start of a line these characters would begin a list or a table. scdoc
		 * itself escapes requests of roff, but not if a backslash marks them, so other
		 * characters stay unmarked.
		 */
		if (i == 0 && strchr("-|[]", text[i]) != NULL)
			is_mark = true;
		if (is_mark)
			fputc('\\', stream);
		fputc(text[i], stream);
	}
}

static void print_string(const char *text, FILE *stream)
{
	print_text(text, strlen(text), stream);
}

/* Prints the name of a page, such as "geiger-lab-error". */
static void print_page_name(const struct gg_command *command, FILE *stream)
{
	fputs("geiger", stream);
	if (command == NULL)
		return;
	fputc('-', stream);
	for (const char *c = command->name; *c != '\0'; c++)
		fputc(*c == ' ' ? '-' : *c, stream);
}

/* True if a line is indented or has columns: it must keep its blanks. */
static bool is_literal(const char *line, size_t length)
{
	return line[0] == ' ' || memmem(line, length, "   ", 3) != NULL;
}

/* Prints paragraphs.  Lines that are indented or have columns go into literal blocks, unchanged. */
static void print_details(const char *text, FILE *stream)
{
	bool literal = false;

	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		bool is_kept = is_literal(text, length);

		if (length > 0 && is_kept != literal) {
			fputs("```\n", stream);
			literal = is_kept;
		}
		if (literal)
			fwrite(text, 1, length, stream);
		else
			print_text(text, length, stream);
		fputc('\n', stream);
		text += length + (text[length] == '\n');
	}
	fputs(literal ? "```\n\n" : "\n", stream);
}

static void print_option(const struct gg_option *option, FILE *stream)
{
	if (option->letter != 0)
		fprintf(stream, "*-%c*, ", option->letter);
	fprintf(stream, "*--%s*", option->name);
	if (option->placeholder != NULL) {
		fputs(" _", stream);
		print_string(option->placeholder, stream);
		fputc('_', stream);
	}
	fputs("\n\t", stream);
	print_string(option->help, stream);
	fputs("\n\n", stream);
}

static void print_options(const struct gg_option *options, FILE *stream)
{
	struct gg_option_walk walk;

	gg_option_walk_begin(&walk, options);
	for (; walk.option != NULL; gg_option_walk_next(&walk))
		print_option(walk.option, stream);
}

static void print_commands(const struct gg_command *const *list, FILE *stream)
{
	fputs("# COMMANDS\n\n", stream);
	for (; *list != NULL; list++) {
		fputc('*', stream);
		print_page_name(*list, stream);
		fputs("*(1)\n\t", stream);
		print_string((*list)->summary, stream);
		fputs("\n\n", stream);
	}
}

void gg_man_print(const struct gg_command *command, FILE *stream)
{
	print_page_name(command, stream);
	fputs("(1) \"geiger " GG_VERSION "\" \"geiger\"\n\n# NAME\n\n", stream);
	print_page_name(command, stream);
	fputs(" - ", stream);
	print_string(command != NULL ? command->summary : gg_program_summary, stream);
	fputs("\n\n# SYNOPSIS\n\n*geiger", stream);
	if (command != NULL) {
		fprintf(stream, " %s* ", command->name);
		print_string(command->usage, stream);
	} else {
		fputs("* " GG_PROGRAM_USAGE, stream);
	}
	fputs("\n\n", stream);
	if (command == NULL || command->details != NULL) {
		fputs("# DESCRIPTION\n\n", stream);
		print_details(command != NULL ? command->details : gg_program_details, stream);
	}
	if (command == NULL)
		print_commands(gg_commands, stream);
	else if (command->verbs != NULL)
		print_commands(command->verbs, stream);
	fputs("# OPTIONS\n\n", stream);
	if (command != NULL)
		print_options(command->options, stream);
	print_options(gg_common_option_table, stream);
	if (command == NULL)
		print_options(gg_global_option_table, stream);
}

static void print_names(const struct gg_command *const *list, FILE *stream)
{
	for (; *list != NULL; list++) {
		print_page_name(*list, stream);
		fputc('\n', stream);
		if ((*list)->verbs != NULL)
			print_names((*list)->verbs, stream);
	}
}

void gg_man_print_list(FILE *stream)
{
	fputs("geiger\n", stream);
	print_names(gg_commands, stream);
}
