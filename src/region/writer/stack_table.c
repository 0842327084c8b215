/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/stack_table.h"

#include "region/writer/site_totals.h"
#include "region/writer/space.h"

/* Which node: that of the hash. */
struct node_key {
	const uint64_t *words;
	uint64_t check;
};

enum {
	/* Below are bits that choose the bucket in the index, above (39 bits on) those that the index
	 * compares, if it has a million nodes. */
	CHECK_SHIFT = 14
};

static uint64_t check_of(uint64_t hash)
{
	return hash >> CHECK_SHIFT << GG_REGION_STACK_TOTAL_BITS;
}

static bool node_matches(uint32_t value, const void *context)
{
	const struct node_key *key = context;

	return (gg_load_relaxed(&key->words[value]) & ~(uint64_t)GG_REGION_STACK_TOTAL_MASK) ==
	       key->check;
}

static uint64_t extend(uint64_t hash, uint64_t pc)
{
	hash = (hash ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static struct node_key key_of(const struct gg_region *region, uint64_t hash)
{
	return (struct node_key){ .words = region->stack_words, .check = check_of(hash) };
}

static uint32_t find(const struct gg_region *region, uint64_t hash)
{
	struct node_key key = key_of(region, hash);

	return gg_index_find(&region->stack_index, hash, false, node_matches, &key, NULL);
}

/* Makes the node, unless another thread is faster.  GG_INDEX_NONE: the table is full. */
static uint32_t add(struct gg_region *region, uint32_t parent, uint64_t pc, uint64_t hash)
{
	struct node_key key = key_of(region, hash);
	uint32_t id = gg_region_space_take(region, GG_TABLE_STACKS);

	if (id == GG_INDEX_NONE)
		return id;
	/* Whole before the index publishes it.  If another thread published the same before us,
	 * this one is never named and stays as it is. */
	*(struct gg_region_node *)gg_region_at(region, GG_TABLE_STACKS,
	                                       id) = (struct gg_region_node){ .pc = pc,
		                                                              .parent = parent };
	gg_store_relaxed(&region->stack_words[id], key.check);
	return gg_index_add(&region->stack_index, hash, id, node_matches, &key);
}

/*
 * How many outer frames of a stack that is new have nodes, of those whose hashes the memo has; known_count have.
 * A node is there only if those of all frames outside it are, so halves do.
 */
static uint32_t count_known(const struct gg_region *region, struct gg_region_thread *thread,
                            uint32_t known_count, uint32_t limit)
{
	while (known_count < limit) {
		uint32_t middle = limit - (limit - known_count) / 2;
		uint32_t id = find(region, thread->last_hashes[middle - 1]);

		if (id == GG_INDEX_NONE) {
			limit = middle - 1;
		} else {
			thread->last_ids[middle - 1] = id;
			known_count = middle;
		}
	}
	return known_count;
}

/* The stack is new: goes inwards from the innermost frame that has a node, and adds what is missing. */
static GG_APART uint32_t intern_new(struct gg_region *region, struct gg_region_thread *thread,
                                    const uint64_t *pcs, uint32_t count, uint32_t shared_count)
{
	uint32_t id = GG_STACK_EMPTY, depth = shared_count;
	uint64_t hash = region->hash_seed;
	const uint32_t limit = count - 1 < GG_REGION_LAST_FRAMES ? count - 1
	                                                         : GG_REGION_LAST_FRAMES;
	bool is_new; /* so there is none inside it */

	while (depth > 0 && thread->last_ids[depth - 1] == 0)
		depth--;
	/* All at once: each node is a miss, whether it is looked for or added. */
	for (uint32_t i = depth; i < limit; i++)
		gg_index_prefetch(&region->stack_index, thread->last_hashes[i]);
	depth = count_known(region, thread, depth, limit);
	/* The next one was looked for and not found, there or as the whole stack. */
	is_new = depth < limit || limit == count - 1;
	if (depth > 0) {
		id = thread->last_ids[depth - 1];
		hash = thread->last_hashes[depth - 1];
	}
	for (; depth < count; depth++) {
		uint64_t pc = pcs[count - 1 - depth];
		uint32_t child = GG_INDEX_NONE;

		hash = extend(hash, pc);
		if (!is_new)
			child = find(region, hash);
		if (child == GG_INDEX_NONE) {
			child = add(region, id, pc, hash);
			is_new = true;
		}
		if (child == GG_INDEX_NONE) {
			gg_region_count(region, GG_COUNT_STACKS_OVERFLOWED, 1);
			return GG_STACK_OVERFLOW;
		}
		id = child;
		if (depth < GG_REGION_LAST_FRAMES)
			thread->last_ids[depth] = id;
	}
	return id;
}

/* How many outer frames are those of the last stack; known_count are. */
static uint32_t count_shared(const struct gg_region_thread *thread, const uint64_t *pcs,
                             uint32_t count, uint32_t known_count)
{
	uint32_t limit = count < thread->last_count ? count : thread->last_count;
	uint32_t i = known_count < limit ? known_count : limit;

	while (i < limit && thread->last_pcs[i] == pcs[count - 1 - i])
		i++;
	return i;
}

uint32_t gg_region_intern(struct gg_region *region, struct gg_region_thread *thread,
                          const uint64_t *pcs, uint32_t count)
{
	return gg_region_intern_next(region, thread, pcs, count, 0);
}

uint32_t gg_region_intern_next(struct gg_region *region, struct gg_region_thread *thread,
                               const uint64_t *pcs, uint32_t count, uint32_t known_count)
{
	uint32_t shared_count, id;
	uint64_t hash;

	if (count > region->max_frames) {
		count = region->max_frames;
		known_count = 0; /* other frames are the outermost now */
	}
	if (count == 0)
		return GG_STACK_EMPTY;
	if (thread->busy)
		return GG_STACK_OVERFLOW; /* interrupted itself: the memo is in use */
	thread->busy = 1;
	gg_fence_signal();
	shared_count = count_shared(thread, pcs, count, known_count);
	hash = shared_count > 0 ? thread->last_hashes[shared_count - 1] : region->hash_seed;
	for (uint32_t depth = shared_count; depth < count; depth++) {
		hash = extend(hash, pcs[count - 1 - depth]);
		if (depth < GG_REGION_LAST_FRAMES) {
			thread->last_pcs[depth] = pcs[count - 1 - depth];
			thread->last_hashes[depth] = hash;
			thread->last_ids[depth] = 0;
		}
	}
	thread->last_count = count < GG_REGION_LAST_FRAMES ? count : GG_REGION_LAST_FRAMES;
	id = count <= GG_REGION_LAST_FRAMES ? thread->last_ids[count - 1] : 0;
	if (id == 0) {
		id = find(region, hash);
		if (id == GG_INDEX_NONE)
			id = intern_new(region, thread, pcs, count, shared_count);
		else if (count <= GG_REGION_LAST_FRAMES)
			thread->last_ids[count - 1] = id;
	}
	gg_region_site_total_prefetch(region, id);
	gg_fence_signal();
	thread->busy = 0;
	return id;
}

bool gg_region_stack_is_valid(const struct gg_region *region, uint32_t stack)
{
	enum { FRAMES_MAX = 1024 };
	uint64_t pcs[FRAMES_MAX], hash = region->hash_seed;
	const struct gg_region_node *node;
	uint32_t count = 0, found;

	for (uint32_t id = stack; id >= GG_STACK_FIRST; id = node->parent) {
		node = gg_region_at(region, GG_TABLE_STACKS, id);
		if (node->parent >= id)
			return false;
		if (count == FRAMES_MAX)
			return true;
		pcs[count++] = node->pc;
	}
	/* The key of a node is the hash of all pcs, from the outermost to its own. */
	for (uint32_t i = count; i > 0; i--)
		hash = extend(hash, pcs[i - 1]);
	/* If two threads made the node at once, the hash finds the node that both use. */
	found = find(region, hash);
	/* A node that a full index or a fork kept out of the index is in no sample. */
	if (found == GG_INDEX_NONE)
		return (gg_load_relaxed(&region->stack_words[stack]) &
		        GG_REGION_STACK_TOTAL_MASK) == 0;
	node = gg_region_at(region, GG_TABLE_STACKS, found);
	return found == stack || node->pc == pcs[0];
}
