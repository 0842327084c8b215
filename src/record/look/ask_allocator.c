/* SPDX-License-Identifier: Apache-2.0 */
/* ask_allocator - joins the agent's look with the recorder's by the numbers of samples. */
#include "record/look/ask_allocator.h"

#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/look/process_memory.h"
#include "record/look/slab_shares.h"
#include "region/control.h"
#include "region/reader/allocator_looks.h"
#include "region/reader/view.h"

enum {
	BLOCK_NS = 200,        /* estimate of the agent's time for a block */
	PAUSE_PART = 100,      /* a look that took t has the next request after 100 t */
	FRESH_NS = 1000000000, /* older totals may be of another heap */
	CHANGED_PART = 20,     /* of an older answer's samples so many may have changed */
	DEVIATIONS = 2,  /* that an unseen change may be larger than the one that samples show */
	UNSEEN_MOST = 3, /* samples: as many would show with 95 % probability */
};

#define PAUSE_LEAST_NS (20 * GG_NS_PER_MS)
#define CHANGED_MOST   0.5 /* of the heap; few samples may hide so much */

static const char place_name[] = "the region";

/* Returns the complete look with the larger number; NULL: no look is complete. */
static const struct gg_region_allocator_look *find_last(
	const struct gg_region_allocator_state *state)
{
	const struct gg_region_allocator_look *last = NULL;

	for (size_t i = 0; i < GG_COUNT(state->looks); i++)
		if (state->looks[i].end_ns != 0 &&
		    (last == NULL || state->looks[i].number > last->number))
			last = &state->looks[i];
	return last;
}

/*
 * The pause after a look of the agent, so that looks take 1 % of the program's time at most.  The
 * recorder's own looks are rarer, because they take longer.
 */
static uint64_t pause_after(const struct gg_region_allocator_state *state,
                            const struct gg_region_allocator_look *look)
{
	uint64_t cost_ns = state->totals_span_ns % GG_NS_PER_S +
	                   look->block_count % GG_LOOK_LIVE_MAX * BLOCK_NS;

	return cost_ns * PAUSE_PART > PAUSE_LEAST_NS ? cost_ns * PAUSE_PART : PAUSE_LEAST_NS;
}

/* Waits until a look is complete that began at `request_ns` or later. */
static bool wait_for_answer(int fd, uint64_t request_ns, int wait_ms)
{
	const struct timespec pause = { .tv_nsec = GG_NS_PER_MS };
	struct gg_region_header header;
	const struct gg_region_allocator_look *last;
	struct gg_error error;

	for (int i = 0; i < wait_ms; i++) {
		nanosleep(&pause, NULL);
		if (gg_region_header_read(&header, fd, place_name, &error) < 0)
			return false;
		last = find_last(&header.allocator);
		if (last != NULL && last->begin_ns >= request_ns)
			return true;
	}
	return false;
}

/* True if the control word has the request. */
static bool put_request(int fd)
{
	struct gg_error error;
	int control_fd = gg_region_control_reopen(fd, place_name, &error);
	bool is_done = control_fd >= 0 && gg_region_control_request_look(control_fd, &error) == 0;

	if (control_fd >= 0)
		close(control_fd);
	return is_done;
}

bool gg_look_request(int fd, int wait_ms)
{
	const struct gg_region_allocator_look *last;
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct gg_region_header header;
	struct gg_error error;

	if (gg_region_header_read(&header, fd, place_name, &error) < 0 ||
	    header.allocator.allocator == GG_REGION_ALLOCATOR_UNKNOWN ||
	    (header.allocator.flags & GG_ALLOCATOR_LOOK_OFF) != 0)
		return false;
	last = find_last(&header.allocator);
	if (last != NULL && wait_ms <= GG_LOOK_ANSWER_MS &&
	    now_ns < last->end_ns + pause_after(&header.allocator, last))
		return false;
	return put_request(fd) && wait_for_answer(fd, now_ns, wait_ms);
}

