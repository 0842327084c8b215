/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_settings - whether this process samples, how densely, and which side records it.
 *
 * Every sampler of libgeiger calls gg_embed_settings_refresh() in its slow path, which copies the
 * settings of the recording side (abi/agent_functions.h).  So a sampler compares a single count.
 *
 * Recorder   A constructor decides it: the agent, if its table exists, else this library.  Before
 *            that, nothing is sampled.  gg_embed_settings_find_agent() decides it again.
 * Threads    any.  Each setting is one word.  The count changes after the settings, by release, so
 *            a thread that sees a new count sees the settings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"
#include "base/atomic.h"
#include "stats/sampling/sampler.h"

#define GG_EMBED_INTERVAL_MAX (UINT64_C(1) << 62) /* of a sampler */

enum {
	/*
	 * A thread checks for new settings at least once in so many bytes, as it does for malloc.
	 */
	GG_EMBED_VISIT_BYTES = 8 << 20,
	/*
	 * The same while an agent does not record: it may begin again at any time, by an attach,
	 * and what a thread allocates before its next visit is not sampled.
	 */
	GG_EMBED_PAUSED_VISIT_BYTES = 4 << 10
};

struct gg_embed_settings {
	const struct gg_agent_functions *agent; /* NULL: before the constructor */
	uint32_t is_own;                        /* 1: the table is ours, and no agent records */
	uint32_t change_count;                  /* changes of the members below; at least 1 */
	uint32_t is_recording;                  /* samples go to a region */
	uint32_t listener_count;
	uint32_t generation;     /* of the recording: gg_agent_settings */
	uint32_t scheme;         /* enum gg_scheme */
	uint64_t interval_bytes; /* of the process */
	uint64_t seed;           /* of this process; 0: by the system */
	uint64_t seen;           /* change count and generation of the recording side */
	uint32_t fork_count;     /* forks by this process's ancestors; each reseeds samplers */
	uint64_t next_stream;    /* of random numbers: one a sampler */
	void (*listeners_forked)(void); /* in a child; NULL: there was no listener yet */
};

extern struct gg_embed_settings gg_embed_settings;

/* Copies new settings of the recording side. */
void gg_embed_settings_refresh(void);

/*
 * Takes an agent that was loaded after this library as the recording side, unless this library has
 * begun to record by itself.
 */
void gg_embed_settings_find_agent(void);

/*
 * Takes the agent of that table as the recording side.  An attached agent hands its table over,
 * because the loader does not find its symbols.
 */
void gg_embed_settings_use_agent(const struct gg_agent_functions *agent);

/* Takes a stream of random numbers, which no sampler of the agent has. */
uint64_t gg_embed_next_stream(void);

/* Acquire: pairs with the release of the thread that changed the settings. */
static inline uint32_t gg_embed_settings_count(void)
{
	return gg_load_acquire(&gg_embed_settings.change_count);
}

static inline bool gg_embed_is_recording(void)
{
	return gg_load_relaxed(&gg_embed_settings.is_recording) != 0;
}

static inline bool gg_embed_is_sampling(void)
{
	return gg_embed_is_recording() || gg_load_relaxed(&gg_embed_settings.listener_count) != 0;
}

static inline uint64_t gg_embed_interval(void)
{
	return gg_load_relaxed(&gg_embed_settings.interval_bytes);
}

/*
 * The table to call; without a recording its functions do nothing.  NULL: before the constructor.
 */
static inline const struct gg_agent_functions *gg_embed_agent(void)
{
	return gg_load_relaxed(&gg_embed_settings.agent);
}
