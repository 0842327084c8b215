/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_load - state and helpers that the files share which read a profile into a model.
 */
#pragma once

#include "model/model_builder.h"

/* The model's number for each id of one file; 0: no such id. */
struct gg_numbers {
	GG_ARRAY(uint32_t);
};

/* One profile while it is being read. */
struct gg_model_load {
	struct gg_model_builder *builder;
	struct gg_profile *profile;
	struct gg_error *error;
	int64_t shift_ns; /* from the start of the earliest profile to the start of this one */
	struct gg_numbers processes, threads, modules, frames, stacks, heaps, types;
	struct gg_numbers looks;                           /* number + 1 */
	struct gg_model_text_array heap_names, type_names; /* number 0 means none */
	struct gg_map
		aggregate_kinds; /* kind by gg_model_load_kind_key(), of this file's aggregates */
	size_t first_loss, first_pause; /* index of this file's first */
	size_t first_look_block;        /* the same */
};

static inline uint32_t gg_model_load_number(const struct gg_numbers *numbers, uint32_t id)
{
	return id < numbers->count ? numbers->items[id] : 0;
}

/*
 * Converts a time of the file to the model's axis.  The result is within 73 years of the start,
 * whatever the file says, so that no difference of two times overflows.
 */
static inline int64_t gg_model_load_time(const struct gg_model_load *load, int64_t time_ns)
{
	const int64_t most = INT64_MAX / 4;

	if (time_ns == GG_TIME_NONE)
		return GG_TIME_NONE;
	if (time_ns > most || time_ns < -most)
		time_ns = time_ns > 0 ? most : -most;
	return time_ns + load->shift_ns;
}

/* Gives an id its number.  -ENOMEM, or -EBADMSG for an id that no file of geiger has. */
GG_MUST_CHECK int gg_model_load_set_number(struct gg_model_load *load, struct gg_numbers *numbers,
                                           uint32_t id, size_t number);

/* Reads the looks, after processes and before samples. */
GG_MUST_CHECK int gg_model_load_looks(struct gg_model_load *load);

/* Replaces ids of this file's samples in looks by numbers; SIZE_MAX: the file lacks the sample. */
typedef size_t gg_sample_number(uint64_t id, const void *context);
void gg_model_settle_looks(struct gg_model_load *load, gg_sample_number *number_of,
                           const void *context);

/* A key of an allocation class: mapping or not, heap, and type, which are ids of this file. */
uint64_t gg_model_load_kind_key(const struct gg_model_load *load, bool is_mapping, uint32_t heap,
                                uint32_t type);
/* Gives that class its number in the model.  -ENOMEM. */
GG_MUST_CHECK int gg_model_load_kind(struct gg_model_load *load, uint64_t key, uint32_t *ret_kind);

/* Reads the samples, after everything that they refer to has been read. */
GG_MUST_CHECK int gg_model_load_samples(struct gg_model_load *load);
