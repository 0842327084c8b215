/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_names - mallctl()'s names, and the numbers that stand for them.
 *
 * A name is parts divided by dots; "*" in a table is a part that the caller fills with a number.  A name's
 * numbers (MIB), one a part, are those of the first entry of the sorted table that begins like it; a
 * filled-in number is itself.  The first one has GG_CTL_NAMES_TAG added, which tells our numbers from a
 * jemalloc's, whose own are small.
 *
 * As with jemalloc, a name may be cut short to fewer parts: its numbers are good to fill others in
 * behind them; and a MIB's number may be exchanged for another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GG_CTL_NAMES_TAG ((size_t)0x67670000)

enum { GG_CTL_NAMES_DEPTH = 5, GG_CTL_NAMES_NONE = -1 };

/* An entry of the caller's table; sorted by name. */
struct gg_ctl_name {
	const char *name;
	/* How many numbers "*" may be; NULL: the name has none.  0: it is not there at all. */
	size_t (*count)(void);
};

struct gg_ctl_names {
	const void *entries;
	size_t count, entry_bytes; /* struct gg_ctl_name is at the start of each */
};

/*
 * The entry of a name, or of the first *depth parts of it, whose numbers go to mib; *depth becomes
 * as many as there are.  GG_CTL_NAMES_NONE: there is none; then, if ret_is_known, the name is the
 * beginning of one.
 */
int gg_ctl_names_find(const struct gg_ctl_names *names, const char *name, size_t *mib,
                      size_t *depth, bool *ret_is_known);

/* The entry that a whole MIB stands for, or GG_CTL_NAMES_NONE. */
int gg_ctl_names_of(const struct gg_ctl_names *names, const size_t *mib, size_t depth);
