/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distinct_names - names for people that tell functions of one short name apart.
 *
 *   create<...>, full names "Apple* create<Apple>()" and "Pear* create<Pear>()"
 *                    -> create<Apple>, create<Pear>
 *   f, "f(int)" and "f(double)"
 *                    -> f(int), f(double)
 *   helper, the same full name in a.c and in b.c
 *                    -> helper [a.c], helper [b.c]
 *
 * A short name is its full name without return type and arguments, template arguments being "<...>".
 * Where it stands for several functions, those of its arguments come back that differ: first template
 * arguments without their own arguments ("create<std::vector<...>>"), then with those, then whole ones, then
 * the arguments of the call in the same way, then the full name.  A function gets the first of these forms that no other one has.
 *
 * Cost     each form of each name is written once, until all differ.
 * Threads  any; no state.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

struct gg_distinct_name {
	const char *full_name; /* equal ones are one pointer */
	const char *file;      /* tells functions of one full name apart; NULL: nothing does */
	struct gg_buf text;    /* the result; the caller frees it */
};

/*
 * Fills in the text of each name.  All have that short name; no two have both the same full name and
 * the same file.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_distinct_names(const char *short_name, struct gg_distinct_name *names,
                                    size_t count);
