/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_builder - the growing arrays behind a model, for the files that load one.
 *
 * The loader fills the builder's arrays, and gg_model_builder_publish() points the model into them.
 * The builder lives as long as its model, because it owns the arrays and the texts.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "model/model.h"

/* Types of arrays that functions take. */
struct gg_model_sample_array {
	GG_ARRAY(struct gg_model_sample);
};
struct gg_model_line_array {
	GG_ARRAY(struct gg_model_line);
};
struct gg_model_span_array {
	GG_ARRAY(struct gg_model_span);
};
struct gg_model_text_array {
	GG_ARRAY(const char *);
};

/* The arrays have the names that they have in the model, which documents them. */
struct gg_model_builder {
	struct gg_model model; /* the first member: gg_model_free() finds the builder by it */

	struct gg_model_sample_array samples;
	GG_ARRAY(struct gg_profile_aggregate) aggregates;
	GG_ARRAY(struct gg_tally) aggregate_tallies;
	GG_ARRAY(uint32_t) aggregate_kinds; /* UINT32_MAX: not kept */
	GG_ARRAY(struct gg_profile_process) processes;
	GG_ARRAY(uint32_t) process_sessions;
	GG_ARRAY(int64_t) process_until_ns;
	GG_ARRAY(struct gg_profile_thread) threads;
	GG_ARRAY(struct gg_profile_session) sessions;
	GG_ARRAY(struct gg_model_stack) stacks;
	GG_ARRAY(uint32_t) stack_vias;
	GG_ARRAY(struct gg_model_frame) frames;
	GG_ARRAY(struct gg_code_location) locations;
	GG_ARRAY(struct gg_model_function) functions;
	struct gg_model_line_array lines;
	GG_ARRAY(struct gg_model_module) modules;
	GG_ARRAY(struct gg_profile_mapping) mappings;
	GG_ARRAY(struct gg_model_kind) kinds;
	struct gg_model_text_array heaps, types, notes;
	GG_ARRAY(struct gg_profile_memory) memory;
	GG_ARRAY(struct gg_model_counter) counters;
	GG_ARRAY(struct gg_model_interval_change) interval_changes;
	GG_ARRAY(struct gg_model_full_collection) full_collections;
	GG_ARRAY(struct gg_model_collections) collections;
	GG_ARRAY(struct gg_model_label) labels;
	GG_ARRAY(struct gg_profile_attach) attaches;
	GG_ARRAY(struct gg_profile_fault) faults;
	struct gg_model_span_array losses, pauses;
	GG_ARRAY(struct gg_profile_look) looks;
	GG_ARRAY(struct gg_profile_look_mapping) look_mappings;
	GG_ARRAY(struct gg_profile_look_block) look_blocks;
	GG_ARRAY(uint64_t) look_block_ids;
	GG_ARRAY(struct gg_profile_look_total) look_totals;

	struct gg_map texts;                  /* numbers in text_list, by text */
	struct gg_model_text_array text_list; /* the interned texts */
	GG_ARRAY(char *) chunks;              /* hold the texts */
	size_t chunk_used, chunk_size;        /* of the last chunk, in bytes */

	struct gg_model_memo memo;

	/* While the model is loaded. */
	struct gg_map function_map, line_map;
	const struct gg_model_options *options;
};

/* NULL: out of memory.  The caller frees it, or the model that it published. */
struct gg_model_builder *gg_model_builder_new(const struct gg_model_options *options);
void gg_model_builder_free(struct gg_model_builder *builder); /* NULL is fine */

/*
 * Points the model into the arrays as they are now.  Call it again after an array has grown.  The
 * model's other members are the loader's.
 */
struct gg_model *gg_model_builder_publish(struct gg_model_builder *builder);

/* The builder that published a model. */
static inline struct gg_model_builder *gg_model_builder_of(struct gg_model *model)
{
	return (struct gg_model_builder *)model;
}

/* The interned copy of a text.  NULL for NULL, and when memory is out (sets *failed). */
const char *gg_model_text(struct gg_model_builder *builder, const char *text, bool *failed);

/*
 * The number of a function or of a line, which is added if it is new.  UINT32_MAX: out of memory.
 * The caller passes interned texts.
 */
uint32_t gg_model_put_function(struct gg_model_builder *builder,
                               const struct gg_model_function *function);
uint32_t gg_model_put_line(struct gg_model_builder *builder, const struct gg_model_line *line);
/* Unites equal functions once all are loaded.  Numbers of functions and lines change. */
int gg_model_unite_functions(struct gg_model_builder *builder);
/* Adds notes about what the profile does not know.  False: out of memory. */
bool gg_model_note_losses(struct gg_model_builder *builder);
/* Gives each frame without a location one that is named by its address, and finds the tops. */
int gg_model_complete_locations(struct gg_model_builder *builder);
