/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_samples - the live samples of a region at the moment of a look, and which of them the look
 * chooses.
 *
 *   struct gg_look_samples samples = { 0 };
 *
 *   status = gg_look_samples_read(&samples, reader, live_set, error);
 *   gg_look_samples_choose(&samples, GG_LOOK_CHOSEN_MAX, seed);
 *   ...                                  the look at samples.list.items[0 .. chosen_count)
 *   status = gg_look_samples_check(&samples, reader, error);
 *   ...                                  is_gone tells which of these were freed meanwhile
 *   status = gg_live_change_read(&samples.change, reader, from_ns, to_ns, &difference,
 *                                error);
 *   ...                                  and how much changed in all
 *   gg_look_samples_done(&samples);
 *
 * Objects of a program's own heaps are left out: they lie inside of larger blocks, and no allocator
 * knows their addresses.
 *
 * Hostile   the program writes the region; records without an entry in the live set are left out.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "record/look/live_change.h"
#include "record/process/live_set.h"
#include "record/process/region_reader.h"

enum {
	GG_LOOK_CHOSEN_MAX = 10000,
	/* A region with more live samples takes too long to read twice. */
	GG_LOOK_LIVE_MAX = 1 << 20,
};

struct gg_look_sample {
	uint64_t id;     /* in the profile */
	uint64_t number; /* in the region */
	uint64_t address, size_bytes, usable_bytes;
	double weight_bytes; /* of all allocations that it represents; 0 for a mapping */
	uint32_t index;      /* of its record in the region */
	bool is_mapping;
	bool is_gone; /* it was freed between reading and checking, or moved */
};

struct gg_look_samples {
	GG_ARRAY(struct gg_look_sample) list; /* the chosen ones first, by index */
	size_t chosen_count;
	size_t gone_count;            /* chosen ones that are gone */
	struct gg_live_change change; /* of all samples of the region */
	bool is_too_large;            /* more than GG_LOOK_LIVE_MAX records: the list is empty */
};

/*
 * Reads the live samples that the live set knows; NULL: all of them, with their numbers as ids.
 * 0 or -Exxx.
 */
GG_MUST_CHECK int gg_look_samples_read(struct gg_look_samples *samples,
                                       struct gg_region_reader *reader,
                                       const struct gg_live_set *live_set, struct gg_error *error);

/* Chooses at most `max` samples, each with the same chance. */
void gg_look_samples_choose(struct gg_look_samples *samples, size_t max, uint64_t seed);

/* Reads the records of the chosen samples again.  0 or -Exxx. */
GG_MUST_CHECK int gg_look_samples_check(struct gg_look_samples *samples,
                                        struct gg_region_reader *reader, struct gg_error *error);

void gg_look_samples_done(struct gg_look_samples *samples);
