/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch - describes the processor to the walker, with one header for each architecture.
 *
 * Each header defines
 *
 *   gg_arch_registers_here()     reads the registers of the calling function, where a walk starts
 *   gg_arch_thread_pointer()     lies above the frames of a thread that libc started
 *   gg_arch_probe()              asks the kernel whether an address is readable (stack_bounds.h)
 *   gg_arch_strip()              removes an authentication code from a return address
 *   gg_arch_pack()               packs a rule into the bits of a cache entry, if it fits
 *   gg_arch_packed_*()           read the parts of a packed rule
 *   gg_arch_stub_words()         counts the words that an interrupted stub of the linker has pushed
 *   gg_arch_is_signal_return()   recognizes the code of a signal trampoline
 *   gg_arch_signal_registers()   reads the registers that the kernel saved for that trampoline
 *
 * and GG_ARCH_FALLBACK, the packed rule of code that has no CFI and keeps a frame pointer.
 *
 * Invariant of a packed rule: the CFA is above the base register, and every slot that the rule
 * names is in [base, CFA).  So a walk that has checked base and CFA against the stack needs no more
 * checks (rule_cache.h, walk.c).
 */
#pragma once

#include "unwind/arch/arch_aarch64.h"
#include "unwind/arch/arch_x86_64.h"
