/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_names - mallctl()'s names, and the numbers that stand for them.
 *
 * A name consists of parts, separated by dots.  A part "*" in the table stands for a number, which
 * the caller fills in.  A name's MIB has one number for each part:
 *
 *   - for "*", the number that the caller filled in
 *   - for any other part, the index of the first entry of the sorted table that has this part and
 *     all parts before it
 *
 * The first number has GG_CTL_NAMES_TAG added.  It distinguishes our MIBs from those of a jemalloc
 * underneath, whose numbers are small.
 *
 * As with jemalloc, a caller may ask for the MIB of a name's first parts and append numbers to it,
 * and it may replace a number that stands for "*".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GG_CTL_NAMES_TAG ((size_t)0x67670000)

enum { GG_CTL_NAMES_DEPTH = 5, GG_CTL_NAMES_NONE = -1 };

/* An entry of the caller's table, which is sorted by name. */
struct gg_ctl_name {
	const char *name;
	/*
	 * Returns how many values the number has: it is below the count.  With a count of 0 the
	 * name does not exist.  NULL: the name has no "*".
	 */
	size_t (*count)(void);
};

struct gg_ctl_names {
	const void *entries;
	size_t count, entry_bytes; /* struct gg_ctl_name is at the start of each */
};

/*
 * Finds the entry of a name, and writes the numbers of the name's first *depth parts to mib.
 * *depth becomes the count of these numbers if the name has fewer parts.  Returns GG_CTL_NAMES_NONE
 * if no entry has exactly this name, or if the name has more than *depth parts.  Sets *ret_is_known
 * if the table has a name that begins with these parts: then mib is valid in any case.
 */
int gg_ctl_names_find(const struct gg_ctl_names *names, const char *name, size_t *mib,
                      size_t *depth, bool *ret_is_known);

/* Finds the entry of a MIB that stands for a whole name; GG_CTL_NAMES_NONE: it does not. */
int gg_ctl_names_of(const struct gg_ctl_names *names, const size_t *mib, size_t depth);
