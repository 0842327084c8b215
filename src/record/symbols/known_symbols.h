/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_symbols - the names of addresses that were looked up before, for all processes of a sender.
 *
 *   gg_known_symbols_new(&known, error);
 *   gg_symbolize_with(profile, &options, known, &result, error) ...   for one process after another
 *   gg_known_symbols_free(known);
 *
 * Processes of one service have the same files and nearly the same stacks.  A look-up forks, and
 * reads each file anew; an address that is known costs a search.
 *
 * Never wrong  a file is known by its build-id; one without it is looked up each time.
 * Late         debug information that is installed later takes effect after KNOWN_SECONDS: then the
 *              module forgets everything.  It does so beyond KNOWN_BYTES_MAX as well.
 * Passing      a file that could not be read, or only without DWARF, perhaps for want of time, is
 *              read again by the next look-up.
 * Memory       KNOWN_BYTES_MAX, and the answers of one look-up; some 250 bytes an address.
 * Threads      one owner at a time.
 */
#pragma once

#include "symbol/symbol.h"

struct gg_known_symbols;

GG_MUST_CHECK int gg_known_symbols_new(struct gg_known_symbols **ret_known, struct gg_error *error);
void gg_known_symbols_free(struct gg_known_symbols *known); /* NULL is fine */

/* Begins a look-up, and forgets what is too old, too much, or could not be read. */
void gg_known_symbols_begin(struct gg_known_symbols *known);

/* Returns the number of a module with a build-id; UINT32_MAX: memory ran out. */
uint32_t gg_known_symbols_module(struct gg_known_symbols *known,
                                 const struct gg_symbol_module *module);
/* The memory that the answers take. */
size_t gg_known_symbols_bytes(const struct gg_known_symbols *known);
bool gg_known_symbols_has(const struct gg_known_symbols *known, uint32_t module, uint64_t address);

/*
 * Takes over the answers for asked[0..count), which are about the modules `numbers`; each has
 * addresses.  -ENOMEM: nothing changed, and the caller keeps them.
 */
GG_MUST_CHECK int gg_known_symbols_keep(struct gg_known_symbols *known, struct gg_symbols *symbols,
                                        const struct gg_symbol_module *asked,
                                        const uint32_t *numbers, size_t count);

/*
 * As gg_symbols_frames() and gg_symbols_outcome().  The outcome is the best of all look-ups, unless
 * the last one could not read the file.
 */
size_t gg_known_symbols_frames(const struct gg_known_symbols *known, uint32_t module,
                               uint64_t address, const struct gg_symbol_frame **ret_frames);
const struct gg_symbol_outcome *gg_known_symbols_outcome(const struct gg_known_symbols *known,
                                                         uint32_t module);
