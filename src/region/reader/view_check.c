/* SPDX-License-Identifier: Apache-2.0 */
/* view_check - reads stacks and totals from a view, checks the equation, names the counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "region/reader/view.h"

uint32_t gg_region_view_stack(const struct gg_region_view *view, uint32_t stack, uint64_t *pcs,
                              uint32_t max)
{
	uint32_t count = 0;

	if (stack >= view->node_count)
		return 0;
	/* The loop ends, because parents have smaller ids (check_nodes). */
	for (; stack >= GG_STACK_FIRST; stack = view->nodes[stack].parent) {
		if (count < max)
			pcs[count] = view->nodes[stack].pc;
		count++;
	}
	return count;
}

static struct gg_sums sums_of_sample(const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	return gg_sums_of(&draw, sample->size_bytes);
}

struct gg_region_totals gg_region_view_totals(const struct gg_region_view *view)
{
	struct gg_region_totals totals = { 0 };

	for (uint32_t i = 0; i < view->site_total_count; i++) {
		gg_sums_add(&totals.allocated, &view->site_totals[i].allocated);
		gg_sums_add(&totals.freed, &view->site_totals[i].freed);
	}
	for (uint32_t i = 0; i < view->live_count; i++) {
		struct gg_sums sums = sums_of_sample(&view->live[i]);

		gg_sums_add(&totals.live, &sums);
	}
	return totals;
}

bool gg_region_view_tells_inherited(const struct gg_region_view *view)
{
	uint64_t count = 0;

	if (gg_region_is_exact(&view->header))
		return false;
	for (uint32_t i = 0; i < view->site_total_count; i++)
		if (view->site_totals[i].is_inherited == 1)
			count += view->site_totals[i].allocated.sample_count;
	return count == view->header.counters[GG_COUNT_INHERITED];
}

int gg_region_view_check(const struct gg_region_view *view, uint32_t *ret_stack)
{
	static const struct gg_sums zero;
	struct gg_sums *rest = calloc(view->node_count > 0 ? view->node_count : 1, sizeof(*rest));
	uint32_t wrong = UINT32_MAX;

	if (rest == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *total = &view->site_totals[i];

		gg_sums_add(&rest[total->stack], &total->allocated);
		gg_sums_subtract(&rest[total->stack], &total->freed);
		if (wrong == UINT32_MAX && !gg_lifetimes_add_up(total))
			wrong = total->stack;
	}
	for (uint32_t i = 0; i < view->live_count; i++) {
		struct gg_sums sums = sums_of_sample(&view->live[i]);

		gg_sums_subtract(&rest[view->live[i].stack], &sums);
	}
	/* With exact counts there are no samples to compare with; what is freed was allocated. */
	for (uint32_t i = 0; i < view->node_count && wrong == UINT32_MAX; i++)
		if (gg_region_is_exact(&view->header)
		            ? (int64_t)rest[i].sample_count < 0 || (int64_t)rest[i].size_bytes < 0
		            : memcmp(&rest[i], &zero, sizeof(zero)) != 0)
			wrong = i;
	free(rest);
	if (wrong == UINT32_MAX)
		return 0;
	if (ret_stack != NULL)
		*ret_stack = wrong;
	return -EBADMSG;
}

bool gg_region_counter_is_drop(uint32_t counter)
{
	return (counter >= GG_COUNT_DROP_LIVE_FULL && counter <= GG_COUNT_DROP_SIZE) ||
	       counter == GG_COUNT_DROP_MEMORY;
}

uint64_t gg_region_dropped(const struct gg_region_header *header)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < GG_COUNTER_COUNT; i++)
		if (gg_region_counter_is_drop(i))
			dropped += header->counters[i];
	return dropped;
}

