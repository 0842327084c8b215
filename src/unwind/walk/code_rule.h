/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rule - derives the rule of code without CFI from its instructions.
 *
 * musl's libc has no CFI and keeps no frame pointers, so without this every stack through
 * strdup(), qsort() or getline() would end there, or lose a caller.
 *
 * From pc on, the code leads to the function's end in some way, and what it does to the stack
 * pointer until there tells where the return address is: every pop, every addition to rsp, leave.
 * So the instructions are decoded forwards: calls are passed over, jumps are followed, conditional
 * jumps are first taken as not taken, and later the other way.  A jump through a slot is a call of
 * another function in place of the end.
 *
 *   1. A path ends at ret, or at such a jump.  Its rule counts only if the word on the stack that
 *      would be the return address is behind a call instruction.  Otherwise the next path is tried.
 *   2. A path that meets what it does not understand (another change of rsp, an invalid
 *      instruction, a loop without end) is dropped.
 *   3. If no path is left, or after STEPS_MAX instructions, there is no rule.
 *
 * x86-64 only; elsewhere there is no rule.
 *
 * Hostile  the bytes may be no code.  Each page is checked before it is read.
 * Cost     some microseconds; only at a miss of the rule cache.
 * Threads  any, also in signal handlers.  The state is on the stack, below 1 KiB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi/rule.h"

struct gg_walk;

/* Makes the rule of w->pc.  Returns false if the code gives none. */
bool gg_code_rule(struct gg_walk *w, struct gg_unwind_rule *ret_rule);
