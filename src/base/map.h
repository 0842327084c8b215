/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - an open-addressing hash table from keys to 64-bit values.
 *
 * A slot holds only a hash and a value.  The value is usually the index of a record in an array of
 * the caller.  The record has the key, so one table serves every kind of key:
 *
 *   integers     the hash is a bijection of the key, so equal hashes are equal keys:
 *
 *     struct gg_map map = { 0 };
 *     gg_map_put(&map, pc, index);
 *     index = gg_map_get(&map, pc);              GG_MAP_NONE: the key is absent
 *
 *   other keys   the caller compares keys (`equal`) and hashes with the seed of the map:
 *
 *     uint64_t hash = gg_hash_bytes(name, length, gg_map_seed(&map));
 *     index = gg_map_find(&map, hash, name_is_equal, &key);
 *     if (index == GG_MAP_NONE)
 *             gg_map_insert(&map, hash, new_index);
 *
 * The table uses linear probing in a power of two of slots and fills at most 3/4 of them.  Removal
 * shifts the cluster back, so there are no tombstones and a table never needs to be rebuilt.
 *
 * Invariant  From its home (hash mod slots), a record is reachable without passing an empty slot.
 * Cost       16 bytes a slot; a look-up touches 1 to 2 cache lines.
 * Lifetime   An all-zero map is valid and empty.  gg_map_done() frees it and makes it empty again.
 * Threads    One owner at a time; any number of readers while nobody changes the map.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The result for an absent key; therefore no valid value. */
#define GG_MAP_NONE UINT64_MAX

struct gg_map_slot {
	uint64_t hash;
	uint64_t value_plus_1; /* 0: empty */
};

struct gg_map {
	struct gg_map_slot *slots; /* NULL while slot_count is 0 */
	size_t slot_count;         /* 0 or a power of two */
	size_t used_count;
	uint64_t seed; /* drawn when it is first needed; 0: not yet */
};

/* True if the record that `value` identifies has the key in `context`. */
typedef bool gg_map_equal(uint64_t value, const void *context);

void gg_map_done(struct gg_map *map);

/* Returns the seed for hashes of this map.  It stays the same until gg_map_done(). */
uint64_t gg_map_seed(struct gg_map *map);

/*
 * Returns the value under `hash` for which equal() holds, or GG_MAP_NONE. If equal is NULL, the
 * hash alone identifies the record.
 */
uint64_t gg_map_find(const struct gg_map *map, uint64_t hash, gg_map_equal *equal,
                     const void *context);

/* Adds a value whose key is absent.  Returns 0, or -ENOMEM with the map as it was. */
GG_MUST_CHECK int gg_map_insert(struct gg_map *map, uint64_t hash, uint64_t value);

/* Removes the record and returns its value, or GG_MAP_NONE. It never fails and never allocates. */
uint64_t gg_map_take(struct gg_map *map, uint64_t hash, gg_map_equal *equal, const void *context);

/*
 * Functions for integer keys, of any value. gg_map_put() replaces an earlier value and returns 0,
 * or -ENOMEM with the map as it was.
 */
uint64_t gg_map_get(const struct gg_map *map, uint64_t key);
GG_MUST_CHECK int gg_map_put(struct gg_map *map, uint64_t key, uint64_t value);
uint64_t gg_map_remove(struct gg_map *map, uint64_t key);

/* True if a look-up finds every record.  For assertions and tests. */
bool gg_map_is_valid(const struct gg_map *map);
