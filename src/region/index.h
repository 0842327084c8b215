/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index - a lock-free hash table from 64-bit hashes to 32-bit numbers of records.
 *
 * Levels of buckets, each level 4 times the one before; a bucket is a cache line of 8 entries.  A
 * record goes into the first empty entry of its bucket in level 0, else in level 1, and so on; in
 * the last level of GG_INDEX_LAST_BUCKETS buckets in a row.  So a small program touches a few pages
 * only, nothing is ever moved or rebuilt, and a removal is one store of 0.
 *
 * An entry is half of the hash and the record's number + 1; the caller compares the record itself.
 *
 * Unique    while nothing is removed, all writers of a hash look for the first empty entry in the
 *           same order, and one of them gets it by CAS; the others find its record there.  So of
 *           records that are only added (stacks, rows) there is one per key.
 * Removed   only keys that the caller serialises: an address is freed before it is new again.
 * Full      a record whose entries are all taken is not added: GG_INDEX_NONE.  The last level has
 *           at least twice as many entries as there are records.
 * Memory    the caller's, all zero; 8 bytes an entry, 2 to 6 entries a record once it has grown.
 * Cost      the buckets of all levels are fetched at once, so a look-up costs about one miss.
 * Threads   any; also in signal handlers.  No loop waits for another thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define GG_INDEX_NONE UINT32_MAX

enum {
	GG_INDEX_BUCKET = 8,
	GG_INDEX_LAST_BUCKETS = 4,
	GG_INDEX_LEVEL_GROWTH = 4,
	GG_INDEX_FIRST_BUCKETS = 256, /* 16 KiB */
	GG_INDEX_LEVELS_MAX = 8
};

struct gg_index {
	uint64_t *levels[GG_INDEX_LEVELS_MAX];
	uint32_t bucket_counts[GG_INDEX_LEVELS_MAX]; /* powers of two */
	uint32_t level_count;
	uint32_t top_level; /* the largest in use: a look-up need not go further */
};

/* Is record `value` the one that is looked for?  Called with records that were added, only. */
typedef bool gg_index_matches(const void *context, uint32_t value);

/* Bytes for that many records, and how they are laid out from `memory` (zero, 64-byte aligned). */
static inline size_t gg_index_bytes(uint64_t record_count)
{
	size_t buckets = GG_INDEX_FIRST_BUCKETS, total = buckets;

	while (buckets * GG_INDEX_BUCKET < 2 * record_count) {
		buckets *= GG_INDEX_LEVEL_GROWTH;
		total += buckets;
	}
	return total * GG_INDEX_BUCKET * sizeof(uint64_t);
}

static inline void gg_index_init(struct gg_index *index, void *memory, uint64_t record_count)
{
	uint64_t *next = memory;
	uint32_t buckets = GG_INDEX_FIRST_BUCKETS;

	*index = (struct gg_index){ 0 };
	for (;;) {
		index->levels[index->level_count] = next;
		index->bucket_counts[index->level_count++] = buckets;
		if ((uint64_t)buckets * GG_INDEX_BUCKET >= 2 * record_count)
			break;
		next += (size_t)buckets * GG_INDEX_BUCKET;
		buckets *= GG_INDEX_LEVEL_GROWTH;
	}
}

/* Walks the entries of a hash, in the order that everybody takes. */
struct gg_index_walk {
	uint32_t level, position; /* position: entry within the level's window */
};

static inline uint64_t *gg_index_entry(const struct gg_index *index, uint64_t hash,
                                       const struct gg_index_walk *walk)
{
	uint32_t mask = index->bucket_counts[walk->level] - 1;
	uint32_t bucket = ((uint32_t)hash + walk->position / GG_INDEX_BUCKET) & mask;

	return &index->levels[walk->level]
	                     [(size_t)bucket * GG_INDEX_BUCKET + walk->position % GG_INDEX_BUCKET];
}

static inline bool gg_index_step(const struct gg_index *index, struct gg_index_walk *walk)
{
	uint32_t window = walk->level + 1 < index->level_count
	                          ? GG_INDEX_BUCKET
	                          : GG_INDEX_BUCKET * GG_INDEX_LAST_BUCKETS;

	if (++walk->position < window)
		return true;
	walk->position = 0;
	return ++walk->level < index->level_count;
}

/*
 * The record that matches, or GG_INDEX_NONE; *ret_entry (may be NULL) is where it stands.
 * `removes`: records of this table are removed, so an empty entry does not end the search.
 */
static inline uint32_t gg_index_find(const struct gg_index *index, uint64_t hash, bool removes,
                                     gg_index_matches *matches, const void *context,
                                     uint64_t **ret_entry)
{
	struct gg_index_walk walk = { 0 };
	/* Relaxed: the caller knows of the record, so it knows of the level that it is in. */
	uint32_t top = gg_load_relaxed(&index->top_level);

	for (struct gg_index_walk ahead = { .level = 1 }; ahead.level <= top; ahead.level++)
		__builtin_prefetch(gg_index_entry(index, hash, &ahead));
	do {
		uint64_t *entry = gg_index_entry(index, hash, &walk);
		/* Pairs with the CAS that put it there: the record is complete. */
		uint64_t value = gg_load_acquire(entry);

		if (value == 0 && !removes)
			break;
		if ((uint32_t)value == 0 || value >> 32 != hash >> 32 ||
		    !matches(context, (uint32_t)value - 1))
			continue;
		if (ret_entry != NULL)
			*ret_entry = entry;
		return (uint32_t)value - 1;
	} while (gg_index_step(index, &walk) && walk.level <= top);
	return GG_INDEX_NONE;
}

static inline void gg_index_raise_top(struct gg_index *index, uint32_t level)
{
	uint32_t top = gg_load_relaxed(&index->top_level);

	while (top < level && !gg_cas_acq_rel(&index->top_level, &top, level))
		;
}

/*
 * Adds record `value`; its fields must be set.  Returns value, or the record that matches and was
 * there first (matches NULL: keys are new, nobody looks), or GG_INDEX_NONE: no entry is empty.
 */
static inline uint32_t gg_index_add(struct gg_index *index, uint64_t hash, uint32_t value,
                                    gg_index_matches *matches, const void *context)
{
	struct gg_index_walk walk = { 0 };
	uint64_t wanted = (hash >> 32) << 32 | (value + 1);

	do {
		uint64_t *entry = gg_index_entry(index, hash, &walk);
		uint64_t found = gg_load_acquire(entry);

		/* Before the entry: who finds it empty must not stop below its level. */
		if (found == 0) {
			gg_index_raise_top(index, walk.level);
			/* Publishes the record: pairs with the acquire of a look-up. */
			if (gg_cas_acq_rel(entry, &found, wanted))
				return value;
		}
		if (matches != NULL && found >> 32 == hash >> 32 &&
		    matches(context, (uint32_t)found - 1))
			return (uint32_t)found - 1;
	} while (gg_index_step(index, &walk));
	return GG_INDEX_NONE;
}

/* Takes the record out of the entry; false: somebody else did. */
static inline bool gg_index_remove(uint64_t *entry, uint64_t hash, uint32_t value)
{
	uint64_t expected = (hash >> 32) << 32 | (value + 1);

	return gg_cas_acq_rel(entry, &expected, 0);
}
