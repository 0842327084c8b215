/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - asks a model: which memory, of whom, when, added up by what.
 *
 *   struct gg_query query = { .metric = GG_METRIC_LIVE, .by = GG_BY_FUNCTION };
 *   struct gg_query_result *result;
 *
 *   gg_query_init(&query);                          at the end, everything
 *   if (gg_query_rows(model, &query, &result, error) < 0)
 *           return error->code;
 *   for (size_t i = 0; i < result->row_count; i++)
 *           gg_interval_of(result->rows[i].self, GG_BYTES, 0.95, true);
 *   gg_query_result_free(result);
 *
 * What the metrics mean (docs/REPORTS.md):
 *
 *   live       allocated at or before the moment to_ns, and neither freed nor ended with its process by
 *              then; without a moment (GG_TIME_NONE): what was live together when the last process
 *              ended, which stays live at every moment after that (last_end.h).  Asked for one
 *              process, that is when this one ended
 *   left       never freed by a process that ended in (from_ns, to_ns], or still ran at the end: what
 *              each process held at its own exit.  With one process that is what is live at the end
 *   peak       the same at the moment of the largest live estimate within the window
 *   allocated  allocated in (from_ns, to_ns]
 *   freed      freed in (from_ns, to_ns]
 *   temporary  allocated in (from_ns, to_ns] and freed within temporary_ns
 *
 * Blocks that a process inherited (model.h): live and peak count a block once while anybody holds it,
 * or, asked for one process, while that process does; left counts it once, whoever left it.  The other metrics leave inherited samples out:
 * their process did not allocate them; asked for one process, its frees of such blocks are freed.
 *
 * Self and total.  A row's self has what the row's own code asked for: the innermost place of the
 * stack.  Its total also has what was called from it, each sample once however often the row is on
 * the stack (recursion).  For groupings that are no places (stack, thread, process, size, kind,
 * heap, type) the two are the same tally.
 *
 * Exactness.  Coarse rows have no times of their own, only ranges in which their samples were
 * allocated and freed.  Where such a range holds the moment, or an end of the window, it is not known
 * which of the samples are inside: `unplaced` has the sum of those rows, and the report says so.  The
 * same is true of a sample whose free was lost: it was freed between two times.  All of them are
 * uncertain in the tallies (tally.h): in no estimate, in no lower end, and in every upper end.
 * Where samples were dropped, or sampling was switched off before the window's end, tallies are
 * incomplete: they have no upper end.
 *
 * Cost      0.04 to 0.4 s for 1 M samples on 100 000 stacks (bench_report); 450 bytes a row and tally.
 * Threads   any number of queries at once; a result has one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "model/model.h"
#include "stats/estimate/tally.h"

enum gg_metric {
	GG_METRIC_LIVE,
	GG_METRIC_ALLOCATED,
	GG_METRIC_PEAK,
	GG_METRIC_TEMPORARY,
	GG_METRIC_FREED,
	GG_METRIC_LEFT,
};

enum gg_grouping {
	GG_BY_FUNCTION,
	GG_BY_LINE,
	GG_BY_STACK,
	GG_BY_MODULE,
	GG_BY_SIZE,
	GG_BY_KIND, /* heap and type */
	GG_BY_HEAP,
	GG_BY_TYPE,
	/* Rows of two profiles are compared by what they are called, which these do not allow. */
	GG_BY_THREAD,
	GG_BY_PROCESS,
	GG_BY_LABEL, /* values of one label of the processes */
};

enum { GG_GROUPING_COUNT = GG_BY_LABEL + 1 };

#define GG_TEMPORARY_NS GG_NS_PER_MS

struct gg_query {
	enum gg_metric metric;
	enum gg_grouping by;
	enum gg_quantity unit;  /* rows are sorted by its estimate, the largest first */
	bool sort_by_total;     /* else by self */
	int64_t from_ns, to_ns; /* INT64_MIN and GG_TIME_NONE: all of it */
	const char *focus; /* POSIX extended: only stacks with a function that matches; NULL: all */
	const char *ignore;   /* ... without one that does; NULL: none */
	uint32_t pid;         /* only processes with this pid; 0: all */
	const char *label;    /* key, for GG_BY_LABEL */
	int64_t temporary_ns; /* the longest lifetime of what is temporary */
};

/* The class n with size in (2^(n-1), 2^n]; 0 for 0 and 1. */
uint32_t gg_query_size_class(uint64_t size_bytes);

/* Everything, live at the end, by function. */
void gg_query_init(struct gg_query *query);

/* One group.  `key` is the number of a function, line, stack, module, thread, process, kind, heap
 * or type; of sizes that of gg_query_size_class(); of labels the first process
 * that has the value, 0: none has one. */
struct gg_query_row {
	uint32_t key;
	bool is_named; /* asked for by its name: an interval of it is not that of a discovered row */
	const struct gg_tally *self, *total;
};

