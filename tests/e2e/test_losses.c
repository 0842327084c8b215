/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses: no number that a loss affects looks exact.  Each program does the same every time, at a
 * sampling interval of 1, so that the truth is known: a loss is the only thing that can widen a
 * figure.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

/*
 * So many blocks take 0.4 s, in which the recorder reads a ring of 64 events some 40 times.  Only
 * where it finds an allocation without its free is an end lost, and that is chance.
 */
enum { BLOCK_BYTES = 777, COUNT = 2000000 };

static const char *helper(void)
{
	return getenv("RECORD_PROGRAM");
}

static const char *output_of(struct recording *r, const char *const arguments[])
{
	if (!CHECK(recording_geiger(r, arguments, 60)) ||
	    !CHECK_MSG(r->child.exit_status == 0, "%s", gg_buf_text(&r->child.err)))
		return "";
	return gg_buf_text(&r->child.out);
}

/* A member of the first object of that name in the last output; NAN: null. */
static double member_of(const char *json, const char *object, const char *member)
{
	char text[64];
	const char *at;

	snprintf(text, sizeof(text), "\"%s\":{", object);
	at = strstr(json, text);
	snprintf(text, sizeof(text), "\"%s\":", member);
	at = at != NULL ? strstr(at, text) : NULL;
	if (!CHECK_MSG(at != NULL, "no %s of %s", member, object))
		return NAN;
	at += strlen(text);
	return strncmp(at, "null", 4) == 0 ? NAN : strtod(at, NULL);
}

static bool record(struct recording *r, const char *const environment[],
                   const char *const options[])
{
	return CHECK(recording_begin(r)) &&
	       CHECK(recording_run_with(r, options, environment, 60)) &&
	       CHECK_MSG(r->child.exit_status == 0, "%s", gg_buf_text(&r->child.err));
}

/* One block at a time: what is live is one block and what the C library keeps. */
static bool record_lossy(struct recording *r)
{
	char count[16];

	snprintf(count, sizeof(count), "%d", COUNT);
	return record(r, (const char *const[]){ "GEIGER_RING=64", NULL },
	              (const char *const[]){ "-i", "1", "--", helper(), "churn", count, NULL }) &&
	       CHECK(recording_number(r, "select sum(value) from counter where name = "
	                                 "'events dropped: ring full'") > COUNT);
}

enum { OTHERS_MAX = 100000 }; /* bytes that are live beside the one block, at most */

static void is_bounded(struct recording *r, const char *const arguments[], const char *object,
                       double truth, double truth_most)
{
	const char *json = output_of(r, arguments);
	double low = member_of(json, object, "low"), high = member_of(json, object, "high");
	double estimate = member_of(json, object, "estimate");

	CHECK_MSG(low <= truth_most && estimate <= truth_most && high >= truth,
	          "%s of %s: %.0f..%.0f and %.0f, truth %.0f", object, arguments[0], low, high,
	          estimate, truth);
	CHECK_MSG(high > low, "%s of %s is no range", object, arguments[0]);
}