/* --- the answer --- */

/*
 * Returns how many of the answer's samples changed since: those that were freed, and live samples
 * that are younger than all of the answer's.  An answer that took one of `stride` samples stands
 * for as many young ones.
 */
static double count_changes(const struct gg_region_allocator_looks *answer,
                            const struct gg_look_samples *samples)
{
	const struct gg_region_allocator_block *seen = answer->blocks;
	size_t stayed_count = 0, young_count = 0;

	for (size_t i = 0; i < samples->list.count; i++) {
		const struct gg_look_sample *sample = &samples->list.items[i];

		if (sample->is_mapping)
			continue;
		young_count += sample->number > seen[answer->block_count - 1].sample;
		stayed_count += gg_region_allocator_looks_find(answer, sample->number) != NULL;
	}
	return (double)(answer->block_count - stayed_count) +
	       (double)young_count / (double)answer->look.stride;
}

/*
 * Returns the upper bound of the share of the heap that changed since the answer; 0: it is of now;
 * 1: too much.  The heap of an idle program stays as it was, however old the answer is.
 */
static double changed_share(const struct gg_region_allocator_looks *answer,
                            const struct gg_look_samples *samples, uint64_t request_ns)
{
	double seen_count = (double)answer->block_count, changed_count, share;

	if (answer->look.number == 0)
		return 1;
	if (answer->look.begin_ns >= request_ns)
		return 0;
	/* Without blocks nothing shows a change. */
	if (answer->block_count == 0 || answer->look.stride == 0)
		return answer->look.end_ns + FRESH_NS >= request_ns ? 0 : 1;
	changed_count = count_changes(answer, samples);
	share = (changed_count + DEVIATIONS * sqrt(changed_count) + UNSEEN_MOST) / seen_count;
	return changed_count <= seen_count / CHANGED_PART && share <= CHANGED_MOST ? share : 1;
}

static int add_totals(struct gg_look *look, const struct gg_region_allocator_looks *answer,
                      double changed)
{
	bool is_own = answer->allocator == GG_REGION_ALLOCATOR_GEIGER;
	uint64_t allocated = answer->totals[is_own ? GG_ALLOCATOR_TOTAL_GEIGER_ALLOCATED
	                                           : GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED];
	const struct gg_profile_look_total change = {
		.name = is_own ? "geiger-malloc.changed" : "jemalloc.changed",
		.bytes = (int64_t)ceil(changed * (double)allocated)
	};

	if (changed > 0 && allocated <= INT64_MAX && !gg_array_push(&look->blocks.totals, change))
		return -ENOMEM;
	for (int i = 0; i < GG_ALLOCATOR_TOTAL_COUNT; i++) {
		const struct gg_profile_look_total total = {
			.name = gg_region_allocator_total_name((enum gg_region_allocator_total)i),
			.bytes = (int64_t)answer->totals[i],
		};

		if (answer->totals[i] <= INT64_MAX && !gg_array_push(&look->blocks.totals, total))
			return -ENOMEM;
	}
	return 0;
}

typedef GG_ARRAY(struct gg_slab_block) slab_block_array;

/*
 * Lists the blocks that the answer knows; the others get no share.  Blocks are in the order of the
 * chosen samples, without those that were torn.
 */
