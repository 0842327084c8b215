/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_index - maps 64-bit hashes to 32-bit record numbers in a lock-free hash table.
 *
 * The table has levels of buckets; each level is 4 or 8 times as large as the one before.  A bucket
 * is a cache line of 16 entries.  A record goes into the first empty entry of its bucket in level
 * 0, otherwise in level 1, and so on; in the last level it has GG_HASH_INDEX_LAST_BUCKETS
 * consecutive buckets.  So a small program touches only a few pages, nothing is ever moved or
 * rebuilt, and a removal is one store of 0.
 *
 * An entry has 32 bits.  The low bits hold the record's number + 1, in as many bits as the largest
 * number needs.  The bits above hold the highest bits of the hash (11 for 1 M records).  The caller
 * compares the record itself.
 *
 * Unique   While nothing is removed, all writers of a hash look for the first empty entry in the
 *          same order.  One of them takes it by CAS, and the other writers find its record there.
 *          So a table whose records are only added (stacks, site totals) has one record for each
 *          key.
 * Removed  Only keys that the caller serializes may be removed: an address is freed before it is
 *          new again.
 * Full     A record whose entries are all taken is not added: GG_INDEX_NONE.  The last level has at
 *          least twice as many entries as there are records.
 * Memory   It belongs to the caller and is all zero at first.  An entry has 4 bytes.  A grown table
 *          has 1.2 to 5 entries a record with levels that grow by GG_HASH_INDEX_TIGHT, and up to 9
 *          with GG_HASH_INDEX_FLAT, which has fewer levels and so fewer cache misses.
 * Cost     A look-up fetches the buckets of all levels at once, so it costs about one cache miss.
 *          It compares a bucket as a whole where the processor can (SSE2): some 40 instructions.
 * Threads  Any thread may use it, also in signal handlers.  No loop waits for another thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* Builds that look for races, or that delay each atomic operation, must see each load. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GG_HASH_INDEX_ONE_BY_ONE 1
#endif
#endif
#if !defined(__SSE2__) || defined(__SANITIZE_THREAD__) || defined(GG_CHAOS)
#define GG_HASH_INDEX_ONE_BY_ONE 1
#endif
#ifndef GG_HASH_INDEX_ONE_BY_ONE
#include <emmintrin.h>
#endif

#define GG_INDEX_NONE UINT32_MAX

enum {
	GG_HASH_INDEX_BUCKET = 16,
	GG_HASH_INDEX_LAST_BUCKETS = 4,
	GG_HASH_INDEX_FIRST_BUCKETS = 256, /* 16 KiB */
	GG_HASH_INDEX_LEVELS_MAX = 12
};

/* The size of each level, as a multiple of the level before. */
enum gg_hash_index_growth { GG_HASH_INDEX_TIGHT = 4, GG_HASH_INDEX_FLAT = 8 };

struct gg_hash_index {
	uint32_t *levels[GG_HASH_INDEX_LEVELS_MAX];
	uint32_t bucket_counts[GG_HASH_INDEX_LEVELS_MAX]; /* powers of two */
	uint32_t level_count;
	uint32_t top_level;   /* the largest level in use: a look-up ends there */
	uint32_t value_shift; /* bits of an entry with the record's number + 1 */
	uint32_t padding;
};

/*
 * True if record `value` is the one that the caller searches.  Only records that were added come
 * here.
 */
typedef bool gg_hash_index_matches(uint32_t value, const void *context);

/*
 * gg_hash_index_bytes() returns the size of a table for that many records (at most 2^31 - 1).
 * gg_hash_index_init() lays the levels out in `memory`, which is zero and aligned to 64 bytes.
 */
static inline size_t gg_hash_index_bytes(uint64_t record_count, enum gg_hash_index_growth growth)
{
	size_t buckets = GG_HASH_INDEX_FIRST_BUCKETS, total = buckets;

	while (buckets * GG_HASH_INDEX_BUCKET < 2 * record_count) {
		buckets *= growth;
		total += buckets;
	}
	return total * GG_HASH_INDEX_BUCKET * sizeof(uint32_t);
}

static inline void gg_hash_index_init(struct gg_hash_index *index, void *memory,
                                      uint64_t record_count, enum gg_hash_index_growth growth)
{
	uint32_t *next = memory;
	uint32_t buckets = GG_HASH_INDEX_FIRST_BUCKETS;

	*index = (struct gg_hash_index){
		.value_shift = 32 - (uint32_t)__builtin_clz((uint32_t)record_count | 1),
	};
	for (;;) {
		index->levels[index->level_count] = next;
		index->bucket_counts[index->level_count++] = buckets;
		if ((uint64_t)buckets * GG_HASH_INDEX_BUCKET >= 2 * record_count)
			break;
		next += (size_t)buckets * GG_HASH_INDEX_BUCKET;
		buckets *= growth;
	}
}

