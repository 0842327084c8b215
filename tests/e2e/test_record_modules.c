/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and names of modules that lie in memory in other ways than most. */
#include <stdlib.h>

#include "recording.h"
#include "test.h"

static double count(struct recording *r, const char *query)
{
	return recording_number(r, query);
}

TEST(a_program_with_holes_between_its_segments_has_whole_stacks_and_names)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(
		&r, (const char *const[]){ "-i", "1", "--", getenv("RECORD_HOLED_PROGRAM"), NULL },
		60));
	CHECK_EQ_I64(r.child.exit_status, 3);
	CHECK(count(&r, "select sum(value) from counter where name = 'walks: complete'") >= 21);
	CHECK_EQ_DOUBLE(count(&r, "select count(*) from counter where name like 'walks: %' and "
	                          "name <> 'walks: complete'"),
	                0);
	/* One module, all of it. */
	CHECK_EQ_DOUBLE(count(&r, "select count(*) from module where path like '%holed_program'"),
	                1);
	CHECK_EQ_DOUBLE(count(&r,
	                      "select count(*) from module where path like '%holed_program' and "
	                      "length(build_id) = 20"),
	                1);
	CHECK_EQ_DOUBLE(
		count(&r, "select live_bytes from v_function where function = 'far_allocate'"),
		11 * 1000 + 10 * 2000);
	CHECK_EQ_DOUBLE(count(&r, "select self_live_bytes from v_function where function = "
	                          "'other_allocate'"),
	                10 * 2000);
	recording_end(&r);
}

TEST(constructors_of_libraries_have_whole_stacks)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	/* The loader runs the constructors of what comes last first. */
	setenv("LD_PRELOAD", getenv("RECORD_EARLY_LIBRARY"), 1);
	CHECK(recording_run(&r, (const char *const[]){ "-i", "1", "--", "true", NULL }, 60));
	unsetenv("LD_PRELOAD");
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK_EQ_DOUBLE(count(&r, "select count(*) from counter where name like 'walks: %' and "
	                          "name <> 'walks: complete'"),
	                0);
	CHECK_EQ_DOUBLE(count(&r, "select count(*) from sample where size = 7654321"), 1);
	recording_end(&r);
}
