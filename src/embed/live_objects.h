/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_objects - which samples of a heap are live, by generation, for collectors that ask of all at once.
 *
 * Begun by the heap's first geiger_collected(), which finds what is there in the region; from then on each
 * new sample is noted.  An entry says which sample it means by the region's id: one that was freed
 * meanwhile, or whose address another one has, is passed over at the next collection.
 *
 * Memory   24 bytes a live sample, mapped, doubling.  Where there is none a sample is not noted: it
 *          stays live until its address is new again.  Counted as dropped.
 * Lock     one word a heap, held for an append; a thread that does not get it in time goes without.
 *          A forked child takes it from a thread that it does not have.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_embed_heap;

struct gg_embed_entry {
	uint64_t key, id;
	uint64_t to; /* its new key; 0: dead */
};

struct gg_embed_list {
	struct gg_embed_entry *entries;
	uint32_t count, capacity;
};

struct gg_embed_tracked {
	uint32_t lock;  /* 0, or 1 + the generation of the process */
	uint32_t is_on; /* there was a collection */
	struct gg_embed_list young, old;
};

/* A new sample. */
void gg_embed_track(struct gg_embed_heap *heap, uint64_t key, uint64_t id, bool is_old);
