/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trap_plan - the traps: changed code that lets threads wait at the entries of functions.
 *
 *   if (gg_trap_plan_add(&plan, &memory, address) == 0)
 *           ...
 *   status = gg_trap_plan_plant(&plan, &memory);
 *   gg_trap_plan_remove(&plan, &memory);
 *
 * Trap      A jump to itself in place of the first bytes of a function.  A thread that enters the
 *           function spins there.  It gets no signal, so the program's handlers and masks do not
 *           matter, and nothing is on its way to a thread after the trap is removed: the thread
 *           then executes the function, as if it had come later.
 * Writing   A trap lies within one aligned word of eight bytes, and is written as that word.  A
 *           thread that reads the word sees the old or the new one (test_attach_trap_plan.c).  A
 *           processor that executes it may see a mixture, so the caller stops the threads that run
 *           (held_threads.h).
 * Entries   The trap must not be longer than the first instruction: no thread can then stand
 *           inside of the changed bytes.  Other functions get no trap.
 * Killed    The plan lies in memory that a guardian shares, which removes the traps if the process
 *           that planted them is killed.  Until then threads spin; afterwards they go on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/remote_memory.h"
#include "base/error.h"

enum { GG_TRAPS_MAX = 4 };

struct gg_trap {
	uint64_t entry; /* of the function */
	uint64_t place; /* of the aligned word */
	uint64_t original, trapped;
};

struct gg_trap_plan {
	struct gg_trap traps[GG_TRAPS_MAX];
	uint32_t count;
	uint32_t is_planted; /* read by another process: it is set before and cleared after */
};

/*
 * Adds a trap at the entry of a function; nothing is written.  Returns 0 or -Exxx: -ENOTSUP: the
 * function can have no trap; -EBUSY: a breakpoint, or a trap, is there; -EIO: it cannot be read.
 */
GG_MUST_CHECK int gg_trap_plan_add(struct gg_trap_plan *plan, const struct gg_remote_memory *memory,
                                   uint64_t entry);

/* Finds the word of a trap.  Returns 0 or -ENOTSUP, as above. */
GG_MUST_CHECK int gg_trap_plan_place(uint64_t entry, struct gg_trap *ret_trap);

/* Sets both words of a trap, from the original one. */
void gg_trap_plan_set_words(struct gg_trap *trap, uint64_t original);

/* True if the word has this trap. */
bool gg_trap_plan_is_trap(const struct gg_trap *trap, uint64_t word);

/* Writes the traps.  On failure none is left. */
GG_MUST_CHECK int gg_trap_plan_plant(struct gg_trap_plan *plan,
                                     const struct gg_remote_memory *memory);

/* Writes the original words, if the traps are planted. */
void gg_trap_plan_remove(struct gg_trap_plan *plan, const struct gg_remote_memory *memory);

/*
 * Writes the original words where this memory has traps: that of a child, which is a copy.  Returns
 * how many words it wrote.
 */
uint32_t gg_trap_plan_clean(const struct gg_trap_plan *plan, const struct gg_remote_memory *memory);

/* Returns how many of the traps are in this memory. */
uint32_t gg_trap_plan_count(const struct gg_trap_plan *plan, const struct gg_remote_memory *memory);

/* Returns the trap at `pc`, or NULL. */
const struct gg_trap *gg_trap_plan_find(const struct gg_trap_plan *plan, uint64_t pc);

/* True if `pc` is a trap of the plan. */
bool gg_trap_plan_has(const struct gg_trap_plan *plan, uint64_t pc);

/* True if the first instruction of this x86-64 code has only one byte. */
bool gg_trap_plan_is_short(const uint8_t *code);
