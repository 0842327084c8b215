/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trap_repair - takes traps out of code that a killed geiger left there.
 *
 *   if (gg_trap_repair(&memory, address) > 0)
 *           ... the function runs again ...
 *
 * If somebody kills the helper and its guardian together (attachment.h), their traps stay, and with
 * them the threads that wait there.  The file of the module has the original code.  A function is
 * restored only if its word in memory is that of the file with a trap in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/remote_memory.h"
#include "base/error.h"

/* True if the entry of the function has a trap; nothing is written. */
bool gg_trap_repair_is_needed(const struct gg_remote_memory *memory, uint64_t entry);

/*
 * Restores the entry of a function, while no thread runs (trap_removal.h).  Returns 1, or 0 if it
 * has no trap, or -Exxx: -ENOENT: no file has the code.
 */
GG_MUST_CHECK int gg_trap_repair(const struct gg_remote_memory *memory, uint64_t entry);
