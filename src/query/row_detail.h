/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_detail - divides the memory of one row by caller, by callee, by line, and by age.
 *
 *   struct gg_row_detail detail;
 *
 *   if (gg_row_detail_find(&detail, model, &query, row->key, now_ns, error) == 0)
 *           ... detail.parts[GG_PART_CALLERS].items[0..count), the largest first ...
 *   gg_row_detail_done(&detail);
 *
 * Locations  The row of a function, line, or module has its total: all stacks with that location.
 *            A stack is divided where the location is innermost, so a recursive function is its own
 *            caller.  Callers, callees, and lines each divide the whole total, and each equals a
 *            sum of nodes of `geiger tree`.  A callee GG_PART_SELF is the row's own memory.
 * Others     The row of a stack, thread, size, and so on is divided by allocating function and by
 *            line.
 * Ages       Only of live memory, and of what the row allocated itself.
 *
 * Cost      a pass over the samples, and over the frames of each stack with samples.
 * Memory    a tally for each piece, and 40 bytes for each stack with samples.
 * Threads   Any number of calls on one model.  One thread owns a detail.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "query/query.h"

enum gg_row_part {
	GG_PART_CALLERS,
	GG_PART_CALLEES,
	GG_PART_FUNCTIONS, /* that allocate */
	GG_PART_LINES,
	GG_PART_AGES, /* `key` is an enum gg_age_class; in the order of ages */
	GG_PART_COUNT
};

enum gg_age_class {
	GG_AGE_SECOND, /* younger than a second */
	GG_AGE_TEN_SECONDS,
	GG_AGE_MINUTE,
	GG_AGE_TEN_MINUTES,
	GG_AGE_HOUR,
	GG_AGE_DAY,
	GG_AGE_OLDER,
	GG_AGE_UNKNOWN, /* only sums were kept, or the time of the free was lost */
	GG_AGE_COUNT
};

/* "younger than 1 s", "1 s to 10 s", ... */
const char *gg_age_class_name(enum gg_age_class class);

/* A callee that is the row itself, and a caller of the outermost function. */
#define GG_PART_SELF UINT32_MAX
#define GG_PART_NONE (UINT32_MAX - 1)

struct gg_row_piece {
	uint32_t key; /* a function or a line of the model, or a class of ages */
	struct gg_tally tally;
};

struct gg_row_pieces {
	GG_ARRAY(struct gg_row_piece) items;
};

struct gg_row_detail {
	struct gg_row_pieces parts[GG_PART_COUNT];
};

/*
 * The query must be one of gg_query_rows(), not for the peak or for pinned memory.  Fails as that
 * does; call _done() only after success.
 */
GG_MUST_CHECK int gg_row_detail_find(struct gg_row_detail *ret_detail, const struct gg_model *model,
                                     const struct gg_query *query, uint32_t key, int64_t now_ns,
                                     struct gg_error *error);
void gg_row_detail_done(struct gg_row_detail *detail);

/* Appends the label of a piece, as gg_query_row_label() labels the row of that function or line. */
void gg_row_piece_label(const struct gg_model *model, enum gg_row_part part, uint32_t key,
                        struct gg_buf *out);
