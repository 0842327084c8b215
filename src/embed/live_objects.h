/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_objects - lists the live samples of a heap by generation, for collectors that visit them
 * all.
 *
 * The heap's first geiger_collected() fills the lists from the region; from then on each new sample
 * is appended.  An entry names its sample by the region's id.  If that sample was freed meanwhile,
 * or another one has its address, the next collection drops the entry.
 *
 * Memory   24 bytes for each live sample, mapped, doubling.  Without memory a sample is not noted:
 *          it stays live until another object has its address, and GG_EMBED_DROPPED counts it.
 * Lock     one word for each heap, held for an append or a collection; a thread that does not get
 *          it in time goes without.  `generation` is that of the process: a forked child takes the
 *          lock from a thread that exists in its parent alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_embed_live_object {
	uint64_t key, id;
	uint64_t to; /* its key after the collection; 0: dead */
};

struct gg_embed_live_list {
	struct gg_embed_live_object *entries;
	uint32_t count, capacity;
};

struct gg_embed_live_objects {
	uint32_t lock;  /* 0, or 1 + the generation of the process */
	uint32_t is_on; /* there was a collection */
	struct gg_embed_live_list young, old;
};

/* Appends a new sample, unless the heap never had a collection. */
void gg_embed_live_objects_add(struct gg_embed_live_objects *live_objects, uint32_t generation,
                               uint64_t key, uint64_t id, bool is_old);

/* False: another thread holds the lock too long. */
bool gg_embed_live_objects_lock(struct gg_embed_live_objects *live_objects, uint32_t generation);
void gg_embed_live_objects_unlock(struct gg_embed_live_objects *live_objects);

/* The caller holds the lock.  If memory runs out, the entry is lost, and a counter records it. */
void gg_embed_live_list_append(struct gg_embed_live_list *list, uint64_t key, uint64_t id);
