/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings - is anything sampled in this process, and how densely: what every sampler of libgeiger
 * looks at in its slow path.
 *
 * Threads  any.  Each setting is a word of its own; the count is changed after them, by release, so
 *          who finds it unchanged has them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "stats/sampler.h"

#define GG_EMBED_LONGEST_INTERVAL (UINT64_C(1) << 62)

struct gg_embed_settings {
	uint32_t change_count; /* of the others; from 1 on, so that 0 has seen nothing */
	uint32_t is_recording; /* samples go to a region */
	uint32_t listeners;    /* how many there are */
	uint64_t interval_bytes;
};

extern struct gg_embed_settings gg_embed_settings;

/* Acquire: pairs with the release of who changed them. */
static inline uint32_t gg_embed_settings_count(void)
{
	return gg_load_acquire(&gg_embed_settings.change_count);
}

static inline bool gg_embed_is_sampling(void)
{
	return gg_load_relaxed(&gg_embed_settings.is_recording) != 0 ||
	       gg_load_relaxed(&gg_embed_settings.listeners) != 0;
}

static inline uint64_t gg_embed_interval(void)
{
	return gg_load_relaxed(&gg_embed_settings.interval_bytes);
}
