/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man - prints manual pages from the tables of commands and options, in the format of scdoc(5).
 *
 * The help and the manual page have the same source, so they cannot disagree.  Text of the tables
 * is plain, so all of scdoc's marks in it are escaped.  The exception are tables and examples,
 * which go into literal blocks.
 */
#include "cli/man.h"
#include "base/compiler.h"
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

static bool has_option(const struct gg_command *command, const char *name)
{
	struct gg_option_walk walk;

	gg_option_walk_begin(&walk, command->options);
	for (; walk.option != NULL; gg_option_walk_next(&walk))
		if (strcmp(walk.option->name, name) == 0)
			return true;
	return false;
}

/* Defines the words of reports, for commands that choose a metric or print figures. */
static void print_terms(const struct gg_command *command, FILE *stream)
{
	static const struct {
		const char *word, *meaning;
	} terms[] = {
		{ "live", "allocated and not freed, at the end or at a moment" },
		{ "left", "never freed: what each process held when it ended" },
		{ "peak", "live at the moment when most was live" },
		{ "allocated", "all that was ever allocated, freed or not" },
		{ "freed", "all that was freed" },
		{ "temporary",
		  "freed within a short time, 1 ms unless --temporary says otherwise" },
		{ "pinned",
		  "free memory that live blocks keep resident, because it is on their pages" },
		{ "self",
		  "memory that a function allocated itself, or through wrappers of malloc" },
		{ "total", "self, and the memory that its callees allocated" },
	};

	enum { FIGURES = GG_READS_WIDTH | GG_READS_PROFILE };

	if (command == NULL ||
	    (!has_option(command, "metric") && (command->variables & FIGURES) != FIGURES))
		return;
	fputs("# TERMS\n\n", stream);
	for (size_t i = 0; i < GG_COUNT(terms); i++) {
		fprintf(stream, "*%s*\n\t", terms[i].word);
		print_string(terms[i].meaning, stream);
		fputs("\n\n", stream);
	}
}

static void print_exit_statuses(const struct gg_command *command, FILE *stream)
{
	static const struct gg_status_meaning usual[] = {
		{ "0", "success" },
		{ "1", "failure; standard error says why, and what to do" },
		{ "2", "the request was wrong: an unknown command or option, or a bad value" },
		{ NULL, NULL },
	};
	const struct gg_status_meaning *of = usual;

	if (command != NULL && command->exit_statuses != NULL)
		of = command->exit_statuses;
	fputs("# EXIT STATUS\n\n", stream);
	for (; of->status != NULL; of++) {
		fprintf(stream, "*%s*\n\t", of->status);
		print_string(of->meaning, stream);
		fputs("\n\n", stream);
	}
	if (command == NULL)
		fputs("The pages of commands with other exit statuses list them.\n\n", stream);
}

/* Lists the variables that the program reads for a command, or for any command (NULL). */
static void print_environment(const struct gg_command *command, FILE *stream)
{
	enum { EVERY = 1 << 8, PAGER = 1 << 9 };
	static const struct {
		unsigned int variables;
		const char *name, *meaning;
	} all[] = {
		{ EVERY, "NO_COLOR",
		  "If set and not empty, no colors unless --color asks for them." },
		{ EVERY, "TERM", "The value dumb means no colors." },
		{ GG_READS_WIDTH, "COLUMNS",
		  "The width of lines.  Without it: that of the terminal, or 80." },
		{ PAGER, "GEIGER_PAGER, PAGER",
		  "The program that shows output longer than the screen: the first that is set, "
		  "or less.  Empty or cat: none." },
		{ GG_READS_PROFILE, "DEBUGINFOD_URLS",
		  "Servers of debug symbols, as of debuginfod.  Empty: no server." },
		{ GG_READS_PROFILE, "XDG_CACHE_HOME, HOME",
		  "Symbols that were read are cached below the first, or in .cache of the second." },
		{ GG_READS_PROFILE, "GEIGER_PROGRESS_MS",
		  "On a terminal, work that takes longer than this shows its progress (1000)." },
		{ GG_READS_DIRECTORIES, "GEIGER_DIR", "A directory with regions." },
		{ GG_READS_DIRECTORIES, "TMPDIR",
		  "A directory for regions if /dev/shm has no space; /tmp comes after it." },
		{ GG_READS_AGENT, "GEIGER_AGENT", "The path of the agent's library." },
		{ GG_READS_AGENT, "GEIGER_RING",
		  "The number of events that the ring of each process holds." },
		{ GG_READS_AGENT, "GEIGER_...",
		  "Other settings of the agent: geiger-agent(7).  Options come first." },
		{ GG_READS_FLEET, "GEIGER_FLEET_STORE",
		  "The store without --store: an address, or the directory of geiger fleet up." },
		{ GG_SENDS, "OTEL_EXPORTER_OTLP_ENDPOINT",
		  "The receiver without --to: a URL to which the path of profiles is added.  "
		  "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT is a whole URL." },
		{ GG_SENDS, "OTEL_EXPORTER_OTLP_HEADERS",
		  "Headers of each request, KEY=VALUE,KEY=VALUE, with %XX for other characters." },
		{ GG_SENDS, "OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES",
		  "The service's name; attributes of the resource, KEY=VALUE,KEY=VALUE." },
		{ GG_SENDS,
		  "OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_COMPRESSION, "
		  "OTEL_EXPORTER_OTLP_CERTIFICATE",
		  "Milliseconds for a request; gzip or none; a file of authorities.  These and the "
		  "headers have twins with PROFILES_ behind OTLP_, which come first." },
		{ GG_SENDS, "STATE_DIRECTORY, XDG_STATE_HOME",
		  "Where what waits is kept without --state." },
		{ GG_READS_AGENT, "PATH", "Directories in which commands are searched." },
		{ GG_READS_AGENT, "LD_PRELOAD", "Libraries in it are loaded after the agent." },
	};
	unsigned int wanted = EVERY;

	if (command == NULL)
		wanted = ~0U;
	else
		wanted |= command->variables | (has_option(command, "no-pager") ? PAGER : 0);
	fputs("# ENVIRONMENT\n\n", stream);
	for (size_t i = 0; i < GG_COUNT(all); i++) {
		if ((all[i].variables & wanted) == 0)
			continue;
		fputc('*', stream);
		print_string(all[i].name, stream);
		fputs("*\n\t", stream);
		print_string(all[i].meaning, stream);
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
	print_terms(command, stream);
	print_exit_statuses(command, stream);
	print_environment(command, stream);
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
