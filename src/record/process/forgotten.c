/* SPDX-License-Identifier: Apache-2.0 */
/* forgotten - adds samples of the profile to those that may be origins (process/forgotten.h). */
#include "record/process/forgotten.h"

#include <errno.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/origins.h"

enum { SEARCH_PART = 10 };

/* Workers that wake up together search at once, for 200 ms of time that comes later. */
#define BURST_NS (2 * GG_NS_PER_S)

struct forgotten_search {
	struct gg_target_set *set;
	struct gg_map chain; /* ids of the processes whose blocks it may have inherited */
	bool has_chain;      /* false: the region does not tell, so any process may be one */
};

/* The processes whose blocks the target may have inherited, the nearest first. */
static struct gg_lineage_process *next_in_chain(const struct gg_target *target,
                                                const struct gg_lineage_process *process)
{
	const struct gg_lineage *lineage = &target->set->lineage;

	return gg_lineage_at(lineage, process != NULL
	                                      ? process->ancestor
	                                      : gg_lineage_at(lineage, target->lineage)->ancestor);
}

static const struct gg_target *find_target(const struct gg_target_set *set, uint32_t id)
{
	const struct gg_target *target = set->first;

	while (target != NULL && target->id != id)
		target = target->next;
	return target;
}

/*
 * How much of its ancestors' samples is forgotten: processes, and ends of others.
 * *ret_process_count: of these, processes.
 */
static uint64_t count_forgotten(const struct gg_target *target, uint64_t *ret_process_count)
{
	const struct gg_lineage_process *process = NULL;
	uint64_t count = 0, process_count = 0;

	while ((process = next_in_chain(target, process)) != NULL) {
		const struct gg_target *ancestor = find_target(target->set, process->id);

		process_count += ancestor == NULL;
		count += ancestor != NULL ? ancestor->live_set.forgotten_count : 1;
	}
	if (ret_process_count != NULL)
		*ret_process_count = process_count;
	return count;
}

static bool has_unknown(const struct gg_target *target, const struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (gg_target_is_inherited(target, &view->live[i]) &&
		    gg_origins_find(target, &view->live[i]) == GG_PROFILE_WRITER_NO_ORIGIN)
			return true;
	return false;
}

/*
 * True if the child inherited blocks that the view does not have any more.  Their events still
 * wait in the ring.
 */
static bool has_unseen(const struct gg_target *target, const struct gg_region_view *view)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < view->live_count; i++)
		count += gg_target_is_inherited(target, &view->live[i]);
	return view->header.counters[GG_COUNT_INHERITED] > count;
}

/* True if a sibling has searched for the same samples, and no end was forgotten since then. */
static bool is_searched(const struct gg_target *target, int64_t fork_ns, uint64_t forgotten_count)
{
	const struct gg_lineage_process *nearest = next_in_chain(target, NULL);

	return nearest != NULL && nearest->is_searched && nearest->searched_from_ns <= fork_ns &&
	       nearest->searched_count == forgotten_count;
}

static bool needs_search(const struct gg_target *target, const struct gg_region_view *view,
                         int64_t fork_ns)
{
	uint64_t forgotten_count = count_forgotten(target, NULL);

	if (gg_lineage_is_told(&target->reader.header) &&
	    (forgotten_count == 0 || is_searched(target, fork_ns, forgotten_count)))
		return false;
	return has_unknown(target, view) || (forgotten_count > 0 && has_unseen(target, view));
}

static int add_found(const struct gg_profile_sample *ended, void *context)
{
	const struct forgotten_search *search = context;

	if (search->has_chain && gg_map_get(&search->chain, ended->process) == GG_MAP_NONE)
		return 0;
	return gg_origins_add_found(search->set, ended);
}

static void search_profile(struct gg_target *target, int64_t fork_ns)
{
	struct forgotten_search search = { .set = target->set };
	struct gg_profile_writer *writer = target->writer;
	struct gg_lineage_process *process = NULL, *nearest = next_in_chain(target, NULL);
	int64_t begin_ns = gg_profile_writer_time(writer, target->reader.header.start_monotonic_ns);

	search.has_chain = gg_lineage_is_told(&target->reader.header);
	while ((process = next_in_chain(target, process)) != NULL)
		if (gg_map_put(&search.chain, process->id, 1) < 0)
			gg_profile_writer_keep(writer, -ENOMEM);
	if (gg_profile_writer_flush(writer) == 0)
		gg_profile_writer_keep(
			writer, gg_profile_each_ended_sample(writer->profile, begin_ns, fork_ns,
		                                             add_found, &search, writer->error));
	gg_map_done(&search.chain);
	if (nearest == NULL)
		return;
	nearest->is_searched = true;
	nearest->searched_from_ns = fork_ns;
	nearest->searched_count = count_forgotten(target, NULL);
}

bool gg_forgotten_has_time(const struct gg_target_set *set)
{
	return set->next_search_ns <= gg_clock_monotonic_ns() + BURST_NS;
}

void gg_forgotten_charge(struct gg_target_set *set, uint64_t start_ns)
{
	if (set->next_search_ns < start_ns)
		set->next_search_ns = start_ns;
	set->next_search_ns += SEARCH_PART * (gg_clock_monotonic_ns() - start_ns);
}

bool gg_forgotten_search(struct gg_target *target, const struct gg_region_view *view,
                         int64_t fork_ns)
{
	uint64_t start_ns = gg_clock_monotonic_ns(), process_count;

	if (target->writer->status < 0 || !needs_search(target, view, fork_ns))
		return true;
	/*
	 * A process that has ended is searched once for all of its children, however long it
	 * takes.
	 */
	count_forgotten(target, &process_count);
	if (process_count == 0 && !gg_forgotten_has_time(target->set))
		return false;
	search_profile(target, fork_ns);
	gg_forgotten_charge(target->set, start_ns);
	return true;
}
