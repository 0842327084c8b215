/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_looks - reads the looks of a profile into a model, and finds their parts.
 *
 * The blocks of looks refer to samples by ids of the file.  The loader reads looks before samples,
 * and gg_model_settle_looks() replaces these ids by the model's numbers once samples have numbers.
 */
#include <string.h>

#include "base/assert.h"
#include "base/binary_search.h"
#include "base/compiler.h"
#include "model/model_load.h"

static int out_of_memory(struct gg_model_load *load)
{
	return gg_error_memory(load->error, "reading the profile");
}

/* A look at a process that the profile does not have says nothing about anything. */
static int read_look(const struct gg_profile_look *look, void *context)
{
	struct gg_model_load *load = context;
	uint32_t process = gg_model_load_number(&load->processes, look->process);
	struct gg_profile_look *kept;
	bool failed = false;

	if (process == 0)
		return 0;
	kept = gg_array_add(&load->builder->looks);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = *look;
	kept->id = (uint32_t)load->builder->looks.count - 1;
	kept->process = process;
	kept->time_ns = gg_model_load_time(load, look->time_ns);
	kept->allocator = gg_model_text(load->builder, look->allocator, &failed);
	kept->reason = gg_model_text(load->builder, look->reason, &failed);
	if (failed)
		return out_of_memory(load);
	return gg_model_load_set_number(load, &load->looks, look->id, load->builder->looks.count);
}

/* Sets *ret_look to the model's number of a look.  False: the profile does not have the look. */
static bool find_look(const struct gg_model_load *load, uint32_t id, uint32_t *ret_look)
{
	uint32_t number = gg_model_load_number(&load->looks, id);

	*ret_look = number - 1;
	return number != 0;
}

static int read_mapping(const struct gg_profile_look_mapping *mapping, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_look_mapping *kept;
	bool failed = false;
	uint32_t look;

	if (!find_look(load, mapping->look, &look))
		return 0;
	kept = gg_array_add(&load->builder->look_mappings);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = *mapping;
	kept->look = look;
	kept->name = gg_model_text(load->builder, mapping->name, &failed);
	return failed ? out_of_memory(load) : 0;
}

/* A damaged value is an unknown one. */
static int read_block(const struct gg_profile_look_block *block, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_look_block *kept;
	uint32_t look;

	if (!find_look(load, block->look, &look))
		return 0;
	kept = gg_array_add(&load->builder->look_blocks);
	if (kept == NULL || !gg_array_push(&load->builder->look_block_ids, block->sample))
		return out_of_memory(load);
	*kept = *block;
	kept->look = look;
	if (!(block->pinned_bytes >= 0 && block->pinned_bytes < 0x1p53))
		kept->pinned_bytes = -1;
	return 0;
}

static int read_total(const struct gg_profile_look_total *total, void *context)
{
	struct gg_model_load *load = context;
	struct gg_profile_look_total *kept;
	bool failed = false;
	uint32_t look;

	if (!find_look(load, total->look, &look))
		return 0;
	kept = gg_array_add(&load->builder->look_totals);
	if (kept == NULL)
		return out_of_memory(load);
	*kept = *total;
	kept->look = look;
	kept->name = gg_model_text(load->builder, total->name, &failed);
	return failed ? out_of_memory(load) : 0;
}

int gg_model_load_looks(struct gg_model_load *load)
{
	struct gg_profile *from = load->profile;
	struct gg_error *error = load->error;
	int status;

	load->first_look_block = load->builder->look_blocks.count;
	status = gg_profile_each_look(from, read_look, load, error);
	status = status != 0 ? status
	                     : gg_profile_each_look_mapping(from, read_mapping, load, error);
	status = status != 0 ? status : gg_profile_each_look_block(from, read_block, load, error);
	return status != 0 ? status : gg_profile_each_look_total(from, read_total, load, error);
}

void gg_model_settle_looks(struct gg_model_load *load, gg_sample_number *number_of,
                           const void *context)
{
	struct gg_model_builder *builder = load->builder;
	const struct gg_model_sample *samples = builder->samples.items;

	for (size_t i = load->first_look_block; i < builder->look_blocks.count; i++) {
		struct gg_profile_look_block *block = &builder->look_blocks.items[i];
		size_t number = number_of(block->sample, context);

		block->sample = GG_MODEL_NO_SAMPLE;
		if (number == SIZE_MAX)
			continue;
		gg_assert(number < builder->samples.count);
		if (samples[number].process == builder->looks.items[block->look].process)
			block->sample = number;
	}
}

/* --- parts of a look ------------------------------------------------------------------------ */

/* Finds the records of a look in an array that is sorted by look. */
#define parts_of(records, record_count, look_number, ret_count)                    \
	({                                                                         \
		size_t first_ = gg_lower_bound(0, record_count, i,                 \
		                               (records)[i].look < (look_number)); \
		size_t end_ = gg_lower_bound(first_, record_count, i,              \
		                             (records)[i].look <= (look_number));  \
                                                                                   \
		*(ret_count) = end_ - first_;                                      \
		end_ > first_ ? (records) + first_ : NULL;                         \
	})

const struct gg_profile_look_mapping *gg_model_look_mappings(const struct gg_model *model,
                                                             uint32_t look, size_t *ret_count)
{
	return parts_of(model->look_mappings, model->look_mapping_count, look, ret_count);
}

const struct gg_profile_look_block *gg_model_look_blocks(const struct gg_model *model,
                                                         uint32_t look, size_t *ret_count)
{
	return parts_of(model->look_blocks, model->look_block_count, look, ret_count);
}

const struct gg_profile_look_total *gg_model_look_totals(const struct gg_model *model,
                                                         uint32_t look, size_t *ret_count)
{
	return parts_of(model->look_totals, model->look_total_count, look, ret_count);
}

int64_t gg_model_look_total(const struct gg_model *model, uint32_t look, const char *name)
{
	size_t count;
	const struct gg_profile_look_total *totals = gg_model_look_totals(model, look, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(totals[i].name, name) == 0)
			return totals[i].bytes;
	return -1;
}

bool gg_model_is_slab_total(const char *total, const char *name)
{
	static const char *const allocators[] = { "jemalloc.", "geiger-malloc." };

	for (size_t i = 0; i < GG_COUNT(allocators); i++) {
		size_t length = strlen(allocators[i]);

		if (strncmp(total, allocators[i], length) == 0 && strcmp(total + length, name) == 0)
			return true;
	}
	return false;
}

int64_t gg_model_look_slab_total(const struct gg_model *model, uint32_t look, const char *name)
{
	size_t count;
	const struct gg_profile_look_total *totals = gg_model_look_totals(model, look, &count);

	for (size_t i = 0; i < count; i++)
		if (gg_model_is_slab_total(totals[i].name, name))
			return totals[i].bytes;
	return -1;
}

const struct gg_profile_look *gg_model_find_look(const struct gg_model *model, uint32_t process,
                                                 uint32_t moment)
{
	for (size_t i = 0; i < model->look_count; i++)
		if (model->looks[i].process == process && (model->looks[i].moments & moment) != 0)
			return &model->looks[i];
	return NULL;
}

double gg_model_look_chance(const struct gg_profile_look *look)
{
	if (look->chosen_count <= 0 || look->live_count < look->chosen_count)
		return 0;
	return (double)look->chosen_count / (double)look->live_count;
}
