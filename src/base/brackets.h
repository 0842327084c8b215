/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brackets - which bracket closes which, in the demangled name of a C++ or Rust function.
 *
 * Any text is fine: brackets that do not match end at the end of the text.
 *
 * Threads  any; no state.
 */
#pragma once

#include <stddef.h>

/*
 * The place behind the bracket that closes the one at `at`.  In expressions "<" and ">" may be
 * comparisons: a ">" closes only a "<" that is innermost, and other brackets close what "<" is open
 * inside them.  The symbol of an operator ("operator<<") is no bracket, nor is a quoted
 * character (Rust's constant '<').
 */
const char *gg_behind_brackets(const char *at);

/* Bytes of the symbol of an operator, such as "<<" or "()"; "operator" stands before it.  0: none. */
size_t gg_operator_symbol_length(const char *at);
