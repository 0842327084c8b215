/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract - sums the samples that an export contains by stack, thread and kind, for all formats.
 *
 *   struct gg_extract *extract;
 *
 *   if (gg_extract_make(&extract, model, &query, 0.95, error) < 0)
 *           return error->status;
 *   for (size_t i = 0; i < extract->row_count; i++)
 *           extract->rows[i].live.bytes                    a whole number
 *           gg_extract_interval(extract, &rows[i].live, GG_BYTES)
 *   gg_extract_free(extract);
 *
 * A row has two sums.  `live` is the live memory at the moment of the query: at the end of its
 * window, at --at, or at the peak.  If the metric is freed, temporary or left, `live` holds that
 * metric instead.  `allocated` is the memory that was allocated in the window up to that moment.
 * If the metric is pinned, `live` holds the free memory that live blocks keep; its count is the
 * number of these blocks, and `allocated` is the memory of the whole profile.
 *
 * Whole numbers  Formats have whole numbers, but rows have estimates.  Rounding each row by itself
 *                would make a sum wrong by up to half of the number of rows.  So each row also
 *                takes the rounding error of the rows before it, and every sum of consecutive rows
 *                is right to 1.  A row that has a sample counts at least one allocation.  In a row,
 *                live is at most allocated, unless the window excludes allocations, the process
 *                inherited blocks, or the metric is pinned.  All formats use these numbers, so
 *                their totals agree.
 * Memory         0.5 kB for each row.
 * Threads        any number of readers.
 */
#pragma once

#include "model/model.h"
#include "query/query.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/plain_tally.h"

struct gg_extract_sum {
	uint64_t bytes, count;       /* whole numbers, see above */
	struct gg_plain_tally tally; /* the estimate and its variance */
	bool is_pinned;              /* its bytes have the bounds of gg_extract.pinned_scope */
	bool is_lacking;             /* it is a lower bound */
};

/* Rows are sorted by process, stack, thread and kind. */
struct gg_extract_row {
	uint32_t process, stack, thread, kind; /* numbers of the model; kind: gg_extract_kind() */
	struct gg_extract_sum live, allocated;
};

struct gg_extract {
	const struct gg_model *model;
	struct gg_query query; /* a peak has become a moment here */
	enum gg_metric metric; /* the metric of the original query */
	double confidence;
	struct gg_pinned_scope pinned_scope; /* pinned alone */
	double interval_bytes; /* the largest sampling interval that the scope was exposed to */
	/* Some sizes were exposed to so many times that (gg_model_exposure); 0: unknown */
	double exposure_factor;
	/*
	 * True: totals are lower bounds, as in reports; rows say so for themselves.  For the metric
	 * allocated, live memory may also lack what was allocated before the window.
	 */
	bool is_lacking, is_live_lacking;
	int64_t start_ns, end_ns;        /* the window within the profile */
	struct gg_tally live, allocated; /* totals of all rows and the sampling interval */
	struct gg_extract_row *rows;
	size_t row_count;
	uint64_t live_bytes, live_count, allocated_bytes, allocated_count; /* sums of the rows */
};

/* The debt of rounding: estimates of the rows so far, less their whole numbers (extract.c). */
struct gg_extract_debt {
	double bytes, count;
};

/* Rounds a row's estimate, with the debt of the rows before it.  Without samples it is 0. */
void gg_extract_round(struct gg_extract_debt *debt, bool has_samples, double bytes, double count,
                      uint64_t *ret_bytes, uint64_t *ret_count);

/* Rounds to the nearest whole number from 0 to 2^62: a profile may claim blocks of any size. */
static inline uint64_t gg_extract_whole(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p62 ? (uint64_t)(value + 0.5) : UINT64_C(1) << 62;
}

/* Fails like gg_query_rows().  The function ignores query->by and the order of the query. */
GG_MUST_CHECK int gg_extract_make(struct gg_extract **ret_extract, const struct gg_model *model,
                                  const struct gg_query *query, double confidence,
                                  struct gg_error *error);
/*
 * Makes an extract whose rows are sums of a process and a whole stack, the allocator's entries
 * included.  Thread and kind of a row say nothing.  Such rows are the same whichever names are
 * known, and what a row has allocated never becomes less.  gg_extract_hide_entries() then gives the
 * rows the stacks that reports show; several rows may have one stack after it.
 */
GG_MUST_CHECK int gg_extract_make_by_stack(struct gg_extract **ret_extract,
                                           const struct gg_model *model,
                                           const struct gg_query *query, double confidence,
                                           struct gg_error *error);
void gg_extract_hide_entries(struct gg_extract *extract);
void gg_extract_free(struct gg_extract *extract); /* NULL is fine */

/* Returns the row's sum for the metric: `allocated` for allocated, `live` for all other metrics. */
const struct gg_extract_sum *gg_extract_queried(const struct gg_extract *extract,
                                                const struct gg_extract_row *row);

/*
 * Sets the bounds of a tally of pinned memory.  Another one is a total of the queried metric: the
 * function sets the sampling interval, and whether it is a lower bound.
 */
void gg_extract_expose(const struct gg_extract *extract, bool is_pinned, struct gg_tally *tally);
/* Sets the bounds of a total of the rows' `allocated`, or of their `live` unless it is pinned. */
void gg_extract_expose_sum(const struct gg_extract *extract, bool is_allocated,
                           struct gg_tally *tally);

/* Returns the confidence interval of a row's sum.  Sampling itself selected which rows exist. */
struct gg_interval gg_extract_interval(const struct gg_extract *extract,
                                       const struct gg_extract_sum *sum, enum gg_quantity quantity);

/* Returns a name such as "malloc" or "pool: Node"; "[not kept]" for aggregates without a kind. */
const char *gg_extract_kind(const struct gg_extract *extract, uint32_t kind);
/*
 * Returns the number of a kind's heap and its name; aggregates without a kind have a heap of their
 * own.
 */
uint32_t gg_extract_heap(const struct gg_extract *extract, uint32_t kind);
const char *gg_extract_heap_name(const struct gg_extract *extract, uint32_t heap);
/* These return a name to show, never an empty one: the thread's or "thread 12"; the program's. */
void gg_extract_thread_name(const struct gg_extract *extract, uint32_t thread, struct gg_buf *out);
void gg_extract_process_name(const struct gg_extract *extract, uint32_t process,
                             struct gg_buf *out);