/* Returns bucket `number` (from 0 on) of the buckets that a hash has in a level. */
static inline uint32_t *gg_hash_index_bucket(const struct gg_hash_index *index, uint64_t hash,
                                             uint32_t level, uint32_t number)
{
	uint32_t mask = index->bucket_counts[level] - 1;

	return index->levels[level] +
	       (size_t)(((uint32_t)hash + number) & mask) * GG_HASH_INDEX_BUCKET;
}

static inline uint32_t gg_hash_index_window(const struct gg_hash_index *index, uint32_t level)
{
	return level + 1 < index->level_count ? 1 : GG_HASH_INDEX_LAST_BUCKETS;
}

/* Returns the entry of a record. */
static inline uint32_t gg_hash_index_pack(const struct gg_hash_index *index, uint64_t hash,
                                          uint32_t value)
{
	uint32_t shift = index->value_shift;

	return (uint32_t)(hash >> (32 + shift)) << shift | (value + 1);
}

/*
 * Returns the record of an entry, or GG_INDEX_NONE if the entry is empty or belongs to another
 * hash.
 */
static inline uint32_t gg_hash_index_unpack(const struct gg_hash_index *index, uint64_t hash,
                                            uint32_t entry)
{
	/* If the hash bits are equal, only the number + 1 remains; otherwise `rest` is larger. */
	uint32_t rest = entry ^ (gg_hash_index_pack(index, hash, 0) - 1);

	return rest >> index->value_shift == 0 ? rest - 1 : GG_INDEX_NONE;
}

/*
 * The contents of a bucket, with one bit for each entry.  `likely` entries may belong to the hash;
 * load them again, by acquire.
 */
struct gg_hash_index_seen {
	uint32_t likely, empty;
};

/*
 * gg_hash_index_look() loads the entries one after the other or all at once, but in neither case
 * at one moment.  If the records of a table stay, the entries before the first empty one are
 * final: they were not empty when they were loaded, and a taken entry never changes.
 */
#ifdef GG_HASH_INDEX_ONE_BY_ONE
static inline struct gg_hash_index_seen gg_hash_index_look(const uint32_t *bucket,
                                                           uint32_t hash_bits, uint32_t hash_mask)
{
	struct gg_hash_index_seen seen = { 0, 0 };

	for (uint32_t i = 0; i < GG_HASH_INDEX_BUCKET; i++) {
		uint32_t entry = gg_load_relaxed(&bucket[i]);

		seen.empty |= (uint32_t)(entry == 0) << i;
		seen.likely |= (uint32_t)((entry & hash_mask) == hash_bits && entry != 0) << i;
	}
	return seen;
}
#else
/* Packs 16 words, each all ones or all zeros, into one bit each. */
static inline uint32_t gg_hash_index_bits(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return (uint32_t)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
}

static inline __m128i gg_hash_index_are(__m128i words, __m128i mask, __m128i bits)
{
	return _mm_cmpeq_epi32(_mm_and_si128(words, mask), bits);
}

static inline struct gg_hash_index_seen gg_hash_index_look(const uint32_t *bucket,
                                                           uint32_t hash_bits, uint32_t hash_mask)
{
	const __m128i *from = (const __m128i *)(const void *)bucket;
	const __m128i bits = _mm_set1_epi32((int)hash_bits), mask = _mm_set1_epi32((int)hash_mask);
	const __m128i zero = _mm_setzero_si128();
	__m128i a, b, c, d;
	uint32_t empty;

	/* Aligned words of a vector are not torn.  The fences make the compiler load them here. */
	gg_fence_signal();
	a = _mm_load_si128(from);
	b = _mm_load_si128(from + 1);
	c = _mm_load_si128(from + 2);
	d = _mm_load_si128(from + 3);
	gg_fence_signal();
	empty = gg_hash_index_bits(_mm_cmpeq_epi32(a, zero), _mm_cmpeq_epi32(b, zero),
	                           _mm_cmpeq_epi32(c, zero), _mm_cmpeq_epi32(d, zero));
	return (struct gg_hash_index_seen){
		.likely = gg_hash_index_bits(gg_hash_index_are(a, mask, bits),
		                             gg_hash_index_are(b, mask, bits),
		                             gg_hash_index_are(c, mask, bits),
		                             gg_hash_index_are(d, mask, bits)) &
		          ~empty,
		.empty = empty,
	};
}
#endif

/*
 * Prefetches the buckets of a hash.  It starts with the largest level, whose lines are farthest
 * away.
 */
static inline void gg_hash_index_prefetch(const struct gg_hash_index *index, uint64_t hash)
{
	for (uint32_t level = gg_load_relaxed(&index->top_level); level > 0; level--)
		__builtin_prefetch(gg_hash_index_bucket(index, hash, level, 0));
}

