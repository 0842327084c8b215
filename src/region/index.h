/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index - a lock-free hash table from 64-bit hashes to 32-bit numbers of records.
 *
 * Levels of buckets, each level 4 or 8 times the one before; a bucket is a cache line of 16 entries.  A
 * record goes into the first empty entry of its bucket in level 0, else in level 1, and so on; in
 * the last level of GG_INDEX_LAST_BUCKETS buckets in a row.  So a small program touches a few pages
 * only, nothing is ever moved or rebuilt, and a removal is one store of 0.
 *
 * An entry is 32 bits: the record's number + 1 in as many as the largest number needs, and above it
 * the highest bits of the hash (11 for 1 M records).  The caller compares the record itself.
 *
 * Unique    while nothing is removed, all writers of a hash look for the first empty entry in the
 *           same order, and one of them gets it by CAS; the others find its record there.  So of
 *           records that are only added (stacks, rows) there is one per key.
 * Removed   only keys that the caller serialises: an address is freed before it is new again.
 * Full      a record whose entries are all taken is not added: GG_INDEX_NONE.  The last level has
 *           at least twice as many entries as there are records.
 * Memory    the caller's, all zero; 4 bytes an entry, 1.2 to 5 entries a record once it has grown
 *           by GG_INDEX_TIGHT levels, up to 9 by GG_INDEX_FLAT ones, which have fewer lines to miss.
 * Cost      the buckets of all levels are fetched at once, so a look-up costs about one miss; a bucket
 *           is compared as a whole where the processor can (SSE2): some 40 instructions.
 * Threads   any; also in signal handlers.  No loop waits for another thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* Builds that look for races, or delay each atomic operation, want to see each load. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GG_INDEX_ONE_BY_ONE 1
#endif
#endif
#if !defined(__SSE2__) || defined(__SANITIZE_THREAD__) || defined(GG_CHAOS)
#define GG_INDEX_ONE_BY_ONE 1
#endif
#ifndef GG_INDEX_ONE_BY_ONE
#include <emmintrin.h>
#endif

#define GG_INDEX_NONE UINT32_MAX

enum {
	GG_INDEX_BUCKET = 16,
	GG_INDEX_LAST_BUCKETS = 4,
	GG_INDEX_FIRST_BUCKETS = 256, /* 16 KiB */
	GG_INDEX_LEVELS_MAX = 12
};

/* How much larger each level is than the one before. */
enum gg_index_growth { GG_INDEX_TIGHT = 4, GG_INDEX_FLAT = 8 };

struct gg_index {
	uint32_t *levels[GG_INDEX_LEVELS_MAX];
	uint32_t bucket_counts[GG_INDEX_LEVELS_MAX]; /* powers of two */
	uint32_t level_count;
	uint32_t top_level;   /* the largest in use: a look-up need not go further */
	uint32_t value_shift; /* bits of an entry that hold the record's number + 1 */
	uint32_t padding;
};

/* Is record `value` the one that is looked for?  Called with records that were added, only. */
typedef bool gg_index_matches(uint32_t value, const void *context);

/* Bytes for that many records (at most 2^31 - 1), and how they are laid out from `memory` (zero, 64-byte aligned). */
static inline size_t gg_index_bytes(uint64_t record_count, enum gg_index_growth growth)
{
	size_t buckets = GG_INDEX_FIRST_BUCKETS, total = buckets;

	while (buckets * GG_INDEX_BUCKET < 2 * record_count) {
		buckets *= growth;
		total += buckets;
	}
	return total * GG_INDEX_BUCKET * sizeof(uint32_t);
}

static inline void gg_index_init(struct gg_index *index, void *memory, uint64_t record_count,
                                 enum gg_index_growth growth)
{
	uint32_t *next = memory;
	uint32_t buckets = GG_INDEX_FIRST_BUCKETS;

	*index = (struct gg_index){
		.value_shift = 32 - (uint32_t)__builtin_clz((uint32_t)record_count | 1),
	};
	for (;;) {
		index->levels[index->level_count] = next;
		index->bucket_counts[index->level_count++] = buckets;
		if ((uint64_t)buckets * GG_INDEX_BUCKET >= 2 * record_count)
			break;
		next += (size_t)buckets * GG_INDEX_BUCKET;
		buckets *= growth;
	}
}

