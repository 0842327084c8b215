/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distinct_names - makes short names that distinguish functions of one short name.
 *
 *   create<...>, full names "Apple* create<Apple>()" and "Pear* create<Pear>()"
 *                    -> create<Apple>, create<Pear>
 *   f, "f(int)" and "f(double)"
 *                    -> f(int), f(double)
 *   helper, the same full name in a.c and in b.c
 *                    -> helper [a.c], helper [b.c]
 *
 * A short name is the full name without its return type and arguments, and with template arguments
 * as "<...>".  If a short name stands for several functions, the arguments that differ are put
 * back, in these forms: template arguments without their own arguments
 * ("create<std::vector<...>>"), then with those, then whole; then the call's arguments in the same
 * three forms; then the full name.  Each function gets the first form that no other function has.
 *
 * Cost     Each form of each name is written at most once, until all names differ.
 * Threads  Any; there is no state.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

struct gg_distinct_name {
	const char *full_name; /* interned: equal names are one pointer */
	const char *file;      /* distinguishes functions of one full name; NULL: unknown */
	struct gg_buf text;    /* the result; the caller frees it */
};

/*
 * Writes the text of each name.  All names have the given short name; no two have the same full
 * name and the same file.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_distinct_names(const char *short_name, struct gg_distinct_name *names,
                                    size_t count);