/*
 * Returns the record that matches, or GG_INDEX_NONE.  *ret_entry (may be NULL) is the place of its
 * entry.  `removes`: records of this table are removed, so an empty entry does not end the search.
 */
static inline uint32_t gg_hash_index_find(const struct gg_hash_index *index, uint64_t hash,
                                          bool removes, gg_hash_index_matches *matches,
                                          const void *context, uint32_t **ret_entry)
{
	const uint32_t hash_mask = UINT32_MAX << index->value_shift;
	const uint32_t hash_bits = gg_hash_index_pack(index, hash, 0) & hash_mask;
	/* Relaxed: a caller that knows of the record also knows of its level. */
	uint32_t top = gg_load_relaxed(&index->top_level);

	gg_hash_index_prefetch(index, hash);
	for (uint32_t level = 0; level <= top; level++) {
		uint32_t window = gg_hash_index_window(index, level);

		for (uint32_t number = 0; number < window; number++) {
			uint32_t *bucket = gg_hash_index_bucket(index, hash, level, number);
			struct gg_hash_index_seen seen = gg_hash_index_look(bucket, hash_bits,
			                                                    hash_mask);

			for (; seen.likely != 0; seen.likely &= seen.likely - 1) {
				uint32_t *entry = &bucket[__builtin_ctz(seen.likely)];
				/* Pairs with the CAS of an addition: the record is complete. */
				uint32_t value = gg_hash_index_unpack(index, hash,
				                                      gg_load_acquire(entry));

				if (gg_unlikely(value == GG_INDEX_NONE || !matches(value, context)))
					continue;
				if (ret_entry != NULL)
					*ret_entry = entry;
				return value;
			}
			/*
			 * Writers take entries in this order, so no record is beyond an empty one.
			 */
			if (!removes && seen.empty != 0)
				return GG_INDEX_NONE;
		}
	}
	return GG_INDEX_NONE;
}

static inline void gg_hash_index_raise_top(struct gg_hash_index *index, uint32_t level)
{
	uint32_t top = gg_load_relaxed(&index->top_level);

	while (top < level && !gg_cas_acq_rel(&index->top_level, &top, level))
		;
}

/*
 * Adds record `value`, whose fields must be set.  Returns `value`; or the matching record, if it
 * was there first; or GG_INDEX_NONE if no entry is empty.  matches NULL: the keys are new, so
 * nothing is compared.
 */
static inline uint32_t gg_hash_index_add(struct gg_hash_index *index, uint64_t hash, uint32_t value,
                                         gg_hash_index_matches *matches, const void *context)
{
	const uint32_t wanted = gg_hash_index_pack(index, hash, value);
	const uint32_t hash_mask = UINT32_MAX << index->value_shift;

	for (uint32_t level = 0, number = 0; level < index->level_count;) {
		uint32_t *bucket = gg_hash_index_bucket(index, hash, level, number);
		struct gg_hash_index_seen seen = gg_hash_index_look(bucket, wanted & hash_mask,
		                                                    hash_mask);
		uint32_t empty = 0, *entry;

		if (matches == NULL)
			seen.likely = 0;
		for (; seen.likely != 0; seen.likely &= seen.likely - 1) {
			uint32_t found = gg_load_acquire(&bucket[__builtin_ctz(seen.likely)]);
			uint32_t other = gg_hash_index_unpack(index, hash, found);

			if (other != GG_INDEX_NONE && matches(other, context))
				return other;
		}
		if (seen.empty == 0) {
			if (++number == gg_hash_index_window(index, level)) {
				number = 0;
				level++;
			}
			continue;
		}
		entry = &bucket[__builtin_ctz(seen.empty)];
		/*
		 * Raise the top before the entry is visible: a look-up must not stop below its
		 * level.
		 */
		gg_hash_index_raise_top(index, level);
		/*
		 * The CAS publishes the record: it pairs with the acquire of a look-up.  If another
		 * thread has taken the entry, the loop reads the bucket again, because that thread
		 * may have added the same key.
		 */
		if (gg_cas_acq_rel(entry, &empty, wanted))
			return value;
	}
	return GG_INDEX_NONE;
}

/*
 * Removes the record from its entry.  Only the thread that removes this record calls it.  Returns
 * false if the entry does not hold the record.
 */
static inline bool gg_hash_index_remove(const struct gg_hash_index *index, uint32_t *entry,
                                        uint64_t hash, uint32_t value)
{
	/* No other thread writes to a taken entry. */
	if (gg_load_relaxed(entry) != gg_hash_index_pack(index, hash, value))
		return false;
	/* Release: the next writer of the entry sees everything that was done with the record. */
	gg_store_release(entry, 0);
	return true;
}