TEST(where_events_were_lost_moments_windows_and_lifetimes_have_two_bounds)
{
	const double all_bytes = (double)COUNT * BLOCK_BYTES;
	struct recording r;

	if (record_lossy(&r)) {
		is_bounded(&r, (const char *const[]){ "report", r.path, "--json", NULL },
		           "peak_bytes", BLOCK_BYTES, OTHERS_MAX);
		is_bounded(&r,
		           (const char *const[]){ "report", r.path, "-m", "peak", "--json", NULL },
		           "selected_bytes", BLOCK_BYTES, OTHERS_MAX);
		is_bounded(&r,
		           (const char *const[]){ "report", r.path, "-m", "temporary", "--json",
		                                  NULL },
		           "selected_bytes", 0, all_bytes + OTHERS_MAX);
		is_bounded(&r, (const char *const[]){ "timeline", r.path, "--json", NULL }, "peak",
		           BLOCK_BYTES, OTHERS_MAX);
		CHECK(recording_number(&r, "select count(*) from sample where flags & 10 = 10") >
		      0);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(where_events_were_lost_the_series_has_what_is_certain_and_what_is_possible)
{
	struct recording r;

	if (record_lossy(&r)) {
		const char *text = output_of(
			&r,
			(const char *const[]){ "sql", r.path, "--csv",
		                               "select max(live_bytes), max(possible_bytes), "
		                               "min(possible_bytes - live_bytes) from v_timeline",
		                               NULL });
		const char *line = strchr(text, '\n');
		double live = 0, possible = 0, least = 0;

		if (CHECK_MSG(line != NULL &&
		                      sscanf(line, "%lf,%lf,%lf", &live, &possible, &least) == 3,
		              "%s", text)) {
			CHECK_MSG(live <= OTHERS_MAX, "%.0f", live);
			CHECK_MSG(possible >= BLOCK_BYTES && least >= 0, "%.0f, %.0f", possible,
			          least);
		}
	}
	recording_end(&r);
}

TEST(totals_of_a_lossy_recording_are_exact)
{
	struct recording r;

	if (record_lossy(&r)) {
		const char *json = output_of(&r,
		                             (const char *const[]){ "report", r.path, "--json",
		                                                    "--focus", "^churn$", NULL });

		CHECK(member_of(json, "totals", "estimate") < OTHERS_MAX); /* live_bytes */
		json = output_of(&r,
		                 (const char *const[]){ "report", r.path, "--json", "-m",
		                                        "allocated", "--focus", "^churn$", NULL });
		CHECK_EQ_DOUBLE(member_of(json, "selected_bytes", "estimate"),
		                (double)COUNT * BLOCK_BYTES);
		CHECK_EQ_DOUBLE(member_of(json, "selected_bytes", "low"),
		                (double)COUNT * BLOCK_BYTES);
		CHECK_EQ_DOUBLE(member_of(json, "selected_bytes", "high"),
		                (double)COUNT * BLOCK_BYTES);
	}
	recording_end(&r);
}

static const char *const few_places[] = { "GEIGER_MAX_LIVE=1024", NULL };

/* Checks that reports of a profile or a region with dropped samples say so. */
static void tells_of_drops(struct recording *r, const char *path)
{
	const char *json = output_of(r, (const char *const[]){ "report", path, "--json", NULL });
	const char *at = strstr(json, "\"dropped\":"), *text;

	CHECK_MSG(at != NULL && strtod(at + strlen("\"dropped\":"), NULL) > 800, "%.30s",
	          at != NULL ? at : json);
	CHECK_CONTAINS(json, "samples or frees were not recorded");
	CHECK_CONTAINS(json, "\"at_least\":true");
	CHECK(isnan(member_of(json, "live_bytes", "high")));
	CHECK(isnan(member_of(json, "allocated_bytes", "high")));
	CHECK(member_of(json, "live_bytes", "low") > 900.0 * 1000);
	CHECK_CONTAINS(json, "\"unseen_bytes\":null");
	at = strstr(json, "\"duration_ns\":");
	CHECK_MSG(at != NULL && strtod(at + strlen("\"duration_ns\":"), NULL) < 3600e9, "%.40s",
	          at != NULL ? at : json);
	text = output_of(r, (const char *const[]){ "report", path, NULL });
	at = strstr(text, "live at the end ");
	CHECK_MSG(at != NULL && strncmp(at + strcspn(at, "\n0123456789") - 9, "at least ", 9) == 0,
	          "%.500s", text);
	CHECK(strstr(text, "was never sampled") == NULL);
}

TEST(figures_without_dropped_samples_are_lower_bounds_in_every_report)
{
	char merged[128];
	struct recording r;

	if (record(&r, few_places,
	           (const char *const[]){ "-i", "1", "--", helper(), "allocate", "4000", NULL })) {
		tells_of_drops(&r, r.path);
		snprintf(merged, sizeof(merged), "%s/merged", r.directory);
		output_of(&r, (const char *const[]){ "merge", "-o", merged, r.path, r.path, NULL });
		tells_of_drops(&r, merged);
		unlink(merged);
	}
	recording_end(&r);
}

/* Runs the program under the agent alone, with one more assignment. */
static bool run_alone(struct recording *r, const char *assignment, const char *what,
                      const char *count)
{
	const char *arguments[] = { "env", "-i",       "1",      "--dir", r->directory, "--",
		                    "env", assignment, helper(), what,    count,        NULL };
	struct child child;
	bool ok = CHECK(recording_geiger(r, arguments, 60)) &&
	          CHECK_EQ_I64(r->child.exit_status, 0);

	if (ok) {
		const char *argv[] = { "sh", "-c", gg_buf_text(&r->child.out), NULL };

		ok = CHECK(child_run(&child, argv, NULL, 60)) && CHECK_EQ_I64(child.exit_status, 0);
		child_done(&child);
	}
	return ok;
}

static void salvage(struct recording *r)
{
	output_of(r, (const char *const[]){ "salvage", "-o", r->path, r->directory, NULL });
}

TEST(a_salvaged_profile_tells_of_dropped_samples_as_a_recorded_one_does)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_alone(&r, few_places[0], "allocate", "4000")) {
		salvage(&r);
		tells_of_drops(&r, r.path);
	}
	recording_end(&r);
}

static void tells_of_pause(struct recording *r, const char *path)
{
	const char *text = output_of(r, (const char *const[]){ "report", path, NULL });

	CHECK_MSG(strstr(text, "was switched off from") != NULL, "%.600s", text);
	CHECK_MSG(strchr(text, '<') == NULL, "%.600s", text); /* no upper end */
	CHECK_MSG(strstr(text, "--mmap") == NULL, "%.600s", text);
}

