/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that leaks, and the same one that does not, recorded as a user would: told apart by
 * `geiger leaks` and by `geiger diff`.  LEAKY_PROGRAM names it.
 */
#include <stdlib.h>

#include "e2e/command.h"

static const struct {
	const char *name, *leaked, *seed;
} recordings[] = {
	{ "leaky.geiger", "4", "1" },
	{ "fixed.geiger", "0", "2" },
	{ "again.geiger", "0", "3" },
};
enum { RECORDINGS = 3 };

static void record_all(void)
{
	static bool is_done;

	if (is_done)
		return;
	is_done = true;
	for (int i = 0; i < RECORDINGS; i++) {
		char line[512];
		struct child child;

		snprintf(line, sizeof(line),
		         "\"$GEIGER\" record --quiet --interval 4KiB --seed %s -o %s -- "
		         "\"$LEAKY_PROGRAM\" %s",
		         recordings[i].seed, recordings[i].name, recordings[i].leaked);
		child = command_shell(line);
		CHECK_MSG(child.exit_status == 0, "%s", gg_buf_text(&child.err));
		child_done(&child);
	}
}

/* How many stacks are of the class, by the JSON. */
static int stacks_of(const struct child *child, const char *class)
{
	char text[128];
	const char *at;
	int count = -1;

	snprintf(text, sizeof(text), "{\"class\":\"%s\",\"stacks\":", class);
	at = strstr(gg_buf_text(&child->out), text);
	if (at != NULL)
		count = atoi(at + strlen(text));
	return count;
}

TEST(a_program_that_leaks_is_told_from_one_that_does_not)
{
	for (int i = 0; i < 2; i++) {
		struct child child;
		char line[128];

		record_all();
		snprintf(line, sizeof(line), "\"$GEIGER\" leaks %s --json", recordings[i].name);
		child = command_shell(line);
		CHECK_EQ_I64(child.exit_status, 0);
		CHECK_MSG(stacks_of(&child, "growing") == (i == 0), "%s: %s", recordings[i].name,
		          gg_buf_text(&child.out));
		CHECK(stacks_of(&child, "never freed") >= 1); /* the table */
		/* The cache, of one place or two: the compiler may unroll a loop. */
		CHECK(stacks_of(&child, "level") + stacks_of(&child, "unclear") >= 1);
		child_done(&child);
	}
}

TEST(the_difference_of_two_builds_is_the_leak)
{
	struct child child;

	record_all();
	child = command_shell(
		"\"$GEIGER\" diff fixed.geiger leaky.geiger --by stack --fail-on-growth");
	CHECK_MSG(child.exit_status == 3, "%s", gg_buf_text(&child.out));
	CHECK_MSG(strstr(gg_buf_text(&child.out), "1 of ") != NULL, "%s", gg_buf_text(&child.out));
	child_done(&child);
	child = command_shell(
		"\"$GEIGER\" diff fixed.geiger again.geiger --by stack --fail-on-growth");
	CHECK_MSG(child.exit_status == 0, "%s", gg_buf_text(&child.out));
	child_done(&child);
}

TEST(a_check_lets_the_fixed_program_pass)
{
	struct child child;

	record_all();
	/* The table has 1.6 MiB, the cache 0.6, the leak 1.95. */
	child = command_shell("\"$GEIGER\" leaks leaky.geiger --fail-above 3MiB");
	CHECK_EQ_I64(child.exit_status, 3);
	child_done(&child);
	child = command_shell("\"$GEIGER\" leaks fixed.geiger --fail-above 3MiB");
	CHECK_EQ_I64(child.exit_status, 0);
	child_done(&child);
}
