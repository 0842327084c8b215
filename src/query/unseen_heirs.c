/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heirs - finds how long blocks may have lived on in forked processes.
 *
 * A block can have been inherited if its holder got it before the fork and freed it after the fork.
 * The heir starts at its fork, up to a tick of the kernel too early, or later.  All that the heir
 * inherited was allocated before the fork, so the last allocation among the inherited blocks that
 * are known is a lower bound of the fork's time.
 */
#include "query/unseen_heirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/time_units.h"
#include "region/reader/view.h"

#define FORK_SLACK_NS (10 * GG_NS_PER_MS)

struct gg_unseen_heir {
	uint32_t ancestor, heir;
	/* The bounds of the fork by which the blocks of the ancestor came to the heir. */
	int64_t fork_least_ns, fork_most_ns;
	int64_t least_from_here_ns; /* the smallest fork_least_ns from here on, for this ancestor */
	int64_t until_ns;           /* the heir's end */
};

/* The counts of one process, and when it was forked at the earliest. */
struct fork {
	uint64_t inherited_count, seen_count;
	int64_t least_ns;
	bool is_idle; /* it began with its fork (record/process/idle_children.h) */
	bool has_unnoted_children;
};

/* False: no process inherited anything. */
static bool read_counters(const struct gg_model *model, struct fork *forks)
{
	bool has_inherited = false;

	for (size_t i = 0; i < model->counter_count; i++) {
		const struct gg_model_counter *counter = &model->counters[i];
		bool is_idle;

		if (counter->value == 0 || counter->name == NULL)
			continue;
		if (gg_region_counter_of(counter->name) == GG_COUNT_UNNOTED_CHILDREN)
			forks[counter->process].has_unnoted_children = has_inherited = true;
		is_idle = strcmp(counter->name, GG_PROFILE_COUNTER_IDLE) == 0;
		if (!is_idle && gg_region_counter_of(counter->name) != GG_COUNT_INHERITED)
			continue;
		forks[counter->process].is_idle |= is_idle;
		forks[counter->process].inherited_count += counter->value;
		has_inherited = true;
	}
	return has_inherited;
}

/* An aggregate of a compacted profile stands for samples of which some may be inherited. */
static void read_samples(const struct gg_model *model, struct fork *forks)
{
	for (size_t i = 1; i < model->process_count; i++)
		forks[i].least_ns = forks[i].is_idle ? model->processes[i].start_ns : INT64_MIN;
	for (size_t i = 0; i < model->sample_count && model->has_inherited; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		const struct gg_model_sample *first = &model->samples[sample->block];
		struct fork *fork = &forks[sample->process];

		if ((sample->flags & GG_MODEL_INHERITED) == 0)
			continue;
		fork->seen_count++;
		if ((first->flags & GG_MODEL_INHERITED) == 0 && first->alloc_ns > fork->least_ns)
			fork->least_ns = first->alloc_ns;
	}
	for (size_t i = 0; i < model->aggregate_count; i++)
		if (!model->aggregates[i].lost && !model->aggregates[i].is_exact)
			forks[model->aggregates[i].process].seen_count +=
				model->aggregates[i].sums.sample_count;
}

static bool has_unseen(const struct fork *fork)
{
	return fork->inherited_count > fork->seen_count;
}

/* Adds a pair for each ancestor from which the process can have inherited. */
static int add_ancestors(struct gg_unseen_heirs *heirs, const struct gg_model *model,
                         const struct fork *forks, uint32_t heir)
{
	const struct gg_profile_process *processes = model->processes;
	int64_t end_ns = processes[heir].end_ns < model->end_ns ? processes[heir].end_ns
	                                                        : model->end_ns;
	uint32_t process = heir;

	/* It holds what it holds at the end. */
	if (model->process_until_ns[heir] == GG_TIME_NONE)
		end_ns = GG_TIME_NONE;
	/* A damaged profile may have circles of parents. */
	for (size_t i = 0; i < model->process_count && processes[process].parent != 0 &&
	                   forks[process].inherited_count > 0;
	     i++) {
		struct gg_unseen_heir *pair = gg_array_add(&heirs->pairs);

		if (pair == NULL)
			return -ENOMEM;
		pair->ancestor = processes[process].parent;
		pair->heir = heir;
		pair->fork_least_ns = forks[process].least_ns;
		pair->fork_most_ns = processes[process].start_ns + FORK_SLACK_NS;
		pair->until_ns = end_ns;
		process = processes[process].parent;
	}
	return 0;
}

/*
 * Adds children that nobody has seen, of which only their number is known.  They may live until the
 * end.
 */
