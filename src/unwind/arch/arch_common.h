/* SPDX-License-Identifier: Apache-2.0 */
/* arch_common - what the headers of the architectures share; see arch.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/rule.h"

/*
 * The walker reads other functions' frames on purpose; a sanitizer would call that an overflow.
 * Inlined into each other, such functions must all say so.
 */
#define GG_RAW_STACK __attribute__((no_sanitize("address", "thread", "undefined")))

enum { GG_ARCH_STUB_BYTES = 16 }; /* of code on either side: what gg_arch_stub_words() looks at */

/* One word of a stack; `address` was checked by the caller. */
GG_RAW_STACK static inline uint64_t gg_stack_word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}
