/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a made profile are what they were.  After a change that is meant, write them anew and
 * look at the difference:
 *
 *   GG_GOLDEN_WRITE=1 meson test -C build/release golden && git diff tests/golden
 *
 * Texts must be equal; numbers in JSON may differ by 1e-9 of themselves, which another libm may do.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "e2e/command.h"

/*
 * NAME in tests/golden, and the arguments behind "geiger COMMAND PROFILE". The profile of names
 * that begin with "attached-" is that of a process to which the agent was attached. `columns` is
 * the width of a terminal; 0: a pipe, with COLUMNS; -1: a pipe without.
 */
static const struct golden {
	const char *name, *command, *arguments;
	int columns;
} goldens[] = {
	{ "report.txt", "report", "", 0 },
	{ "report-ascii-stacks.txt", "report", "--by stack --limit 3 --ascii", 0 },
	{ "report-allocated-total.txt", "report", "--metric allocated --total --limit 5", 0 },
	{ "report-window.txt", "report", "--metric allocated --between 0.1 300ms --by line", 0 },
	{ "report-inexact.txt", "report", "--at 230ms --limit 3", 0 },
	{ "report-moment.txt", "report", "--at 450ms --focus '^serve$' --unit count", 0 },
	{ "report-temporary.txt", "report", "--metric temporary --by module", 0 },
	{ "report-freed-bytes.txt", "report", "--metric freed --by size --bytes", 0 },
	{ "report-process.txt", "report", "--by process", 0 },
	{ "report-thread.txt", "report", "--by thread --process 4712 --confidence 0.8", 0 },
	{ "report.json", "report", "--json", 0 },
	{ "report-peak-stacks.json", "report", "--metric peak --by stack --json --limit 2", 0 },
	{ "report-kind.json", "report", "--by kind --unit count --json", 0 },
	{ "tree.txt", "tree", "", 0 },
	{ "tree-inverted.txt", "tree", "--inverted --metric allocated --ascii", 0 },
	{ "tree.json", "tree", "--json --fold 0", 0 },
	{ "leaks.txt", "leaks", "", 0 },
	{ "leaks-ascii.txt", "leaks", "--ascii --limit 2 --bytes --fail-above 1GiB", 0 },
	{ "leaks.json", "leaks", "--json --fail-above 1GiB", 0 },
	{ "timeline.txt", "timeline", "--height 10", 0 },
	{ "timeline-ascii.txt", "timeline", "--ascii --width 50 --height 12 --process 4711", 0 },
	{ "timeline.json", "timeline", "--json --ascii --width 20", 0 },
	{ "why.txt", "why", "", 0 },
	{ "why.json", "why", "--json", 0 },
	{ "screen-80-why.txt", "why", "", 80 },
	{ "screen-64-why.txt", "why", "", 64 },
	{ "screen-120-why.txt", "why", "", 120 },
	{ "screen-80-report-look.txt", "report", "--head --process 4711 --limit 1", 80 },
	{ "screen-80-report-pinned.txt", "report", "--metric pinned --limit 4", 80 },
	{ "pipe-report-pinned.txt", "report", "--metric pinned --limit 4", -1 },
	{ "report-pinned.json", "report", "--metric pinned --limit 2 --json", 0 },
	{ "pipe-why.txt", "why", "--bytes --no-head", -1 },
	{ "diff-same.txt", "diff", "made.geiger", 0 },
	{ "diff.txt", "diff", "made.geiger --normalize 0.5", 0 },
	{ "diff-stacks.txt", "diff", "made.geiger --normalize 0.9 --by stack --all --ascii", 0 },
	{ "diff.json", "diff", "made.geiger --normalize 0.5 --unit count --json", 0 },
	{ "screen-80-first.txt", "report", "", 80 },
	{ "screen-120-first.txt", "report", "", 120 },
	{ "screen-80-first-line.txt", "report", "--by line", 80 },
	{ "screen-120-first-diff.txt", "diff", "made.geiger --normalize 0.5", 120 },
	{ "screen-80-tree.txt", "tree", "", 80 },
	{ "screen-120-tree.txt", "tree", "", 120 },
	{ "screen-80-tree-all.txt", "tree", "--all-frames", 80 },
	{ "pipe-tree.txt", "tree", "", -1 },
	{ "screen-80-report.txt", "report", "--all-frames", 80 },
	{ "screen-120-report.txt", "report", "--all-frames", 120 },
	{ "pipe-report.txt", "report", "--all-frames", -1 },
	{ "screen-80-report-line.txt", "report", "--by line --all-frames", 80 },
	{ "screen-120-report-line.txt", "report", "--by line --all-frames", 120 },
	{ "pipe-report-line.txt", "report", "--by line --all-frames", -1 },
	{ "screen-80-report-stack.txt", "report", "--by stack --all-frames", 80 },
	{ "screen-120-report-stack.txt", "report", "--by stack --all-frames", 120 },
	{ "pipe-report-stack.txt", "report", "--by stack --all-frames", -1 },
	{ "screen-80-report-process.txt", "report", "--by process", 80 },
	{ "screen-120-report-process.txt", "report", "--by process", 120 },
	{ "pipe-report-process.txt", "report", "--by process", -1 },
	{ "screen-80-diff.txt", "diff", "made.geiger --normalize 0.5 --all-frames", 80 },
	{ "screen-120-diff.txt", "diff", "made.geiger --normalize 0.5 --all-frames", 120 },
	{ "pipe-diff.txt", "diff", "made.geiger --normalize 0.5 --all-frames", -1 },
	{ "screen-80-leaks.txt", "leaks", "--all-frames", 80 },
	{ "screen-120-leaks.txt", "leaks", "--all-frames", 120 },
	{ "pipe-leaks.txt", "leaks", "--all-frames", -1 },
	{ "screen-80-timeline.txt", "timeline", "--height 6", 80 },
	{ "screen-120-timeline.txt", "timeline", "--height 6", 120 },
	{ "pipe-timeline.txt", "timeline", "--height 6", -1 },
	{ "screen-80-report-no-head.txt", "report", "--no-head --limit 3", 80 },
	{ "screen-80-leaks-no-head.txt", "leaks", "--no-head --limit 1", 80 },
	{ "screen-80-diff-head.txt", "diff", "made.geiger --normalize 0.5 --head", 80 },
	{ "screen-80-diff-stacks.txt", "diff", "made.geiger --normalize 0.5 --by stack", 80 },
	{ "screen-80-report-limit.txt", "report", "--limit 2 -m allocated", 80 },
	{ "attached-report.txt", "report", "--limit 3", 0 },
	{ "attached-report-process.txt", "report", "--head --process 4712 --limit 1", 0 },
	{ "attached-tree.txt", "tree", "--head", 0 },
	{ "attached-leaks.txt", "leaks", "", 0 },
	{ "attached-leaks.json", "leaks", "--json", 0 },
	{ "attached-why.txt", "why", "", 0 },
	{ "attached-why.json", "why", "--json", 0 },
};

