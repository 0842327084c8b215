/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_faults - regions and processes that are damaged while they are recorded.
 *
 * The command does not notice, and the profile is whole and says what it lacks.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

/* Does something to the regions of the shell that runs it, once they are recorded, and goes on. */
static bool record_script(struct recording *r, const char *act)
{
	char script[700];
	const char *const options[] = { "-i", "1", "--", "/bin/sh", "-c", script, NULL };

	snprintf(script, sizeof(script),
	         "until ls -l /proc/$PPID/fd | grep -q geiger-$$-; do sleep 0.1; done; "
	         "for f in $GEIGER_DIR/geiger-$$-*; do %s; done; i=0; "
	         "while [ $i -lt 2000 ]; do x=$x$i; i=$((i+1)); done; echo ${#x}; exit 7",
	         act);
	return CHECK(recording_run(r, options, 60)) &&
	       CHECK_MSG(r->child.exit_status == 7, "%d", r->child.exit_status) &&
	       CHECK_EQ_STR(gg_buf_text(&r->child.out), "6890\n");
}

static double notes(struct recording *r, const char *text)
{
	char query[300];

	snprintf(query, sizeof(query), "select count(*) from note where instr(text, '%s') > 0",
	         text);
	return recording_number(r, query);
}

static void check_whole(struct recording *r)
{
	CHECK(recording_geiger(r, (const char *const[]){ "check", r->path, NULL }, 60));
	CHECK_MSG(r->child.exit_status == 0, "%s", gg_buf_text(&r->child.out));
}

TEST(a_region_that_is_cut_short_while_it_is_recorded_is_told_of)
{
	static const char *const acts[] = { ": >$f", "truncate -s 5000 $f" };
	struct recording r;

	for (int i = 0; i < 2; i++) {
		if (CHECK(recording_begin(&r)) && record_script(&r, acts[i])) {
			CHECK(notes(&r, "the region was cut short") +
			              notes(&r, "file was cut short") >=
			      1);
			check_whole(&r);
		}
		recording_end(&r);
	}
}

TEST(a_region_that_is_deleted_while_it_is_recorded_is_recorded)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && record_script(&r, "rm $f")) {
		CHECK(recording_number(&r, "select count(*) from sample") > 2000);
		CHECK(recording_adds_up(&r));
		check_whole(&r);
	}
	recording_end(&r);
}

TEST(why_no_process_could_record_is_the_last_line)
{
	static const char why[] = "not profiling: the region of shared memory: over the limit for "
				  "file sizes";
	const char *const options[] = { "--", "true", NULL };
	struct rlimit before, small;
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK_EQ_I64(getrlimit(RLIMIT_FSIZE, &before), 0)) {
		/* Enough for the profile, not for regions. */
		small = before;
		small.rlim_cur = 16 << 20;
		CHECK_EQ_I64(setrlimit(RLIMIT_FSIZE, &small), 0);
		CHECK(recording_run(&r, options, 60));
		setrlimit(RLIMIT_FSIZE, &before);
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_MSG(strstr(gg_buf_text(&r.child.err), why) != NULL, "%s",
		          gg_buf_text(&r.child.err));
		CHECK_EQ_DOUBLE(notes(&r, why + strlen("not profiling: ")), 1);
	}
	recording_end(&r);
}

TEST(children_that_could_have_no_region_are_told_of)
{
	const char *const options[] = { "-i", "1", "--", getenv("FAULT_PROGRAM"), "no-descriptors",
		                        NULL };
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(recording_run(&r, options, 60))) {
		CHECK_EQ_I64(r.child.exit_status, 42);
		CHECK_MSG(notes(&r, "3 processes are missing: they could have no region ") == 1,
		          "%s", recording_text(&r, "select group_concat(text) from note"));
		check_whole(&r);
	}
	recording_end(&r);
}

/* As containers are: with other process ids, among them some that others have here. */
TEST(processes_in_a_pid_namespace_are_recorded_to_their_end_with_their_ids_here)
{
	const char *const probe[] = { "unshare", "-p", "-f", "--mount-proc", "true", NULL };
	const char *const options[] = { "-i",
		                        "1k",
		                        "--",
		                        "unshare",
		                        "-p",
		                        "-f",
		                        "--mount-proc",
		                        "sh",
		                        "-c",
		                        "$RECORD_PROGRAM slow 1500 & $RECORD_PROGRAM allocate 2000;"
		                        " wait; exit 6",
		                        NULL };
	struct recording r;

	if (!child_succeeds(probe))
		SKIP("may not make a namespace here");
	if (CHECK(recording_begin(&r)) && CHECK(recording_run(&r, options, 60))) {
		CHECK_EQ_I64(r.child.exit_status, 6);
		/* The two programs, the shell, and unshare, whose ids are not 1, 2 and 3. */
		CHECK_MSG(recording_number(&r, "select count(*) from process") >= 3, "%s",
		          recording_text(&r, "select group_concat(command) from process"));
		/* There it is 2 or 3. */
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from process where pid > 10 and "
		                                 "command like '%slow 1500' and ending = 'exited'"),
		                1);
		/* A second and more of samples: not only those until it was found. */
		CHECK_MSG(recording_number(&r, "select (max(t_alloc) - min(t_alloc)) / 1e6 "
		                               "from sample s join process p on p.id = s.process "
		                               "where p.command like '%slow 1500'") > 1200,
		          "%s", recording_text(&r, "select max(t_alloc) from sample"));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note where text like "
		                                     "'%not in the profile%'"),
		                0);
		CHECK(recording_adds_up(&r));
		check_whole(&r);
	}
	recording_end(&r);
}

/* A profile on a disk of 260 KiB: the recording ends, the program and its sampling go on. */
TEST(after_a_full_disk_the_regions_have_all)
{
	const char *const probe[] = {
		"unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt", NULL
	};
	static const char script[] =
		"mount -t tmpfs -o size=260k tmpfs $0 && "
		"$GEIGER record -i 1 -o $0/full.geiger -- $RECORD_PROGRAM slow 2000 2>$1; "
		"echo status $?; regions=$(sed -n 's/.*geiger salvage //p' $1); "
		"$GEIGER salvage -o $2 $regions; rm -r $regions";
	char full[96], errors[96];
	struct recording r;

	if (!child_succeeds(probe))
		SKIP("may not make a namespace here");
	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(full, sizeof(full), "%s/full", r.directory);
	snprintf(errors, sizeof(errors), "%s/errors", r.directory);
	CHECK_EQ_I64(mkdir(full, 0700), 0);
	const char *argv[] = { "unshare", "-m", "sh", "-c", script, full, errors, r.path, NULL };

	if (CHECK(child_run(&r.child, argv, NULL, 60))) {
		CHECK_MSG(strstr(gg_buf_text(&r.child.out), "status 9") != NULL, "%s%s",
		          gg_buf_text(&r.child.out), gg_buf_text(&r.child.err));
		/* 200 times 50 blocks of 1000 bytes, of which half were freed. */
		CHECK_MSG(recording_number(&r, "select sum(allocated_samples) from total") >= 10000,
		          "%s %s", recording_text(&r, "select sum(allocated_samples) from total"),
		          gg_buf_text(&r.child.err));
		CHECK(recording_number(&r, "select count(*) from v_block where bytes = 1000 and "
		                           "end_ns is null") >= 5000);
	}
	rmdir(full);
	recording_end(&r);
}
