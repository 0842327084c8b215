/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch - what the walker must know about the processor; one header per architecture.
 *
 * Each defines
 *
 *   gg_arch_registers_here()     the registers of the calling function, for the start of a walk
 *   gg_arch_thread_pointer()     lies above the frames of a thread that libc started
 *   gg_arch_probe()              asks the kernel whether an address can be read (stack_bounds.h)
 *   gg_arch_strip()              removes an authentication code from a return address
 *   gg_arch_pack()               a rule in the 24 bits of a cache entry, if it fits
 *   gg_arch_packed_*()           what such a rule says
 *   gg_arch_stub_words()         what a stub of the linker has pushed where it was interrupted
 *   gg_arch_is_signal_return()   are these bytes the code of a signal trampoline?
 *   gg_arch_signal_registers()   what the kernel saved where that trampoline runs
 *
 * and GG_ARCH_FALLBACK, the packed rule of code that has no CFI and keeps a frame pointer.
 *
 * What must hold for a packed rule: the CFA is above the base register, every slot that it names
 * is in [base, CFA).  So a walk that has checked base and CFA against the stack needs no more
 * checks (rule_cache.h, walk.c).
 */
#pragma once

#include "unwind/arch/arch_aarch64.h"
#include "unwind/arch/arch_x86_64.h"
