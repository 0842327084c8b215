/* SPDX-License-Identifier: Apache-2.0 */
/* rule_cache - inserts rules into the cache, and empties it when it is full. */
#include "unwind/walk/rule_cache.h"

#include "base/compiler.h"

uint64_t gg_rule_cache_entries[1 << GG_RULE_CACHE_INDEX_BITS] __attribute__((aligned(64)));
static uint64_t clear_count; /* how often the table was filled; the empty words are this number */

static bool is_current(uint64_t entry, uint64_t epoch)
{
	return (entry & GG_RULE_CACHE_EPOCH(GG_RULE_CACHE_EPOCHS)) == epoch;
}

/* What an entry for the key at home ^ displacement has above its rule, without `odd`. */
static uint64_t tag(uint64_t key, uint64_t displacement, uint64_t epoch)
{
	return (key << 8 & ~GG_RULE_CACHE_RULE_MASK) | displacement << 56 | epoch;
}

bool gg_rule_cache_find(uint64_t key, uint64_t epoch, uint64_t *ret_entry, uint64_t **ret_slot)
{
	uint64_t home = gg_rule_cache_home(key);
	uint64_t victim = 0; /* displacement of the slot to write to */
	uint64_t seen = gg_load_relaxed(&gg_rule_cache_entries[home]);
	bool victim_is_free = !is_current(seen, epoch);

	for (uint64_t displacement = 0; displacement < GG_RULE_CACHE_LINE; displacement++) {
		uint64_t entry = gg_load_relaxed(&gg_rule_cache_entries[home ^ displacement]);

		if (((entry ^ tag(key, displacement, epoch)) & ~GG_RULE_CACHE_ODD) >>
		            GG_RULE_CACHE_RULE_BITS ==
		    0) {
			*ret_entry = entry & (GG_RULE_CACHE_ODD | GG_RULE_CACHE_RULE_MASK);
			return true;
		}
		if (!victim_is_free && !is_current(entry, epoch)) {
			victim = displacement;
			victim_is_free = true;
			seen = entry;
		}
	}
	*ret_entry = seen;
	*ret_slot = &gg_rule_cache_entries[home ^ victim];
	return false;
}

void gg_rule_cache_insert(uint64_t key, uint64_t epoch, uint64_t rule_bits, uint64_t seen,
                          uint64_t *slot)
{
	uint64_t home = gg_rule_cache_home(key);
	uint64_t displacement = home ^ (uint64_t)(slot - gg_rule_cache_entries);

	if (key >> 48 != 0)
		return;
	/* The word is all that readers need: what it stands on is the module, which is there. */
	gg_cas_acq_rel(slot, &seen, tag(key, displacement, epoch) | rule_bits);
}

GG_COLD void gg_rule_cache_clear(void)
{
	uint64_t empty = gg_add_relaxed(&clear_count, 1) + 1;

	for (unsigned i = 0; i < GG_COUNT(gg_rule_cache_entries); i++)
		gg_store_relaxed(&gg_rule_cache_entries[i], empty & (GG_RULE_CACHE_EPOCH(1) - 1));
}
