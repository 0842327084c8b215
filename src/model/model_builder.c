/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model_builder.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gg_model_builder *gg_model_builder_new(const struct gg_model_options *options)
{
	struct gg_model_builder *builder = calloc(1, sizeof(*builder));

	if (builder == NULL)
		return NULL;
	builder->options = options;
	builder->model.memo = &builder->memo;
	pthread_mutex_init(&builder->memo.mutex, NULL);
	return builder;
}

static void free_texts(struct gg_model_builder *builder)
{
	for (size_t i = 0; i < builder->chunks.count; i++)
		free(builder->chunks.items[i]);
	gg_array_done(&builder->chunks);
	gg_array_done(&builder->text_list);
	gg_map_done(&builder->texts);
}

void gg_model_builder_free(struct gg_model_builder *builder)
{
	if (builder == NULL)
		return;
	gg_array_done(&builder->samples);
	gg_array_done(&builder->aggregates);
	gg_array_done(&builder->aggregate_tallies);
	gg_array_done(&builder->aggregate_kinds);
	gg_array_done(&builder->processes);
	gg_array_done(&builder->process_sessions);
	gg_array_done(&builder->process_until_ns);
	gg_array_done(&builder->threads);
	gg_array_done(&builder->sessions);
	gg_array_done(&builder->stacks);
	gg_array_done(&builder->stack_vias);
	gg_array_done(&builder->frames);
	gg_array_done(&builder->locations);
	gg_array_done(&builder->functions);
	gg_array_done(&builder->lines);
	gg_array_done(&builder->modules);
	gg_array_done(&builder->mappings);
	gg_array_done(&builder->kinds);
	gg_array_done(&builder->heaps);
	gg_array_done(&builder->types);
	gg_array_done(&builder->notes);
	gg_array_done(&builder->memory);
	gg_array_done(&builder->counters);
	gg_array_done(&builder->interval_changes);
	gg_array_done(&builder->full_collections);
	gg_array_done(&builder->collections);
	gg_array_done(&builder->labels);
	gg_array_done(&builder->attaches);
	gg_array_done(&builder->faults);
	gg_array_done(&builder->losses);
	gg_array_done(&builder->pauses);
	gg_array_done(&builder->looks);
	gg_array_done(&builder->look_mappings);
	gg_array_done(&builder->look_blocks);
	gg_array_done(&builder->look_block_ids);
	gg_array_done(&builder->look_totals);
	free_texts(builder);
	gg_map_done(&builder->function_map);
	gg_map_done(&builder->line_map);
	pthread_mutex_destroy(&builder->memo.mutex);
	free(builder);
}

void gg_model_free(struct gg_model *model)
{
	if (model != NULL)
		gg_model_builder_free(gg_model_builder_of(model));
}

static void publish_code(struct gg_model_builder *builder)
{
	struct gg_model *model = &builder->model;

	model->stacks = builder->stacks.items;
	model->stack_count = builder->stacks.count;
	model->stack_vias = builder->stack_vias.items;
	model->frames = builder->frames.items;
	model->frame_count = builder->frames.count;
	model->locations = builder->locations.items;
	model->location_count = builder->locations.count;
	model->functions = builder->functions.items;
	model->function_count = builder->functions.count;
	model->lines = builder->lines.items;
	model->line_count = builder->lines.count;
	model->modules = builder->modules.items;
	model->module_count = builder->modules.count;
	model->mappings = builder->mappings.items;
	model->mapping_count = builder->mappings.count;
}

static void publish_samples(struct gg_model_builder *builder)
{
	struct gg_model *model = &builder->model;

	model->samples = builder->samples.items;
	model->sample_count = builder->samples.count;
	model->aggregates = builder->aggregates.items;
	model->aggregate_count = builder->aggregates.count;
	model->aggregate_tallies = builder->aggregate_tallies.items;
	model->aggregate_kinds = builder->aggregate_kinds.items;
	model->kinds = builder->kinds.items;
	model->kind_count = builder->kinds.count;
	model->heaps = builder->heaps.items;
	model->heap_count = builder->heaps.count;
	model->types = builder->types.items;
	model->type_count = builder->types.count;
}

static void publish_processes(struct gg_model_builder *builder)
{
	struct gg_model *model = &builder->model;

	model->processes = builder->processes.items;
	model->process_sessions = builder->process_sessions.items;
	model->process_until_ns = builder->process_until_ns.items;
	model->process_count = builder->processes.count;
	model->threads = builder->threads.items;
	model->thread_count = builder->threads.count;
	model->sessions = builder->sessions.items;
	model->session_count = builder->sessions.count;
}

static void publish_records(struct gg_model_builder *builder)
{
	struct gg_model *model = &builder->model;

	model->memory = builder->memory.items;
	model->memory_count = builder->memory.count;
	model->counters = builder->counters.items;
	model->counter_count = builder->counters.count;
	model->interval_changes = builder->interval_changes.items;
	model->interval_change_count = builder->interval_changes.count;
	model->collections = builder->collections.items;
	model->collections_count = builder->collections.count;
	model->full_collections = builder->full_collections.items;
	model->full_collection_count = builder->full_collections.count;
	model->labels = builder->labels.items;
	model->label_count = builder->labels.count;
	model->attaches = builder->attaches.items;
	model->attach_count = builder->attaches.count;
	model->faults = builder->faults.items;
	model->fault_count = builder->faults.count;
	model->notes = builder->notes.items;
	model->note_count = builder->notes.count;
	model->losses = builder->losses.items;
	model->loss_count = builder->losses.count;
	model->pauses = builder->pauses.items;
	model->pause_count = builder->pauses.count;
}

static void publish_looks(struct gg_model_builder *builder)
{
	struct gg_model *model = &builder->model;

	model->looks = builder->looks.items;
	model->look_count = builder->looks.count;
	model->look_mappings = builder->look_mappings.items;
	model->look_mapping_count = builder->look_mappings.count;
	model->look_blocks = builder->look_blocks.items;
	model->look_block_count = builder->look_blocks.count;
	model->look_block_ids = builder->look_block_ids.items;
	model->look_totals = builder->look_totals.items;
	model->look_total_count = builder->look_totals.count;
}

struct gg_model *gg_model_builder_publish(struct gg_model_builder *builder)
{
	gg_assert(builder->process_sessions.count == builder->processes.count);
	publish_code(builder);
	publish_samples(builder);
	publish_processes(builder);
	publish_records(builder);
	publish_looks(builder);
	return &builder->model;
}

int gg_model_set_aggregate_tallies(struct gg_model *model, const struct gg_tally *tallies,
                                   size_t count)
{
	struct gg_model_builder *builder = gg_model_builder_of(model);

	gg_assert(count == builder->aggregates.count);
	if (!gg_array_extend(&builder->aggregate_tallies, count))
		return -ENOMEM;
	if (count > 0)
		memcpy(builder->aggregate_tallies.items, tallies, count * sizeof(*tallies));
	gg_model_builder_publish(builder);
	return 0;
}
