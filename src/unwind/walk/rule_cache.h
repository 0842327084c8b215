/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_cache - the compiled rule of each pc, in one word.
 *
 * A table of 64-bit entries that all threads share.  An entry says everything (which pc, which
 * state of the loaded modules, which rule), so one relaxed load is a look-up and nothing can be
 * torn:
 *
 *   bits  0..21   the rule, packed by the architecture (arch.h), or what is odd about it
 *   bits 22..55   the key, but for its lowest 14 bits
 *   bits 56..58   displacement: the entry's slot is the key's home xor this
 *   bits 59..62   epoch of the modules, 1..15; 0: the entry is empty
 *   bit  63       odd: not a packed rule (enum gg_odd)
 *
 * The home slot of a key is its low 14 bits: call sites are spread over them as by a hash, and what
 * the index says need not be stored.  (Why not more: it was not faster, and each frame touches a
 * line of the table.)  A pc whose home is taken lives elsewhere in the same cache
 * line of 8; a full line loses the home's entry.  The walk's loop looks at the home only, with one
 * comparison: displaced, odd, of another epoch and of another pc all look like a miss there.
 *
 * Keys      a pc as a walk meets it is a return address; its rule is that of the call before it,
 *           one instruction less.  A pc that was interrupted is counted one instruction more, so
 *           no key means two things.  Keys count instructions (bytes on x86-64).
 *           Addresses from 2^48 on are nobody's code in user space and are not stored; of one whose
 *           top byte alone is set (a damaged stack), that byte is not looked at.
 * Epochs    every load and unload of a module starts a new epoch (module_lookup.h), which makes all
 *           entries stale at once.  When the 15 numbers are used up the table is filled with
 *           empty words that no earlier time has seen, and they start again.
 * Stale insertion  a thread may be stopped between compiling a rule and storing it.  It stores by
 *           compare-and-swap against the word that was there before it compiled: whatever changed
 *           since, a wrapped epoch included, makes the store fail, and the rule is used once only.
 * Memory    128 KiB, of which the kernel gives what is touched.
 * Threads   any, also in signal handlers; also in a forked child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "unwind/arch/arch.h"

enum {
	GG_RULE_CACHE_INDEX_BITS = 14,
	GG_RULE_CACHE_LINE = 8, /* entries of a cache line: where a key may live */
	GG_RULE_CACHE_RULE_BITS = GG_RULE_CACHE_INDEX_BITS +
	                          8, /* so that key << 8 has its bits in place */
	GG_RULE_CACHE_EPOCHS = 15,
};

#define GG_RULE_CACHE_ODD       (UINT64_C(1) << 63)
#define GG_RULE_CACHE_RULE_MASK ((UINT64_C(1) << GG_RULE_CACHE_RULE_BITS) - 1)
#define GG_RULE_CACHE_EPOCH(n)  ((uint64_t)(n) << 59)

/* In the low bits of an odd entry. */
enum gg_odd {
	GG_ODD_OUTERMOST, /* the stack ends here */
	GG_ODD_STUB,      /* interrupted in a stub of the linker; above: the words it has pushed */
	GG_ODD_SIGNAL_CODE, /* a signal trampoline without CFI */
	GG_ODD_RECOMPILE,   /* the rule does not fit: compile it each time */
	GG_ODD_FP_DEREF,    /* that kind of rule, with two offsets of GG_ODD_OFFSET_BITS above */
	GG_ODD_KIND_BITS = 3,
	GG_ODD_OFFSET_BITS = 8 /* in words from the frame register, 128 more than they are */
};

extern uint64_t gg_rule_cache_entries[1 << GG_RULE_CACHE_INDEX_BITS];

/* The key of a pc whose low bits are enough (the walk's loop has those first), and its home. */
static inline uint64_t gg_rule_cache_key(uint64_t pc)
{
	return pc >> GG_ARCH_CODE_SHIFT;
}

static inline uint64_t gg_rule_cache_home(uint64_t key)
{
	return key & ((1 << GG_RULE_CACHE_INDEX_BITS) - 1);
}

/* An address whose rule is that of the key. */
static inline uint64_t gg_rule_cache_lookup_pc(uint64_t key)
{
	return (key - 1) << GG_ARCH_CODE_SHIFT;
}

/* Is this entry, read from the key's home, a packed rule for it?  `epoch`: GG_RULE_CACHE_EPOCH(n). */
static inline bool gg_rule_cache_is_rule(uint64_t entry, uint64_t key, uint64_t epoch)
{
	return (entry ^ (key << 8) ^ epoch) >> GG_RULE_CACHE_RULE_BITS == 0;
}

/*
 * Looks in all places where the key may be.  True: *ret_entry has its rule or what is odd, with
 * the displacement cleared.  Else *ret_entry is what gg_rule_cache_insert() wants to see.
 */
bool gg_rule_cache_find(uint64_t key, uint64_t epoch, uint64_t *ret_entry, uint64_t **ret_slot);

/*
 * Stores rule bits (GG_RULE_CACHE_ODD allowed) for a key that gg_rule_cache_find() did not find, unless
 * another thread was faster.  `seen` and `slot` are what that returned *before* the rule was compiled.
 */
void gg_rule_cache_insert(uint64_t key, uint64_t epoch, uint64_t rule_bits, uint64_t seen,
                          uint64_t *slot);

/* Makes every entry empty, with words that were never in the table. */
void gg_rule_cache_clear(void);
