/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger debug region` shows a region that this program makes, and refuses other files. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "region.h"
#include "scratch.h"
#include "test.h"

static struct gg_region region;

static bool run(struct child *child, const char *path, const char *option)
{
	const char *argv[] = { getenv("GEIGER"), "debug", "region", path, option, NULL };

	return CHECK(argv[0] != NULL) && CHECK(child_run(child, argv, NULL, 60));
}

TEST(a_region_is_shown_as_text)
{
	struct gg_region_options options;
	struct gg_region_thread thread;
	struct gg_region_file map;
	struct child child;
	uint64_t pcs[] = { 0xabc, 0xdef };

	region_small_options(&options);
	options.command = "prog\0\x1b[31m";
	options.command_bytes = 11;
	if (!CHECK_EQ_I64(gg_region_file_create(&map, scratch_folder(), "region",
	                                        gg_region_options_file_bytes(&options)),
	                  0) ||
	    !CHECK_EQ_I64(gg_region_init(&region, &map, &options), 0))
		return;
	gg_region_thread_begin(&region, &thread, 4242, "worker", 0);
	struct gg_allocation sample = region_sample(0x1230, 100000,
	                                            gg_region_intern(&region, &thread, pcs, 2));
	gg_region_record_alloc(&region, &thread, &sample);
	if (run(&child, map.path, "--samples")) {
		const char *out = gg_buf_text(&child.out);

		CHECK_EQ_I64(child.exit_status, 0);
		CHECK_CONTAINS(out, "4242  runs   worker");
		CHECK_CONTAINS(out, "sample       1 at 0x1230, 100000 of 100008 bytes");
		CHECK_CONTAINS(out, "poisson 65536, offset 0, marks 1");
		CHECK_CONTAINS(out, " 0xabc 0xdef\n");
		CHECK(strstr(out, "prog \\x1b[31m") != NULL && strchr(out, 0x1b) == NULL);
		CHECK_CONTAINS(out, "consistent   allocated minus freed is live");
		if (test_failed)
			printf("%s%s", out, gg_buf_text(&child.err));
	}
	child_done(&child);
	if (run(&child, map.path, "--stacks")) {
		CHECK_EQ_I64(child.exit_status, 0);
		CHECK(strstr(gg_buf_text(&child.out), "allocated        1     97.7 KiB") != NULL ||
		      strstr(gg_buf_text(&child.out), "97.66 KiB") != NULL);
	}
	child_done(&child);
	gg_region_done(&region, true);
}

TEST(what_is_no_region_is_refused_with_its_name)
{
	struct child child;

	if (run(&child, "/dev/null", NULL)) {
		CHECK_EQ_I64(child.exit_status, 1);
		CHECK_CONTAINS(gg_buf_text(&child.err), "/dev/null: is not a file");
	}
	child_done(&child);
	if (run(&child, NULL, NULL))
		CHECK_EQ_I64(child.exit_status, 2);
	child_done(&child);
}
