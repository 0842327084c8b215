/* SPDX-License-Identifier: Apache-2.0 */
/* rule_cache - finds and inserts compiled rules, and empties the table. */
#include "unwind/walk/rule_cache.h"

#include "base/compiler.h"

uint64_t gg_rule_cache_entries[1 << GG_RULE_CACHE_INDEX_BITS] __attribute__((aligned(64)));
static uint64_t clear_count; /* fills of the table; empty words have this number */

static bool is_current(uint64_t entry, uint64_t epoch)
{
	return (entry & GG_RULE_CACHE_EPOCH(GG_RULE_CACHE_EPOCHS)) == epoch;
}

/* Returns the bits above the rule of an entry for the key at home ^ displacement, without `odd`. */
static uint64_t tag(uint64_t key, uint64_t displacement, uint64_t epoch)
{
	return (key << 8 & ~GG_RULE_CACHE_RULE_MASK) | displacement << 56 | epoch;
}

bool gg_rule_cache_find(uint64_t key, uint64_t epoch, uint64_t *ret_entry, uint64_t **ret_slot)
{
	uint64_t home = gg_rule_cache_home(key);
	uint64_t victim = 0; /* displacement of the slot for an insertion */
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
		/*
		 * An insertion goes to the first stale slot of the line, or to the home if all are
		 * current.
		 */
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
	/*
	 * The word alone is enough for readers: it depends on nothing but the module, which is
	 * loaded.
	 */
	gg_cas_acq_rel(slot, &seen, tag(key, displacement, epoch) | rule_bits);
}

GG_COLD void gg_rule_cache_clear(void)
{
	uint64_t empty = gg_add_relaxed(&clear_count, 1) + 1;

	/*
	 * The number of the fill makes these words differ from all earlier empty ones: a thread
	 * that saw an empty slot before the fill cannot store its stale rule afterwards.
	 */
	for (unsigned i = 0; i < GG_COUNT(gg_rule_cache_entries); i++)
		gg_store_relaxed(&gg_rule_cache_entries[i], empty & (GG_RULE_CACHE_EPOCH(1) - 1));
}
