/* SPDX-License-Identifier: Apache-2.0 */
/* arch_common - reads words of a stack, for the headers of both architectures; see arch.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/rule.h"

/*
 * The walker reads frames of other functions on purpose, and a sanitizer would report that as an
 * overflow.  A function with this attribute can only be inlined into one that also has it.
 */
#define GG_RAW_STACK __attribute__((no_sanitize("address", "thread", "undefined")))

/* gg_arch_stub_words() reads so many bytes of code before and after the pc */
enum { GG_ARCH_STUB_BYTES = 16 };

/* Reads one word of a stack.  The caller has checked the address. */
GG_RAW_STACK static inline uint64_t gg_stack_word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}