/* Bucket `number` (from 0 on) of those of a hash in a level. */
static inline uint32_t *gg_index_bucket(const struct gg_index *index, uint64_t hash, uint32_t level,
                                        uint32_t number)
{
	uint32_t mask = index->bucket_counts[level] - 1;

	return index->levels[level] + (size_t)(((uint32_t)hash + number) & mask) * GG_INDEX_BUCKET;
}

static inline uint32_t gg_index_window(const struct gg_index *index, uint32_t level)
{
	return level + 1 < index->level_count ? 1 : GG_INDEX_LAST_BUCKETS;
}

/* What stands in the entry of a record. */
static inline uint32_t gg_index_pack(const struct gg_index *index, uint64_t hash, uint32_t value)
{
	uint32_t shift = index->value_shift;

	return (uint32_t)(hash >> (32 + shift)) << shift | (value + 1);
}

/* The record of an entry, if that is of the hash; else GG_INDEX_NONE, as for an empty one. */
static inline uint32_t gg_index_unpack(const struct gg_index *index, uint64_t hash, uint32_t entry)
{
	/* With the hash's bits as they would be, what is left is the number + 1, or larger. */
	uint32_t rest = entry ^ (gg_index_pack(index, hash, 0) - 1);

	return rest >> index->value_shift == 0 ? rest - 1 : GG_INDEX_NONE;
}

/* What stands in a bucket, a bit an entry: what may be of a hash (load those again, by acquire), and what is empty. */
struct gg_index_seen {
	uint32_t likely, empty;
};

/*
 * The entries are loaded one after the other, or all at once, in any case not at one moment.  In a table whose
 * records stay, those before the first empty one are what they will always be: none was empty when it
 * was loaded.
 */
#ifdef GG_INDEX_ONE_BY_ONE
static inline struct gg_index_seen gg_index_look(const uint32_t *bucket, uint32_t hash_bits,
                                                 uint32_t hash_mask)
{
	struct gg_index_seen seen = { 0, 0 };

	for (uint32_t i = 0; i < GG_INDEX_BUCKET; i++) {
		uint32_t entry = gg_load_relaxed(&bucket[i]);

		seen.empty |= (uint32_t)(entry == 0) << i;
		seen.likely |= (uint32_t)((entry & hash_mask) == hash_bits && entry != 0) << i;
	}
	return seen;
}
#else
/* A bit for each of 16 words, all ones or all zeros. */
static inline uint32_t gg_index_bits(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return (uint32_t)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
}

static inline __m128i gg_index_are(__m128i words, __m128i mask, __m128i bits)
{
	return _mm_cmpeq_epi32(_mm_and_si128(words, mask), bits);
}

static inline struct gg_index_seen gg_index_look(const uint32_t *bucket, uint32_t hash_bits,
                                                 uint32_t hash_mask)
{
	const __m128i *from = (const __m128i *)(const void *)bucket;
	const __m128i bits = _mm_set1_epi32((int)hash_bits), mask = _mm_set1_epi32((int)hash_mask);
	const __m128i zero = _mm_setzero_si128();
	__m128i a, b, c, d;
	uint32_t empty;

	/* Aligned words of a vector are not torn, and the compiler loads them here. */
	gg_fence_signal();
	a = _mm_load_si128(from);
	b = _mm_load_si128(from + 1);
	c = _mm_load_si128(from + 2);
	d = _mm_load_si128(from + 3);
	gg_fence_signal();
	empty = gg_index_bits(_mm_cmpeq_epi32(a, zero), _mm_cmpeq_epi32(b, zero),
	                      _mm_cmpeq_epi32(c, zero), _mm_cmpeq_epi32(d, zero));
	return (struct gg_index_seen){
		.likely = gg_index_bits(gg_index_are(a, mask, bits), gg_index_are(b, mask, bits),
		                        gg_index_are(c, mask, bits), gg_index_are(d, mask, bits)) &
		          ~empty,
		.empty = empty,
	};
}
#endif

