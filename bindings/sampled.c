/* SPDX-License-Identifier: Apache-2.0 */
/* sampled - an open-addressing table of addresses, behind counters by address bits. */
#include "sampled.h"

#include <string.h>
#include <sys/mman.h>

enum { SAMPLED_FIRST_CAPACITY = 512 };

/* --- the table --- */

static size_t home_of(const struct gg_sampled *sampled, uintptr_t address)
{
	uint64_t hash = ((uint64_t)address >> 4) * 0x9e3779b97f4a7c15u;

	return (size_t)(hash >> 16) & (sampled->capacity - 1);
}

/* The slot that has the address, or the free one where it belongs.  Half of the slots are free. */
static size_t slot_of(const struct gg_sampled *sampled, uintptr_t address)
{
	size_t i = home_of(sampled, address);

	while (sampled->table[i] != 0 && sampled->table[i] != address)
		i = (i + 1) & (sampled->capacity - 1);
	return i;
}

/*
 * Closes the gap: entries behind it move up, unless they would then precede their home slot.  So no
 * search ends at a gap before its entry.
 */
static void remove_at(struct gg_sampled *sampled, size_t gap)
{
	size_t mask = sampled->capacity - 1, i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (sampled->table[i] == 0)
			break;
		if (((i - home_of(sampled, sampled->table[i])) & mask) < ((i - gap) & mask))
			continue;
		sampled->table[gap] = sampled->table[i];
		gap = i;
	}
	sampled->table[gap] = 0;
}

static bool grow(struct gg_sampled *sampled)
{
	struct gg_sampled grown = *sampled;
	size_t i;

	grown.capacity = sampled->capacity != 0 ? 2 * sampled->capacity : SAMPLED_FIRST_CAPACITY;
	grown.table = mmap(NULL, grown.capacity * sizeof(*grown.table), PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown.table == MAP_FAILED)
		return false;
	for (i = 0; i < sampled->capacity; i++)
		if (sampled->table[i] != 0)
			grown.table[slot_of(&grown, sampled->table[i])] = sampled->table[i];
	gg_sampled_done(sampled);
	sampled->table = grown.table;
	sampled->capacity = grown.capacity;
	return true;
}

/* --- both --- */

static uint8_t *front_of(struct gg_sampled *sampled, const void *block)
{
	return &sampled->front[gg_sampled_place(block)];
}

void gg_sampled_add(struct gg_sampled *sampled, const void *block)
{
	uint8_t *front = front_of(sampled, block);
	size_t i;

	if (sampled->is_full)
		return;
	if (2 * (sampled->count + 1) > sampled->capacity && !grow(sampled)) {
		sampled->is_full = true;
		memset(sampled->front, GG_SAMPLED_MANY, sizeof(sampled->front));
		return;
	}
	i = slot_of(sampled, (uintptr_t)block);
	if (sampled->table[i] != 0)
		return;
	sampled->table[i] = (uintptr_t)block;
	sampled->count++;
	*front += *front < GG_SAMPLED_MANY;
}

bool gg_sampled_take(struct gg_sampled *sampled, const void *block)
{
	uint8_t *front = front_of(sampled, block);
	size_t i;

	if (sampled->is_full)
		return true;
	if (sampled->capacity == 0)
		return false;
	i = slot_of(sampled, (uintptr_t)block);
	if (sampled->table[i] == 0)
		return false;
	remove_at(sampled, i);
	sampled->count--;
	*front -= *front < GG_SAMPLED_MANY;
	return true;
}

void gg_sampled_done(struct gg_sampled *sampled)
{
	if (sampled->capacity != 0)
		munmap(sampled->table, sampled->capacity * sizeof(*sampled->table));
	sampled->table = NULL;
	sampled->capacity = 0;
}
