/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - selects memory of a model by metric, window, and filters, and adds it up by a grouping.
 *
 *   struct gg_query query = { .metric = GG_METRIC_LIVE, .by = GG_BY_FUNCTION };
 *   struct gg_query_result *result;
 *
 *   gg_query_init(&query);                          selects everything, at the end
 *   if (gg_query_rows(model, &query, &result, error) < 0)
 *           return error->status;
 *   for (size_t i = 0; i < result->row_count; i++)
 *           gg_interval_of(result->rows[i].self, GG_BYTES, 0.95, true);
 *   gg_query_result_free(result);
 *
 * The metrics (docs/REPORTS.md):
 *
 *   live       Blocks allocated at or before the moment to_ns that were neither freed nor gone with
 *              their process by then.  Without a moment (GG_TIME_NONE): the blocks that were live
 *              together when the last process ended; they stay live at every later moment
 *              (live_at_end.h).  With a filter for one process: the blocks at that process's end.
 *   left       Blocks that a process never freed before it ended in (from_ns, to_ns], or that still
 *              ran at the end: what each process held at its own exit.  With one process this
 *              equals live at the end.
 *   peak       Live blocks at the moment of the largest live estimate within the window.
 *   allocated  Blocks allocated in (from_ns, to_ns].
 *   freed      Blocks freed in (from_ns, to_ns].
 *   temporary  Blocks allocated in (from_ns, to_ns] and freed within temporary_ns.
 *   pinned     Free memory that live blocks keep resident, at each process's last look or the one
 *              at its largest RSS (look_moment).  It has no window, and no allocations; its `bytes`
 *              are looked-up values (stats/estimate/looked_value.h).
 *
 * Inherited blocks (model.h).  Live and peak count a block once while any selected process holds
 * it. Left counts a block once, whichever process left it.  The other metrics leave inherited
 * samples out, because their process did not allocate them; only a query for one process counts its
 * frees of inherited blocks as freed.
 *
 * Self and total.  A row's self has the samples whose innermost location is the row.  Its total
 * also has the samples of everything that the row called, each sample once even under recursion.
 * For groupings without locations (stack, thread, process, size, kind, heap, type), self and total
 * are the same tally.
 *
 * Exactness.  Aggregates have no exact times, only ranges in which their samples were allocated and
 * freed.  If such a range holds the moment or an end of the window, nobody knows which of the
 * samples are inside: `unplaced` has the sum of these aggregates, and the report says so.  A sample
 * whose free was lost was freed between two times, which is the same case.  All of them are
 * uncertain in the tallies (tally.h): no estimate and no lower bound counts them, every upper bound
 * does.  If samples were dropped, or sampling was off before the window's end, tallies are
 * incomplete: they have no upper bound.
 *
 * Cost      0.04 to 0.4 s for 1 M samples on 100 000 stacks (bench_report); 450 bytes a row and
 *           tally.
 * Threads   Any number of queries may run at once.  One thread owns a result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "model/model.h"
#include "query/pinned.h"
#include "stats/estimate/tally.h"

enum gg_metric {
	GG_METRIC_LIVE,
	GG_METRIC_ALLOCATED,
	GG_METRIC_PEAK,
	GG_METRIC_TEMPORARY,
	GG_METRIC_FREED,
	GG_METRIC_LEFT,
	GG_METRIC_PINNED,
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
	/* A diff cannot use the following: their names mean nothing in another profile. */
	GG_BY_THREAD,
	GG_BY_PROCESS,
	GG_BY_LABEL, /* the values of one label of the processes */
};

enum { GG_GROUPING_COUNT = GG_BY_LABEL + 1 };

/* The names in options, JSON, and exported files. */
const char *gg_metric_name(enum gg_metric metric);
const char *gg_grouping_name(enum gg_grouping by);

#define GG_TEMPORARY_NS GG_NS_PER_MS

struct gg_query {
	enum gg_metric metric;
	enum gg_grouping by;
	enum gg_quantity unit;  /* rows are sorted by this quantity, the largest estimate first */
	bool sort_by_total;     /* false: sort by self */
	int64_t from_ns, to_ns; /* window; INT64_MIN and GG_TIME_NONE: everything */
	/* POSIX extended: only stacks with a matching function, even a hidden one; NULL: all */
	const char *focus;
	const char *ignore;   /* only stacks without a matching function; NULL: all */
	uint32_t pid;         /* only processes with this pid; 0: all */
	const char *label;    /* key, for GG_BY_LABEL */
	int64_t temporary_ns; /* the longest lifetime of a temporary block */
	uint32_t look_moment; /* pinned: GG_LOOK_LAST or GG_LOOK_PEAK; 0 means GG_LOOK_LAST */
};

