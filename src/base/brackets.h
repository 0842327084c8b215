/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brackets - finds the bracket that closes another in the demangled name of a C++ or Rust function.
 *
 * Any text is valid input: a bracket without a partner extends to the end of the text.
 *
 * Threads  Any; the functions keep no state.
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether the text begins with the word. */
static inline bool gg_text_begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Whether the byte belongs to an identifier.  Bytes of other than ASCII characters do. */
static inline bool gg_is_identifier_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 128;
}

/*
 * Returns the place behind the bracket that closes the one at `at`.  In expressions "<" and ">" may
 * be comparisons.  Therefore ">" closes only a "<" that is innermost, and every other closing
 * bracket also closes the "<" that are open inside its pair.  The symbol of an operator
 * ("operator<<") and a quoted character (Rust's constant '<') are no brackets.
 */
const char *gg_behind_brackets(const char *at);

/*
 * Returns the length of an operator's symbol, such as "<<" or "()", in bytes.  The caller has
 * already passed the word "operator".  0: there is no symbol at `at`.
 */
size_t gg_operator_symbol_length(const char *at);
