/* SPDX-License-Identifier: Apache-2.0 */
/* site_totals - finds, makes and owns the totals of a stack in a thread. */
#include "region/writer/site_totals.h"

#include "base/assert.h"
#include "base/hash.h"
#include "region/writer/space.h"

enum {
	OWNER_TRIES = 2000, /* some 50 us; an owner that runs needs 0.2 us */
	/* In place of a thread's number: the first total of inherited blocks of a stack. */
	KEY_ANY_INHERITED = GG_REGION_KEY_INHERITED | UINT16_MAX,
};

struct site_probe {
	const struct gg_region_site_key *keys;
	struct gg_region_site_key wanted;
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

static bool site_matches(uint32_t value, const void *context)
{
	const struct site_probe *probe = context;

	return probe->keys[value].stack == probe->wanted.stack &&
	       probe->keys[value].thread == probe->wanted.thread;
}

/* A total of inherited blocks of the stack, in whichever thread of the parent. */
static bool inherited_matches(uint32_t value, const void *context)
{
	const struct site_probe *probe = context;

	return probe->keys[value].stack == probe->wanted.stack &&
	       (probe->keys[value].thread & GG_REGION_KEY_INHERITED) != 0;
}

static uint64_t site_hash(const struct gg_region *region, uint32_t stack, uint32_t thread)
{
	return gg_hash_integer((uint64_t)stack << 16 | thread, region->hash_seed);
}

static uint32_t make_total(struct gg_region *region, struct gg_region_site_key key)
{
	uint32_t index = gg_region_space_take(region, GG_TABLE_SITE_TOTALS);
	struct gg_region_site_total *total;

	if (index == GG_INDEX_NONE)
		return index;
	total = gg_region_at(region, GG_TABLE_SITE_TOTALS, index);
	total->stack = key.stack;
	total->thread = key.thread & ~(uint32_t)GG_REGION_KEY_INHERITED;
	total->is_inherited = (key.thread & GG_REGION_KEY_INHERITED) != 0;
	gg_store_release(&total->ready, 1);
	region->site_keys[index] = key;
	return index;
}

/* Makes `index` the first site total of the stack.  Returns the first one, which may be another
 * thread's that was faster. */
static uint32_t set_first(struct gg_region *region, uint32_t stack, uint32_t index)
{
	uint64_t *word = &region->stack_words[stack];
	/* Acquire, as in gg_region_site_total_first(). */
	uint64_t seen = gg_load_acquire(word);

	gg_assert(index < GG_REGION_STACK_TOTAL_MASK);
	gg_assert(stack < region->tables[GG_TABLE_STACKS].capacity);
	while ((seen & GG_REGION_STACK_TOTAL_MASK) == 0)
		if (gg_cas_acq_rel(word, &seen, seen | (index + 1)))
			return index;
	return (uint32_t)(seen & GG_REGION_STACK_TOTAL_MASK) - 1;
}

uint32_t gg_region_site_total_lookup(const struct gg_region *region, uint32_t stack,
                                     uint32_t thread)
{
	struct site_probe probe = { .keys = region->site_keys,
		                    .wanted = { .stack = stack, .thread = thread } };
	uint32_t first = gg_region_site_total_first(region, stack);

	if ((thread & GG_REGION_KEY_INHERITED) == 0 &&
	    (first == GG_INDEX_NONE || site_matches(first, &probe)))
		return first;
	return gg_hash_index_find(&region->site_index, site_hash(region, stack, thread), false,
	                          site_matches, &probe, NULL);
}

/*
 * The stack's word alone leads to the first site total; the site index has those of further
 * threads.  A total that loses a race (its key is there already) stays in the file with zero sums.
 */
uint32_t gg_region_site_total_search(struct gg_region *region, uint32_t stack, uint32_t thread)
{
	struct site_probe probe = { .keys = region->site_keys,
		                    .wanted = { .stack = stack, .thread = thread } };
	uint64_t hash = site_hash(region, stack, thread);
	uint32_t index = GG_INDEX_NONE, first = gg_region_site_total_first(region, stack);

	gg_assert(thread <= UINT16_MAX);
	gg_assert(stack < gg_load_relaxed(&region->tables[GG_TABLE_STACKS].used_count));
	if (first != GG_INDEX_NONE) {
		/* The file may name another thread, but the private key is right. */
		if (site_matches(first, &probe))
			return first;
		index = gg_hash_index_find(&region->site_index, hash, false, site_matches, &probe,
		                           NULL);
		if (index != GG_INDEX_NONE)
			return index;
	}
	index = make_total(region, probe.wanted);
	if (index != GG_INDEX_NONE && first == GG_INDEX_NONE) {
		first = set_first(region, stack, index);
		/* Both threads are number 0 if neither has a record of its own. */
		if (first == index || site_matches(first, &probe))
			return first;
	}
	if (index != GG_INDEX_NONE)
		index = gg_hash_index_add(&region->site_index, hash, index, site_matches, &probe);
	if (index == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_ROWS_FOLDED, 1);
		return gg_region_site_total_first(region, stack);
	}
	return index;
}

