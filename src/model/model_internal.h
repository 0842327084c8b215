/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_internal - the data of a model, for the files of the model and of its queries.
 *
 * Texts are interned: equal texts are one pointer, which lives as long as the model.
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

/* A module and an address, with the locations of the code there. */
struct gg_model_frame {
	uint64_t address;
	uint32_t module;
	uint32_t first_place, place_count;
};

struct gg_model_node {
	uint32_t parent; /* smaller than the node's own number */
	uint32_t frame;
	uint32_t top; /* gg_model_stack_top() */
};

struct gg_model_function_record {
	struct gg_model_function function;
	bool is_entry;
};

struct gg_model_module {
	const char *path, *name, *status, *build_id;
};

struct gg_model {
	struct gg_model_sample_array samples;
	GG_ARRAY(struct gg_profile_coarse) coarse;
	GG_ARRAY(struct gg_profile_process) processes;
	GG_ARRAY(struct gg_profile_thread) threads;
	GG_ARRAY(struct gg_profile_session) sessions;
	GG_ARRAY(struct gg_profile_memory) memory;
	GG_ARRAY(struct gg_model_counter) counters;
	GG_ARRAY(struct gg_model_label) labels;
	GG_ARRAY(struct gg_model_node) nodes;
	GG_ARRAY(struct gg_model_frame) frames;
	GG_ARRAY(struct gg_code_location) places;
	GG_ARRAY(struct gg_model_function_record) functions;
	struct gg_model_line_array lines;
	GG_ARRAY(struct gg_model_module) modules;
	GG_ARRAY(struct gg_profile_mapping) mappings;
	struct gg_model_text_array notes;
	struct gg_model_text_array kinds, heaps, types; /* names */
	GG_ARRAY(struct gg_model_kind) kind_parts;      /* by allocation class */
	GG_ARRAY(int64_t) untils;                       /* by process: gg_model_process_until() */
	GG_ARRAY(uint32_t) sessions_of;                 /* by process */
	GG_ARRAY(char *) chunks;                        /* hold the texts */
	size_t chunk_used, chunk_size;
	struct gg_map texts, function_map, line_map;
	struct gg_model_text_array text_list;      /* the text of each number in `texts` */
	struct gg_model_span_array losses, pauses; /* by process and end */
	const struct gg_model_options *options;
	bool has_inherited;
	double least_interval; /* of samples that schemes chose by bytes; 0: none */
	uint64_t sample_total;
	int64_t end_ns;
};

/* The interned copy of a text.  NULL for NULL, and when memory is out (sets *failed). */
const char *gg_model_text(struct gg_model *model, const char *text, bool *failed);

/*
 * The number of a function or of a line, which is added if it is new.  UINT32_MAX: out of memory.
 * The caller passes interned texts.
 */
uint32_t gg_model_put_function(struct gg_model *model, const struct gg_model_function *function);
uint32_t gg_model_put_line(struct gg_model *model, const struct gg_model_line *line);
/* Unites equal functions once all are loaded.  Numbers of functions and lines change. */
int gg_model_unite_functions(struct gg_model *model);
/*
 * Computes for each process the time until which it held the blocks that it never freed, as if only
 * the processes with is_in (NULL: all) existed.
 */
int gg_model_find_untils(const struct gg_model *model, const uint8_t *is_in, int64_t *ret_untils);
/* Adds notes about what the profile does not know.  False: out of memory. */
bool gg_model_note_losses(struct gg_model *model);
/* Gives each frame without a location one that is named by its address, and finds the tops. */
int gg_model_complete_places(struct gg_model *model);
