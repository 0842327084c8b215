/* SPDX-License-Identifier: Apache-2.0 */
/* suggest - finds the nearest known name by edit distance. */
#include "cli/suggest.h"

#include <string.h>

enum { NAME_MAX_LENGTH = 63 }; /* of longer names, only the first 63 bytes count */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Computes the edit distance row by row. now[j] is the distance between the first i letters of a
 * and the first j of b.  The rows `before` and `before_that` belong to one and to two letters fewer
 * of a.
 */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][NAME_MAX_LENGTH + 1];
	size_t *now = rows[0], *before = rows[1], *before_that = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		now[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *oldest = before_that;

		before_that = before;
		before = now;
		now = oldest;
		now[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t replaced = before[j - 1] + (a[i - 1] != b[j - 1]);

			now[j] = min3(before[j] + 1, now[j - 1] + 1, replaced);
			/*
			 * The last two letters are the same in the other order: one swap instead of
			 * two replacements.
			 */
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before_that[j - 2] + 1 < now[j])
				now[j] = before_that[j - 2] + 1;
		}
	}
	return now[b_length];
}

void gg_suggest(struct gg_suggestion *nearest, const char *typed, const char *known)
{
	size_t typed_length = strnlen(typed, NAME_MAX_LENGTH);
	size_t known_length = strnlen(known, NAME_MAX_LENGTH);
	size_t longer = typed_length > known_length ? typed_length : known_length;
	size_t distance = edit_distance(typed, typed_length, known, known_length);

	if (typed_length == 0)
		return;
	/*
	 * A typed text that begins the name needs many insertions, but it is the likeliest
	 * abbreviation of it.
	 */
	if (3 * distance > longer && strncmp(typed, known, typed_length) != 0)
		return;
	if (nearest->name == NULL || distance < nearest->distance)
		*nearest = (struct gg_suggestion){ known, distance };
}
