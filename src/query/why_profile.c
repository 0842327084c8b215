/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_profile - finds the live samples of each look, and what the look saw of them.
 */
#include "query/why_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A look with the live samples of its process. */
struct joining {
	const struct gg_model *model;
	const struct gg_profile_look *look;
	const struct gg_profile_look_block **blocks; /* by number of sample; NULL: not seen */
	GG_ARRAY(struct gg_why_sample) samples;
	struct gg_tally live;     /* of the allocator */
	struct gg_tally in_heaps; /* live memory of heaps that the program registered */
};

static int find_blocks(struct joining *joining)
{
	size_t count;
	const struct gg_profile_look_block *blocks = gg_model_look_blocks(
		joining->model, joining->look->id, &count);

	joining->blocks = calloc(joining->model->sample_count + 1, sizeof(*joining->blocks));
	if (joining->blocks == NULL)
		return -ENOMEM;
	for (size_t i = 0; blocks != NULL && i < count; i++)
		if (blocks[i].sample < joining->model->sample_count)
			joining->blocks[blocks[i].sample] = &blocks[i];
	return 0;
}

/* The name of the function that reports show for the stack. */
static const char *function_of(const struct gg_model *model, uint32_t stack)
{
	uint32_t top = model->stacks[stack].top;
	size_t count;

	if (top == 0)
		return NULL;
	return model->functions[gg_model_stack_locations(model, top, &count)[0].function].name;
}

static int add_sample(struct joining *joining, size_t number)
{
	const struct gg_model_sample *sample = &joining->model->samples[number];
	const struct gg_profile_look_block *block = joining->blocks[number];
	struct gg_why_sample *own = gg_array_add(&joining->samples);

	if (own == NULL)
		return -ENOMEM;
	*own = (struct gg_why_sample){ .draw = sample->draw,
		                       .size_bytes = sample->size_bytes,
		                       .slack_bytes = sample->slack_bytes,
		                       .is_mapping = (sample->flags & GG_PROFILE_SAMPLE_MAPPING) !=
		                                     0,
		                       .is_seen = block != NULL,
		                       .resident_bytes = -1,
		                       .swapped_bytes = -1,
		                       .pinned_bytes = -1,
		                       .returnable_bytes = -1 };
	if (own->is_mapping)
		own->function = function_of(joining->model, sample->stack);
	if (block == NULL)
		return 0;
	own->resident_bytes = block->resident_bytes;
	own->swapped_bytes = block->swapped_bytes;
	own->pinned_bytes = block->pinned_bytes;
	own->returnable_bytes = block->returnable_bytes;
	return 0;
}

/* A heap that the program registered divides memory that the program mapped or allocated. */
static bool is_in_own_heap(const struct gg_model *model, const struct gg_model_sample *sample)
{
	const char *heap = model->heaps[model->kinds[sample->kind].heap];

	return (sample->flags & GG_PROFILE_SAMPLE_MAPPING) == 0 && strcmp(heap, "malloc") != 0;
}

/* A look that saw the block of a sample knows that it was live; otherwise its times decide. */
static int add_samples(struct joining *joining)
{
	const struct gg_model *model = joining->model;
	int64_t now_ns = joining->look->time_ns;
	struct gg_tally doubtful = { 0 }, doubtful_in_heaps = { 0 };

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		bool is_seen = joining->blocks[i] != NULL, is_certain;

		if (sample->process != joining->look->process)
			continue;
		if (!is_seen && (sample->alloc_ns > now_ns || sample->free_ns <= now_ns))
			continue;
		is_certain = is_seen || gg_model_freed_from(model, sample) > now_ns;
		if (is_in_own_heap(model, sample)) {
			gg_tally_add(is_certain ? &joining->in_heaps : &doubtful_in_heaps,
			             &sample->draw, sample->size_bytes);
			continue;
		}
		if ((sample->flags & GG_PROFILE_SAMPLE_MAPPING) == 0)
			gg_tally_add(is_certain ? &joining->live : &doubtful, &sample->draw,
			             sample->size_bytes);
		if (is_certain && add_sample(joining, i) < 0)
			return -ENOMEM;
	}
	gg_tally_doubt(&doubtful);
	gg_tally_merge(&joining->live, &doubtful);
	gg_tally_doubt(&doubtful_in_heaps);
	gg_tally_merge(&joining->in_heaps, &doubtful_in_heaps);
	return 0;
}

/* --- exact counts --- */

/* The moments at which aggregates of exact counts changed around a look. */
struct ticks {
	int64_t next_ns; /* the first one after it; INT64_MAX: none */
	bool is_exact;   /* the process has exact counts */
};

static struct ticks ticks_around(const struct joining *joining)
{
	const struct gg_model *model = joining->model;
	int64_t now_ns = joining->look->time_ns;
	struct ticks ticks = { .next_ns = INT64_MAX };