/* The size class n of a size: sizes in (2^(n-1), 2^n]; class 0 has the sizes 0 and 1. */
uint32_t gg_query_size_class(uint64_t size_bytes);

/* Selects everything that is live at the end, by function. */
void gg_query_init(struct gg_query *query);

/*
 * One group.  `key` is the number of a function, line, stack, module, thread, process, kind, heap,
 * or type.  For sizes it is the size class.  For labels it is the first process with the value; 0:
 * the processes without one.
 */
struct gg_query_row {
	uint32_t key;
	bool is_named; /* the query names the row, so the row was not chosen for its size */
	/*
	 * The hidden function through which most of the row's own memory was allocated, such as
	 * xmalloc(); 0: none, or the grouping has no functions.
	 */
	uint32_t via;
	const struct gg_tally *self, *total;
};

struct gg_query_result {
	struct gg_query query; /* the query, with from_ns and to_ns as they were used */
	int64_t moment_ns;     /* the moment of live and peak; to_ns for other metrics */
	struct gg_tally total; /* of all rows, each block once; exposed to the sampling interval */
	double slack_bytes;    /* estimated usable size beyond the requested size */
	double mapping_bytes;  /* estimated part of `total` that is mappings */
	struct gg_pinned_coverage pinned; /* pinned: what its looks saw, and what they missed */
	struct gg_tally unplaced; /* aggregates with an end of the window inside their range */
	struct gg_query_row *rows;
	size_t row_count;
	struct gg_tally *tallies; /* the rows point to them */
};

/*
 * Sets `bit` in matches[function] of each function with a name that the POSIX extended expression
 * matches.  Does nothing if the expression is NULL.  -EINVAL names the option.
 */
GG_MUST_CHECK int gg_query_match_functions(const struct gg_model *model, const char *expression,
                                           const char *option, uint8_t bit, uint8_t *matches,
                                           struct gg_error *error);

/* Sets matches[module] of each module with a path or name that matches.  -EINVAL as above. */
GG_MUST_CHECK int gg_query_match_modules(const struct gg_model *model, const char *expression,
                                         const char *option, uint8_t *matches,
                                         struct gg_error *error);

/*
 * -EINVAL: an invalid expression, an unknown pid, or a window that ends before it begins.
 * -ENODATA: the metric is pinned, and no look saw memory around blocks.
 */
GG_MUST_CHECK int gg_query_rows(const struct gg_model *model, const struct gg_query *query,
                                struct gg_query_result **ret_result, struct gg_error *error);
void gg_query_result_free(struct gg_query_result *result); /* NULL is fine */

/* Computes only the totals of gg_query_rows(), for the head of a report. */
struct gg_sum_up {
	struct gg_tally total;
	double slack_bytes, mapping_bytes;
};
GG_MUST_CHECK int gg_query_sum(const struct gg_model *model, const struct gg_query *query,
                               struct gg_sum_up *ret_sum, struct gg_error *error);

/* Why the sums of a query are lower bounds, for callers that add up samples themselves. */
struct gg_query_losses {
	bool is_incomplete;      /* samples were dropped, or sampling was off */
	bool lacks_java_objects; /* gg_model_lacks_java_objects(): those of other heaps are not */
	double exposure_bytes;   /* the largest sampling interval of the selection; 0: unknown */
};
GG_MUST_CHECK int gg_query_losses_of(const struct gg_model *model, const struct gg_query *query,
                                     struct gg_query_losses *ret_losses, struct gg_error *error);

/*
 * Visits the samples and aggregates that a query selects with certainty: those that gg_query_rows()
 * adds up.  For a block that counts once, the visit gets the sample of the first process that held
 * it, with alloc_ns and free_ns of the whole block.  There free_ns is the time at which the last
 * holder freed the block or ended, or GG_TIME_NONE if it is live at the end.  GG_MODEL_LEFT is set
 * if some holder never freed it.  Exactly one of `sample` and `aggregate` is not NULL.
 */
typedef void gg_pick_visit(const struct gg_model_sample *sample,
                           const struct gg_profile_aggregate *aggregate, void *context);
GG_MUST_CHECK int gg_query_each(const struct gg_model *model, const struct gg_query *query,
                                gg_pick_visit *visit, void *context, struct gg_error *error);

/*
 * Visits the blocks of a query for the metric pinned, each once.  The tally has one block, without
 * bounds: gg_pinned_scope_expose() sets those of a sum, once all of its blocks are in it.
 */
typedef void gg_pinned_visit(const struct gg_model_sample *sample, const struct gg_tally *tally,
                             void *context);
