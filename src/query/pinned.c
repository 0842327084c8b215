/* SPDX-License-Identifier: Apache-2.0 */
/* pinned - selects the blocks of looks, and bounds the values that they may have. */
#include "query/pinned.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/sampling/weight.h"

/* A size class with fewer blocks than this does not show how large values are. */
enum { FEW_BLOCKS = 100 };

struct pinned_run {
	struct gg_pinned *pinned;
	const struct gg_model *model;
	const struct gg_profile_look **look_of; /* by process: the chosen look, or NULL */
	uint32_t *holder_of; /* by block: 1 + its first sample; NULL: no block has several */
	struct gg_pinned_bounds bounds;
};

static uint64_t usable_bytes_of(const struct gg_model_sample *sample)
{
	return sample->size_bytes + sample->slack_bytes;
}

static uint32_t class_of(uint64_t usable_bytes)
{
	return usable_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(usable_bytes - 1);
}

uint32_t gg_pinned_class(const struct gg_model_sample *sample)
{
	return class_of(usable_bytes_of(sample));
}

double gg_pinned_weight(const struct gg_model *model, const struct gg_pinned_block *block)
{
	const struct gg_model_sample *sample = &model->samples[block->sample];
	double chance = block->looked.chance > 0 ? block->looked.chance : 1;

	return gg_weight_of(&sample->draw, sample->size_bytes).count / chance;
}

void gg_pinned_bounds_add(struct gg_pinned_bounds *bounds, uint64_t usable_bytes, double value)
{
	uint32_t class = class_of(usable_bytes);

	bounds->counts[class]++;
	bounds->values[class] = fmax(bounds->values[class], value);
	bounds->value_max = fmax(bounds->value_max, value);
}

double gg_pinned_bounds_most(const struct gg_pinned_bounds *bounds, uint64_t usable_bytes)
{
	uint32_t class = class_of(usable_bytes);

	if (bounds->counts[class] >= FEW_BLOCKS && bounds->values[class] > 0)
		return bounds->values[class];
	return bounds->value_max > 0 ? bounds->value_max : fmax(bounds->page_bytes, 4096);
}

/* True if the sample's process held the block while its look was taken. */
static bool is_live_at_look(const struct pinned_run *run, const struct gg_model_sample *sample)
{
	const struct gg_profile_look *look = run->look_of[sample->process];
	int64_t until_ns = gg_model_sample_until(run->model, sample);

	return look != NULL && sample->alloc_ns <= look->time_ns &&
	       (until_ns == GG_TIME_NONE || until_ns > look->time_ns);
}

/*
 * Finds the first holder of each block.  If each look counted the blocks that no earlier look
 * chose, a block of two processes would be counted with a larger chance than c.
 */
static int find_holders(struct pinned_run *run)
{
	const struct gg_model *model = run->model;

	if (!model->has_inherited)
		return 0;
	run->holder_of = calloc(model->sample_count + 1, sizeof(*run->holder_of));
	if (run->holder_of == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->sample_count; i++) {
		uint32_t *holder = &run->holder_of[model->samples[i].block];

		if (*holder == 0 && is_live_at_look(run, &model->samples[i]))
			*holder = (uint32_t)i + 1;
	}
	return 0;
}

static int add_block(struct pinned_run *run, const struct gg_profile_look_block *block,
                     const struct gg_profile_look *look)
{
	const struct gg_model_sample *sample = &run->model->samples[block->sample];
	uint32_t holder;
	struct gg_pinned_block *kept = gg_array_add(&run->pinned->blocks);

	if (kept == NULL)
		return -ENOMEM;
	holder = run->holder_of != NULL ? run->holder_of[sample->block] : 0;
	kept->sample = (uint32_t)block->sample;
	kept->is_first = holder == 0 || holder == block->sample + 1;
	kept->is_known = block->pinned_bytes >= 0;
	kept->look_ns = look->time_ns;
	kept->looked.chance = gg_model_look_chance(look);
	kept->looked.value = fmax(block->pinned_bytes, 0);
	if (!kept->is_known) {
		run->pinned->coverage.unknown_count++;
		return 0;
	}
	gg_pinned_bounds_add(&run->bounds, usable_bytes_of(sample), block->pinned_bytes);
	return 0;
}

/*
 * The exact sum of one process; -1: unknown.  A walk that could not read a part of the heap does
 * not know all of it; nor does one that could not tell chunks in use from those in fast bins and in
 * caches of threads.
 */
