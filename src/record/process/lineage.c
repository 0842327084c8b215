/* SPDX-License-Identifier: Apache-2.0 */
/* lineage - a list of processes, and a map by pid and start (process/lineage.h). */
#include "record/process/lineage.h"

#include <errno.h>

#include "base/assert.h"
#include "base/hash.h"
#include "profile/records.h"

static uint64_t key_of(uint32_t pid, uint64_t start_ns)
{
	return gg_hash_integer(start_ns, gg_hash_integer(pid, 0));
}

uint32_t gg_lineage_find(const struct gg_lineage *lineage, uint32_t pid, uint64_t start_ns)
{
	uint64_t number = gg_map_get(&lineage->numbers, key_of(pid, start_ns));

	return number != GG_MAP_NONE ? (uint32_t)number : 0;
}

bool gg_lineage_has_fork(const struct gg_lineage *lineage, uint32_t pid, uint64_t fork_ns)
{
	return gg_map_get(&lineage->forks, key_of(pid, fork_ns)) != GG_MAP_NONE;
}

void gg_lineage_end(struct gg_lineage *lineage, uint32_t number, int64_t end_ns)
{
	struct gg_lineage_process *process = gg_lineage_at(lineage, number);

	if (process == NULL || end_ns == GG_TIME_NONE)
		return;
	process->end_ns = end_ns;
	if (end_ns > lineage->last_end_ns)
		lineage->last_end_ns = end_ns;
}

void gg_lineage_done(struct gg_lineage *lineage)
{
	gg_array_done(&lineage->processes);
	gg_map_done(&lineage->numbers);
	gg_map_done(&lineage->forks);
}

int gg_lineage_add(struct gg_lineage *lineage, const struct gg_region_header *header, uint32_t id,
                   uint32_t *ret_number)
{
	uint32_t number = (uint32_t)lineage->processes.count + 1, ancestor = 0;
	struct gg_lineage_process *process = gg_array_add(&lineage->processes);

	if (process == NULL)
		return -ENOMEM;
	if (gg_lineage_is_told(header))
		ancestor = gg_lineage_find(lineage, header->ancestor_pid,
		                           header->ancestor_start_ns);
	*process = (struct gg_lineage_process){ .start_ns = header->start_monotonic_ns,
		                                .fork_ns = header->fork_ns,
		                                .start_ticks = header->process_start_ticks,
		                                .owner = -1,
		                                .pid = header->pid,
		                                .id = id,
		                                .ancestor = ancestor,
		                                .end_ns = INT64_MAX };
	if (gg_map_put(&lineage->numbers, key_of(header->pid, header->start_monotonic_ns), number) <
	            0 ||
	    (header->fork_ns != 0 &&
	     gg_map_put(&lineage->forks, key_of(header->pid, header->fork_ns), number) < 0))
		return -ENOMEM;
	*ret_number = number;
	return 0;
}

struct gg_lineage_process *gg_lineage_at(const struct gg_lineage *lineage, uint32_t number)
{
	gg_assert(number <= lineage->processes.count);
	return number != 0 ? &lineage->processes.items[number - 1] : NULL;
}