TEST(what_was_switched_off_is_not_told_as_watched)
{
	struct recording r;

	if (record(&r, (const char *const[]){ "GEIGER_ACTIVE=0", NULL },
	           (const char *const[]){ "-i", "4k", "--", helper(), "churn", "20000", NULL })) {
		tells_of_pause(&r, r.path);
		unlink(r.path);
	}
	if (run_alone(&r, "GEIGER_ACTIVE=0", "churn", "20000")) {
		salvage(&r);
		tells_of_pause(&r, r.path);
	}
	recording_end(&r);
}

/* All rows that are bounds have an estimate of 0: the one that matters is not below its callers. */
TEST(of_rows_that_are_bounds_the_highest_is_first)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_alone(&r, "X=1", "churn", "20000")) {
		const char *json;

		salvage(&r);
		json = output_of(&r, (const char *const[]){ "report", r.path, "-m", "temporary",
		                                            "--limit", "1", "--json", NULL });
		CHECK_MSG(strstr(json, "\"rows\":[{\"function\":\"churn\"") != NULL, "%.3000s",
		          json);
	}
	recording_end(&r);
}

TEST(without_history_times_of_frees_are_bounds_and_forks_do_not_allocate_twice)
{
	/* Four processes: 1000 blocks that three inherit, and 1000 of each of those. */
	const double truth = 4000.0 * 1000;
	double allocated;
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_alone(&r, "X=1", "fork", "1000")) {
		salvage(&r);
		allocated = member_of(
			output_of(&r, (const char *const[]){ "report", r.path, "--json", NULL }),
			"allocated_bytes", "estimate");
		/* Regions tell inherited blocks apart, so no bounds are needed. */
		CHECK_MSG(allocated >= truth && allocated <= truth + OTHERS_MAX, "%.0f, truth %.0f",
		          allocated, truth);
		is_bounded(&r,
		           (const char *const[]){ "report", r.path, "-m", "temporary", "--json",
		                                  NULL },
		           "selected_bytes", 0, truth + OTHERS_MAX);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note where text like "
		                                     "'%may be inherited%'"),
		                0);
	}
	recording_end(&r);
}

/* --- forks: what children inherited counts once (heirs_program.c) --- */

struct family {
	const char *ring, *seed;
	int children, count;
	bool has_grandchildren, frees; /* frees: the parent, at once */
};

static bool record_family(struct recording *r, const struct family *family)
{
	char ring[32], seed[32], children[16], count[16];

	snprintf(ring, sizeof(ring), "GEIGER_RING=%s", family->ring);
	snprintf(seed, sizeof(seed), "GEIGER_SEED=%s", family->seed);
	snprintf(children, sizeof(children), "%d", family->children);
	snprintf(count, sizeof(count), "%d", family->count);
	return record(r, (const char *const[]){ ring, seed, NULL },
	              (const char *const[]){ "-i", "1", "--", getenv("HEIRS_PROGRAM"), children,
	                                     count,
	                                     family->has_grandchildren ? "grandchildren" : "",
	                                     family->frees ? "frees" : "", NULL }) &&
	       CHECK(recording_number(r, "select sum(value) from counter where name = "
	                                 "'events dropped: ring full'") > 0);
}

/* The truth is between the two ends; is_exact: these are not apart. */
static void holds_truth(const char *json, const char *object, double truth, bool is_exact)
{
	double low = member_of(json, object, "low"), high = member_of(json, object, "high");

	CHECK_MSG(low <= truth + OTHERS_MAX && high >= truth &&
	                  (!is_exact || (low >= truth && high <= truth + OTHERS_MAX)),
	          "%s: %.0f..%.0f, truth %.0f", object, low, high, truth);
}

static void series_hold_truth(struct recording *r, double left_bytes, double peak_bytes,
                              bool is_exact)
{
	double live = recording_number(r, "select max(live_bytes) from v_timeline");
	double possible = recording_number(r, "select max(possible_bytes) from v_timeline");
	double most = recording_number(r, "select max(most_bytes) from v_timeline");
	double left = recording_number(r, "select sum(bytes) from v_block where is_left");

	/* The first two are of moments, the third is of all time between them. */
	CHECK_MSG(live <= most && most <= peak_bytes + OTHERS_MAX && possible >= live &&
	                  (!is_exact || most >= peak_bytes),
	          "%.0f..%.0f, %.0f, truth %.0f", live, possible, most, peak_bytes);
	CHECK_MSG(left >= left_bytes && left <= left_bytes + OTHERS_MAX, "%.0f, truth %.0f", left,
	          left_bytes);
}

