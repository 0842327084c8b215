/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_table - interns stacks: equal pcs, equal id.
 *
 * The table is a trie: a node is a pc and the node of its caller.  So stacks share their outer
 * frames, and a new frame takes 16 bytes, instead of 8 bytes for each frame of each stack.
 *
 * A plain trie finds a node by its parent and its pc: a stack of 30 frames takes 30 look-ups, each
 * of which waits for the one before.  Here a node's key is the hash of all pcs from the outermost
 * to its own.  So one look-up finds a known stack, and only a new stack is walked node by node.
 * The thread remembers its last stack, so it need not hash the outer frames that did not change.
 * docs/internals/REGION.md, "Stacks", compares this with whole stacks and with the plain trie
 * (bench/bench_region.c).
 *
 * Identity  The hash, with a random seed, identifies a node; the frames are not compared.  An index
 *           entry and the node's private word together compare 50 bits, besides those that choose
 *           the bucket.  Among a million nodes, the probability that two have one hash is 7e-8.
 * Cost      A known stack costs its bucket and its word.  The word also has the stack's site total,
 *           which the processor fetches while the rest of the sample is made.
 * Full      The result is GG_STACK_OVERFLOW, and a counter grows.
 */
#pragma once

#include "region/writer/region.h"

/*
 * Returns the id of the stack pcs[0] (innermost) to pcs[count - 1]; GG_STACK_EMPTY if it has no
 * frame.  A stack deeper than the header's max_frames loses its outer end.  errno is kept.
 */
uint32_t gg_region_intern(struct gg_region *region, struct gg_region_thread *thread,
                          const uint64_t *pcs, uint32_t count);

/*
 * Interns a stack whose outermost known_count frames are those of the thread's last call, so that
 * they are not compared again.  That call had at least one frame, and at most max_frames.
 */
uint32_t gg_region_intern_next(struct gg_region *region, struct gg_region_thread *thread,
                               const uint64_t *pcs, uint32_t count, uint32_t known_count);

/*
 * For gg_region_validate(): true if the node's parent has a smaller id, and the hash of its pcs
 * finds a node of the same pc.  Stacks of more than 1024 frames pass unchecked.
 */
bool gg_region_stack_is_valid(const struct gg_region *region, uint32_t stack);
