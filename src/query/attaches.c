/* SPDX-License-Identifier: Apache-2.0 */
/* attaches - finds the attaches of a model that reports name. */
#include "query/attaches.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/why_profile.h"
#include "region/layout.h"
#include "region/reader/view.h"

/* Sums the counter of missed frees by process, for many attaches at once. */
static int take_missed_frees(struct gg_attaches *attaches, const struct gg_model *model)
{
	const char *name = gg_region_counter_name(GG_COUNT_MISSED_FREES);
	uint64_t *counts = calloc(model->process_count + 1, sizeof(*counts));

	if (counts == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->counter_count; i++)
		if (model->counters[i].process < model->process_count &&
		    model->counters[i].name != NULL && strcmp(model->counters[i].name, name) == 0)
			counts[model->counters[i].process] += model->counters[i].value;
	for (size_t i = 0; i < attaches->count; i++)
		attaches->items[i].missed_free_count = counts[attaches->items[i].attach->process];
	free(counts);
	return 0;
}

/* Takes what the last look at each process tells. */
static int take_held(struct gg_attaches *attaches, const struct gg_model *model,
                     const struct gg_why_list *list)
{
	const struct gg_why_table **tables = calloc(model->process_count + 1, sizeof(*tables));

	if (tables == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < list->table_count; i++)
		if (list->tables[i].process < model->process_count)
			tables[list->tables[i].process] = &list->tables[i];
	for (size_t i = 0; i < attaches->count; i++) {
		struct gg_attached *attached = &attaches->items[i];
		const struct gg_why_table *table = tables[attached->attach->process];

		if (table == NULL)
			continue;
		attached->held_bytes = table->why.older_bytes;
		attached->held_low = table->why.older_low;
		attached->held_high = table->why.older_high;
		attached->held_ns = table->why.time_ns;
	}
	free(tables);
	return 0;
}

int gg_attaches_add_held(struct gg_attaches *attaches, const struct gg_model *model, uint32_t pid,
                         double confidence, struct gg_error *error)
{
	const struct gg_why_options options = { .pid = pid, .confidence = confidence };
	struct gg_why_list list;
	int status;

	if (attaches->count == 0)
		return 0;
	status = gg_why_of(&list, model, &options, error);
	if (status < 0)
		return status;
	status = take_held(attaches, model, &list);
	gg_why_list_done(&list);
	return status < 0 ? gg_error_memory(error, "attaches") : 0;
}

static int64_t detached_ns_of(const struct gg_profile_process *process)
{
	if (process->ending == NULL || strcmp(process->ending, "lived on") != 0 ||
	    process->end_ns == GG_TIME_NONE)
		return -1;
	return process->end_ns;
}

int gg_attaches_list(struct gg_attaches *ret_attaches, const struct gg_model *model, uint32_t pid,
                     struct gg_error *error)
{
	struct gg_attaches attaches = {
		.items = calloc(model->attach_count + 1, sizeof(*attaches.items)),
	};

	if (attaches.items == NULL)
		return gg_error_memory(error, "attaches");
	for (size_t i = 0; i < model->attach_count; i++) {
		const struct gg_profile_attach *attach = &model->attaches[i];
		const struct gg_profile_process *process = &model->processes[attach->process];

		if (pid != 0 && process->pid != pid)
			continue;
		if (pid == 0 && attach->is_inherited &&
		    gg_model_attach(model, process->parent) != NULL) {
			attaches.forked_count++;
			continue;
		}
		attaches.items[attaches.count++] = (struct gg_attached){
			.attach = attach,
			.pid = process->pid,
			.held_bytes = NAN,
			.held_low = NAN,
			.held_high = NAN,
			.detached_ns = detached_ns_of(process),
		};
	}
	if (take_missed_frees(&attaches, model) < 0) {
		gg_attaches_done(&attaches);
		return gg_error_memory(error, "attaches");
	}
	*ret_attaches = attaches;
	return 0;
}

void gg_attaches_done(struct gg_attaches *attaches)
{
	free(attaches->items);
	*attaches = (struct gg_attaches){ 0 };
}