static int list_slabs(slab_block_array *slabs, struct gg_look *look,
                      const struct gg_region_allocator_looks *answer,
                      const struct gg_look_samples *samples)
{
	size_t at = 0;

	for (size_t i = 0; i < look->blocks.blocks.count; i++) {
		struct gg_profile_look_block *block = &look->blocks.blocks.items[i];
		const struct gg_region_allocator_block *seen;

		while (at < samples->chosen_count && samples->list.items[at].id != block->sample)
			at++;
		if (at == samples->chosen_count)
			break;
		if (samples->list.items[at].is_mapping)
			continue;
		/* The look from outside knows headers of glibc alone. */
		block->pinned_bytes = -1;
		block->returnable_bytes = -1;
		seen = gg_region_allocator_looks_find(answer, samples->list.items[at].number);
		/* The number belongs to one sample only; a damaged record may still have it. */
		if (seen != NULL && seen->address == samples->list.items[at].address &&
		    !gg_array_push(slabs, (struct gg_slab_block){ seen, &block->pinned_bytes }))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Sets the pinned bytes of the blocks that the answer knows, and how many these are.  If the pages
 * of the process cannot be read, no block has any.
 */
static int add_shares(struct gg_look *look, pid_t pid,
                      const struct gg_region_allocator_looks *answer,
                      const struct gg_look_samples *samples, size_t *ret_known_count)
{
	struct gg_process_memory memory;
	slab_block_array slabs = { 0 };
	struct gg_error error;
	int status = list_slabs(&slabs, look, answer, samples);

	*ret_known_count = 0;
	if (status == 0 && slabs.count > 0 && gg_process_memory_open(&memory, pid, &error) == 0) {
		if (gg_slab_shares_find(slabs.items, slabs.count, &memory.source,
		                        (uint64_t)sysconf(_SC_PAGESIZE)) == 0)
			*ret_known_count = slabs.count;
		gg_process_memory_close(&memory);
	}
	gg_array_done(&slabs);
	return status;
}

static const char *reason_of(const struct gg_region_allocator_looks *answer, size_t known_count,
                             bool is_usable)
{
	if ((answer->flags & GG_ALLOCATOR_LOOK_OFF) != 0)
		return "calls of the allocator are switched off";
	if (!is_usable && answer->look.number == 0 && answer->postponed_count > 0)
		return "no stack proved that a call of the allocator is safe";
	if (!is_usable && answer->look.number == 0)
		return "the program took no sample after the request";
	if (!is_usable && answer->look.stride == 0)
		return "the allocator's totals are old, and the program took no sample after the "
		       "request";
	if (!is_usable)
		return "the heap has changed since the allocator's last answer; the next sampled "
		       "allocation or free brings a new one";
	if (answer->allocator != GG_REGION_ALLOCATOR_JEMALLOC &&
	    answer->allocator != GG_REGION_ALLOCATOR_GEIGER)
		return "this allocator states totals alone, so no stack can be named";
	if (answer->look.stride == 0)
		return "this jemalloc cannot tell the slabs of blocks";
	return known_count > 0 ? NULL : "all blocks are younger than the allocator's answer";
}

int gg_look_add_answer(struct gg_look *look, const struct gg_look_process *process,
                       const struct gg_look_samples *samples, uint64_t request_ns)
{
	struct gg_region_allocator_looks answer;
	struct gg_error error;
	size_t known_count = 0;
	double changed;
	int status;

	if (gg_region_allocator_looks_read(&answer, process->fd, place_name, &error) < 0)
		return 0;
	if (answer.allocator == GG_REGION_ALLOCATOR_UNKNOWN) {
		gg_region_allocator_looks_done(&answer);
		return 0;
	}
	look->blocks.allocator = gg_region_allocator_name(answer.allocator);
	look->record.allocator = look->blocks.allocator;
	changed = changed_share(&answer, samples, request_ns);
	/* An answer of another heap would be compared with the RSS of now. */
	if (changed >= 1) {
		answer.block_count = 0;
		for (size_t i = 0; i < GG_COUNT(answer.totals); i++)
			answer.totals[i] = GG_ALLOCATOR_TOTAL_UNKNOWN;
	}
	status = add_totals(look, &answer, changed >= 1 ? 0 : changed);
	if (status == 0)
		status = add_shares(look, process->pid, &answer, samples, &known_count);
	/* A look without blocks has a reason of its own. */
	if (look->blocks.blocks.count > 0 || look->record.reason == NULL)
		look->blocks.reason = look->record.reason = reason_of(&answer, known_count,
		                                                      changed < 1);
	gg_region_allocator_looks_done(&answer);
	return status;
}
