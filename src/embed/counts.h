/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts - what libgeiger counts: samples, and what could not be done.  In the order of struct
 * geiger_counts.
 *
 * Threads  any; sums, no part of any consistency.
 */
#pragma once

enum gg_embed_counter {
	GG_EMBED_SAMPLES,
	GG_EMBED_FREED,
	GG_EMBED_MOVED,
	GG_EMBED_PROMOTED,
	GG_EMBED_DROPPED,
	GG_EMBED_NESTED,
	GG_EMBED_UNKNOWN_HEAPS,
	GG_EMBED_BAD_SAMPLES,
	GG_EMBED_NAMES_DROPPED,
	GG_EMBED_COUNTER_COUNT
};

void gg_embed_count(enum gg_embed_counter counter);
