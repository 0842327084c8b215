/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_end_times - when the processes of a session ended.
 *
 * Processes in turn never overlap, no matter how late the recorder looks.
 */
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "test.h"

/* Returns the "low" or "high" of the peak in the report; -1: the report has no peak. */
static double peak_bytes(struct recording *r, const char *which)
{
	const char *text, *at;

	if (!recording_geiger(r, (const char *const[]){ "report", "--json", r->path, NULL }, 60))
		return -1;
	text = gg_buf_text(&r->child.out);
	at = strstr(text, "\"peak_bytes\":");
	at = at != NULL ? strstr(at, which) : NULL;
	return at != NULL ? strtod(at + strlen(which), NULL) : -1;
}

static bool run(struct recording *r, const char *way, const char *end)
{
	const char *const options[] = {
		"-i", "1", "--no-symbols", "--", getenv("TURNS_PROGRAM"), way, end, NULL
	};

	return recording_run(r, options, 60) && r->child.exit_status == 0;
}

/*
 * Sessions are a process and its turns; the children's memory of 10 000 000 bytes is all there is.
 */
static void check_turns(const char *way, const char *end)
{
	double low, high;
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(run(&r, way, end))) {
		CHECK_MSG(recording_number(
				  &r, "select count(*) from process where start_ns > end_ns") == 0,
		          "%s %s", way, end);
		/* The later of two siblings began after the end of the earlier one. */
		CHECK_MSG(recording_number(&r, "select count(*) from process a join process b "
		                               "on a.parent = b.parent and a.start_ns < b.start_ns "
		                               "and a.end_ns > b.start_ns") == 0,
		          "%s %s", way, end);
		CHECK_MSG(recording_number(&r, "select count(*) from process") >= 6, "%s %s", way,
		          end);
		low = peak_bytes(&r, "\"low\":");
		high = peak_bytes(&r, "\"high\":");
		CHECK_MSG(low >= 10e6 && high < 10.2e6, "%s %s: peak %.0f to %.0f", way, end, low,
		          high);
	}
	recording_end(&r);
}

TEST(processes_that_are_executed_in_turn_do_not_overlap)
{
	check_turns("exec", "exit");
	check_turns("exec", "_exit");
	check_turns("exec", "kill");
}

TEST(processes_that_are_forked_in_turn_do_not_overlap)
{
	check_turns("fork", "exit");
	check_turns("fork", "_exit");
	check_turns("fork", "kill");
}

TEST(grandchildren_in_turn_do_not_overlap)
{
	check_turns("grandchild", "exit");
	check_turns("grandchild", "_exit");
	check_turns("grandchild", "kill");
}

TEST(a_parent_that_waited_does_not_overlap_with_its_children)
{
	check_turns("parent", "exit");
	check_turns("parent", "_exit");
}

/*
 * The recorder sleeps while a parent waits for a killed child and holds as much itself.  So nobody
 * knows when the child ended: the largest possible peak is twice the true one, and the smallest is
 * the true one.
 */
TEST(a_killed_child_and_its_parent_in_turn_have_a_peak_whose_interval_holds_the_truth)
{
	double low, high;
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(run(&r, "parent", "kill"))) {
		low = peak_bytes(&r, "\"low\":");
		high = peak_bytes(&r, "\"high\":");
		CHECK_MSG(low > 9.9e6 && low < 10.2e6, "peak %.0f to %.0f", low, high);
		CHECK_MSG(high >= 10e6 && high < 20.4e6, "peak %.0f to %.0f", low, high);
		CHECK(recording_number(&r, "select count(*) from process where end_least_ns < "
		                           "end_ns and ending is null") >= 1);
		CHECK(recording_number(&r, "select max(live_bytes) from v_timeline") < 10.2e6);
		CHECK(recording_number(&r, "select count(*) from v_block"
		                           " where end_least_ns < end_ns") >= 5);
	}
	recording_end(&r);
}

/*
 * The recorder sleeps until both have ended.  Another process holds the child's memory meanwhile,
 * as the recorder itself may do, so nothing but the wait of the parent shows the order.
 */
TEST(a_killed_child_ends_before_the_parent_that_waited_for_it)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(run(&r, "outlived", "exit"))) {
		CHECK(recording_number(&r, "select count(*) from process") == 2);
		CHECK(recording_number(&r, "select count(*) from process child join process parent "
		                           "on child.parent = parent.id "
		                           "where child.end_ns < parent.end_ns") == 1);
		CHECK(recording_number(
			      &r, "select count(*) from process where start_ns > end_ns") == 0);
		CHECK(recording_number(&r, "select count(*) from process "
		                           "where end_least_ns > end_ns") == 0);
	}
	recording_end(&r);
}

TEST(processes_that_live_at_once_are_counted_together)
{
	struct recording r;
	double low, high;

	if (CHECK(recording_begin(&r)) && CHECK(run(&r, "together", "exit"))) {
		low = peak_bytes(&r, "\"low\":");
		CHECK_MSG(low >= 30e6, "peak %.0f", low);
	}
	recording_end(&r);
	/* A sleeping recorder cannot see that each lived until the others had allocated. */
	if (CHECK(recording_begin(&r)) && CHECK(run(&r, "together", "kill"))) {
		low = peak_bytes(&r, "\"low\":");
		high = peak_bytes(&r, "\"high\":");
		CHECK_MSG(low >= 10e6 && high >= 30e6, "peak %.0f to %.0f", low, high);
	}
	recording_end(&r);
}

/*
 * Nothing is live at the end here, so the exported file is empty.  The command says which metrics
 * are not.
 */
TEST(an_export_of_nothing_says_which_metric_has_something)
{
	static const char *const formats[] = { "collapsed", "csv", "heapprofile", "speedscope",
		                               "svg" };
	static const char hint[] = "geiger: nothing was live when the last process ended: give "
				   "--metric peak, left or allocated\n";
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(run(&r, "exec", "exit"))) {
		for (size_t i = 0; i < GG_COUNT(formats); i++) {
			const char *const live[] = { "export", "-f", formats[i], r.path, NULL };
			const char *const peak[] = { "export", "-f",   formats[i], "-m",
				                     "peak",   r.path, NULL };

			CHECK(recording_geiger(&r, live, 60) && r.child.exit_status == 0);
			CHECK_MSG(strcmp(gg_buf_text(&r.child.err), hint) == 0, "%s: %s",
			          formats[i], gg_buf_text(&r.child.err));
			CHECK(recording_geiger(&r, peak, 60) && r.child.err.length == 0);
		}
		CHECK(recording_geiger(
			&r, (const char *const[]){ "export", "-f", "dhat", r.path, NULL }, 60));
		CHECK_EQ_U64(r.child.err.length, 0);
	}
	recording_end(&r);
}
