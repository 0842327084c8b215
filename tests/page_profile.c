/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_profile hostile|large FILE - profiles that a page must survive: one whose names want to be markup,
 * and one of 100 000 stacks
 * (PAGE_STACKS: of so many).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "large_profile.h"
#include "made_profile.h"

static struct gg_error error;

static void must(int code)
{
	if (code < 0) {
		printf("page_profile: %s: %s\n", error.place, error.message);
		exit(1);
	}
}

/* '>' divides functions (made_profile.h), so names that need it are set by SQL, in the test. */
static void make_hostile(const char *path)
{
	struct gg_session session = {
		.command =
			"/bin/x '</script><script>alert(1)</script>' \"--x=<img src=x onerror=alert(1)>\"",
		.host = "<b>host</b>",
		.geiger = "0",
		.end_ns = 1000000000,
		.interval_bytes = 1000,
		.has_history = true,
	};
	struct made_profile made;

	made_begin(&made, path, 1000, 7);
	must(gg_profile_set_session(made.profile, &session, &error));
	made_allocate(&made,
	              made_stack(&made, "main>[/tmp/<script src=x]</script@</script:1>malloc"), 640,
	              1000, 1000000, GG_TIME_NONE);
	made_allocate(&made, made_stack(&made, "main><!--<script&lt;\"'`\xff@a.c:2>malloc"), 64,
	              1000, 2000000, 500000000);
	must(gg_profile_finish(made.profile, &error));
	gg_profile_close(made.profile);
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("PAGE_STACKS");
	uint32_t stacks = wanted != NULL ? (uint32_t)strtoul(wanted, NULL, 10) : 100000;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "hostile") == 0)
		make_hostile(argv[2]);
	else
		must(large_profile_make(argv[2], stacks, stacks, 32, &error));
	return 0;
}
