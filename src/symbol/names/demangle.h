/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle - names as programmers write them, from names as linkers see them.
 *
 *                  full                                      short
 *   C++            ns::f<int>(char, int) const               ns::f<...>
 *   Rust, v0       <a::T<u8> as b::Tr>::f::<u32>             <a::T<...> as b::Tr>::f::<...>
 *   Rust, legacy   a::b::f::h0123456789abcdef                a::b::f
 *   else           f.part.0                                  f
 *
 * libiberty, which GCC and binutils maintain, demangles both languages (docs/internals/SYMBOLS.md).  A build
 * without libiberty leaves all names mangled.
 *
 * Bounds   names are hostile: see the enum.  Beyond a bound the name stays as it is.  libiberty
 *          itself refuses C++ names of more than 1024 bytes and more than 1024 parts within parts.
 * Threads  any; no state.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum {
	GG_DEMANGLE_NAME_MAX = 16384, /* bytes of a mangled name */
	GG_DEMANGLE_TEXT_MAX =
		65536, /* bytes of a result: back references can double it each time */
};

/*
 * Replaces the contents of both buffers.  Any text is fine: what is not mangled becomes the full name
 * as it is, and its short form without clone suffixes and symbol versions.  Never empty unless the
 * name is; check `failed` of the buffers for memory.
 */
void gg_demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name);

/* Appends the short form of a demangled C++ name.  Any text is fine. */
void gg_shorten_cxx(const char *full, struct gg_buf *out);
/* Appends the short form of `length` bytes of a demangled Rust name; a 0 byte ends its buffer. */
void gg_shorten_rust(const char *full, size_t length, struct gg_buf *out);
