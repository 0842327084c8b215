/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_check - checks the invariants of the allocator, for tests.
 *
 * It visits every slab, and each block in it:
 *
 *   - a block is in one place only: used, local_free, remote, handed, rest, or not extended yet
 *   - used + local_free = extended, and used counts handed, rest, remote and homes
 *   - a handed list and its rest are in the current slab of their class
 *   - a cut exists if and only if a sample is due, and its rest begins with the sample's home
 *   - a live slot has one home, which is used, and is of the slot's class
 *   - each slab is where its state says: current, in the queue, or in no list
 *   - runs fill the arena without gaps, and free runs are in the right bins
 *
 * Threads  no other thread may allocate or free meanwhile.
 */
#pragma once

/* NULL: all hold.  Otherwise the invariant that does not, as a text. */
const char *gg_malloc_validate(void);
