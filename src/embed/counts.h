/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts - counts samples, and events that libgeiger could not handle.
 *
 * The counters have the order of struct geiger_counts, which geiger_read_counts() copies them to.
 *
 * Threads  any.  A reader may see one counter before and another one after the same event.
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
