/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_cache - keeps the compiled rule of each pc in one word.
 *
 * All threads share a table of 64-bit entries.  An entry is complete (which pc, which state of the
 * loaded modules, which rule), so a look-up is one relaxed load, and nothing can be torn:
 *
 *   bits  0..21   the rule, packed by the architecture (arch.h), or the data of an odd entry
 *   bits 22..55   the key without its lowest 14 bits
 *   bits 56..58   displacement: the slot of the entry is the home of the key xor this number
 *   bits 59..62   epoch of the modules, 1..15; 0: the entry is empty
 *   bit  63       odd: not a packed rule (enum gg_odd)
 *
 * The home slot of a key is its low 14 bits.  Call sites spread over them as a hash would spread
 * them, and the entry need not store the bits that the index implies.  More bits were not faster,
 * and each frame touches a line of the table.  If the home of a pc is taken, its entry goes to
 * another slot of the same cache line of 8; in a full line it replaces the entry at its home.  The
 * loop of a walk checks only the home, with one comparison: there a displaced entry, an odd one,
 * one of another epoch, and one of another pc all look like a miss.
 *
 * Keys             A walk meets a pc as a return address; its rule is that of the call before it,
 *                  one instruction less.  An interrupted pc is counted one instruction more, so no
 *                  key has two meanings.  Keys count instructions (bytes on x86-64).  Addresses
 *                  from 2^48 on are no user code, and the cache does not store them.  If only the
 *                  top byte of an address is set (a damaged stack), the comparison ignores that
 *                  byte.
 * Epochs           Every load and unload of a module starts a new epoch (module_lookup.h), which
 *                  makes all entries stale at once.  When the 15 numbers are used up, the table is
 *                  filled with empty words that it never held before, and the numbers start again.
 * Stale insertion  The scheduler may stop a thread between compiling a rule and storing it.  The
 *                  thread stores by compare-and-swap against the word that was in the slot before
 *                  it compiled.  Any change since, even a wrapped epoch, makes the store fail, and
 *                  the rule is used only once.
 * Memory           128 KiB, of which the kernel provides the pages that are touched.
 * Threads          Any thread may use it, also in signal handlers and in a forked child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "unwind/arch/arch.h"

enum {
	GG_RULE_CACHE_INDEX_BITS = 14,
	GG_RULE_CACHE_LINE = 8, /* entries of a cache line: the places of a key */
	/* 8 bits more than the index, so that key << 8 has its bits in place. */
	GG_RULE_CACHE_RULE_BITS = GG_RULE_CACHE_INDEX_BITS + 8,
	GG_RULE_CACHE_EPOCHS = 15,
};

#define GG_RULE_CACHE_ODD       (UINT64_C(1) << 63)
#define GG_RULE_CACHE_RULE_MASK ((UINT64_C(1) << GG_RULE_CACHE_RULE_BITS) - 1)
#define GG_RULE_CACHE_EPOCH(n)  ((uint64_t)(n) << 59)

/* The kind of an odd entry, in its low bits. */
enum gg_odd {
	GG_ODD_OUTERMOST, /* the stack ends here */
	/* An interrupted stub of the linker; the bits above have the count of pushed words. */
	GG_ODD_STUB,
	GG_ODD_SIGNAL_CODE, /* a signal trampoline without CFI */
	GG_ODD_RECOMPILE,   /* the rule does not fit: it is compiled each time */
	/* That kind of rule; the bits above have two offsets of GG_ODD_OFFSET_BITS. */
	GG_ODD_FP_DEREF,
	GG_ODD_KIND_BITS = 3,
	GG_ODD_OFFSET_BITS = 8 /* in words from the frame register, plus 128 */
};

extern uint64_t gg_rule_cache_entries[1 << GG_RULE_CACHE_INDEX_BITS];

/* Returns the key of a pc.  For the home, the low bits suffice; the walk's loop has those first. */
static inline uint64_t gg_rule_cache_key(uint64_t pc)
{
	return pc >> GG_ARCH_CODE_SHIFT;
}

static inline uint64_t gg_rule_cache_home(uint64_t key)
{
	return key & ((1 << GG_RULE_CACHE_INDEX_BITS) - 1);
}

/* Returns an address with the same rule as the key. */
static inline uint64_t gg_rule_cache_lookup_pc(uint64_t key)
{
	return (key - 1) << GG_ARCH_CODE_SHIFT;
}

/*
 * True if this entry, read from the home of the key, is a packed rule for the key.  `epoch` is
 * GG_RULE_CACHE_EPOCH(n).
 */
static inline bool gg_rule_cache_is_rule(uint64_t entry, uint64_t key, uint64_t epoch)
{
	return (entry ^ (key << 8) ^ epoch) >> GG_RULE_CACHE_RULE_BITS == 0;
}

/*
 * Searches all places of a key.  If it returns true, *ret_entry has the rule or the odd data, with
 * the displacement cleared.  Otherwise *ret_entry and *ret_slot are the arguments for
 * gg_rule_cache_insert().
 */
bool gg_rule_cache_find(uint64_t key, uint64_t epoch, uint64_t *ret_entry, uint64_t **ret_slot);

/*
 * Stores rule bits (GG_RULE_CACHE_ODD allowed) for a key that gg_rule_cache_find() did not find,
 * unless another thread was faster.  gg_rule_cache_find() returned `seen` and `slot` *before* the
 * rule was compiled.
 */
void gg_rule_cache_insert(uint64_t key, uint64_t epoch, uint64_t rule_bits, uint64_t seen,
                          uint64_t *slot);

/* Fills the table with empty words that it never held before. */
void gg_rule_cache_clear(void);
