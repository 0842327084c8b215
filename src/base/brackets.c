/* SPDX-License-Identifier: Apache-2.0 */
/* brackets - matches the brackets in the demangled name of a C++ or Rust function. */
#include "base/brackets.h"

#include <string.h>

#include "base/compiler.h"

/* The deepest nesting.  If a name nests deeper, its rest counts as content of those brackets. */
enum { BRACKETS_MAX = 128 };

size_t gg_operator_symbol_length(const char *at)
{
	static const char *const symbols[] = {
		"->*", "<<=", ">>=", "<=>", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=",
		"&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
		">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ",",
	};

	for (size_t i = 0; i < GG_COUNT(symbols); i++)
		if (gg_text_begins(at, symbols[i]))
			return strlen(symbols[i]);
	return 0;
}

/*
 * Returns how many brackets stay open after a closing one.  An unmatched "<" was a comparison, so
 * every other closing bracket drops the "<" that are open inside its own pair.  A closing bracket
 * without a partner changes nothing.
 */
static size_t depth_behind(const char *open, size_t depth, char closer)
{
	char opener = closer == ')' ? '(' : closer == '>' ? '<' : closer == ']' ? '[' : '{';

	if (opener != '<')
		while (depth > 0 && open[depth - 1] == '<')
			depth--;
	return depth > 0 && open[depth - 1] == opener ? depth - 1 : depth;
}

const char *gg_behind_brackets(const char *at)
{
	char open[BRACKETS_MAX];
	size_t depth = 0;

	for (; *at != '\0'; at++) {
		switch (*at) {
		case '(':
		case '<':
		case '[':
		case '{':
			if (depth == BRACKETS_MAX)
				return at + strlen(at);
			open[depth++] = *at;
			break;
		case ')':
		case '>':
		case ']':
		case '}':
			depth = depth_behind(open, depth, *at);
			if (depth == 0)
				return at + 1;
			break;
			/* The ">" of "->" closes nothing. */
		case '-':
			at += at[1] == '>';
			break;
		case '\'': /* a quoted character may be a bracket; a lifetime has no second quote */
			at += at[1] != '\0' && at[2] == '\'' ? 2 : 0;
			break;
		case 'o': /* skips the operator's symbol; at[-1] exists behind a bracket */
			if (gg_text_begins(at, "operator") && !gg_is_identifier_byte(at[-1]))
				at += strlen("operator") - 1 + gg_operator_symbol_length(at + 8);
			break;
		default:
			break;
		}
	}
	return at;
}
