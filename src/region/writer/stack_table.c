/* SPDX-License-Identifier: Apache-2.0 */
/* stack_table - interns stacks as nodes of a trie, found by the hash of all their pcs. */
#include "region/writer/stack_table.h"

#include "base/assert.h"
#include "region/writer/site_totals.h"
#include "region/writer/space.h"

/* The node of a hash. */
struct node_key {
	const uint64_t *words;
	uint64_t check;
};

enum {
	/* The bits below choose the bucket in the index.  The index itself compares those from bit
	 * 39 on, if it has a million nodes. */
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

	return gg_hash_index_find(&region->stack_index, hash, false, node_matches, &key, NULL);
}

/* Makes the node, or returns that of a faster thread.  GG_INDEX_NONE: the table is full. */
static uint32_t add(struct gg_region *region, uint32_t parent, uint64_t pc, uint64_t hash)
{
	struct node_key key = key_of(region, hash);
	uint32_t id = gg_region_space_take(region, GG_TABLE_STACKS);

	if (id == GG_INDEX_NONE)
		return id;
	gg_assert(id >= GG_STACK_FIRST && parent < id); /* so that readers meet no cycle */
	/*
	 * The node is whole before the index publishes it.  If another thread has published the
	 * same node, nothing ever refers to this one.
	 */
	*(struct gg_region_node *)gg_region_at(region, GG_TABLE_STACKS,
	                                       id) = (struct gg_region_node){ .pc = pc,
		                                                              .parent = parent };
	gg_store_relaxed(&region->stack_words[id], key.check);
	return gg_hash_index_add(&region->stack_index, hash, id, node_matches, &key);
}

/*
 * Counts the outer frames of a new stack that have nodes, among the frames whose hashes the thread
 * remembers.  The outermost known_count have nodes.  A node exists only if the nodes of all frames
 * outside it do, so a binary search finds the boundary.
 */
static uint32_t count_known(const struct gg_region *region, struct gg_region_thread *thread,
                            uint32_t known_count, uint32_t limit)
{
	gg_assert(known_count <= limit && limit <= GG_REGION_LAST_FRAMES);
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

/* Adds a new stack: goes inwards from the innermost frame that has a node, and adds the rest. */
static GG_APART uint32_t intern_new(struct gg_region *region, struct gg_region_thread *thread,
                                    const uint64_t *pcs, uint32_t count, uint32_t shared_count)
{
	uint32_t id = GG_STACK_EMPTY, depth = shared_count;
	uint64_t hash = region->hash_seed;
	const uint32_t limit = count - 1 < GG_REGION_LAST_FRAMES ? count - 1
	                                                         : GG_REGION_LAST_FRAMES;
	bool is_new; /* the last node is new, so frames inside it have no nodes */

	gg_assert(count > 0 && shared_count <= limit + 1);
	while (depth > 0 && thread->last_ids[depth - 1] == 0)
		depth--;
	/* Each node costs a cache miss, whether it is found or added.  Fetch them all at once. */
	for (uint32_t i = depth; i < limit; i++)
		gg_hash_index_prefetch(&region->stack_index, thread->last_hashes[i]);
	depth = count_known(region, thread, depth, limit);
	/* The next frame has no node: count_known() or the caller's search for the whole stack has
	 * not found it. */
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

/* Counts the outer frames that the last stack also had.  The caller knows that known_count are
 * the same. */
static uint32_t count_shared(const struct gg_region_thread *thread, const uint64_t *pcs,
                             uint32_t count, uint32_t known_count)
{
	uint32_t limit = count < thread->last_count ? count : thread->last_count;
	uint32_t i = known_count < limit ? known_count : limit;

	while (i < limit && thread->last_pcs[i] == pcs[count - 1 - i])
		i++;
	return i;
}

static struct gg_region_recent_stack *recent_of(struct gg_region_thread *thread, uint64_t hash)
{
	return &thread->recent_stacks[(hash >> CHECK_SHIFT) % GG_REGION_RECENT_STACKS];
}

/* The id of a whole stack, which may be new. */
static uint32_t find_or_add(struct gg_region *region, struct gg_region_thread *thread,
                            const uint64_t *pcs, uint32_t count, uint32_t shared_count,
                            uint64_t hash)
{
	struct gg_region_recent_stack *recent = recent_of(thread, hash);
	uint32_t id;

	if (region->has_recent_stacks != 0 && recent->hash == hash && recent->id != 0) {
		id = recent->id;
	} else {
		id = find(region, hash);
		if (id == GG_INDEX_NONE)
			return intern_new(region, thread, pcs, count, shared_count);
		if (region->has_recent_stacks != 0)
			*recent = (struct gg_region_recent_stack){ .hash = hash, .id = id };
	}
	if (count <= GG_REGION_LAST_FRAMES)
		thread->last_ids[count - 1] = id;
	return id;
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
		/* The stack loses its outer end, so its outermost frame is another one. */
		known_count = 0;
	}
	if (count == 0)
		return GG_STACK_EMPTY;
	if (thread->busy) /* this call interrupts another one, which uses the last stack */
		return GG_STACK_OVERFLOW;
	gg_assert(known_count <= count && thread->last_count <= GG_REGION_LAST_FRAMES);
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
	if (id == 0)
		id = find_or_add(region, thread, pcs, count, shared_count, hash);
	gg_assert(id < gg_load_relaxed(&region->tables[GG_TABLE_STACKS].used_count));
	gg_region_site_total_prefetch(region, id);
	gg_fence_signal();
	thread->busy = 0;
	return id;
}

bool gg_region_stack_is_valid(const struct gg_region *region, uint32_t stack)
{
	enum { VALID_FRAMES_MAX = 1024 };
	uint64_t pcs[VALID_FRAMES_MAX], hash = region->hash_seed;
	const struct gg_region_node *node;
	uint32_t count = 0, found;

	for (uint32_t id = stack; id >= GG_STACK_FIRST; id = node->parent) {
		node = gg_region_at(region, GG_TABLE_STACKS, id);
		if (node->parent >= id)
			return false;
		if (count == VALID_FRAMES_MAX)
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
