/* SPDX-License-Identifier: Apache-2.0 */
/* demangle - demangles names with libiberty, within bounds of time and memory. */
#include "symbol/names/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_LIBIBERTY
#include <libiberty/demangle.h>

enum { LEGACY_HASH_LENGTH = 19 }; /* "::h" and 16 digits */

/* The text that a demangler writes piece by piece. */
struct demangled_text {
	struct gg_buf *out;
	bool is_cut;
	jmp_buf stop;
};

static bool is_ascii(const char *piece, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)piece[i] >= 128)
			return false;
	return true;
}

/*
 * A hostile name of 100 bytes can stand for 2^40 bytes of text, and a callback cannot stop
 * libiberty.  Therefore the callback leaves by longjmp(). libiberty holds memory only while it
 * passes a decoded punycode identifier, which always has a character beyond ASCII.  After such a
 * piece the callback waits for the next one, so that nothing leaks.
 */
static void append(const char *piece, size_t length, void *context)
{
	struct demangled_text *text = context;

	if (text->is_cut || length > GG_DEMANGLE_TEXT_MAX - text->out->length)
		text->is_cut = true;
	else
		gg_buf_append(text->out, piece, length);
	if (text->is_cut && is_ascii(piece, length))
		longjmp(text->stop, 1);
}

/*
 * Replaces the contents of `out`.  Returns false if the demangler does not accept the name, or if
 * its text is too long.
 */
static bool run(int (*demangler)(const char *, int, demangle_callbackref, void *),
                const char *linkage_name, int options, struct gg_buf *out)
{
	struct demangled_text text = { .out = out };

	gg_buf_clear(out);
	if (setjmp(text.stop) != 0)
		return false;
	return demangler(linkage_name, options, append, &text) != 0 && !text.is_cut &&
	       !out->failed && out->length > 0;
}

/*
 * True if libiberty finishes this v0 name in reasonable time.  It counts up to the number of
 * lifetimes behind a G, which can be 2^64, and prints no lifetime in parts that it skips.
 *
 * The check works on a copy, in which numbers of impossible size are invalid: a G or B with more
 * digits than the count of lifetimes or the offset of a back reference can have becomes a g, which
 * begins no part.  The same letter inside an identifier or a hash does not change the structure.
 * So if libiberty accepts the copy, it reads the original in the same steps, and no step meets such
 * a number.
 */
static bool is_bounded(const char *linkage_name, struct gg_buf *scratch)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	enum { LIFETIME_DIGITS_MAX = 2, OFFSET_DIGITS_MAX = 3 };
	char copy[GG_DEMANGLE_NAME_MAX + 1];
	bool is_changed = false;

	strcpy(copy, linkage_name);
	for (char *at = copy; (at = strpbrk(at, "BG")) != NULL; at++) {
		size_t digits_max = *at == 'G' ? LIFETIME_DIGITS_MAX : OFFSET_DIGITS_MAX, count = 0;

		while (count <= digits_max && at[1 + count] != '\0' &&
		       strchr(digits, at[1 + count]) != NULL)
			count++;
		if (count > digits_max) {
			*at = 'g';
			is_changed = true;
		}
	}
	return !is_changed || run(rust_demangle_callback, copy, DMGL_NO_OPTS, scratch);
}

/* Returns the suffix of a Rust name, such as ".llvm.42", which libiberty leaves out. */
static const char *rust_suffix(const char *linkage_name, bool is_legacy)
{
	const char *end = linkage_name + strlen(linkage_name);

	if (!is_legacy)
		return linkage_name + strcspn(linkage_name, ".");
	while (end > linkage_name && !(end[-1] == 'E' && (*end == '.' || *end == '\0')))
		end--;
	return end;
}

static bool demangle_rust(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name)
{
	bool is_legacy = strncmp(linkage_name, "_ZN", 3) == 0;

	if (!is_legacy && (strncmp(linkage_name, "_R", 2) != 0 || !is_bounded(linkage_name, full)))
		return false;
	/*
	 * The verbose form keeps the hash of a legacy name, which is cut off below for the short
	 * name.  For a v0 name it would add crate hashes.  So only legacy names are verbose.
	 */
	if (!run(rust_demangle_callback, linkage_name, is_legacy ? DMGL_VERBOSE : DMGL_NO_OPTS,
	         full))
		return false;
	gg_shorten_rust(full->data, full->length - (is_legacy ? LEGACY_HASH_LENGTH : 0),
	                short_name);
	gg_buf_append_text(full, rust_suffix(linkage_name, is_legacy));
	return true;
}

static bool demangle_cxx(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name)
{
	if (strncmp(linkage_name, "_Z", 2) != 0 ||
	    !run(cplus_demangle_v3_callback, linkage_name, DMGL_PARAMS | DMGL_ANSI, full))
		return false;
	gg_shorten_cxx(full->data, short_name);
	return true;
}

static bool demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name)
{
	return demangle_rust(linkage_name, full, short_name) ||
	       demangle_cxx(linkage_name, full, short_name);
}
#else
static bool demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name)
{
	(void)linkage_name;
	(void)full;
	(void)short_name;
	return false;
}
#endif

/*
 * True for a suffix that compilers append to the name of a function that they made from another
 * one.
 */
static bool is_clone_suffix(const char *suffix)
{
	static const char *const words[] = { "part",     "constprop", "isra",   "cold", "warm",
		                             "lto_priv", "llvm",      "__uniq", "clone" };

	for (size_t i = 0; i < GG_COUNT(words); i++) {
		size_t length = strlen(words[i]);

		if (strncmp(suffix + 1, words[i], length) == 0 &&
		    (suffix[1 + length] == '.' || suffix[1 + length] == '\0'))
			return true;
	}
	return false;
}

/* Returns the length of a plain name without its clone suffixes and its symbol version. */
static size_t plain_length(const char *name)
{
	/*
	 * A version follows an at sign.  An at sign in front belongs to a name of another language.
	 */
	size_t length = strlen(name), at = name[0] != '\0' ? 1 + strcspn(name + 1, "@") : 0;

	if (at < length)
		length = at;
	for (size_t i = 1; i < length; i++)
		if (name[i] == '.' && is_clone_suffix(name + i))
			return i;
	return length;
}

void gg_demangle(const char *linkage_name, struct gg_buf *full, struct gg_buf *short_name)
{
	gg_buf_clear(full);
	gg_buf_clear(short_name);
	if (strnlen(linkage_name, GG_DEMANGLE_NAME_MAX + 1) > GG_DEMANGLE_NAME_MAX ||
	    !demangle(linkage_name, full, short_name)) {
		gg_buf_clear(full);
		gg_buf_append_text(full, linkage_name);
	}
	if (short_name->length == 0)
		gg_buf_append(short_name, linkage_name, plain_length(linkage_name));
}
