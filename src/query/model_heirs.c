/* SPDX-License-Identifier: Apache-2.0 */
/* model_heirs - reads the facts of forks, and the blocks of heirs that are known, from a model. */
#include "query/model_heirs.h"

#include <errno.h>
#include <stdlib.h>

/* False: no process inherited anything. */
static bool read_counters(const struct gg_model *model, struct gg_fork_facts *facts)
{
	bool has_facts = false;

	for (size_t i = 0; i < model->counter_count; i++) {
		const struct gg_model_counter *counter = &model->counters[i];

		if (counter->name != NULL)
			has_facts |= gg_fork_facts_take_counter(&facts[counter->process],
			                                        counter->name, counter->value);
	}
	return has_facts;
}

static void read_processes(const struct gg_model *model, struct gg_fork_facts *facts)
{
	const struct gg_profile_process *processes = model->processes;

	for (size_t i = 1; i < model->process_count; i++) {
		facts[i].parent = processes[i].parent;
		facts[i].start_ns = processes[i].start_ns;
		facts[i].end_ns = processes[i].end_ns;
		facts[i].end_least_ns = processes[i].end_ns - processes[i].end_range_ns;
		facts[i].is_exact = processes[i].scheme == GG_SCHEME_EXACT;
		facts[i].lives_on = model->process_until_ns[i] == GG_TIME_NONE;
	}
}

static void read_samples(const struct gg_model *model, struct gg_fork_facts *facts)
{
	for (size_t i = 0; i < model->sample_count && model->has_inherited; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		const struct gg_model_sample *first = &model->samples[sample->block];

		if ((sample->flags & GG_MODEL_INHERITED) == 0)
			continue;
		facts[sample->process].seen_count++;
		if ((first->flags & GG_MODEL_INHERITED) == 0)
			gg_fork_facts_take_inherited(&facts[sample->process], first->alloc_ns);
	}
}

static int note_held(struct gg_unseen_heirs *heirs, const struct gg_model *model)
{
	for (size_t i = 0; i < model->sample_count && model->has_inherited; i++) {
		const struct gg_model_sample *sample = &model->samples[i];

		if ((sample->flags & GG_MODEL_INHERITED) != 0 &&
		    gg_unseen_heirs_note_held(heirs, sample->process, sample->block) < 0)
			return -ENOMEM;
	}
	return 0;
}

int gg_model_heirs_find(struct gg_unseen_heirs *ret_heirs, const struct gg_model *model,
                        const uint8_t *is_in)
{
	struct gg_fork_facts *facts = calloc(model->process_count, sizeof(*facts));
	int status = 0;

	*ret_heirs = (struct gg_unseen_heirs){ 0 };
	if (facts == NULL)
		return -ENOMEM;
	if (read_counters(model, facts)) {
		read_processes(model, facts);
		read_samples(model, facts);
		status = gg_unseen_heirs_find(ret_heirs, facts, model->process_count, is_in,
		                              model->end_ns);
		if (status == 0 && ret_heirs->pairs.count > 0)
			status = note_held(ret_heirs, model);
	}
	free(facts);
	if (status < 0)
		gg_unseen_heirs_done(ret_heirs);
	return status;
}
