/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/known_set.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* The slot that has the hash, or the empty one in which it belongs. */
static size_t slot_of(const struct gg_known_set *set, uint64_t hash)
{
	size_t mask = set->slot_count - 1, at = (size_t)hash & mask;

	while (set->slots[at] != 0 && set->slots[at] != hash)
		at = (at + 1) & mask;
	return at;
}

static uint64_t usable(uint64_t hash)
{
	return hash != 0 ? hash : 1;
}

bool gg_known_set_has(const struct gg_known_set *set, uint64_t hash)
{
	hash = usable(hash);
	return set->slot_count > 0 && set->slots[slot_of(set, hash)] == hash;
}

static bool grow(struct gg_known_set *set)
{
	struct gg_known_set larger = *set;

	larger.slot_count = set->slot_count > 0 ? 2 * set->slot_count : FIRST_SLOTS;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (larger.slots == NULL)
		return false;
	for (size_t i = 0; i < set->slot_count; i++)
		if (set->slots[i] != 0)
			larger.slots[slot_of(&larger, set->slots[i])] = set->slots[i];
	free(set->slots);
	*set = larger;
	return true;
}

void gg_known_set_add(struct gg_known_set *set, uint64_t hash)
{
	size_t at;

	hash = usable(hash);
	if (set->used_count >= set->most && set->slot_count > 0) {
		memset(set->slots, 0, set->slot_count * sizeof(*set->slots));
		set->used_count = 0;
		set->cleared_count++;
	}
	if (set->used_count + set->used_count / 2 >= set->slot_count && !grow(set) &&
	    set->used_count + 1 >= set->slot_count)
		return;
	at = slot_of(set, hash);
	set->used_count += set->slots[at] == 0;
	set->slots[at] = hash;
}

void gg_known_set_done(struct gg_known_set *set)
{
	free(set->slots);
	set->slots = NULL;
	set->slot_count = set->used_count = 0;
}