bool gg_region_is_lacking(const struct gg_region_header *header)
{
	const uint64_t *counters = header->counters;
	uint64_t thread_count = counters[GG_COUNT_JAVA_THREADS];
	uint64_t come_count = counters[GG_COUNT_JAVA_THREADS_SAMPLED] +
	                      counters[GG_COUNT_JAVA_THREADS_ENDED];

	return gg_region_dropped(header) > 0 || header->control.active == 0 ||
	       counters[GG_COUNT_WAS_OFF] > 0 || thread_count > come_count ||
	       (thread_count > 0 && counters[GG_COUNT_BIASED] == 0);
}

const char *gg_region_counter_name(uint32_t counter)
{
	static const char *const names[] = {
		[GG_COUNT_SAMPLES] = "samples",
		[GG_COUNT_FREES] = "frees",
		[GG_COUNT_MISSED_FREES] = "missed frees",
		[GG_COUNT_SAMPLE_PATH_NS] = "ns in the sample path",
		[GG_COUNT_EVENTS] = "events",
		[GG_COUNT_ROWS_FOLDED] = "folded into another row",
		[GG_COUNT_DROP_LIVE_FULL] = "samples dropped: live full",
		[GG_COUNT_DROP_SLOTS_FULL] = "dropped: too many threads",
		[GG_COUNT_DROP_BUSY] = "dropped: interrupted itself",
		[GG_COUNT_DROP_ROW_HELD] = "samples dropped: row held",
		[GG_COUNT_DROP_SIZE] = "samples dropped: size or draw",
		[GG_COUNT_DROP_OFF] = "samples dropped: switched off",
		[GG_COUNT_FREE_DEFERRED] = "frees deferred: row held",
		[GG_COUNT_STACKS_OVERFLOWED] = "stacks without a place",
		[GG_COUNT_DROP_EVENTS] = "events dropped: ring full",
		[GG_COUNT_DROP_MODULES] = "modules dropped: full",
		[GG_COUNT_DROP_THREADS] = "threads without a row",
		[GG_COUNT_DROP_NAMES] = "names dropped: full",
		[GG_COUNT_GROW_FAILED] = "requests for space refused",
		[GG_COUNT_INHERITED] = "samples inherited",
		[GG_COUNT_INHERIT_DROPPED] = "inherited samples dropped",
		[GG_COUNT_DROP_MEMORY] = "dropped: no memory",
		[GG_COUNT_LOST_CHILDREN] = "forked processes without a region",
		[GG_COUNT_UNNOTED_CHILDREN] = "forked processes that were not noted",
		[GG_COUNT_PROGRAM_NS] = "ns of the program itself",
		[GG_COUNT_SAMPLING_NS] = "ns of samples",
		[GG_COUNT_HOOKS_NS] = "ns of hooks",
		[GG_COUNT_INTERVAL_CHANGES] = "changes of the interval for the overhead",
		[GG_COUNT_COARSEST_INTERVAL] = "bytes of the coarsest interval",
		[GG_COUNT_RECORDER_NS] = "ns of the recorder for samples",
		[GG_COUNT_ASKED_OVERHEAD] = "millionths of overhead asked for",
		[GG_COUNT_ASKED_ERROR] = "millionths of error asked for",
		[GG_COUNT_BIASED] = "samples of a biased sampler",
		[GG_COUNT_FAULTS] = "memory errors",
		[GG_COUNT_GUARDED] = "guarded blocks",
		[GG_COUNT_JAVA_THREADS] = "Java threads at the attach",
		[GG_COUNT_JAVA_THREADS_SAMPLED] = "Java threads sampled since",
		[GG_COUNT_JAVA_THREADS_ENDED] = "Java threads ended unsampled",
	};

	return counter < GG_COUNT(names) ? names[counter] : NULL;
}

uint32_t gg_region_counter_of(const char *name)
{
	for (uint32_t i = 0; i < GG_COUNTER_COUNT; i++) {
		const char *known = gg_region_counter_name(i);

		if (known != NULL && strcmp(known, name) == 0)
			return i;
	}
	return UINT32_MAX;
}
