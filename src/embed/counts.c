/* SPDX-License-Identifier: Apache-2.0 */
/* counts - keeps the counters in one array. */
#include "embed/counts.h"

#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "embed/public.h"

static uint64_t counts[GG_EMBED_COUNTER_COUNT];

_Static_assert(sizeof(counts) == sizeof(struct geiger_counts), "the same, by other names");

void gg_embed_count(enum gg_embed_counter counter)
{
	/* Relaxed: a counter publishes no other data. */
	gg_add_relaxed(&counts[counter], 1);
}

void geiger_read_counts(struct geiger_counts *ret_counts)
{
	uint64_t read[GG_EMBED_COUNTER_COUNT];

	if (ret_counts == NULL)
		return;
	for (int i = 0; i < GG_EMBED_COUNTER_COUNT; i++)
		read[i] = gg_load_relaxed(&counts[i]);
	memcpy(ret_counts, read, sizeof(*ret_counts));
}