struct gg_query_result {
	struct gg_query query; /* as it was asked, with from_ns and to_ns as they were used */
	int64_t moment_ns;     /* live and peak: the moment; other metrics: to_ns */
	struct gg_tally total; /* of all rows, each block once; exposed to the sampling interval */
	double slack_bytes;    /* estimate of the usable size beyond the requested one */
	double mapping_bytes;  /* estimate of what in total is mappings */
	struct gg_tally unplaced; /* coarse rows with an end of the window inside their range */
	struct gg_query_row *rows;
	size_t row_count;
	struct gg_tally *tallies; /* that the rows point to */
};

/* -EINVAL for an expression that is none, an unknown pid, or a window that ends before it begins. */
GG_MUST_CHECK int gg_query_rows(const struct gg_model *model, const struct gg_query *query,
                                struct gg_query_result **ret_result, struct gg_error *error);
void gg_query_result_free(struct gg_query_result *result); /* NULL is fine */

/* The total alone, of what gg_query_rows() has more: for the head of a report. */
struct gg_sum_up {
	struct gg_tally total;
	double slack_bytes, mapping_bytes;
};
GG_MUST_CHECK int gg_query_sum(const struct gg_model *model, const struct gg_query *query,
                               struct gg_sum_up *ret_sum, struct gg_error *error);

/*
 * The samples and coarse rows that a query selects for certain, one by one: what gg_query_rows() adds up.  Of a
 * block that is counted once the sample is that of the first process that held it, with alloc_ns and
 * free_ns of the whole block: free_ns is when the last process that held it freed it or ended, and
 * GG_TIME_NONE if it is live at the end; flags have GG_MODEL_LEFT if some holder never freed it.  Exactly one
 * of sample and coarse is not NULL.
 */
typedef void gg_pick_visit(const struct gg_model_sample *sample,
                           const struct gg_profile_coarse *coarse, void *context);
GG_MUST_CHECK int gg_query_each(const struct gg_model *model, const struct gg_query *query,
                                gg_pick_visit *visit, void *context, struct gg_error *error);

/*
 * Every sample and coarse row of the query's processes and stacks, whatever the metric and the window:
 * for who keeps the time axis.  Samples are as gg_query_each() has them.  Where the time of an end was
 * lost, it is the earliest that is possible (gg_model_freed_from).
 */
GG_MUST_CHECK int gg_query_blocks(const struct gg_model *model, const struct gg_query *query,
                                  gg_pick_visit *visit, void *context, struct gg_error *error);

/*
 * What identifies a row to people and in another profile, such as "parse (libxml2.so.2)",
 * "a.c:12 main", or "malloc"; a stack is its functions from the outermost on: "main;load;parse".
 * Appends to `out`.
 */
void gg_query_row_label(const struct gg_model *model, const struct gg_query_result *result,
                        const struct gg_query_row *row, struct gg_buf *out);

/* --- time ---------------------------------------------------------------------------------- */

/*
 * Live memory over time: a visit for each moment at which something changed, after all changes of
 * that moment, from the query's window and filters (metric and grouping are not looked at).  Coarse
 * rows are in it while all of their samples were there; a sample whose free was lost is in it up to
 * the earliest time at which it can have been freed.
 */
typedef void gg_sweep_visit(int64_t time_ns, double live_bytes, double live_count, void *context);
GG_MUST_CHECK int gg_query_sweep(const struct gg_model *model, const struct gg_query *query,
                                 gg_sweep_visit *visit, void *context, struct gg_error *error);

/*
 * The tallies of what was live at times[0..count), which ascend; exposed to the sampling interval.
 * One pass for all.
 */
GG_MUST_CHECK int gg_query_live_at(const struct gg_model *model, const struct gg_query *query,
                                   const int64_t *times, size_t count, struct gg_tally *tallies,
                                   struct gg_error *error);

struct gg_peak {
	int64_t time_ns; /* without history, or if nothing was ever live: the end of the window */
	double bytes;    /* the largest live estimate; 0: nothing was ever live */
	/* The same of all that may have been live, where times were lost; else as above. */
	int64_t most_ns;
	double most_bytes;
};
GG_MUST_CHECK int gg_query_peak(const struct gg_model *model, const struct gg_query *query,
                                struct gg_peak *ret_peak, struct gg_error *error);

/*
 * What was live at the peak.  Where times were lost its upper end is that of the moment at which the
 * most can have been live.
 */
GG_MUST_CHECK int gg_query_peak_tally(const struct gg_model *model, const struct gg_query *query,
                                      const struct gg_peak *peak, struct gg_tally *ret_tally,
                                      struct gg_error *error);

/*
 * The metric that a report or a page opens with, if nobody chose one: what is live at the end; but many
 * programs free all before they end, and of those it is what they held at their peak.
 */

/* Of the peak, what must be live at the end to open with it. */
#define GG_QUERY_LIVE_SHARE 0.1

/*
 * Is less than that share of the peak live at the end?  False without history.  pid 0: of all.  Costs two
 * sums over the samples, where little of what was allocated is live; otherwise one.
 */
GG_MUST_CHECK int gg_query_is_given_back(const struct gg_model *model, uint32_t pid, bool *ret_is,
                                         struct gg_error *error);