static int64_t exact_bytes_of(const struct pinned_run *run, const struct gg_profile_look *look)
{
	return gg_model_look_total(run->model, look->id, "glibc.fast") >= 0 &&
	                       gg_model_look_total(run->model, look->id, "glibc.cached") >= 0 &&
	                       gg_model_look_total(run->model, look->id, "glibc.unread") <= 0 &&
	                       gg_model_look_total(run->model, look->id, "glibc.changed") <= 0
	               ? gg_model_look_total(run->model, look->id, "glibc.pinned")
	               : -1;
}

/* Adds what one process has to a sum, which is unknown (-1) if that of one process is. */
static void add_to(int64_t *sum, int64_t bytes)
{
	*sum = *sum >= 0 && bytes >= 0 && bytes < INT64_MAX - *sum ? *sum + bytes : -1;
}

/*
 * Whether an allocator may have served blocks in a mapping.  A stack's shape may be that of an
 * allocator's memory, so stacks count.  Data without a name lies behind a module's variables, and
 * the kernel joins memory of the allocator to it.
 */
static bool may_have_blocks(const struct gg_profile_look_mapping *mapping)
{
	switch (mapping->kind) {
	case GG_MAPPING_DATA:
		return mapping->name == NULL;
	case GG_MAPPING_FILE:
	case GG_MAPPING_SHARED:
	case GG_MAPPING_GEIGER:
		return false;
	default:
		return true;
	}
}

/* Resident memory in which an allocator may have served blocks; -1: the look has no mappings. */
static int64_t resident_bytes_of(const struct pinned_run *run, const struct gg_profile_look *look)
{
	const struct gg_profile_look_mapping *mappings;
	int64_t bytes = -1;
	size_t count;

	mappings = gg_model_look_mappings(run->model, look->id, &count);
	for (size_t i = 0; i < count; i++) {
		bytes = bytes > 0 ? bytes : 0;
		if (may_have_blocks(&mappings[i]) && mappings[i].rss_bytes > 0)
			bytes += mappings[i].rss_bytes;
	}
	return bytes;
}

/* All free memory of the allocator, on pages of live blocks and others; -1: unknown. */
static int64_t free_bytes_of(const struct pinned_run *run, const struct gg_profile_look *look)
{
	int64_t active = gg_model_look_slab_total(run->model, look->id, "active");
	int64_t allocated = gg_model_look_slab_total(run->model, look->id, "allocated");
	int64_t changed = gg_model_look_slab_total(run->model, look->id, "changed");

	if (active < 0 || allocated < 0)
		return -1;
	return (active > allocated ? active - allocated : 0) + (changed > 0 ? changed : 0);
}

/* The least of the bounds that are known of one process; -1: none is. */
static int64_t most_bytes_of(const struct pinned_run *run, const struct gg_profile_look *look)
{
	int64_t resident = resident_bytes_of(run, look), free_bytes = free_bytes_of(run, look);

	return free_bytes >= 0 && (resident < 0 || free_bytes < resident) ? free_bytes : resident;
}

static void add_totals(struct pinned_run *run, const struct gg_profile_look *look)
{
	int64_t exact = exact_bytes_of(run, look);

	add_to(&run->pinned->coverage.total_bytes, exact);
	add_to(&run->pinned->coverage.limit_bytes, exact >= 0 ? exact : most_bytes_of(run, look));
}

static void add_changed(struct pinned_run *run, const struct gg_profile_look *look)
{
	struct gg_pinned_coverage *seen = &run->pinned->coverage;
	int64_t bytes = gg_model_look_slab_total(run->model, look->id, "changed");
	int64_t allocated = gg_model_look_slab_total(run->model, look->id, "allocated");

	if (bytes <= 0 || bytes >= INT64_MAX - seen->changed_bytes)
		return;
	seen->changed_bytes += bytes;
	seen->changed_share = fmax(seen->changed_share,
	                           allocated > bytes ? (double)bytes / (double)allocated : 1);
}

static int add_look(struct pinned_run *run, const struct gg_profile_look *look)
{
	struct gg_pinned *pinned = run->pinned;
	double chance = gg_model_look_chance(look);
	size_t count;
	const struct gg_profile_look_block *blocks = gg_model_look_blocks(run->model, look->id,
	                                                                  &count);
	int status = 0;

	pinned->coverage.time_ns = pinned->coverage.look_count == 0 ? look->time_ns : GG_TIME_NONE;
	pinned->coverage.look_count++;
	add_totals(run, look);
	add_changed(run, look);
	pinned->coverage.torn_count += look->torn_count > 0 ? (uint64_t)look->torn_count : 0;
	pinned->hides |= chance < 1 || gg_model_exposure(run->model, look->process) > 1;
	run->bounds.page_bytes = fmax(run->bounds.page_bytes, (double)look->page_bytes);
	for (size_t i = 0; i < count && status == 0; i++) {
		if (blocks[i].sample == GG_MODEL_NO_SAMPLE)
			pinned->coverage.gone_count++;
		else
			status = add_block(run, &blocks[i], look);
	}
	return status;
}

