/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_change - what a process allocates and frees between two readings of its live samples.
 *
 *   struct gg_live_change change = { 0 };
 *   struct gg_live_difference difference;
 *
 *   gg_live_change_begin(&change, now_ns);
 *   gg_live_change_note(&change, index, &record);    each record of the first reading
 *   ...
 *   status = gg_live_change_read(&change, reader, from_ns, to_ns, &difference, error);
 *   gg_live_change_done(&change);
 *
 * A record keeps its place in the table as long as its sample lives, so a sample has stayed if the
 * record at its place has the same number.  Each sample counts by its weight.  At any moment
 * between the readings, `stayed_bytes` were live at least.
 *
 * A reading is not of one moment.  Blocks that come while the first one is made may be in it or
 * not, and their numbers may be less than those that it has.  So a block is new if the first
 * reading has it not, whatever its number.  Samples have ascending numbers: those that neither has,
 * from the begin of the first one on, are of blocks that lived in between.
 *
 * Hostile   the program writes the region; records with invalid draws are left out.
 * Threads   one owner at a time.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "record/process/region_reader.h"

/* Estimates of live bytes in blocks of the allocator. */
struct gg_live_difference {
	double before_bytes, after_bytes;
	double stayed_bytes;   /* live at both readings */
	double after_variance; /* of after_bytes, which is an estimate */
	double unseen_bytes;   /* allocated and freed between the readings */
	/* Live at the second one, and allocated after the first: before from_ns; before to_ns. */
	double new_bytes, new_unsure_bytes;
};

/* A sample of the first reading. */
struct gg_live_weight {
	uint64_t number; /* 0: no block of the allocator */
	double bytes, variance;
};

struct gg_live_change {
	GG_ARRAY(struct gg_live_weight) weights; /* by index of the record */
	double before_bytes;
	uint64_t begin_ns;
	uint64_t number_before; /* the largest of a sample that is older than begin_ns */
	uint64_t number_max;
	/* Samples that came while the first reading was made. */
	uint64_t early_count;
	double early_bytes;
};

/* Forgets the last reading.  begin_ns: the time (CLOCK_MONOTONIC) before the first one begins. */
void gg_live_change_begin(struct gg_live_change *change, uint64_t begin_ns);

/* Notes a record of the first reading; indexes ascend.  False: there is no memory for it. */
bool gg_live_change_note(struct gg_live_change *change, uint32_t index,
                         const struct gg_region_sample *record);

/*
 * Reads the table again, and compares it with the first reading.  from_ns and to_ns
 * (CLOCK_MONOTONIC) are the begin and the end of something between both.  0 or -Exxx.
 */
GG_MUST_CHECK int gg_live_change_read(const struct gg_live_change *change,
                                      struct gg_region_reader *reader, uint64_t from_ns,
                                      uint64_t to_ns, struct gg_live_difference *ret,
                                      struct gg_error *error);

void gg_live_change_done(struct gg_live_change *change);
