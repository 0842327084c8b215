/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer - is the program built with a sanitizer that has malloc() itself?
 *
 * AddressSanitizer, ThreadSanitizer and HWAddressSanitizer replace the allocator and much of libc.  Their
 * functions crash when they are called before their own constructor, and the agent's hooks are called
 * earlier.  In such a program the agent does nothing but pass calls on.
 *
 * When    The answer is found while the loader relocates this library: by the resolver of an indirect
 *         function, which runs before any constructor and before any hook can be called.  It calls
 *         nothing outside this file.
 * Order   AddressSanitizer ends a program where its runtime is not the first library after the
 *         program ("runtime does not come first"); it goes by the loader's names.  So where that runtime
 *         is found, this library's name in the loader's list gets a suffix that satisfies the check.
 * Else    Runtimes that are linked into the program statically need nothing of this: the program's own
 *         malloc() comes before ours.
 */
#pragma once

/* The file name of the sanitizer's runtime; NULL: there is none. */
const char *gg_sanitizer_runtime(void);
