/* SPDX-License-Identifier: Apache-2.0 */
#include "query/resident_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/binary_search.h"

const struct gg_resident gg_resident_unknown = {
	.rss = -1, .anonymous = -1, .file = -1, .stack = -1, .swap = -1, .geiger = -1
};

/* Adds a part that may be unknown; the sum of unknown parts is unknown. */
static void add_known(double *sum, int64_t bytes)
{
	if (bytes >= 0)
		*sum = (*sum > 0 ? *sum : 0) + (double)bytes;
}

static bool is_asked_for(const struct gg_profile_process *process, uint32_t pid)
{
	return pid == 0 || process->pid == pid;
}

static bool is_counted(const struct gg_residents *residents, const struct gg_profile_memory *memory)
{
	const struct gg_profile_process *processes = residents->model->processes;

	return memory->process > 0 && memory->process < residents->model->process_count &&
	       memory->rss_bytes > 0 && is_asked_for(&processes[memory->process], residents->pid);
}

static size_t count_living(const struct gg_residents *residents, int64_t time_ns)
{
	size_t count = 0;
	const struct gg_profile_process *processes = residents->model->processes;

	for (size_t i = 1; i < residents->model->process_count; i++)
		count += is_asked_for(&processes[i], residents->pid) &&
		         processes[i].start_ns <= time_ns &&
		         (processes[i].end_ns == GG_TIME_NONE || processes[i].end_ns > time_ns);
	return count;
}

static void add_whole_pages(struct gg_resident *resident, const struct gg_profile_memory *memory)
{
	int64_t own = memory->geiger_file_bytes > 0 ? memory->geiger_file_bytes : 0;
	int64_t file = memory->file_bytes + memory->shared_bytes;

	add_known(&resident->rss, memory->rss_bytes);
	add_known(&resident->stack, memory->stack_bytes);
	add_known(&resident->geiger, memory->geiger_bytes);
	if (memory->file_bytes >= 0 && memory->shared_bytes >= 0)
		add_known(&resident->file, file > own ? file - own : 0);
}

static void add_shares_of_pages(struct gg_resident *resident,
                                const struct gg_profile_memory *memory)
{
	add_known(&resident->rss, memory->pss_bytes);
	add_known(&resident->stack, memory->pss_stack_bytes);
	add_known(&resident->geiger, memory->pss_geiger_bytes);
	add_known(&resident->file, memory->pss_file_bytes);
}

/* Sums a round over processes: checks whose Pss is known, then follows the header's rule. */
static struct gg_resident add_up(const struct gg_residents *residents,
                                 const struct gg_profile_memory *memory, size_t first, size_t count)
{
	struct gg_resident resident = gg_resident_unknown;
	bool has_shares = true;

	resident.first = first;
	resident.count = count;
	resident.time_ns = memory[first].time_ns;
	for (size_t i = first; i < first + count; i++) {
		if (!is_counted(residents, &memory[i]))
			continue;
		resident.process_count++;
		has_shares &= memory[i].pss_bytes >= 0 && memory[i].pss_file_bytes >= 0;
		if (memory[i].span_ns < 0 || resident.span_ns < 0)
			resident.span_ns = -1;
		else if (memory[i].span_ns > resident.span_ns)
			resident.span_ns = memory[i].span_ns;
		add_known(&resident.anonymous, memory[i].anonymous_bytes);
		add_known(&resident.swap, memory[i].swap_bytes);
	}
	if (resident.process_count == 0)
		return resident;
	resident.living_count = count_living(residents, resident.time_ns);
	resident.is_proportional = resident.process_count > 1 && has_shares &&
	                           resident.process_count == resident.living_count;
	resident.is_upper_bound = resident.process_count > 1 && !resident.is_proportional;
	for (size_t i = first; i < first + count; i++) {
		if (!is_counted(residents, &memory[i]))
			continue;
		if (resident.is_proportional)
			add_shares_of_pages(&resident, &memory[i]);
		else
			add_whole_pages(&resident, &memory[i]);
	}
	return resident;
}

int gg_residents_of(struct gg_residents *ret_residents, const struct gg_model *model, uint32_t pid,
                    struct gg_error *error)
{
	struct gg_residents residents = { .model = model, .pid = pid };
	size_t round_count = 0;
	const struct gg_profile_memory *memory = model->memory;

	for (size_t i = 0; i < model->memory_count; i++)
		round_count += i == 0 || memory[i].time_ns != memory[i - 1].time_ns;
	residents.rounds = calloc(round_count + 1, sizeof(*residents.rounds));
	if (residents.rounds == NULL)
		return gg_error_memory(error, "readings of RSS");
	for (size_t first = 0, count; first < model->memory_count; first += count) {
		struct gg_resident resident;

		count = 1;
		while (first + count < model->memory_count &&
		       memory[first + count].time_ns == memory[first].time_ns)
			count++;
		resident = add_up(&residents, memory, first, count);
		if (resident.process_count > 0)
			residents.rounds[residents.count++] = resident;
	}
	*ret_residents = residents;
	return 0;
}

void gg_residents_done(struct gg_residents *residents)
{
	free(residents->rounds);
	residents->rounds = NULL;
	residents->count = 0;
}

bool gg_resident_is_whole(const struct gg_resident *resident)
{
	return resident->process_count > 0 && resident->process_count == resident->living_count &&
	       !resident->is_upper_bound;
}

/* The number of rounds at or before the moment. */
static size_t count_until(const struct gg_residents *residents, int64_t moment_ns)
{
	return gg_lower_bound(0, residents->count, i, residents->rounds[i].time_ns <= moment_ns);
}

struct gg_resident gg_residents_at(const struct gg_residents *residents, int64_t moment_ns)
{
	size_t count = count_until(residents, moment_ns);
	int64_t last_ns = count > 0 ? residents->rounds[count - 1].time_ns : 0;

	/*
	 * The age of a whole round counts up to the last round, not up to the moment.  Every moment
	 * until the next round then shows the same, so no moment shows more than the largest RSS.
	 */
	for (size_t i = count; i > 0; i--) {
		const struct gg_resident *resident = &residents->rounds[i - 1];

		if (resident->time_ns < last_ns - last_ns / 4)
			break;
		if (gg_resident_is_whole(resident))
			return *resident;
	}
	return count > 0 ? residents->rounds[count - 1] : gg_resident_unknown;
}

struct gg_resident gg_residents_remaining_at(const struct gg_residents *residents,
                                             int64_t moment_ns)
{
	struct gg_resident resident = gg_residents_at(residents, moment_ns);
	const struct gg_profile_process *processes = residents->model->processes;
	const struct gg_profile_memory *memory = residents->model->memory;
	size_t remaining_count = 0;
	double bytes = 0;

	for (size_t i = resident.first; i < resident.first + resident.count; i++) {
		int64_t end_ns;

		if (!is_counted(residents, &memory[i]))
			continue;
		end_ns = processes[memory[i].process].end_ns;
		if (end_ns != GG_TIME_NONE && end_ns < moment_ns)
			continue;
		remaining_count++;
		bytes += (double)memory[i].rss_bytes;
	}
	if (remaining_count == resident.process_count)
		return resident;
	resident.is_upper_bound = remaining_count > 1 || bytes > resident.rss;
	resident.rss = remaining_count > 0 ? fmin(bytes, resident.rss) : -1;
	resident.process_count = remaining_count;
	resident.is_proportional = false;
	return resident;
}
