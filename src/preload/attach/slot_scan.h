/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_scan - leads the slots of all loaded modules to the hooks, or back.
 *
 * A slot is a word through which a module calls a function of another one: in its global offset
 * table, or in a table of functions in its data.  The module's relocations lead to its slots, as
 * they lead the loader.  A slot is changed only if it holds one of these:
 *
 *   the real function       the usual case
 *   an address of its own   of the module's linkage table: the slot is bound at its first call.  A
 *                           thread that is binding it just now may overwrite the change, so the
 *                           modules are scanned again later
 *
 * A slot that holds the address of the function in a program at fixed addresses (its linkage table)
 * needs no change, because the program's own slot is changed.  A slot with anything else belongs to
 * somebody else: it stays, and is counted.
 *
 * A module one of whose slots leads to another allocator may have all of them lead there, so its
 * unbound slots stay until they are bound.
 *
 * Pages     A page that cannot be written (the loader protects tables after it has filled them)
 *           becomes writable for the time of the change, and gets the same protection back.
 * Threads   One thread at a time.  Others may call through the slots meanwhile: each is written as
 *           one word, and both its old and its new function work.
 * Cost      some 30 ns for each relocation that has a symbol, and two system calls for each
 *           protected page with slots; 0.3 ms for a small program.
 */
#pragma once

#include <stdint.h>

struct gg_slot_scan_result {
	uint32_t module_count;  /* with at least one slot of the next line */
	uint32_t slot_count;    /* that lead to hooks after placing, or were led back by removing */
	uint32_t changed_count; /* of these, changed by this scan */
	uint32_t unwritable_count; /* could not be written */
	uint32_t foreign_count;    /* hold another function */
};

/* Leads slots to the hooks: frees first, allocations last. */
struct gg_slot_scan_result gg_slot_scan_place(void);

/* Gives each slot that leads to a hook its old value: allocations first, frees last. */
struct gg_slot_scan_result gg_slot_scan_remove(void);
