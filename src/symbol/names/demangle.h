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
 * C++ is left to the compiler's own __cxa_demangle, linked statically (docs/SYMBOLS.md says why);
 * without it C++ names stay as they are.  Rust is ours: the v0 scheme as RFC 2603 defines it, and
 * the legacy one, which looks like C++ with escapes and a hash as its last part.
 *
 * Bounds   names are hostile: see the enum.  Beyond a bound the name stays as it is.
 * Threads  any; no state.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum {
	GG_DEMANGLE_NAME_MAX = 16384, /* bytes of a mangled name */
	GG_DEMANGLE_TEXT_MAX =
		65536, /* bytes of a result: v0's references can double it each time */
	GG_DEMANGLE_STEPS_MAX = 65536, /* parts of a v0 name that are looked at */
	GG_DEMANGLE_DEPTH_MAX = 256,   /* parts within parts */
};

enum gg_name_form { GG_NAME_FULL, GG_NAME_SHORT };

/*
 * Replaces the contents of both buffers.  Any text is fine: what is not mangled becomes the full name
 * as it is, and its short form without clone suffixes and symbol versions.  Never empty unless the
 * name is; check `failed` of the buffers for memory.
 */
void gg_demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name);

/* Appends the demangled name, or appends nothing and is false if it is not a Rust name. */
bool gg_demangle_rust_v0(const char *linkage_name, enum gg_name_form form, struct gg_buf *out);
bool gg_demangle_rust_legacy(const char *linkage_name, enum gg_name_form form, struct gg_buf *out);

/* Appends the short form of a demangled C++ name.  Any text is fine. */
void gg_shorten_cxx(const char *full, struct gg_buf *out);