/* The buckets of a hash are needed soon.  The largest first: it is the farthest away. */
static inline void gg_index_prefetch(const struct gg_index *index, uint64_t hash)
{
	for (uint32_t level = gg_load_relaxed(&index->top_level); level > 0; level--)
		__builtin_prefetch(gg_index_bucket(index, hash, level, 0));
}

/*
 * The record that matches, or GG_INDEX_NONE; *ret_entry (may be NULL) is where it stands.
 * `removes`: records of this table are removed, so an empty entry does not end the search.
 */
static inline uint32_t gg_index_find(const struct gg_index *index, uint64_t hash, bool removes,
                                     gg_index_matches *matches, const void *context,
                                     uint32_t **ret_entry)
{
	const uint32_t hash_mask = UINT32_MAX << index->value_shift;
	const uint32_t hash_bits = gg_index_pack(index, hash, 0) & hash_mask;
	/* Relaxed: the caller knows of the record, so it knows of the level that it is in. */
	uint32_t top = gg_load_relaxed(&index->top_level);

	gg_index_prefetch(index, hash);
	for (uint32_t level = 0; level <= top; level++) {
		uint32_t window = gg_index_window(index, level);

		for (uint32_t number = 0; number < window; number++) {
			uint32_t *bucket = gg_index_bucket(index, hash, level, number);
			struct gg_index_seen seen = gg_index_look(bucket, hash_bits, hash_mask);

			for (; seen.likely != 0; seen.likely &= seen.likely - 1) {
				uint32_t *entry = &bucket[__builtin_ctz(seen.likely)];
				/* Pairs with the CAS that put it there: the record is complete. */
				uint32_t value = gg_index_unpack(index, hash,
				                                 gg_load_acquire(entry));

				if (gg_unlikely(value == GG_INDEX_NONE || !matches(value, context)))
					continue;
				if (ret_entry != NULL)
					*ret_entry = entry;
				return value;
			}
			/* Entries are taken in this order: there is nothing beyond an empty one. */
			if (!removes && seen.empty != 0)
				return GG_INDEX_NONE;
		}
	}
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
	const uint32_t wanted = gg_index_pack(index, hash, value);
	const uint32_t hash_mask = UINT32_MAX << index->value_shift;

	for (uint32_t level = 0, number = 0; level < index->level_count;) {
		uint32_t *bucket = gg_index_bucket(index, hash, level, number);
		struct gg_index_seen seen = gg_index_look(bucket, wanted & hash_mask, hash_mask);
		uint32_t empty = 0, *entry;

		if (matches == NULL)
			seen.likely = 0;
		for (; seen.likely != 0; seen.likely &= seen.likely - 1) {
			uint32_t found = gg_load_acquire(&bucket[__builtin_ctz(seen.likely)]);
			uint32_t other = gg_index_unpack(index, hash, found);

			if (other != GG_INDEX_NONE && matches(other, context))
				return other;
		}
		if (seen.empty == 0) {
			if (++number == gg_index_window(index, level)) {
				number = 0;
				level++;
			}
			continue;
		}
		entry = &bucket[__builtin_ctz(seen.empty)];
		/* Before the entry: who finds it empty must not stop below its level. */
		gg_index_raise_top(index, level);
		/* Publishes the record: pairs with the acquire of a look-up.  If another one has taken the
		 * entry, the bucket is looked at again: that one may be what is to be added. */
		if (gg_cas_acq_rel(entry, &empty, wanted))
			return value;
	}
	return GG_INDEX_NONE;
}

/* Takes the record out of the entry; only who removes that record calls it.  False: it is not there. */
static inline bool gg_index_remove(const struct gg_index *index, uint32_t *entry, uint64_t hash,
                                   uint32_t value)
{
	/* Nobody else writes to an entry that is taken. */
	if (gg_load_relaxed(entry) != gg_index_pack(index, hash, value))
		return false;
	/* Whoever takes the entry next comes after what was done with the record. */
	gg_store_release(entry, 0);
	return true;
}