/* The profile of which the report is. */
static const char *profile_of(const struct golden *golden)
{
	bool is_attached = strncmp(golden->name, "attached-", strlen("attached-")) == 0;

	return is_attached ? "attached.geiger" : "made.geiger";
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (CHECK_MSG(file != NULL, "cannot write %s", path)) {
		fputs(text, file);
		CHECK_EQ_I64(fclose(file), 0);
	}
}

static bool starts_number(const char *text)
{
	return isdigit((unsigned char)text[0]) ||
	       (text[0] == '-' && isdigit((unsigned char)text[1]));
}

/* The first difference; NULL if the texts are equal. */
static const char *find_difference(const char *text, const char *wanted, bool is_json)
{
	while (*text != '\0' || *wanted != '\0') {
		if (is_json && starts_number(text) && starts_number(wanted)) {
			char *end, *wanted_end;
			double value = strtod(text, &end);
			double other = strtod(wanted, &wanted_end);

			if (!(fabs(value - other) <= 1e-9 * fabs(other)))
				return text;
			text = end;
			wanted = wanted_end;
		} else if (*text++ != *wanted++) {
			return text - 1;
		}
	}
	return NULL;
}

static void run(const char *script, struct child *child)
{
	*child = command_shell(script);
	CHECK_MSG(child->exit_status == 0 && child->err.length == 0, "%s: status %d: %s", script,
	          child->exit_status, gg_buf_text(&child->err));
}

/* script(1) makes the terminal. */
static void make_script(const struct golden *golden, char *script, size_t size)
{
	char command[512];

	snprintf(command, sizeof(command), "\\\"$GEIGER\\\" %s %s %s", golden->command,
	         profile_of(golden), golden->arguments);
	if (golden->columns > 0)
		snprintf(script, size,
		         "NO_COLOR=1 script -qec \"stty cols %d; %s --no-pager\" /dev/null",
		         golden->columns, command);
	else
		snprintf(script, size, "%s\"$GEIGER\" %s %s %s",
		         golden->columns < 0 ? "unset COLUMNS; " : "", golden->command,
		         profile_of(golden), golden->arguments);
}

/* A terminal ends lines with a carriage return as well. */
static void remove_returns(struct gg_buf *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < text->length; i++)
		if (text->data[i] != '\r')
			text->data[kept++] = text->data[i];
	if (text->data != NULL)
		text->data[kept] = '\0';
	text->length = kept;
}

/* No line is wider than the terminal, and none ends with blanks. */
static void check_width(const struct golden *golden, const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, "\n"), cells = 0;

		for (size_t i = 0; i < length; i++)
			cells += ((unsigned char)text[i] & 0xc0) != 0x80;
		CHECK_MSG(cells <= (size_t)golden->columns &&
		                  (length == 0 || text[length - 1] != ' '),
		          "%s: '%.*s'", golden->name, (int)length, text);
		text += length + (text[length] != '\0');
	}
}

static void compare(const struct golden *golden)
{
	struct child child;
	char script[1024], path[1024], *wanted;
	const char *difference;

	make_script(golden, script, sizeof(script));
	run(script, &child);
	if (golden->columns > 0) {
		remove_returns(&child.out);
		check_width(golden, gg_buf_text(&child.out));
	}
	snprintf(path, sizeof(path), "%s/%s", getenv("GOLDEN_DIR"), golden->name);
	if (!test_failed && getenv("GG_GOLDEN_WRITE") != NULL)
		write_file(path, gg_buf_text(&child.out));
	wanted = scratch_read(path);
	if (CHECK_MSG(wanted != NULL, "no file %s", path)) {
		difference = find_difference(gg_buf_text(&child.out), wanted,
		                             strstr(golden->name, ".json") != NULL);
		CHECK_MSG(difference == NULL, "%s differs from: %.200s", golden->name, difference);
	}
	free(wanted);
	child_done(&child);
}

TEST(reports_of_a_made_profile_are_what_they_were)
{
	struct child child;

	run("\"$GOLDEN_PROFILE\" made.geiger && \"$GOLDEN_PROFILE\" attached.geiger attached",
	    &child);
	child_done(&child);
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		compare(&goldens[i]);
}
