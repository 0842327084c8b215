/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf - functions, inlined calls and lines of many addresses at once.
 *
 * elfutils answers one address at a time, and looks for its function from the top of its unit each
 * time.  Here the addresses are sorted, and each unit that has any of them is walked once:
 *
 *   - a function or an inlined call claims the addresses in its ranges, a slice or some slices of
 *     the array; only what has claimed some is looked into
 *   - what is claimed by an inlined call was its caller's before: the last claim is the innermost
 *   - the line of the innermost frame is in the line table; an outer frame's line is where the
 *     inlined call stands
 *
 * Functions in unusual places (nested ones of C, methods that stand in their class) are looked for
 * in a second walk of the whole unit, only for addresses that the first one left without function.
 *
 * Memory  libdw keeps what it has read; after every 2^21 lines of line tables it is closed and
 *         opened again, which frees that.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbol/resolve/module_symbols.h"

struct gg_dwarf_result {
	bool has_dwarf;     /* it could be read */
	bool is_incomplete; /* a .dwo file is missing */
};

/*
 * alt: the file that elf's .gnu_debugaltlink names, or NULL.  *done_count is told how many addresses
 * have their functions, as it goes (worker.h).
 */
struct gg_dwarf_result gg_dwarf_resolve(Elf *elf, Elf *alt, struct gg_module_symbols *answers,
                                        uint64_t *done_count);
