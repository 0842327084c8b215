/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_outline - all of a process's OTLP profile that stays the same from one profile to the next.
 *
 *   struct gg_otlp_outline outline = { 0 };
 *
 *   status = gg_otlp_outline_make(&outline, &job, slots);   once; slots[i] is that of row i
 *   ... for each profile: values[slot] is filled, and `moment` has its window and totals ...
 *   status = gg_otlp_outline_write(&outline, values, &moment, tables_bytes, &head, &tail);
 *   gg_otlp_outline_done(&outline);
 *
 * A profile is then head, outline.tables, and tail, one after the other.  The head has the samples
 * and the beginning of the dictionary, which the tables and the tail complete.  The tables are most
 * of a profile, and an encoder of samples needs nothing else of them than the numbers of stacks.
 *
 * Slots    are the stacks of the dictionary, the empty one first.  Rows with the same stack share a
 *          slot.  A slot all of whose values are 0 gets a sample of 0 bytes in inuse_space: each
 *          stack of the dictionary must belong to a sample.
 * Same     samples, window, names and attributes are those of `geiger export --format otlp`; the
 *          order of attributes differs.
 * Memory   the tables take some 60 bytes a stack, until they are packed.
 * Threads  one owner.
 */
#pragma once

#include "format/export/export.h"

enum { GG_OTLP_VALUE_COUNT = 4 };

/* The values of a slot: live bytes and allocations, and allocated ones. */
struct gg_otlp_values {
	uint64_t items[GG_OTLP_VALUE_COUNT];
};

struct gg_otlp_outline {
	/* Fields of ResourceProfiles, of ScopeProfiles, and of each Profile before its samples. */
	struct gg_buf resource, scope, types[GG_OTLP_VALUE_COUNT];
	struct gg_buf period; /* fields of each Profile */
	/* Fields of the dictionary: all but attributes, and the attributes of all profiles. */
	struct gg_buf tables, attributes;
	uint32_t attribute_count;
	uint32_t low_key, high_key, units[GG_OTLP_VALUE_COUNT]; /* strings */
	uint32_t confidence, metric;                            /* attributes */
	size_t slot_count;
	double confidence_level, interval_bytes;
	bool is_lacking; /* totals are lower bounds, and no attribute has their upper end */
};

/* The parts of a profile that differ from one to the next. */
struct gg_otlp_moment {
	uint64_t time_ns, duration_ns, identity;
	const struct gg_plain_tally *live, *allocated; /* the totals */
};

/*
 * The extract has one process, and may have rows without values.  On failure the outline is empty.
 */
GG_MUST_CHECK int gg_otlp_outline_make(struct gg_otlp_outline *ret_outline,
                                       const struct gg_export *job, uint32_t *ret_slots);

/*
 * Appends head and tail; `tables_bytes` is the length of the tables, which may be packed by now.
 * -ENOMEM; -EDOM: no total has one of the ends of its interval, which the outline does not expect.
 */
GG_MUST_CHECK int gg_otlp_outline_write(const struct gg_otlp_outline *outline,
                                        const struct gg_otlp_values *values,
                                        const struct gg_otlp_moment *moment, size_t tables_bytes,
                                        struct gg_buf *head, struct gg_buf *tail);
void gg_otlp_outline_done(struct gg_otlp_outline *outline);
