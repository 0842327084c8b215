/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned - selects the blocks of looks for the metric pinned: the free memory that live blocks keep
 * resident on their pages.
 *
 *   struct gg_pinned pinned;
 *
 *   status = gg_pinned_find(&pinned, model, process_in, GG_LOOK_LAST, error);
 *   for (size_t i = 0; i < pinned.blocks.count; i++)
 *           gg_tally_add_value(&tally, &samples[block->sample].draw, size, &block->looked);
 *   gg_pinned_done(&pinned);
 *
 * Each process has one chosen look.  Processes that hold one block together, because one forked the
 * other, count it once: the block belongs to the first of them whose look may have chosen it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "model/model.h"
#include "stats/estimate/looked_value.h"
#include "stats/estimate/tally.h"

struct gg_pinned_block {
	uint32_t sample; /* number in the model */
	/* False: another process represents the block in sums over processes. */
	bool is_first;
	/* False: the look could not tell; `looked.value` is then the most that it may be. */
	bool is_known;
	struct gg_looked_value looked;
	int64_t look_ns; /* the time of the look */
};

/* The extent of what the chosen looks saw. */
struct gg_pinned_coverage {
	/* Looks that saw memory around blocks, and processes without such a look. */
	uint32_t look_count, unseen_process_count;
	int64_t time_ns;      /* of the look, if there is one; GG_TIME_NONE: several */
	uint64_t block_count; /* that the looks chose and the profile has */
	/* Blocks that changed during the look, unknown ones, and ones without a sample. */
	uint64_t torn_count, unknown_count, gone_count;
	/*
	 * Exact sum over these processes, of all blocks that the allocator serves, sampled or not;
	 * -1: the heap of some process was not walked, or not whole.
	 */
	int64_t total_bytes;
	/*
	 * The most that all blocks of these processes keep: the exact sum, or all resident memory
	 * that may hold blocks; -1: unknown.
	 */
	int64_t limit_bytes;
	/* Upper bound of the bytes of blocks that changed between an allocator's answer and its
	 * look; 0: all answers are of the looks' moments. */
	int64_t changed_bytes;
	double changed_share; /* the largest part of all blocks of a process that these are */
};

/* The bounds of groups of pinned memory, which do not follow from the samples. */
struct gg_pinned_scope {
	bool hides;          /* some blocks may be neither samples nor chosen */
	bool is_incomplete;  /* samples were dropped, or sampling was off */
	int64_t limit_bytes; /* the most that a group keeps, as in the coverage; -1: unknown */
	/* Bytes of blocks that changed since the values were read, as in the coverage. */
	double changed_bytes, changed_share;
};

/* Sets the bounds of a group's tally, once all of its blocks are in it. */
void gg_pinned_scope_expose(const struct gg_pinned_scope *scope, struct gg_tally *tally);

struct gg_pinned {
	GG_ARRAY(struct gg_pinned_block) blocks; /* in the order of looks */
	struct gg_pinned_coverage coverage;
	bool hides; /* some blocks may be neither samples nor chosen */
};

/*
 * Selects the blocks of the processes with process_in (NULL: all) at that moment of looks
 * (GG_LOOK_*).  -ENODATA: no look saw memory around samples; -ENOMEM.
 */
GG_MUST_CHECK int gg_pinned_find(struct gg_pinned *ret_pinned, const struct gg_model *model,
                                 const uint8_t *process_in, uint32_t moment,
                                 struct gg_error *error);

void gg_pinned_done(struct gg_pinned *pinned);

/* Returns how many live blocks a chosen block stands for. */
double gg_pinned_weight(const struct gg_model *model, const struct gg_pinned_block *block);

/* The class of a sample's usable size: sizes in (2^(n-1), 2^n] are of class n. */
enum { GG_PINNED_CLASS_COUNT = 65 };
uint32_t gg_pinned_class(const struct gg_model_sample *sample);

/*
 * The largest values that blocks may have, as the known blocks show.  All-zero has seen no block;
 * page_bytes is 4096 at least.
 */
struct gg_pinned_bounds {
	uint64_t counts[GG_PINNED_CLASS_COUNT];
	double values[GG_PINNED_CLASS_COUNT], value_max; /* the largest by class, and of all */
	double page_bytes;
};

void gg_pinned_bounds_add(struct gg_pinned_bounds *bounds, uint64_t usable_bytes, double value);
/* Returns the largest value that a block of that usable size may have. */
double gg_pinned_bounds_most(const struct gg_pinned_bounds *bounds, uint64_t usable_bytes);
