/* SPDX-License-Identifier: Apache-2.0 */
/* merge_heirs - finds processes whose heirs inherited blocks that no sample has. */
#include "format/merge/merge_heirs.h"

#include <errno.h>
#include <string.h>

#include "base/time_units.h"
#include "profile/live_at_end.h"
#include "region/reader/view.h"

#define FORK_TICK_NS (10 * GG_NS_PER_MS) /* a tick of the kernel, as in query/unseen_heirs.c */

struct gg_merge_heir {
	uint32_t parent;
	int64_t start_ns, end_ns;
	uint64_t inherited_count, seen_count;
	bool is_idle, has_unnoted_children;
	/* The span of the forks of heirs that may live at the end; empty: it has no such heir. */
	int64_t fork_least_ns, fork_most_ns;
};

static struct gg_merge_heir *process_of(const struct gg_merge_heirs *heirs, uint32_t process)
{
	return process > 0 && process < heirs->processes.count ? &heirs->processes.items[process]
	                                                       : NULL;
}

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct gg_merge_heirs *heirs = context;

	if (!gg_array_extend(&heirs->processes, (size_t)process->id + 1))
		return -ENOMEM;
	heirs->processes.items[process->id] = (struct gg_merge_heir){
		.parent = process->parent,
		.start_ns = process->start_ns,
		.end_ns = process->end_ns,
		.fork_least_ns = INT64_MAX,
		.fork_most_ns = INT64_MIN,
	};
	return 0;
}

static int take_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct gg_merge_heir *of = process_of(context, process);
	uint32_t counter = gg_region_counter_of(name);
	bool is_idle = strcmp(name, GG_PROFILE_COUNTER_IDLE) == 0;

	if (of == NULL || value == 0)
		return 0;
	of->has_unnoted_children |= counter == GG_COUNT_UNNOTED_CHILDREN;
	of->is_idle |= is_idle;
	if (is_idle || counter == GG_COUNT_INHERITED)
		of->inherited_count += value;
	return 0;
}

static int count_sample(const struct gg_profile_sample *sample, void *context)
{
	struct gg_merge_heir *of = process_of(context, sample->process);

	if (of != NULL)
		of->seen_count += sample->origin != 0;
	return 0;
}

static int count_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_merge_heir *of = process_of(context, aggregate->process);

	if (of != NULL && !aggregate->lost && !aggregate->is_exact)
		of->seen_count += aggregate->sums.sample_count;
	return 0;
}

static void add_fork(struct gg_merge_heir *ancestor, int64_t least_ns, int64_t most_ns)
{
	if (least_ns < ancestor->fork_least_ns)
		ancestor->fork_least_ns = least_ns;
	if (most_ns > ancestor->fork_most_ns)
		ancestor->fork_most_ns = most_ns;
}

static void find_heirs(struct gg_merge_heirs *heirs)
{
	struct gg_live_at_end last = { 0 };
	size_t count = heirs->processes.count;

	for (size_t i = 1; i < count; i++)
		gg_live_at_end_note(&last, heirs->processes.items[i].end_ns);
	for (size_t i = 1; i < count; i++) {
		struct gg_merge_heir *process = &heirs->processes.items[i], *parent;

		if (process->has_unnoted_children)
			add_fork(process, INT64_MIN, INT64_MAX);
		if (process->inherited_count <= process->seen_count ||
		    gg_live_at_end_until(&last, process->end_ns) != GG_TIME_NONE)
			continue;
		/* A damaged profile may have circles of parents. */
		for (size_t n = 0; n < count && process->inherited_count > 0; n++) {
			parent = process_of(heirs, process->parent);
			if (parent == NULL)
				break;
			add_fork(parent, process->is_idle ? process->start_ns : INT64_MIN,
			         process->start_ns > INT64_MAX - FORK_TICK_NS
			                 ? INT64_MAX
			                 : process->start_ns + FORK_TICK_NS);
			process = parent;
		}
	}
}

int gg_merge_heirs_read(struct gg_merge_heirs *heirs, struct gg_profile *profile,
                        struct gg_error *error)
{
	bool has_inherited = false;
	int status;

	heirs->processes.count = 0;
	status = gg_profile_each_process(profile, take_process, heirs, error);
	if (status == 0)
		status = gg_profile_each_counter(profile, take_counter, heirs, error);
	for (size_t i = 1; i < heirs->processes.count; i++)
		has_inherited |= heirs->processes.items[i].inherited_count > 0;
	if (status == 0 && has_inherited)
		status = gg_profile_each_sample(profile, count_sample, heirs, error);
	if (status == 0 && has_inherited)
		status = gg_profile_each_aggregate(profile, count_aggregate, heirs, error);
	if (status == 0)
		find_heirs(heirs);
	return status;
}

void gg_merge_heirs_done(struct gg_merge_heirs *heirs)
{
	gg_array_done(&heirs->processes);
}

bool gg_merge_heirs_may_hold(const struct gg_merge_heirs *heirs, uint32_t process, int64_t from_ns,
                             int64_t until_ns)
{
	const struct gg_merge_heir *of = process_of(heirs, process);

	return of != NULL && of->fork_least_ns <= of->fork_most_ns && from_ns <= of->fork_most_ns &&
	       until_ns >= of->fork_least_ns;
}
