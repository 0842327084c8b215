/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer - tells whether a sanitizer's runtime is the program's allocator.
 *
 * AddressSanitizer, ThreadSanitizer and HWAddressSanitizer replace the allocator and much of libc.
 * Their functions crash if they are called before their own constructor, and the agent's hooks are
 * called earlier.  In such a program the agent's hooks only pass calls on.
 *
 * When    The answer is known while the loader relocates this library: the resolver of an indirect
 *         function finds it, before any constructor and any hook can run.  It calls nothing outside
 *         its file.
 * Order   AddressSanitizer ends a program in which its runtime is not the first library ("runtime
 *         does not come first"), judged by the names in the loader's list.  So if that runtime is
 *         present, this library's name in the list gets a suffix that satisfies the check.
 * Static  A runtime that is linked into the program needs none of this: the program's own malloc()
 *         comes before ours.
 */
#pragma once

/* Returns the file name of the sanitizer's runtime, or NULL without one. */
const char *gg_sanitizer_runtime(void);