/* The stack's word stays as it is, so no thread of this process finds such a site total. */
uint32_t gg_region_site_total_inherited(struct gg_region *region, uint32_t stack, uint32_t thread)
{
	const struct gg_region_site_key key = { .stack = stack,
		                                .thread = thread | GG_REGION_KEY_INHERITED };
	struct site_probe probe = { .keys = region->site_keys, .wanted = key };
	uint64_t hash = site_hash(region, key.stack, key.thread);
	uint32_t index = gg_hash_index_find(&region->site_index, hash, false, site_matches, &probe,
	                                    NULL);

	if (index != GG_INDEX_NONE)
		return index;
	index = make_total(region, key);
	if (index == GG_INDEX_NONE)
		return index;
	/* Without room in the index only gg_region_site_total_of_inherited() does not find it. */
	gg_hash_index_add(&region->site_index, site_hash(region, stack, KEY_ANY_INHERITED), index,
	                  inherited_matches, &probe);
	return gg_hash_index_add(&region->site_index, hash, index, site_matches, &probe);
}

uint32_t gg_region_site_total_of_inherited(const struct gg_region *region, uint32_t stack)
{
	const struct site_probe probe = { .keys = region->site_keys, .wanted = { .stack = stack } };

	return gg_hash_index_find(&region->site_index, site_hash(region, stack, KEY_ANY_INHERITED),
	                          false, inherited_matches, &probe, NULL);
}

bool gg_region_site_total_own(struct gg_region *region, uint32_t index, uint32_t slot)
{
	const struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS,
	                                                        index);

	gg_assert(index < gg_load_relaxed(&region->tables[GG_TABLE_SITE_TOTALS].used_count));
	gg_assert(slot < region->tables[GG_TABLE_SLOTS].capacity);
	/* The CAS waits for all loads under way, so both kinds of sums are fetched before it. */
	__builtin_prefetch(&total->allocated.bytes);
	__builtin_prefetch(&total->freed.bytes);
	for (int i = 0; i < OWNER_TRIES; i++) {
		uint32_t expected = 0;

		/* Acquire: pairs with the release of the last owner, so its sums are visible. */
		if (gg_likely(gg_cas_acq_rel(gg_region_site_owner(region, index), &expected,
		                             slot + 1)))
			return true;
		pause_briefly();
	}
	return false;
}

/*
 * New records are zero, so only two fields of site total 0 need a value.  Threads that do this at
 * the same time store the same.
 */
bool gg_region_open(struct gg_region *region)
{
	struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS, 0);

	/* Acquire: pairs with the release below, so site total 0 is there. */
	if (gg_likely(gg_load_acquire(&region->is_open) != 0))
		return true;
	if (!gg_region_space_reserve(region, GG_TABLE_SITE_TOTALS, 1))
		return false;
	gg_store_relaxed(&total->stack, (uint32_t)GG_STACK_OVERFLOW);
	gg_store_release(&total->ready, 1);
	gg_store_relaxed(&region->site_keys[0].stack, (uint32_t)GG_STACK_OVERFLOW);
	gg_store_relaxed(&region->stack_words[GG_STACK_OVERFLOW], 1);
	gg_store_release(&region->is_open, 1);
	return true;
}
