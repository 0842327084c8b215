/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/names/demangle.h"

#include <stdlib.h>
#include <string.h>

#if HAVE_CXA_DEMANGLE
/* <cxxabi.h> is for C++ alone; this is what it declares. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

static char *demangle_cxx(const char *linkage_name)
{
	int status;

	if (strncmp(linkage_name, "_Z", 2) != 0)
		return NULL;
	return __cxa_demangle(linkage_name, NULL, NULL, &status);
}
#else
static char *demangle_cxx(const char *linkage_name)
{
	(void)linkage_name;
	return NULL;
}
#endif

/* What compilers append to the name of a function that they made from another one. */
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

/* Length of a plain name without clone suffixes and its symbol version. */
static size_t plain_length(const char *name)
{
	/* A version follows an at sign; one in front is a name of some other language. */
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
	char *cxx = NULL;

	gg_buf_clear(full);
	gg_buf_clear(short_name);
	if (strnlen(linkage_name, GG_DEMANGLE_NAME_MAX + 1) <= GG_DEMANGLE_NAME_MAX) {
		if ((gg_demangle_rust_v0(linkage_name, GG_NAME_FULL, full) &&
		     gg_demangle_rust_v0(linkage_name, GG_NAME_SHORT, short_name)) ||
		    (gg_demangle_rust_legacy(linkage_name, GG_NAME_FULL, full) &&
		     gg_demangle_rust_legacy(linkage_name, GG_NAME_SHORT, short_name)))
			return;
		cxx = demangle_cxx(linkage_name);
	}
	gg_buf_clear(full);
	gg_buf_clear(short_name);
	if (cxx != NULL && strnlen(cxx, GG_DEMANGLE_TEXT_MAX + 1) <= GG_DEMANGLE_TEXT_MAX) {
		gg_buf_append_text(full, cxx);
		gg_shorten_cxx(cxx, short_name);
	} else {
		gg_buf_append_text(full, linkage_name);
	}
	free(cxx);
	if (short_name->length == 0)
		gg_buf_append(short_name, linkage_name, plain_length(linkage_name));
}
