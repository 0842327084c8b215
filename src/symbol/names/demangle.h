/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle - turns the linker's names into names as programmers write them.
 *
 *                  full                                      short
 *   C++            ns::f<int>(char, int) const               ns::f<...>
 *   Rust, v0       <a::T<u8> as b::Tr>::f::<u32>             <a::T<...> as b::Tr>::f::<...>
 *   Rust, legacy   a::b::f::h0123456789abcdef                a::b::f
 *   other          f.part.0                                  f
 *
 * libiberty, which GCC and binutils maintain, demangles both languages (docs/internals/SYMBOLS.md).
 * A build without libiberty leaves all names mangled.
 *
 * Bounds   Names are hostile, so the enum limits them.  Beyond a limit a name stays mangled.
 *          libiberty itself refuses C++ names of more than 1024 bytes or 1024 nested parts.
 * Threads  Any; the functions keep no state.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum {
	GG_DEMANGLE_NAME_MAX = 16384, /* bytes of a mangled name */
	GG_DEMANGLE_TEXT_MAX = 65536, /* bytes of a result: each back reference can double it */
};

/*
 * Replaces the contents of both buffers.  Any text is valid input.  A name that is not mangled is
 * its own full name, and its short name lacks the clone suffixes and the symbol version.  The
 * results are empty only if the name is.  A lack of memory sets `failed` of a buffer.
 */
void gg_demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name);

/* Appends the short form of a demangled C++ name.  Any text is valid input. */
void gg_shorten_cxx(const char *full, struct gg_buf *out);
/*
 * Appends the short form of `length` bytes of a demangled Rust name.  A 0 byte must end its buffer.
 */
void gg_shorten_rust(const char *full, size_t length, struct gg_buf *out);
