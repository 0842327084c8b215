/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - computes what the agent must have recorded of the calls in a journal.
 *
 * The sampler runs again over each thread's calls, with the agent's options and seed.  So the
 * replay knows which allocations are samples, and how they were drawn.  It adds the samples up by
 * thread and by the code that allocated, in the region's own numbers.  These do not depend on the
 * order, so totals agree either to the last bit or not at all.
 *
 * The last call of a thread may have been in flight at the kill.  Then the region has one of three
 * stages of that thread: without the call, with the block closed that the call frees, or with the
 * whole call.
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

/* Maps the journal in that file for reading; NULL: the file has no journal yet. */
const struct journal *replay_map_journal(const char *path);
void replay_unmap_journal(const struct journal *journal);

/* The number of threads that have a part in the journal. */
static inline uint32_t replay_thread_count(const struct journal *journal)
{
	return journal->thread_count < JOURNAL_THREADS_MAX ? journal->thread_count
	                                                   : JOURNAL_THREADS_MAX;
}

/* False: memory ran out.  Call replay_done() in any case. */
bool replay_begin(struct replay *replay, const struct journal *journal,
                  const struct gg_sampler_options *options);
void replay_done(struct replay *replay);

/* Computes draws and totals; the i-th thread of the journal has the i-th of these streams. */
void replay_run(struct replay *replay, const uint64_t streams[JOURNAL_THREADS_MAX]);

/* True if the region equals the replay.  If not, *why says what differs in thread *ret_thread. */
bool replay_is(struct replay *replay, const struct gg_region_view *view, const char **why,
               int *ret_thread);

/* Returns the number of samples in the journal's completed calls. */
uint64_t replay_sample_count(const struct replay *replay);

/* Returns the code that called the allocator: the first frame of a stack that is not the twin's. */
uint64_t replay_site_of(const struct journal *journal, const struct gg_region_view *view,
                        uint32_t stack);
