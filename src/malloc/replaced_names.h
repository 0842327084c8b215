/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replaced_names - gives a function the name that libc's has, where the library replaces it.
 *
 *   GG_MALLOC_NAME(malloc, geiger_malloc);
 *
 * The other name is of the same code, so that it costs no jump.  Stands in the file that defines
 * the function.
 */
#pragma once

#include "base/compiler.h"

#ifdef GG_MALLOC_REPLACES
#define GG_MALLOC_NAME(name, function) \
	GG_EXPORT extern __typeof__(function) name __attribute__((alias(#function)))
#else
#define GG_MALLOC_NAME(name, function) _Static_assert(1, #name)
#endif
