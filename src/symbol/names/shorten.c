/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorten - makes the short form of a demangled name in one pass over its text.
 *
 * Outside brackets, a C++ name is a chain of parts and "::".  The pass drops or shortens these
 * parts:
 *
 *   <...>          template arguments become "<...>"
 *   (...)          arguments and the qualifiers behind them go
 *   type blank     a return type before a blank goes, but not "vtable for" and similar words
 *   [clone .x]     goes, like [abi:x]
 *
 * The brackets and blanks of an operator belong to its name.  Text that is not a C++ name gives
 * some other text: a bracket without a partner extends to the end.
 */
#include <string.h>

#include "base/brackets.h"
#include "symbol/names/demangle.h"

struct unshortened_text {
	const char *at;
	struct gg_buf *out;
	size_t start; /* start of the name in `out`; earlier text stays */
};

static void take(struct unshortened_text *text, size_t length)
{
	gg_buf_append(text->out, text->at, length);
	text->at += length;
}

/* Replaces template arguments, at a "<", by "<...>". */
static void template_arguments(struct unshortened_text *text)
{
	gg_buf_append_text(text->out, "<...>");
	text->at = gg_behind_brackets(text->at);
}

/* Takes the type of a conversion operator, up to its arguments. */
static void conversion_type(struct unshortened_text *text)
{
	while (*text->at != '\0' && *text->at != '(') {
		if (*text->at == '<')
			template_arguments(text);
		else if (*text->at == '[')
			text->at = gg_behind_brackets(text->at);
		else
			take(text, 1);
	}
}

/* Takes "operator" and the symbol, word or type that belongs to it. */
static void operator_name(struct unshortened_text *text)
{
	size_t symbol;

	take(text, strlen("operator"));
	symbol = gg_operator_symbol_length(text->at);
	if (symbol > 0) {
		take(text, symbol);
		if (gg_text_begins(text->at,
		                   " <")) /* drops the blank that separates << from <int> */
			text->at++;
	} else if (gg_text_begins(text->at, "\"\"")) {
		take(text, 2);
		if (*text->at == ' ')
			take(text, 1);
	} else if (gg_text_begins(text->at, " new") || gg_text_begins(text->at, " delete") ||
	           gg_text_begins(text->at, " co_await")) {
		take(text, 1);
		while (gg_is_identifier_byte(*text->at))
			take(text, 1);
		if (gg_text_begins(text->at, "[]"))
			take(text, 2);
	} else if (*text->at == ' ') {
		conversion_type(text);
	}
}

/*
 * Takes the contents of "{lambda(int)#1}", "{unnamed type#1}" or "{default arg#1}" without
 * arguments.
 */
static void braces(struct unshortened_text *text)
{
	const char *end = gg_behind_brackets(text->at);

	while (text->at < end) {
		if (*text->at == '(')
			text->at = gg_behind_brackets(text->at);
		else
			take(text, 1);
	}
}

/* Skips the qualifiers that belong to the arguments before them. */
static void skip_qualifiers(struct unshortened_text *text)
{
	static const char *const qualifiers[] = { " const", " volatile", " &&",
		                                  " &",     " noexcept", " restrict" };

	for (size_t i = 0; i < GG_COUNT(qualifiers);) {
		size_t length = strlen(qualifiers[i]);

		if (gg_text_begins(text->at, qualifiers[i]) &&
		    !gg_is_identifier_byte(text->at[length])) {
			text->at += length;
			i = 0;
		} else {
			i++;
		}
	}
}

/*
 * True if the text is a word of a phrase such as "vtable for X".  A blank behind it is part of the
 * name.
 */
