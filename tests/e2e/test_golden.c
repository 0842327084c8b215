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

#include "e2e/command.h"

/* NAME in tests/golden, and the arguments behind "geiger COMMAND PROFILE". */
static const struct golden {
	const char *name, *command, *arguments;
} goldens[] = {
	{ "report.txt", "report", "" },
	{ "report-ascii-stacks.txt", "report", "--by stack --limit 3 --ascii" },
	{ "report-allocated-total.txt", "report", "--metric allocated --total --limit 5" },
	{ "report-window.txt", "report", "--metric allocated --between 0.1 300ms --by line" },
	{ "report-inexact.txt", "report", "--at 230ms --limit 3" },
	{ "report-moment.txt", "report", "--at 450ms --focus '^serve$' --unit count" },
	{ "report-temporary.txt", "report", "--metric temporary --by module" },
	{ "report-freed-bytes.txt", "report", "--metric freed --by size --bytes" },
	{ "report-process.txt", "report", "--by process" },
	{ "report-thread.txt", "report", "--by thread --process 4712 --confidence 0.8" },
	{ "report.json", "report", "--json" },
	{ "report-peak-stacks.json", "report", "--metric peak --by stack --json --limit 2" },
	{ "report-kind.json", "report", "--by kind --unit count --json" },
	{ "tree.txt", "tree", "" },
	{ "tree-inverted.txt", "tree", "--inverted --metric allocated --ascii" },
	{ "tree.json", "tree", "--json --fold 0" },
	{ "leaks.txt", "leaks", "" },
	{ "leaks-ascii.txt", "leaks", "--ascii --limit 2 --bytes --fail-above 1GiB" },
	{ "leaks.json", "leaks", "--json --fail-above 1GiB" },
	{ "timeline.txt", "timeline", "--height 10" },
	{ "timeline-ascii.txt", "timeline", "--ascii --width 50 --height 12 --process 4711" },
	{ "timeline.json", "timeline", "--json --ascii --width 20" },
	{ "diff-same.txt", "diff", "made.geiger" },
	{ "diff.txt", "diff", "made.geiger --normalize 0.5" },
	{ "diff-stacks.txt", "diff", "made.geiger --normalize 0.9 --by stack --all --ascii" },
	{ "diff.json", "diff", "made.geiger --normalize 0.5 --unit count --json" },
};

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

static void compare(const struct golden *golden)
{
	struct child child;
	char script[1024], path[1024], *wanted;
	const char *difference;

	snprintf(script, sizeof(script), "\"$GEIGER\" %s made.geiger %s", golden->command,
	         golden->arguments);
	run(script, &child);
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

	run("\"$GOLDEN_PROFILE\" made.geiger", &child);
	child_done(&child);
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		compare(&goldens[i]);
}
