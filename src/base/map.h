/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - an open-addressing hash table from keys to 64-bit values.
 *
 * A slot holds a hash and a value, nothing else.  The value is usually the index of a record in an
 * array of the caller's, where the key itself is kept, so one table serves every kind of key:
 *
 *   integers   the hash is a bijection of the key, so equal hashes are equal keys:
 *
 *     struct gg_map map = { 0 };
 *     gg_map_put(&map, pc, index);
 *     index = gg_map_get(&map, pc);              GG_MAP_NONE: not there
 *
 *   all else   the caller says when a record has the key (`equal`), and hashes with the map's seed:
 *
 *     uint64_t hash = gg_hash_bytes(name, length, gg_map_seed(&map));
 *     index = gg_map_find(&map, hash, name_is_equal, &key);
 *     if (index == GG_MAP_NONE)
 *             gg_map_insert(&map, hash, new_index);
 *
 * Linear probing in a power of two of slots, at most 3/4 full; removal shifts the cluster back, so
 * there are no tombstones and a table lives for ever without being rebuilt.
 *
 * Invariant  a record's slot is reachable from its home (hash mod slots) without an empty slot.
 * Cost       16 bytes a slot; a look-up touches 1 to 2 cache lines.
 * Lifetime   all-zero is a valid empty map; gg_map_done() frees and makes it empty again.
 * Threads    one owner at a time; any number of readers while nobody changes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* "Not there"; therefore not allowed as a value. */
#define GG_MAP_NONE UINT64_MAX

struct gg_map_slot {
	uint64_t hash;
	uint64_t value_plus_1; /* 0: empty */
};

struct gg_map {
	struct gg_map_slot *slots; /* NULL while slot_count is 0 */
	size_t slot_count;         /* 0 or a power of two */
	size_t used_count;
	uint64_t seed; /* drawn when first needed; 0: not yet */
};

/* Is the record that `value` names the one that the key in `context` asks for? */
typedef bool gg_map_equal(uint64_t value, const void *context);

void gg_map_done(struct gg_map *map);

/* The seed that this map's hashes must be made with; stays the same until gg_map_done(). */
uint64_t gg_map_seed(struct gg_map *map);

/* The value stored under hash for which equal() holds (NULL: under the hash), or GG_MAP_NONE. */
uint64_t gg_map_find(const struct gg_map *map, uint64_t hash, gg_map_equal *equal,
                     const void *context);

/* Adds a value that is not there yet.  0, or -ENOMEM with the map as it was. */
GG_MUST_CHECK int gg_map_insert(struct gg_map *map, uint64_t hash, uint64_t value);

/* Takes the record out and returns its value, or GG_MAP_NONE.  Never fails, never allocates. */
uint64_t gg_map_take(struct gg_map *map, uint64_t hash, gg_map_equal *equal, const void *context);

/* Integer keys, any of them.  put replaces what was there; 0, or -ENOMEM with the map as it was. */
uint64_t gg_map_get(const struct gg_map *map, uint64_t key);
GG_MUST_CHECK int gg_map_put(struct gg_map *map, uint64_t key, uint64_t value);
uint64_t gg_map_remove(struct gg_map *map, uint64_t key);

/*
 * Walks all values in no particular order; *position starts at 0.  False at the end.
 * The map must not change in between.
 */
bool gg_map_next(const struct gg_map *map, size_t *position, uint64_t *ret_value);

/* True if every record is where a look-up finds it.  For tests. */
bool gg_map_is_valid(const struct gg_map *map);
