/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest - the known name that a mistyped one was probably meant to be.
 *
 *   struct gg_suggestion nearest = { 0 };
 *   for (each known name)
 *           gg_suggest(&nearest, typed, name);
 *   if (nearest.name != NULL)
 *           printf("did you mean %s?\n", nearest.name);
 */
#pragma once

#include <stddef.h>

struct gg_suggestion {
	const char *name; /* the best so far; NULL: none is near */
	size_t distance;
};

/*
 * Offers a known name.  It is taken if it is nearer than those before it and near at all: at most
 * half of the longer name differs.  Distance: insertions, deletions, replacements and swaps of
 * neighbours (Damerau 1964), or the letters missing where the typed text begins the name.
 */
void gg_suggest(struct gg_suggestion *nearest, const char *typed, const char *known);
