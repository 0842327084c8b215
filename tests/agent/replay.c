/* SPDX-License-Identifier: Apache-2.0 */
/* replay - draws the samples of a journal again, and compares their totals with a region. */
#include "agent/replay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct journal *replay_map_journal(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct journal *journal = MAP_FAILED;

	if (fd >= 0 && lseek(fd, 0, SEEK_END) == sizeof(*journal))
		journal = mmap(NULL, sizeof(*journal), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return journal == MAP_FAILED ? NULL : journal;
}

void replay_unmap_journal(const struct journal *journal)
{
	if (journal != NULL)
		munmap((void *)journal, sizeof(*journal));
}

bool replay_begin(struct replay *replay, const struct journal *journal,
                  const struct gg_sampler_options *options)
{
	bool good = true;

	memset(replay, 0, sizeof(*replay));
	replay->journal = journal;
	replay->options = *options;
	for (uint32_t i = 0; i < replay_thread_count(journal); i++) {
		struct replay_thread *t = &replay->threads[i];

		t->draws = calloc(JOURNAL_CALLS_MAX, sizeof(*t->draws));
		t->is_freed = calloc(JOURNAL_CALLS_MAX, sizeof(*t->is_freed));
		good &= t->draws != NULL && t->is_freed != NULL;
	}
	return good;
}

void replay_done(struct replay *replay)
{
	for (int i = 0; i < JOURNAL_THREADS_MAX; i++) {
		free(replay->threads[i].draws);
		free(replay->threads[i].is_freed);
	}
	memset(replay, 0, sizeof(*replay));
}

/* Like the agent, starts a sampler when it is due for the first time, which is at once. */
static void draw(struct replay *replay, uint32_t thread, uint64_t stream)
{
	const struct journal_thread *from = &replay->journal->threads[thread];
	struct gg_draw *draws = replay->threads[thread].draws;
	struct gg_sampler_options options = replay->options;
	struct gg_sampler sampler = { 0 };

	options.stream = stream;
	for (uint64_t i = 0; i < from->announced_count; i++) {
		const struct journal_call *call = &from->calls[i];

		draws[i].sampling_interval = 0;
		if (call->pc == 0 || !gg_sampler_due(&sampler, call->bytes))
			continue;
		if (!gg_sampler_is_started(&sampler))
			gg_sampler_init(&sampler, &options);
		if (!gg_sampler_take(&sampler, call->bytes, &draws[i]))
			draws[i].sampling_interval = 0;
	}
}

static struct replay_site *site_in(struct replay_site *sites, uint64_t pc)
{
	for (int i = 0; i < REPLAY_SITES_MAX; i++) {
		if (sites[i].pc == 0)
			sites[i].pc = pc;
		if (sites[i].pc == pc)
			return &sites[i];
	}
	abort(); /* the program has fewer */
}

/* Adds what a call frees (CLOSED) or allocates (ALL), if that is a sample. */
static void add(struct replay *replay, struct replay_site *sites, uint32_t thread, uint64_t number,
                enum replay_stage stage)
{
	const struct journal_call *call = &replay->journal->threads[thread].calls[number];
	struct journal_place at = { thread, (uint32_t)number };
	const struct journal_call *made;
	const struct gg_draw *how;
	struct gg_sums sums;

	if (stage == REPLAY_CLOSED)
		at = call->freed;
	if (at.thread == JOURNAL_NOBODY)
		return;
	made = &replay->journal->threads[at.thread].calls[at.call];
	how = &replay->threads[at.thread].draws[at.call];
	if (made->pc == 0 || how->sampling_interval == 0)
		return;
	sums = gg_sums_of(how, made->bytes);
	gg_sums_add(stage == REPLAY_CLOSED ? &site_in(sites, made->pc)->freed
	                                   : &site_in(sites, made->pc)->allocated,
	            &sums);
}

