/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_settings - is anything sampled in this process, and how densely; and who records it (interface.h).
 *
 * Every sampler of libgeiger looks here in its slow path (gg_embed_look()), which in turn looks at what
 * the recording wants: so a sampler needs to see one count alone.
 *
 * Who        decided once, by a constructor: the agent, if its table is there, else our own.  Before it
 *            ran nothing is sampled.
 * Threads    any.  Each setting is a word of its own; the count is changed after them, by release, so
 *            who finds it unchanged has them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"
#include "base/atomic.h"
#include "stats/sampling/sampler.h"

#define GG_EMBED_LONGEST_INTERVAL (UINT64_C(1) << 62) /* of a sampler */

enum {
	/* A thread looks for new settings at least once in so many bytes, as it does for malloc. */
	GG_EMBED_VISIT_BYTES = 8 << 20
};

struct gg_embed_settings {
	const struct gg_agent_functions *agent; /* NULL: before the constructor */
	uint32_t is_own;                        /* the table is ours: nobody else records */
	uint32_t change_count;                  /* of the following; from 1 on */
	uint32_t is_recording;                  /* samples go to a region */
	uint32_t listener_count;
	uint32_t generation;            /* of the recording: gg_agent_settings */
	uint32_t scheme;                /* enum gg_scheme */
	uint64_t interval_bytes;        /* of the process */
	uint64_t seed;                  /* of this process; 0: by the system */
	uint64_t seen;                  /* change count and generation of the recording */
	uint32_t fork_count;            /* by this process's ancestors: samplers start anew */
	uint64_t next_stream;           /* of random numbers: one a sampler */
	void (*listeners_forked)(void); /* in a child; NULL: there was no listener yet */
};

extern struct gg_embed_settings gg_embed_settings;

/* Takes over what the recording wants, if that is new. */
void gg_embed_look(void);

/* A stream of random numbers for a sampler of libgeiger, which none of the agent's samplers has. */
uint64_t gg_embed_next_stream(void);

/* Acquire: pairs with the release of who changed them. */
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

/* The table to call: what it does where nothing records is nothing.  NULL: too early. */
static inline const struct gg_agent_functions *gg_embed_agent(void)
{
	return gg_load_relaxed(&gg_embed_settings.agent);
}
