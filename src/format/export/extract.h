/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract - what of a profile is exported, before any format: sums by stack, thread and kind.
 *
 *   struct gg_extract *extract;
 *
 *   if (gg_extract_make(&extract, model, &query, 0.95, error) < 0)
 *           return error->code;
 *   for (size_t i = 0; i < extract->row_count; i++)
 *           extract->rows[i].live.bytes                    a whole number
 *           gg_extract_interval(extract, &rows[i].live, GG_BYTES)
 *   gg_extract_free(extract);
 *
 * A row has two sums.  `live` is what was live at the moment of the query, that is at the end of its
 * window, at --at, at the peak; if the metric is freed, temporary or left, it is that instead.  `allocated`
 * is what was allocated in the window up to that moment.
 *
 * Whole numbers  Formats have whole numbers, rows have estimates.  Each row's number is the nearest one
 *                to its estimate and what rounding owes from the rows before it: sums over rows are
 *                right to 1 where rounding each for itself would be off by half of their number.  A row
 *                that has a sample counts one allocation at least.  Where nothing is left out of a
 *                window, and nothing was inherited, live is at most allocated, in every row.  All formats use these numbers, so
 *                their totals are the same.
 * Blocks         that a fork shared are counted once, at the process that held them first (query.h).
 * Memory         0.5 kB a row; 64 bytes a block where blocks are asked for.
 * Threads        any number of readers.
 */
#pragma once

#include "model/model.h"
#include "query/query.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/plain_tally.h"

struct gg_extract_sum {
	uint64_t bytes, count;       /* whole numbers, see above */
	struct gg_plain_tally rough; /* what they are of, with its variance */
};

/* By process, stack, thread and kind, in this order. */
struct gg_extract_row {
	uint32_t process, stack, thread, kind; /* numbers of the model; kind: gg_extract_kind() */
	struct gg_extract_sum live, allocated;
};

struct gg_extract {
	const struct gg_model *model;
	struct gg_query query; /* a peak is a moment here */
	enum gg_metric metric; /* that was asked for */
	double confidence;
	double interval_bytes;    /* the largest sampling interval that the scope was exposed to */
	int64_t start_ns, end_ns; /* of the window, within the profile */
	struct gg_tally live, allocated; /* of all rows, exposed to the sampling interval */
	struct gg_extract_row *rows;
	size_t row_count;
	uint64_t live_bytes, live_count, allocated_bytes, allocated_count; /* sums of the rows */
};

/* The nearest whole number, 0 to 2^62: a profile may claim blocks of any size. */
static inline uint64_t gg_extract_whole(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p62 ? (uint64_t)(value + 0.5) : UINT64_C(1) << 62;
}

/* As gg_query_rows() fails.  query->by and its order are not looked at. */
GG_MUST_CHECK int gg_extract_make(struct gg_extract **ret_extract, const struct gg_model *model,
                                  const struct gg_query *query, double confidence,
                                  struct gg_error *error);
void gg_extract_free(struct gg_extract *extract); /* NULL is fine */

/* The sum of a row that the metric asks for: allocated, or live, which stands for all others. */
const struct gg_extract_sum *gg_extract_asked(const struct gg_extract *extract,
                                              const struct gg_extract_row *row);
/* "live", "allocated", "peak", "temporary", "freed", "left". */
const char *gg_extract_metric_name(enum gg_metric metric);

/* Of a row, which sampling discovered. */
struct gg_interval gg_extract_interval(const struct gg_extract *extract,
                                       const struct gg_extract_sum *sum, enum gg_quantity quantity);

/* "malloc", "pool: Node"; of sums that were folded, whose kind is not kept, "[not kept]". */
const char *gg_extract_kind(const struct gg_extract *extract, uint32_t kind);
/* The number of a kind's heap, and its name; where the kind is not kept, one more than all others. */
uint32_t gg_extract_heap(const struct gg_extract *extract, uint32_t kind);
const char *gg_extract_heap_name(const struct gg_extract *extract, uint32_t heap);
/* A name for people, never empty: that of the thread or "thread 12"; that of the program. */
void gg_extract_thread_name(const struct gg_extract *extract, uint32_t thread, struct gg_buf *out);
void gg_extract_process_name(const struct gg_extract *extract, uint32_t process,
                             struct gg_buf *out);

/*
 * A block, or a coarse row of them: what formats with a time axis show.  Those that were there when
 * the window began are allocated at its beginning; what happened after its end has not happened.
 */
struct gg_extract_block {
	int64_t alloc_ns, free_ns; /* GG_TIME_NONE: not freed */
	double bytes, count;       /* what it stands for */
	uint32_t process, stack, thread, kind;
};

/* Sorted by alloc_ns.  The caller frees the array. */
GG_MUST_CHECK int gg_extract_blocks(const struct gg_extract *extract,
                                    struct gg_extract_block **ret_blocks, size_t *ret_count,
                                    struct gg_error *error);

/* Numbers of the blocks that were freed, by when; the caller frees the array.  0 or -ENOMEM. */
GG_MUST_CHECK int gg_extract_ends(const struct gg_extract_block *blocks, size_t count,
                                  uint32_t **ret_ends, size_t *ret_end_count);
