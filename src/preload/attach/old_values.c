/* SPDX-License-Identifier: Apache-2.0 */
/* old_values - a hash table with linear probing, in memory of its own. */
#include "preload/attach/old_values.h"

#include <stddef.h>

#include "base/hash.h"
#include "runtime/syscalls.h"

enum { TRIES = 64 };

static struct old_value {
	const uint64_t *slot; /* NULL: a free entry */
	uint64_t value;
} * entries;

/* The entry of the slot, or a free one for it; NULL: there is neither. */
static struct old_value *entry_of(const uint64_t *slot)
{
	uint64_t at = gg_hash_integer((uintptr_t)slot, 0);

	for (uint64_t i = 0; entries != NULL && i < TRIES; i++) {
		struct old_value *entry = &entries[(at + i) % GG_OLD_VALUES_MOST];

		if (entry->slot == NULL || entry->slot == slot)
			return entry;
	}
	return NULL;
}

void gg_old_values_put(const uint64_t *slot, uint64_t value)
{
	struct old_value *entry;

	if (entries == NULL)
		entries = gg_syscall_map(GG_OLD_VALUES_MOST * sizeof(*entries));
	entry = entry_of(slot);
	if (entry != NULL)
		*entry = (struct old_value){ slot, value };
}

uint64_t gg_old_values_get(const uint64_t *slot, uint64_t otherwise)
{
	const struct old_value *entry = entry_of(slot);

	return entry != NULL && entry->slot == slot ? entry->value : otherwise;
}

void gg_old_values_clear(void)
{
	if (entries != NULL)
		gg_syscall_unmap(entries, GG_OLD_VALUES_MOST * sizeof(*entries));
	entries = NULL;
}
