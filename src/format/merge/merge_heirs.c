/* SPDX-License-Identifier: Apache-2.0 */
/* merge_heirs - reads the facts of forks from a profile that is being added. */
#include "format/merge/merge_heirs.h"

#include <errno.h>

#include "profile/live_at_end.h"

static struct gg_fork_facts *facts_of(const struct gg_merge_heirs *heirs, uint32_t process)
{
	return process > 0 && process < heirs->facts.count ? &heirs->facts.items[process] : NULL;
}

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct gg_merge_heirs *heirs = context;

	if (!gg_array_extend(&heirs->facts, (size_t)process->id + 1))
		return -ENOMEM;
	heirs->facts.items[process->id] = (struct gg_fork_facts){
		.parent = process->parent,
		.start_ns = process->start_ns,
		.end_ns = process->end_ns,
		.end_least_ns = process->end_ns,
		.is_exact = process->scheme == GG_SCHEME_EXACT,
	};
	return 0;
}

struct facts_reading {
	struct gg_merge_heirs *heirs;
	bool has_facts;
};

static int take_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct facts_reading *reading = context;
	struct gg_fork_facts *facts = facts_of(reading->heirs, process);

	if (facts != NULL)
		reading->has_facts |= gg_fork_facts_take_counter(facts, name, value);
	return 0;
}

static int count_sample(const struct gg_profile_sample *sample, void *context)
{
	struct gg_fork_facts *facts = facts_of(context, sample->process);

	if (facts != NULL)
		facts->seen_count += sample->origin != 0;
	return 0;
}

static int note_held(const struct gg_profile_sample *sample, void *context)
{
	struct gg_merge_heirs *heirs = context;

	return sample->origin != 0 && facts_of(heirs, sample->process) != NULL
	               ? gg_unseen_heirs_note_held(&heirs->heirs, sample->process, sample->origin)
	               : 0;
}

static void note_ends(const struct gg_merge_heirs *heirs)
{
	struct gg_live_at_end last = { 0 };

	for (size_t i = 1; i < heirs->facts.count; i++)
		gg_live_at_end_note(&last, heirs->facts.items[i].end_ns);
	for (size_t i = 1; i < heirs->facts.count; i++) {
		struct gg_fork_facts *facts = &heirs->facts.items[i];

		facts->lives_on = gg_live_at_end_until(&last, facts->end_ns) == GG_TIME_NONE;
	}
}

/* Finds the heirs, if the counters say that there are some. */
static int find_heirs(struct gg_merge_heirs *heirs, struct gg_profile *profile,
                      struct gg_error *error)
{
	int status = gg_profile_each_sample(profile, count_sample, heirs, error);

	if (status < 0)
		return status;
	note_ends(heirs);
	if (gg_unseen_heirs_find(&heirs->heirs, heirs->facts.items, heirs->facts.count, NULL,
	                         GG_TIME_NONE) < 0)
		return gg_error_memory(error, "merge");
	return heirs->heirs.pairs.count > 0
	               ? gg_profile_each_sample(profile, note_held, heirs, error)
	               : 0;
}

int gg_merge_heirs_read(struct gg_merge_heirs *heirs, struct gg_profile *profile,
                        struct gg_error *error)
{
	struct facts_reading reading = { .heirs = heirs };
	int status;

	heirs->facts.count = 0;
	gg_unseen_heirs_done(&heirs->heirs);
	status = gg_profile_each_process(profile, take_process, heirs, error);
	if (status == 0)
		status = gg_profile_each_counter(profile, take_counter, &reading, error);
	return status == 0 && reading.has_facts ? find_heirs(heirs, profile, error) : status;
}

void gg_merge_heirs_done(struct gg_merge_heirs *heirs)
{
	gg_array_done(&heirs->facts);
	gg_unseen_heirs_done(&heirs->heirs);
}

struct gg_heir_times gg_merge_heirs_of(const struct gg_merge_heirs *heirs,
                                       const struct gg_merge_held *held)
{
	const struct gg_fork_facts *facts = facts_of(heirs, held->process);
	struct gg_heir_times own, others;

	if (facts == NULL || heirs->heirs.pairs.count == 0)
		return gg_heir_times_none();
	own = gg_unseen_heirs_until(&heirs->heirs, held->process, held->block, held->from_ns,
	                            held->until_ns);
	if (!held->is_orphan)
		return own;
	/* A block that no ancestor's sample stands for may have come to others from the parent. */
	others = gg_unseen_heirs_until(&heirs->heirs, facts->parent, held->block, INT64_MIN,
	                               held->until_ns);
	return gg_heir_times_of_both(own, others);
}
