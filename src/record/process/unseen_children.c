/* SPDX-License-Identifier: Apache-2.0 */
/* unseen_children - writes a counter, and compares forks with starts of processes. */
#include "record/process/unseen_children.h"

#include "base/clock.h"
#include "record/regions/process_alive.h"
#include "region/reader/view.h"

void gg_unseen_children_write(struct gg_profile_writer *writer,
                              const struct gg_lineage_process *process)
{
	uint64_t count = process->unnoted_child_count + process->unseen_child_count +
	                 process->unsettled_child_count;

	gg_profile_writer_keep(
		writer, gg_profile_put_counter(writer->profile, process->id,
	                                       gg_region_counter_name(GG_COUNT_UNNOTED_CHILDREN),
	                                       count, writer->error));
}

/*
 * The kernel's starts include the time for which the machine was suspended; a fork has the time
 * without it.  The machine may have been suspended before the fork, as the start of the ancestor
 * shows, or since then.
 */
void gg_unseen_children_start(const struct gg_lineage *lineage, const struct gg_session_fork *fork,
                              uint64_t *ret_least, uint64_t *ret_most)
{
	const struct gg_lineage_process *ancestor = gg_lineage_at(
		lineage, gg_lineage_find(lineage, fork->ancestor_pid, fork->ancestor_start_ns));
	struct gg_time_bounds suspended = { .most_ns = gg_clock_suspended_ns() };

	if (ancestor != NULL)
		suspended.least_ns = gg_process_alive_suspended_ns(ancestor->start_ticks,
		                                                   ancestor->start_ns);
	if (suspended.least_ns > suspended.most_ns)
		suspended.least_ns = suspended.most_ns;
	gg_process_alive_ticks_between((struct gg_time_bounds){ fork->fork_ns, fork->noted_ns },
	                               suspended, ret_least, ret_most);
}