static int add_unnoted(struct gg_unseen_heirs *heirs, const struct gg_model *model,
                       uint32_t ancestor)
{
	struct gg_unseen_heir *pair = gg_array_add(&heirs->pairs);
	int64_t end_ns = model->processes[ancestor].end_ns;

	if (pair == NULL)
		return -ENOMEM;
	*pair = (struct gg_unseen_heir){
		.ancestor = ancestor,
		.fork_least_ns = model->processes[ancestor].start_ns,
		.fork_most_ns = end_ns < model->end_ns ? end_ns : model->end_ns,
		.until_ns = GG_TIME_NONE,
	};
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct gg_unseen_heir *left = a, *right = b;

	if (left->ancestor != right->ancestor)
		return left->ancestor < right->ancestor ? -1 : 1;
	if (left->fork_most_ns != right->fork_most_ns)
		return left->fork_most_ns < right->fork_most_ns ? -1 : 1;
	return (left->heir > right->heir) - (left->heir < right->heir);
}

static void sort_pairs(struct gg_unseen_heirs *heirs)
{
	struct gg_unseen_heir *pairs = heirs->pairs.items;
	size_t count = heirs->pairs.count;

	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = count; i-- > 0;) {
		pairs[i].least_from_here_ns = pairs[i].fork_least_ns;
		if (i + 1 < count && pairs[i + 1].ancestor == pairs[i].ancestor &&
		    pairs[i + 1].least_from_here_ns < pairs[i].least_from_here_ns)
			pairs[i].least_from_here_ns = pairs[i + 1].least_from_here_ns;
	}
}

static uint64_t held_key(uint32_t process, uint32_t block)
{
	return (uint64_t)process << 32 | block;
}

static int note_held(struct gg_unseen_heirs *heirs, const struct gg_model *model,
                     const struct fork *forks)
{
	for (size_t i = 0; i < model->sample_count && model->has_inherited; i++) {
		const struct gg_model_sample *sample = &model->samples[i];

		if ((sample->flags & GG_MODEL_INHERITED) != 0 &&
		    has_unseen(&forks[sample->process]) &&
		    gg_map_put(&heirs->held, held_key(sample->process, sample->block), 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_pairs(struct gg_unseen_heirs *heirs, const struct gg_model *model,
                      const uint8_t *is_in, const struct fork *forks)
{
	for (uint32_t i = 1; i < model->process_count; i++) {
		if (forks[i].has_unnoted_children && is_in == NULL &&
		    add_unnoted(heirs, model, i) < 0)
			return -ENOMEM;
		if (!has_unseen(&forks[i]))
			continue;
		if (heirs->is_heir == NULL &&
		    (heirs->is_heir = calloc(model->process_count, 1)) == NULL)
			return -ENOMEM;
		heirs->is_heir[i] = 1;
		if ((is_in == NULL || is_in[i]) && add_ancestors(heirs, model, forks, i) < 0)
			return -ENOMEM;
	}
	if (heirs->pairs.count == 0)
		return 0;
	sort_pairs(heirs);
	return note_held(heirs, model, forks);
}

int gg_unseen_heirs_find(struct gg_unseen_heirs *ret_heirs, const struct gg_model *model,
                         const uint8_t *is_in)
{
	struct fork *forks = calloc(model->process_count, sizeof(*forks));
	int status = 0;

	*ret_heirs = (struct gg_unseen_heirs){ 0 };
	if (forks == NULL)
		return -ENOMEM;
	if (read_counters(model, forks)) {
		read_samples(model, forks);
		status = find_pairs(ret_heirs, model, is_in, forks);
	}
	free(forks);
	if (status < 0)
		gg_unseen_heirs_done(ret_heirs);
	return status;
}

void gg_unseen_heirs_done(struct gg_unseen_heirs *heirs)
{
	gg_array_done(&heirs->pairs);
	gg_map_done(&heirs->held);
	free(heirs->is_heir);
	heirs->is_heir = NULL;
}

static bool is_before(const struct gg_unseen_heir *pair, uint32_t process, int64_t from_ns)
{
	return pair->ancestor < process ||
	       (pair->ancestor == process && pair->fork_most_ns < from_ns);
}

int64_t gg_unseen_heirs_until(const struct gg_unseen_heirs *heirs, uint32_t process, uint32_t block,
                              int64_t from_ns, int64_t until_ns)
{
	const struct gg_unseen_heir *pairs = heirs->pairs.items;
	int64_t last_ns = until_ns;
	size_t i = gg_lower_bound(0, heirs->pairs.count, at,
	                          is_before(&pairs[at], process, from_ns));

	for (; i < heirs->pairs.count && pairs[i].ancestor == process; i++) {
		if (pairs[i].least_from_here_ns > until_ns)
			break;
		if (pairs[i].fork_least_ns <= until_ns && pairs[i].until_ns > last_ns &&
		    (block == UINT32_MAX ||
		     gg_map_get(&heirs->held, held_key(pairs[i].heir, block)) == GG_MAP_NONE))
			last_ns = pairs[i].until_ns;
	}
	return last_ns;
}
