/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_link - links between the free blocks of glibc's fast bins and of its threads' caches.
 *
 * From release 2.32 on, a link is mangled with the address where it lies.  The last block of a list
 * has a link to 0, so each list shows which of the two its release has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GG_GLIBC_LINK_SHIFT = 12 };

/* Returns the address to which the word at `at` leads. */
static inline uint64_t gg_glibc_link(bool is_mangled, uint64_t at, uint64_t word)
{
	return is_mangled ? word ^ (at >> GG_GLIBC_LINK_SHIFT) : word;
}