static void family_holds_truth(const struct family *family)
{
	double inherited = 1000.0 * family->count, own = 500.0 * (family->count / 5);
	double peak_bytes = inherited +
	                    own * family->children * (family->has_grandchildren ? 2 : 1);
	double left_bytes = peak_bytes - (family->frees ? inherited / 2 : 0);
	struct recording r;

	if (record_family(&r, family)) {
		const char *json = output_of(
			&r, (const char *const[]){ "report", r.path, "--json", NULL });

		holds_truth(json, "left_bytes", left_bytes, true);
		holds_truth(json, "peak_bytes", peak_bytes, false);
		holds_truth(json, "allocated_bytes", peak_bytes, true);
		if (!family->frees)
			holds_truth(json, "live_bytes", inherited, true);
		json = output_of(&r, (const char *const[]){ "report", r.path, "-m", "peak",
		                                            "--json", NULL });
		holds_truth(json, "selected_bytes", peak_bytes, false);
		series_hold_truth(&r, left_bytes, peak_bytes, !family->frees);
		output_of(&r, (const char *const[]){ "check", r.path, NULL });
	}
	recording_end(&r);
}

TEST(what_children_inherited_counts_once_where_the_history_of_their_parent_was_lost)
{
	family_holds_truth(&(struct family){ "64", "1", 5, 5000, false, false });
	family_holds_truth(&(struct family){ "64", "2", 12, 4000, false, false });
	family_holds_truth(&(struct family){ "512", "3", 5, 5000, false, false });
}

TEST(what_grandchildren_inherited_counts_once_where_history_was_lost)
{
	family_holds_truth(&(struct family){ "64", "1", 3, 5000, true, false });
	family_holds_truth(&(struct family){ "64", "2", 4, 4000, true, false });
	family_holds_truth(&(struct family){ "512", "3", 3, 5000, true, false });
}

TEST(what_only_children_hold_counts_once_where_the_frees_of_their_parent_were_lost)
{
	family_holds_truth(&(struct family){ "64", "1", 5, 5000, false, true });
	family_holds_truth(&(struct family){ "64", "2", 3, 4000, true, true });
	family_holds_truth(&(struct family){ "512", "3", 2, 40000, false, true });
}

/* Nothing is lost here, but the child takes long to create its region (late_heir_program.c). */
TEST(what_a_child_inherited_counts_once_although_its_parent_freed_it_before_the_region_was_complete)
{
	const double truth = 20000.0 * 1000;
	const char *json;
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(recording_run_with(
		    &r, (const char *const[]){ "-i", "1", "--", getenv("LATE_HEIR_PROGRAM"), NULL },
		    (const char *const[]){ "GEIGER_RING=65536", NULL }, 60))) {
		if (r.child.exit_status == 77) {
			recording_end(&r);
			SKIP("this process may not trace its children");
		}
		CHECK_EQ_I64(r.child.exit_status, 0);
		json = output_of(&r, (const char *const[]){ "report", r.path, "--json", NULL });
		holds_truth(json, "peak_bytes", truth, true);
		holds_truth(json, "left_bytes", truth, true);
		holds_truth(json, "allocated_bytes", truth, true);
		series_hold_truth(&r, truth, truth, true);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where origin = id"), 0);
	}
	recording_end(&r);
}

/* Nothing is lost here, but the recorder has forgotten the ends (idle_children_program.c). */
TEST(what_idle_children_hold_is_live_from_the_free_of_their_parent_on)
{
	/* Seconds from the last free; the children sleep for 0.7 s. */
	static const double moments[] = { 0.0001, 0.3, 0.6 };
	const double truth = 20000.0 * 1000;
	struct recording r;
	char moment[32];

	if (CHECK(recording_begin(&r)) &&
	    CHECK(recording_run_with(
		    &r,
		    (const char *const[]){ "-i", "1", "--", getenv("IDLE_CHILDREN_PROGRAM"), NULL },
		    (const char *const[]){ "GEIGER_RING=65536", NULL }, 60))) {
		double freed = recording_number(&r, "select max(t_free) / 1e9 from sample");

		CHECK_EQ_I64(r.child.exit_status, 0);
		for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
			snprintf(moment, sizeof(moment), "%.6fs", freed + moments[i]);
			holds_truth(output_of(&r, (const char *const[]){ "report", r.path, "--at",
			                                                 moment, "--json", NULL }),
			            "live_bytes", truth, true);
		}
		series_hold_truth(&r, truth, truth, true);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where origin = id"), 0);
		/*
		 * The children began when they were forked: 0.7 s after their parent's last
		 * allocation, and before its frees.
		 */
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process, "
		                                     "(select max(t_free) as last_free, "
		                                     "max(t_alloc) filter (where process = 1) "
		                                     "as last_alloc from sample) "
		                                     "where parent > 0 and start_ns < last_free "
		                                     "and start_ns > last_alloc"),
		                2);
	}
	recording_end(&r);
}