	for (size_t i = 0; i < model->aggregate_count; i++) {
		const struct gg_profile_aggregate *aggregate = &model->aggregates[i];
		int64_t from_ns = aggregate->from_ns + aggregate->bucket_ns;

		if (aggregate->process != joining->look->process || !aggregate->is_exact)
			continue;
		ticks.is_exact = true;
		if (from_ns > now_ns && from_ns < ticks.next_ns)
			ticks.next_ns = from_ns;
		if (aggregate->to_ns > now_ns && aggregate->to_ns < ticks.next_ns)
			ticks.next_ns = aggregate->to_ns;
	}
	return ticks;
}

/*
 * Adds blocks that are live for certain: those of a tick before the look that the next tick still
 * has.  Blocks that came or went between the two ticks may have been live.
 */
static void add_exact(struct joining *joining, const struct gg_profile_aggregate *aggregate,
                      const struct ticks *ticks)
{
	int64_t now_ns = joining->look->time_ns;
	int64_t from_ns = aggregate->from_ns + aggregate->bucket_ns;
	struct gg_tally sum = { 0 };

	if (aggregate->to_ns <= now_ns || (from_ns > now_ns && from_ns > ticks->next_ns))
		return;
	gg_model_add_aggregate(joining->model, &sum, aggregate);
	if (from_ns > now_ns ||
	    (aggregate->to_ns != GG_TIME_NONE && aggregate->to_ns <= ticks->next_ns))
		gg_tally_doubt(&sum);
	gg_tally_merge(&joining->live, &sum);
}

/* Samples that are known as sums alone may have been live then. */
static void add_aggregates(struct joining *joining)
{
	const struct gg_model *model = joining->model;
	int64_t now_ns = joining->look->time_ns;
	struct ticks ticks = ticks_around(joining);

	/* No tick of a process has the blocks that it inherited from its parent. */
	if (ticks.is_exact && model->processes[joining->look->process].parent != 0)
		joining->live.incomplete = 1;
	if (!gg_model_has_history(model))
		return; /* all of them are freed */
	for (size_t i = 0; i < model->aggregate_count; i++) {
		const struct gg_profile_aggregate *aggregate = &model->aggregates[i];
		struct gg_tally sum = { 0 };

		if (aggregate->process != joining->look->process)
			continue;
		if (aggregate->is_exact) {
			add_exact(joining, aggregate, &ticks);
			continue;
		}
		if (aggregate->from_ns > now_ns || aggregate->to_ns <= now_ns)
			continue;
		gg_model_add_aggregate(model, &sum, aggregate);
		gg_tally_doubt(&sum);
		gg_tally_merge(&joining->live, &sum);
	}
}

static int join(struct joining *joining)
{
	const struct gg_model *model = joining->model;
	uint32_t process = joining->look->process;

	gg_tally_expose(&joining->live, gg_model_exposure(model, process));
	if (find_blocks(joining) < 0 || add_samples(joining) < 0)
		return -ENOMEM;
	add_aggregates(joining);
	if (gg_model_is_incomplete(model, process, INT64_MIN, joining->look->time_ns))
		joining->live.incomplete = 1;
	return 0;
}

/* Tells how much was in use when the agent was attached, if it was, and what passes it by. */
static void join_attach(struct gg_why_input *input, const struct joining *joining)
{
	const struct gg_profile_attach *attach = gg_model_attach(joining->model,
	                                                         joining->look->process);

	if (attach == NULL)
		return;
	input->is_attached = true;
	input->older_bytes = (double)attach->older_bytes;
	input->unseen_slot_count = attach->unseen_slot_count;
}

static int divide_joined(struct gg_why *ret_why, const struct joining *joining, double confidence,
                         struct gg_error *error)
{
	const struct gg_model *model = joining->model;
	struct gg_why_input input = { .look = joining->look,
		                      .samples = joining->samples.items,
		                      .sample_count = joining->samples.count,
		                      .live = joining->live,
		                      .in_heaps = joining->in_heaps,
		                      .has_history = gg_model_has_history(model),
		                      .confidence = confidence };

	input.mappings = gg_model_look_mappings(model, joining->look->id, &input.mapping_count);
	input.totals = gg_model_look_totals(model, joining->look->id, &input.total_count);
	join_attach(&input, joining);
	input.samples_all = gg_model_exposure(model, joining->look->process) == 1;
	input.has_agent = input.sample_count > 0 ||
	                  model->processes[joining->look->process].interval_bytes > 0;
	return gg_why_of_look(ret_why, &input, error);
}

