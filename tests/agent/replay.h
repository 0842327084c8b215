/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - what the agent must have recorded of the calls in a journal.
 *
 * The sampler is run again over each thread's calls, with the options and the seed that the agent
 * had: so it is known of each allocation whether it is a sample, and how that was drawn.  The samples
 * are added up by thread and by the code that allocated, in the region's own numbers, which do not
 * depend on the order: totals agree to the last bit or not at all.
 *
 * The last call of a thread may have been in flight at the kill.  What the region holds of a thread
 * is then one of its stages: without that call; with the block closed that it frees; with all of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/journal.h"
#include "region/reader/view.h"
#include "stats/sampling/sampler.h"

enum replay_stage { REPLAY_BEFORE, REPLAY_CLOSED, REPLAY_ALL, REPLAY_STAGE_COUNT };

enum { REPLAY_SITES_MAX = 64 };

/* Samples of one place in the code, allocated or freed in one thread. */
struct replay_site {
	uint64_t pc; /* 0: not in use */
	struct gg_sums allocated, freed;
};

struct replay_thread {
	struct gg_draw *draws; /* one a call; interval 0: no sample */
	bool *is_freed;        /* one a call: its block, by a call that counts */
	struct replay_site sites[REPLAY_STAGE_COUNT][REPLAY_SITES_MAX];
	enum replay_stage stage; /* that the region holds */
};

struct replay {
	const struct journal *journal;
	struct gg_sampler_options options;
	struct replay_thread threads[JOURNAL_THREADS_MAX];
};

/* The journal in that file, for reading; NULL: there is none yet. */
const struct journal *replay_map_journal(const char *path);
void replay_unmap_journal(const struct journal *journal);

/* Threads that have a part in it. */
static inline uint32_t replay_thread_count(const struct journal *journal)
{
	return journal->thread_count < JOURNAL_THREADS_MAX ? journal->thread_count
	                                                   : JOURNAL_THREADS_MAX;
}

/* Both return false for want of memory.  replay_done() in any case. */
bool replay_begin(struct replay *replay, const struct journal *journal,
                  const struct gg_sampler_options *options);
void replay_done(struct replay *replay);

/* Draws and totals, if the i-th thread of the journal has the i-th of these streams of the seed. */
void replay_run(struct replay *replay, const uint64_t streams[JOURNAL_THREADS_MAX]);

/* Is the region what was replayed?  `why` says what is not, of thread *ret_thread. */
bool replay_is(struct replay *replay, const struct gg_region_view *view, const char **why,
               int *ret_thread);

/* Samples in the journal's completed calls. */
uint64_t replay_sample_count(const struct replay *replay);

/* The code that called the allocator: the first frame of a stack that is not the twin's. */
uint64_t replay_site_of(const struct journal *journal, const struct gg_region_view *view,
                        uint32_t stack);
