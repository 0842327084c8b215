/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_table - interns stacks: equal pcs, equal id.
 *
 * The table is a trie: a node is a pc and the node of its caller, so stacks share their outer
 * frames, and memory is 16 bytes a new frame instead of 8 a frame of each stack.  But nodes are not
 * looked up by (parent, pc), which is a chain of as many dependent look-ups as there are frames.
 * A node's key is the hash of all pcs from the outermost to its own; so a known stack is found by
 * one look-up, and only a new one is walked.  A remembered last stack saves hashing the outer frames
 * that did not change.  Against whole stacks and against the plain trie: docs/internals/REGION.md, "Stacks",
 * measured by bench/bench_region.c.
 *
 * Identity  the hash, seeded at random; the frames are not compared.  Where an index entry and the
 *           node's private word agree, 50 bits agree besides those that choose the bucket.  Among a
 *           million nodes, the probability that two are taken for one is 7e-8.
 * Cost      a known stack: its bucket and its word, which also has the row that counts for it, so
 *           the row is on its way while the rest of the sample is made.
 * Full      GG_STACK_OVERFLOW, counted.
 */
#pragma once

#include "region/writer/region.h"

/*
 * The id of the stack pcs[0] (innermost) .. pcs[count - 1]; GG_STACK_EMPTY for none.  Deeper ones
 * than the header's max_frames lose their outer end.  errno is kept.
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
 * For gg_region_validate(): true if the node's parent has a smaller id, and the hash of its pcs finds
 * a node of the same pc.  Stacks of more than 1024 frames pass unchecked.
 */
bool gg_region_stack_is_valid(const struct gg_region *region, uint32_t stack);
