/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guarded_blocks - places a few samples between pages that nobody may access.
 *
 *   | page | slot of 32 KiB | page | slot | page | ...
 *             block        -> right-aligned: the byte behind it faults
 *             block        -> left-aligned: the byte before it faults
 *
 * One sample in k gets a slot of this pool instead of one of sampled_slots.h.  Chance chooses the
 * samples, and to which end of its slot a block is aligned.  Only the pages of the block itself can
 * be accessed.  After its free no page of it can, until the slot is used again.
 *
 * Bias      The choice comes after the trial, so a guarded block is a sample like any other.  Its
 *           home stays reserved, so that the allocator makes the same decisions (sampled_slots.h).
 * Found     accesses behind, before and after the life of a block, by a fault; writes to up to 128
 *           bytes around it in its own pages, when it is freed; frees of other addresses, and
 *           second ones.
 * Reports   go to the client.  The slot is never used again then, so its facts stay true, and each
 *           slot has one report.  The program goes on: the page is opened, or the free is ignored.
 * Reuse     Slots are taken in turn.  A freed slot rests for a quarter of the pool's size in
 *           further guarded blocks, and at most half of the slots are in use.
 * Full      Without a slot, or without a mapping for its pages, the sample gets an ordinary one.
 * Threads   any, also in handlers.  A word for each slot; no lock, so a fork needs no handler.
 * Limits    A slot costs two mappings of vm.max_map_count while its block lives.  Blocks above
 *           32 KiB, and blocks that do not fit with their alignment, are not guarded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/sampled_slots.h"

enum {
	GG_MALLOC_GUARD_SLOTS_MAX = 256,
};

enum gg_malloc_fault_kind {
	GG_MALLOC_FAULT_USE_AFTER_FREE = 1,
	GG_MALLOC_FAULT_OVERFLOW,
	GG_MALLOC_FAULT_UNDERFLOW,
	GG_MALLOC_FAULT_DOUBLE_FREE,
	GG_MALLOC_FAULT_INVALID_FREE,
};

struct gg_malloc_fault {
	enum gg_malloc_fault_kind kind;
	uint32_t number;   /* of the block's slot */
	uintptr_t address; /* that was accessed or freed; at_free: of the first byte changed */
	uintptr_t block;   /* 0: there is no block near the address */
	size_t bytes;      /* of the block, as requested */
	bool is_freed;     /* the block was freed before */
	bool at_free;      /* found when the block was freed, some time after the access */
	uint64_t life;     /* another number for each block that the slot has had */
};

/* Guards one sample in `share`.  False: there is no address space.  Once, before threads. */
GG_COLD bool gg_malloc_guard_start(uint64_t share, uint64_t seed);

/* The address space of all slots; `bytes` is 0 without guards. */
struct gg_malloc_guard_pool {
	uintptr_t base;
	size_t bytes;
	uint32_t slot_count;
};
extern struct gg_malloc_guard_pool gg_malloc_guard_pool __attribute__((visibility("hidden")));

static inline bool gg_malloc_guard_is_on(void)
{
	return gg_malloc_guard_pool.bytes != 0;
}

/* True if the address is in the pool. */
static inline bool gg_malloc_guard_has(uintptr_t address)
{
	return gg_unlikely(address - gg_malloc_guard_pool.base < gg_malloc_guard_pool.bytes);
}

/*
 * Moves a block to a guarded slot and informs the client, as gg_malloc_slots_sample() does.  NULL:
 * the sample was not chosen, or there is no slot.
 */
GG_COLD void *gg_malloc_guard_sample(void *home, unsigned class, size_t bytes,
                                     size_t alignment_bytes, double class_interval);

/* Moves a block to a guarded slot, or to an ordinary one. */
static inline void *gg_malloc_guard_or_slot(void *home, unsigned class, size_t bytes,
                                            size_t alignment_bytes, double class_interval)
{
	void *p = NULL;

	if (gg_unlikely(gg_malloc_guard_is_on()))
		p = gg_malloc_guard_sample(home, class, bytes, alignment_bytes, class_interval);
	return p != NULL ? p : gg_malloc_slots_sample(home, class, bytes, class_interval);
}

/*
 * For an address in the pool.  Frees the block, and returns its home, which the caller frees.
 * NULL: it is no live block, which was reported.
 */
GG_COLD void *gg_malloc_guard_free(void *p);

/* A live guarded block. */
struct gg_malloc_guarded {
	void *home;
	size_t bytes;
	unsigned class;
	double class_interval;
};
/* For an address in the pool.  False: no live block begins there. */
bool gg_malloc_guard_find(const void *p, struct gg_malloc_guarded *ret_block);

enum gg_malloc_guard_answer {
	GG_MALLOC_GUARD_FOREIGN, /* no block was ever near: a wild pointer */
	GG_MALLOC_GUARD_KNOWN,   /* the slot has a report already */
	GG_MALLOC_GUARD_LIVE,    /* the page is of a live block, so it was open, or is by now */
	GG_MALLOC_GUARD_NEW,     /* the caller reports the fault */
};

/*
 * Explains an access to an address in the pool that has faulted.  LIVE has two reasons: the block
 * got the slot after the access, so a repeated access succeeds; or the program itself has closed
 * the page by mprotect(), so it faults again in the same life of the slot.
 */
enum gg_malloc_guard_answer gg_malloc_guard_explain(uintptr_t address,
                                                    struct gg_malloc_fault *ret_fault);

/*
 * Opens the page of an address in the pool, so that the access succeeds when it is repeated.
 * False: the kernel refuses.
 */
bool gg_malloc_guard_open(uintptr_t address);

struct gg_malloc_guard_totals {
	uint64_t guarded_count; /* so far */
	uint64_t live_count;
	uint64_t unplaced_count; /* samples that were chosen, and found no slot */
	uint64_t fault_count;
};
void gg_malloc_guard_read_totals(struct gg_malloc_guard_totals *ret_totals);

/* For the validator: calls visit() with the home of each live block. */
void gg_malloc_guard_visit(void (*visit)(void *user, void *home, unsigned class), void *user);