static void sum_up(struct replay *replay, uint32_t thread)
{
	const struct journal_thread *from = &replay->journal->threads[thread];
	struct replay_thread *t = &replay->threads[thread];

	memset(t->sites, 0, sizeof(t->sites));
	for (uint64_t i = 0; i < from->completed_count; i++) {
		add(replay, t->sites[REPLAY_BEFORE], thread, i, REPLAY_CLOSED);
		if (from->calls[i].address != 0)
			add(replay, t->sites[REPLAY_BEFORE], thread, i, REPLAY_ALL);
	}
	for (int stage = REPLAY_CLOSED; stage < REPLAY_STAGE_COUNT; stage++) {
		memcpy(t->sites[stage], t->sites[stage - 1], sizeof(t->sites[stage]));
		for (uint64_t i = from->completed_count; i < from->announced_count; i++)
			add(replay, t->sites[stage], thread, i, (enum replay_stage)stage);
	}
}

void replay_run(struct replay *replay, const uint64_t streams[JOURNAL_THREADS_MAX])
{
	for (uint32_t i = 0; i < replay_thread_count(replay->journal); i++)
		draw(replay, i, streams[i]);
	/* A thread also frees what others drew. */
	for (uint32_t i = 0; i < replay_thread_count(replay->journal); i++)
		sum_up(replay, i);
}

uint64_t replay_site_of(const struct journal *journal, const struct gg_region_view *view,
                        uint32_t stack)
{
	uint64_t pcs[8];
	uint32_t count = gg_region_view_stack(view, stack, pcs, 8);

	for (uint32_t i = 0; i < count && i < 8; i++)
		if (pcs[i] < journal->code_begin || pcs[i] >= journal->code_end)
			return pcs[i];
	return 0;
}

/* The region's rows of a thread, by site; the order is that of another list of sites. */
static void read_rows(const struct replay *replay, const struct gg_region_view *view, uint32_t tid,
                      struct replay_site *sites)
{
	memset(sites, 0, REPLAY_SITES_MAX * sizeof(*sites));
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *row = &view->site_totals[i];
		struct replay_site *site;

		if (view->threads[row->thread].tid != tid ||
		    row->allocated.sample_count + row->freed.sample_count == 0)
			continue;
		site = site_in(sites, replay_site_of(replay->journal, view, row->stack));
		gg_sums_add(&site->allocated, &row->allocated);
		gg_sums_add(&site->freed, &row->freed);
	}
}