static bool is_prefix(const char *text)
{
	static const char *const prefixes[] = {
		"non-virtual",
		"virtual",
		"covariant",
		"thunk",
		"return",
		"to",
		"vtable",
		"VTT",
		"typeinfo",
		"name",
		"fn",
		"guard",
		"variable",
		"for",
		"construction",
		"TLS",
		"init",
		"wrapper",
		"function",
		"reference",
		"temporary",
		"#0",
		"global",
		"constructors",
		"keyed",
		"destructors",
		"transaction",
		"clone",
		"non-transaction",
	};

	for (size_t i = 0; i < GG_COUNT(prefixes); i++)
		if (strcmp(text, prefixes[i]) == 0)
			return true;
	return false;
}

static void blank(struct unshortened_text *text)
{
	text->at++;
	if (text->out->length > text->start && !text->out->failed &&
	    is_prefix(text->out->data + text->start)) {
		gg_buf_append(text->out, " ", 1);
		text->start = text->out->length;
	} else if (!text->out->failed && text->out->length > 0) {
		/*
		 * The text was a return type, and the name follows.  The argument of decltype()
		 * belongs to that type.
		 */
		if (strcmp(text->out->data + text->start, "decltype") == 0 && *text->at == '(')
			text->at = gg_behind_brackets(text->at);
		text->out->length = text->start;
		text->out->data[text->start] = '\0';
	}
}

/* Handles one part at the top level.  Returns false at the end of the name. */
static bool part(struct unshortened_text *text)
{
	bool at_word = text->out->length == text->start || !gg_is_identifier_byte(text->at[-1]);

	switch (*text->at) {
	case '\0':
		return false;
	case '<':
		template_arguments(text);
		return true;
	case '{':
		braces(text);
		return true;
	case '[':
		text->at = gg_behind_brackets(text->at);
		return true;
	case ' ':
		if (gg_text_begins(text->at, " [clone"))
			return false;
		blank(text);
		return true;
	case '(':
		if (gg_text_begins(text->at, "(anonymous namespace)")) {
			take(text, strlen("(anonymous namespace)"));
		} else if (text->out->length == text->start &&
		           (text->at[1] == '*' || text->at[1] == '&')) {
			text->at += 2; /* void (*f(int))(char): the name is inside */
		} else {
			text->at = gg_behind_brackets(text->at);
			skip_qualifiers(text);
			/*
			 * Behind arguments the name continues only if it is local to that function
			 * ("::"), or if this was a return type with brackets of its own:
			 * decltype(x) f().
			 */
			return *text->at == ':' || *text->at == ' ';
		}
		return true;
	case ')':
		return false;
	default:
		if (at_word && gg_text_begins(text->at, "operator") &&
		    !gg_is_identifier_byte(text->at[8]))
			operator_name(text);
		else
			take(text, 1);
		return true;
	}
}

void gg_shorten_cxx(const char *full, struct gg_buf *out)
{
	struct unshortened_text text = { .at = full, .out = out, .start = out->length };

	while (!out->failed && part(&text))
		;
}

/*
 * True if this "<" of a Rust name opens generic arguments: behind a word, a bracket or "::".
 * Another "<" belongs to a path such as <T as Trait> or ::<impl Trait for T>, which stays, while
 * arguments inside it are replaced.  The "<" of for<'a> does not open arguments.
 */
static bool opens_rust_arguments(const char *text, const char *at)
{
	size_t before = (size_t)(at - text);

	if (before >= 2 && strncmp(at - 2, "::", 2) == 0)
		return !gg_text_begins(at, "<impl ");
	if (before >= 3 && strncmp(at - 3, "for", 3) == 0 &&
	    (before == 3 || !gg_is_identifier_byte(at[-4])))
		return false;
	return before > 0 && (gg_is_identifier_byte(at[-1]) || at[-1] == '}' || at[-1] == '>');
}

void gg_shorten_rust(const char *full, size_t length, struct gg_buf *out)
{
	const char *end = full + length;

	for (const char *at = full; at < end;) {
		if (*at == '<' && opens_rust_arguments(full, at)) {
			gg_buf_append_text(out, "<...>");
			at = gg_behind_brackets(at);
		} else {
			gg_buf_append(out, at++, 1);
		}
	}
}