GG_MUST_CHECK int gg_query_each_pinned(const struct gg_model *model, const struct gg_query *query,
                                       gg_pinned_visit *visit, void *context,
                                       struct gg_pinned_scope *ret_scope, struct gg_error *error);

/*
 * Visits every sample and aggregate of the query's processes and stacks, whatever the metric and
 * the window: for callers with their own time axis.  Samples have the times that gg_query_each()
 * describes. If the time of an end was lost, the visit gets the earliest possible time
 * (gg_model_freed_from).
 */
struct gg_block_times {
	int64_t from_ns;
	int64_t until_least_ns; /* the earliest end: estimates count the block until then */
	int64_t until_ns; /* the latest one, for upper ends; GG_TIME_NONE: it is live at the end */
	/*
	 * The end for readers without bounds: until_least_ns, but a process had the exact blocks
	 * that it left until its end, even if the counts stopped before.
	 */
	int64_t held_until_ns;
	/* How long an heir that nobody saw may have held it after all others; INT64_MIN: none. */
	int64_t heir_until_ns;
	/* When the last known holder that never freed it ended; GG_TIME_NONE: unknown, or none. */
	int64_t left_ns;
	/* Bounds of the time at which such an heir may have left it; least > most: none may. */
	int64_t heir_left_least_ns, heir_left_most_ns;
};
typedef void gg_block_visit(const struct gg_model_sample *sample,
                            const struct gg_profile_aggregate *aggregate,
                            const struct gg_block_times *times, void *context);
GG_MUST_CHECK int gg_query_blocks(const struct gg_model *model, const struct gg_query *query,
                                  gg_block_visit *visit, void *context, struct gg_error *error);
/* Visits each sample for itself, with the times at which its own process held the block. */
GG_MUST_CHECK int gg_query_holders(const struct gg_model *model, const struct gg_query *query,
                                   gg_block_visit *visit, void *context, struct gg_error *error);

/*
 * Appends the label of a row to `out`: the name by which people, and another profile, identify it,
 * such as "parse (libxml2.so.2)", "a.c:12 main", or "malloc".  The label of a stack has its
 * functions from the outermost on: "main;load;parse".
 */
void gg_query_row_label(const struct gg_model *model, const struct gg_query_result *result,
                        const struct gg_query_row *row, struct gg_buf *out);

/* --- time ---------------------------------------------------------------------------------- */

/*
 * Visits live memory over time: once for each moment with a change, after all changes of that
 * moment. The query's window and filters apply; its metric and grouping do not.  An aggregate
 * counts while all of its samples were live.  A sample whose free was lost counts until the
 * earliest time at which it can have been freed.
 */
typedef void gg_sweep_visit(int64_t time_ns, double live_bytes, double live_count, void *context);
GG_MUST_CHECK int gg_query_sweep(const struct gg_model *model, const struct gg_query *query,
                                 gg_sweep_visit *visit, void *context, struct gg_error *error);

/*
 * Computes in one pass the tallies of the blocks live at times[0..count), which must ascend.  The
 * tallies are exposed to the sampling interval.
 */
GG_MUST_CHECK int gg_query_live_at(const struct gg_model *model, const struct gg_query *query,
                                   const int64_t *times, size_t count, struct gg_tally *tallies,
                                   struct gg_error *error);

struct gg_peak {
	int64_t time_ns; /* the end of the window without history, or if nothing was ever live */
	double bytes;    /* the largest live estimate; 0: nothing was ever live */
	/* Time and bytes of all that may have been live; they differ where times were lost. */
	int64_t most_ns;
	double most_bytes;
};
GG_MUST_CHECK int gg_query_peak(const struct gg_model *model, const struct gg_query *query,
                                struct gg_peak *ret_peak, struct gg_error *error);

/*
 * Computes the tally of the blocks live at the peak.  If times were lost, its upper bound belongs
 * to the moment at which the most can have been live.
 */
GG_MUST_CHECK int gg_query_peak_tally(const struct gg_model *model, const struct gg_query *query,
                                      const struct gg_peak *peak, struct gg_tally *ret_tally,
                                      struct gg_error *error);

/*
 * If nobody chooses a metric, a report or a page opens with live memory at the end.  Many programs
 * free nearly everything before they end; for these it opens with the peak.
 */

/* A report opens with live memory if at least this share of the peak is live at the end. */
#define GG_QUERY_LIVE_SHARE 0.1

/*
 * Sets *ret_is to true if less than that share of the peak is live at the end.  False without
 * history. pid 0: all processes.  Cost: one sum over the samples, or two if little of the allocated
 * memory is live.
 */
GG_MUST_CHECK int gg_query_is_given_back(const struct gg_model *model, uint32_t pid, bool *ret_is,
                                         struct gg_error *error);