static bool is_equal(const struct gg_sums *a, const struct gg_sums *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool are_equal(struct replay_site *there, struct replay_site *sites)
{
	for (int i = 0; i < REPLAY_SITES_MAX; i++) {
		const struct replay_site *site = &there[i], *twin;

		if (site->pc == 0)
			break;
		twin = site_in(sites, site->pc);
		if (!is_equal(&site->allocated, &twin->allocated) ||
		    !is_equal(&site->freed, &twin->freed))
			return false;
	}
	/* And none that the region does not have. */
	for (int i = 0; i < REPLAY_SITES_MAX && sites[i].pc != 0; i++) {
		const struct replay_site *twin = site_in(there, sites[i].pc);

		if (!is_equal(&twin->allocated, &sites[i].allocated) ||
		    !is_equal(&twin->freed, &sites[i].freed))
			return false;
	}
	return true;
}

/* Which stage of the thread does the region hold?  False: none. */
static bool find_stage(struct replay *replay, const struct gg_region_view *view, uint32_t thread)
{
	struct replay_thread *t = &replay->threads[thread];
	struct replay_site there[REPLAY_SITES_MAX];

	read_rows(replay, view, replay->journal->threads[thread].tid, there);
	for (int stage = REPLAY_BEFORE; stage < REPLAY_STAGE_COUNT; stage++) {
		if (!are_equal(there, t->sites[stage]))
			continue;
		t->stage = (enum replay_stage)stage;
		return true;
	}
	return false;
}

static bool counts(const struct replay *replay, uint32_t thread, uint64_t number,
                   enum replay_stage least)
{
	return number < replay->journal->threads[thread].completed_count ||
	       replay->threads[thread].stage >= least;
}

static void mark_freed(struct replay *replay)
{
	for (uint32_t t = 0; t < replay_thread_count(replay->journal); t++)
		memset(replay->threads[t].is_freed, 0, JOURNAL_CALLS_MAX * sizeof(bool));
	for (uint32_t t = 0; t < replay_thread_count(replay->journal); t++) {
		const struct journal_thread *from = &replay->journal->threads[t];

		for (uint64_t i = 0; i < from->announced_count; i++) {
			struct journal_place freed = from->calls[i].freed;

			if (freed.thread != JOURNAL_NOBODY && counts(replay, t, i, REPLAY_CLOSED))
				replay->threads[freed.thread].is_freed[freed.call] = true;
		}
	}
}

static int by_address(const void *a, const void *b)
{
	const struct gg_region_sample *const *x = a, *const *y = b;

	return (*x)->address < (*y)->address ? -1 : (*x)->address > (*y)->address;
}

static bool is_that_sample(const struct replay *replay, const struct gg_region_view *view,
                           const struct gg_region_sample *sample, uint32_t thread, uint64_t number)
{
	const struct journal_thread *from = &replay->journal->threads[thread];
	const struct gg_draw *how = &replay->threads[thread].draws[number];

	return sample->size_bytes == from->calls[number].bytes &&
	       sample->sampling_interval == how->sampling_interval &&
	       sample->offset_bytes == how->offset_bytes &&
	       sample->sample_point_count == how->sample_point_count &&
	       sample->scheme == (uint64_t)how->scheme &&
	       view->threads[sample->thread].tid == from->tid &&
	       replay_site_of(replay->journal, view, sample->stack) == from->calls[number].pc;
}

/* Finds the live sample of a call.  The address of one in flight is not known: any will do. */
static bool find_sample(const struct replay *replay, const struct gg_region_view *view,
                        const struct gg_region_sample **sorted, uint32_t thread, uint64_t number)
{
	uint64_t address = replay->journal->threads[thread].calls[number].address;
	uint32_t low = 0, high = view->live_count;

	if (address == 0) {
		for (uint32_t i = 0; i < view->live_count; i++)
			if (is_that_sample(replay, view, &view->live[i], thread, number))
				return true;
		return false;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sorted[middle]->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < view->live_count && sorted[low]->address == address &&
	       is_that_sample(replay, view, sorted[low], thread, number);
}

/* Live samples are those of the calls that count, and no others. */
static bool has_live(struct replay *replay, const struct gg_region_view *view, int *ret_thread)
{
	const struct gg_region_sample **sorted = calloc(view->live_count + 1, sizeof(*sorted));
	uint32_t expected = 0;
	bool good = sorted != NULL;

	for (uint32_t i = 0; good && i < view->live_count; i++)
		sorted[i] = &view->live[i];
	if (good)
		qsort(sorted, view->live_count, sizeof(*sorted), by_address);
	mark_freed(replay);
	for (uint32_t t = 0; good && t < replay_thread_count(replay->journal); t++) {
		const struct journal_thread *from = &replay->journal->threads[t];

		*ret_thread = (int)t;
		for (uint64_t i = 0; good && i < from->announced_count; i++) {
			bool completed = i < from->completed_count;

			if (from->calls[i].pc == 0 ||
			    replay->threads[t].draws[i].sampling_interval == 0 ||
			    replay->threads[t].is_freed[i] || !counts(replay, t, i, REPLAY_ALL) ||
			    (completed && from->calls[i].address == 0))
				continue;
			expected++;
			good = find_sample(replay, view, sorted, t, i);
		}
	}
	free(sorted);
	return good && expected == view->live_count;
}

bool replay_is(struct replay *replay, const struct gg_region_view *view, const char **why,
               int *ret_thread)
{
	for (uint32_t i = 0; i < replay_thread_count(replay->journal); i++) {
		if (find_stage(replay, view, i))
			continue;
		*ret_thread = (int)i;
		*why = "its totals are not those of its calls";
		return false;
	}
	*why = "live samples are not those of its calls";
	return has_live(replay, view, ret_thread);
}

uint64_t replay_sample_count(const struct replay *replay)
{
	uint64_t count = 0;

	for (uint32_t t = 0; t < replay_thread_count(replay->journal); t++)
		for (uint64_t i = 0; i < replay->journal->threads[t].completed_count; i++)
			count += replay->threads[t].draws[i].sampling_interval != 0;
	return count;
}
