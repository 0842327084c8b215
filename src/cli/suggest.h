/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest - finds the known name that is nearest to a mistyped one.
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
	const char *name; /* the best name so far; NULL: no name is near */
	size_t distance;
};

/*
 * Offers a known name.  It becomes the suggestion if it is nearer than the earlier names and if at
 * most a third of the longer name differs.  A typed text that begins the name is always near
 * enough.  The distance counts insertions, deletions, replacements and swaps of neighbors (Damerau
 * 1964).
 */
void gg_suggest(struct gg_suggestion *nearest, const char *typed, const char *known);