/* Gives each block the largest value that one like it may have. */
static void bound_values(struct pinned_run *run)
{
	for (size_t i = 0; i < run->pinned->blocks.count; i++) {
		struct gg_pinned_block *block = &run->pinned->blocks.items[i];
		const struct gg_model_sample *sample = &run->model->samples[block->sample];

		block->looked.value_max = gg_pinned_bounds_most(&run->bounds,
		                                                usable_bytes_of(sample));
		if (!block->is_known)
			block->looked.value = block->looked.value_max;
	}
}

static int explain_nothing(const struct gg_model *model, const char *reason, struct gg_error *error)
{
	if (reason != NULL)
		return gg_error_set(error, -ENODATA, "pinned",
		                    "geiger why says where resident memory goes.",
		                    "no look saw the free memory around live blocks: %s", reason);
	if (model->look_count == 0 && !gg_model_has_times(model))
		return gg_error_set(error, -ENODATA, "pinned",
		                    "Ask the profiles that it was made of.",
		                    "this profile has no look at memory, because it was merged or "
		                    "imported");
	return gg_error_set(
		error, -ENODATA, "pinned",
		model->look_count > 0 ? "Choose another process, or none."
				      : "Record the program again: geiger record -- COMMAND.",
		model->look_count > 0 ? "the profile has no look at these processes"
				      : "the profile has no look at the memory around live blocks");
}

/* A look with a reason saw no memory around blocks, so its blocks say nothing. */
static const char *choose_looks(struct pinned_run *run, const uint8_t *process_in, uint32_t moment)
{
	const struct gg_model *model = run->model;
	const char *reason = NULL;

	for (size_t i = 0; i < model->look_count; i++) {
		const struct gg_profile_look *look = &model->looks[i];

		if ((look->moments & moment) == 0 ||
		    (process_in != NULL && !process_in[look->process]))
			continue;
		if (look->reason == NULL)
			run->look_of[look->process] = look;
		else
			reason = look->reason;
	}
	return reason;
}

int gg_pinned_find(struct gg_pinned *ret_pinned, const struct gg_model *model,
                   const uint8_t *process_in, uint32_t moment, struct gg_error *error)
{
	struct pinned_run run = { .pinned = ret_pinned, .model = model };
	const char *reason;
	int status;

	*ret_pinned = (struct gg_pinned){ 0 };
	run.look_of = calloc(model->process_count + 1, sizeof(*run.look_of));
	if (run.look_of == NULL)
		return gg_error_memory(error, "pinned");
	reason = choose_looks(&run, process_in, moment);
	status = find_holders(&run);
	for (size_t i = 1; i < model->process_count && status == 0; i++) {
		if (run.look_of[i] != NULL)
			status = add_look(&run, run.look_of[i]);
		else if (process_in == NULL || process_in[i])
			ret_pinned->coverage.unseen_process_count++;
	}
	if (status == 0)
		bound_values(&run);
	ret_pinned->coverage.block_count = ret_pinned->blocks.count;
	free(run.holder_of);
	free(run.look_of);
	if (status == 0 && ret_pinned->coverage.look_count == 0)
		status = explain_nothing(model, reason, error);
	else if (status < 0)
		status = gg_error_memory(error, "pinned");
	if (status < 0)
		gg_pinned_done(ret_pinned);
	return status;
}

/*
 * The sampling interval does not bound what a block keeps.  If the samples of a group are all of
 * processes that hide nothing, other processes may still hide blocks of the group.
 */
void gg_pinned_scope_expose(const struct gg_pinned_scope *scope, struct gg_tally *tally)
{
	if (scope->is_incomplete || (scope->hides && !(tally->reserve_max[GG_BYTES] > 0)))
		tally->incomplete = 1;
	if (scope->limit_bytes >= 0)
		gg_tally_limit_bytes(tally, (double)scope->limit_bytes);
	gg_tally_change_bytes(tally, scope->changed_bytes, scope->changed_share);
}

void gg_pinned_done(struct gg_pinned *pinned)
{
	gg_array_done(&pinned->blocks);
	*pinned = (struct gg_pinned){ 0 };
}
