/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf - finds functions, inlined calls and lines of many addresses at once.
 *
 * elfutils resolves one address at a time and searches for its function from the start of the unit
 * each time.  Instead, this module sorts the addresses and walks each unit that contains any of
 * them once:
 *
 * - A function or an inlined call claims the addresses in its ranges, which are slices of the
 *   array.  The walk enters only scopes that have claimed an address.
 * - An inlined call claims addresses that its caller has claimed before, so the last claim is the
 *   innermost scope.
 * - The line table has the line of the innermost frame.  The line of an outer frame is that of the
 *   inlined call.
 *
 * A second walk of the whole unit finds functions in unusual places (nested functions of C, methods
 * that are defined in their class).  It searches only for addresses that the first walk left
 * without a function.
 *
 * Memory  libdw keeps everything that it has read.  After every 2^21 lines of line tables the
 *         module closes it and opens it again, which frees that memory.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbol/resolve/module_symbols.h"

struct gg_dwarf_result {
	bool has_dwarf;     /* libdw could read the DWARF */
	bool is_incomplete; /* a .dwo file is missing */
};

/*
 * `alt` is the file that elf's .gnu_debugaltlink names, or NULL.  The function adds the number of
 * addresses whose functions it has found to *done_count (symbol/resolve/worker.h).
 */
struct gg_dwarf_result gg_dwarf_resolve(Elf *elf, Elf *alt, struct gg_module_symbols *answers,
                                        uint64_t *done_count);