/* Finds out how the process went on after the look. */
static void find_later(struct gg_why_table *table, const struct gg_model *model,
                       const struct gg_profile_look *look)
{
	int64_t end_ns = model->processes[look->process].end_ns;

	table->ended_after_ns = table->last_rss_bytes = table->last_rss_ns = -1;
	if (!gg_model_has_history(model))
		return; /* the region of a process knows no times */
	if (end_ns != GG_TIME_NONE)
		table->ended_after_ns = end_ns > look->time_ns ? end_ns - look->time_ns : 0;
	for (size_t i = 0; i < model->memory_count; i++) {
		const struct gg_profile_memory *reading = &model->memory[i];

		if (reading->process != look->process || reading->rss_bytes <= 0 ||
		    reading->time_ns <= look->time_ns || reading->time_ns < table->last_rss_ns)
			continue;
		table->last_rss_bytes = reading->rss_bytes;
		table->last_rss_ns = reading->time_ns;
	}
}

static int divide(struct gg_why_list *list, const struct gg_model *model,
                  const struct gg_profile_look *look, double confidence, struct gg_error *error)
{
	struct joining joining = { .model = model, .look = look };
	struct gg_why_table *table = &list->tables[list->table_count];
	int status = join(&joining);

	status = status < 0 ? gg_error_memory(error, "why")
	                    : divide_joined(&table->why, &joining, confidence, error);
	gg_array_done(&joining.samples);
	free(joining.blocks);
	if (status < 0)
		return status;
	table->process = look->process;
	table->pid = model->processes[look->process].pid;
	find_later(table, model, look);
	list->table_count++;
	if (model->processes[look->process].command == NULL)
		return 0;
	table->command = strdup(model->processes[look->process].command);
	return table->command != NULL ? 0 : gg_error_memory(error, "why");
}

static int compare_tables(const void *left, const void *right)
{
	const struct gg_why_table *a = left, *b = right;

	if (a->why.rss_bytes != b->why.rss_bytes)
		return a->why.rss_bytes > b->why.rss_bytes ? -1 : 1;
	return (a->why.process > b->why.process) - (a->why.process < b->why.process);
}

static bool is_asked_for(const struct gg_model *model, uint32_t process, uint32_t pid)
{
	return process != 0 && (pid == 0 || model->processes[process].pid == pid);
}

static bool has_look(const struct gg_model *model, uint32_t process)
{
	for (size_t i = 0; i < model->look_count; i++)
		if (model->looks[i].process == process)
			return true;
	return false;
}

/* Finds what all looks missed: processes that ended soon, and peaks between two looks. */
static void find_unseen(struct gg_why_list *list, const struct gg_model *model, uint32_t pid)
{
	const double about = 1.25; /* the kernel's maximum includes moments between two looks */
	double seen_bytes = 0, highest_bytes = 0;

	for (size_t i = 1; i < model->process_count; i++)
		list->unseen_count += is_asked_for(model, (uint32_t)i, pid) &&
		                      !has_look(model, (uint32_t)i);
	for (size_t i = 0; i < model->look_count; i++)
		if (is_asked_for(model, model->looks[i].process, pid))
			seen_bytes = fmax(seen_bytes, (double)model->looks[i].rss_bytes);
	for (size_t i = 0; i < model->memory_count; i++)
		if (is_asked_for(model, model->memory[i].process, pid))
			highest_bytes = fmax(highest_bytes, (double)model->memory[i].max_rss_bytes);
	if (highest_bytes > about * seen_bytes)
		list->highest_bytes = highest_bytes;
}

int gg_why_of(struct gg_why_list *ret_list, const struct gg_model *model,
              const struct gg_why_options *options, struct gg_error *error)
{
	uint32_t moment = options->moment == GG_WHY_PEAK ? GG_LOOK_PEAK : GG_LOOK_LAST;
	int status = 0;

	*ret_list = (struct gg_why_list){ 0 };
	ret_list->tables = calloc(model->look_count + 1, sizeof(*ret_list->tables));
	if (ret_list->tables == NULL)
		return gg_error_memory(error, "why");
	for (size_t i = 0; i < model->look_count && status == 0; i++) {
		const struct gg_profile_look *look = &model->looks[i];

		if ((look->moments & moment) != 0 &&
		    (options->pid == 0 || model->processes[look->process].pid == options->pid))
			status = divide(ret_list, model, look, options->confidence, error);
	}
	if (status < 0) {
		gg_why_list_done(ret_list);
		return status;
	}
	qsort(ret_list->tables, ret_list->table_count, sizeof(*ret_list->tables), compare_tables);
	find_unseen(ret_list, model, options->pid);
	return 0;
}

void gg_why_list_done(struct gg_why_list *list)
{
	for (size_t i = 0; i < list->table_count; i++) {
		free(list->tables[i].command);
		gg_why_done(&list->tables[i].why);
	}
	free(list->tables);
	*list = (struct gg_why_list){ 0 };
}
