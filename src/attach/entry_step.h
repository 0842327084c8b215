/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_step - executes the first instruction of a function for a thread that stands at it.
 *
 *   if (gg_entry_step(&registers, &memory, code, sizeof(code)))
 *           status = gg_tracer_write_registers(tid, &registers);
 *
 * A thread that stands at a trap (trap_plan.h) cannot execute the instruction that the trap
 * replaced.  This does it instead, so the trap can stay.  The processor's own single step would end
 * in SIGTRAP, which kills the program if nobody traces it any more by then.
 *
 * Known are the instructions with which compilers begin the functions of allocators: endbr64, push,
 * test and mov between registers, xor of a register with itself, and sub from the stack pointer
 * (Intel's manual, volume 2).  If a function begins otherwise, nothing is changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach/remote_memory.h"

/*
 * Changes the registers, and for push the memory below the stack pointer, as the instruction of
 * `code` does.  The caller writes the registers.  Returns false if the instruction is not known, or
 * the memory cannot be written.
 */
bool gg_entry_step(struct user_regs_struct *registers, const struct gg_remote_memory *memory,
                   const uint8_t *code, size_t count);
