/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_hint - says which packages or options would name the functions that have no name.
 *
 *   in git and libsqlite3.so.0: install git-dbgsym and libsqlite3-0-dbgsym (Debian's debug
 *   archive), or set DEBUGINFOD_URLS
 *
 * The modules with the most bytes of functions without a name come first: bytes that these
 * functions allocated, then bytes that were allocated below them.
 *
 * Cost  a pass over samples and stacks, and the look-up of packages (symbol/package/).  So call it
 *       where the hint is printed.
 */
#pragma once

#include "base/buf.h"
#include "model/model.h"

enum { GG_SYMBOL_HINT_MODULES_MAX = 3 };

struct gg_symbol_hint_modules {
	uint32_t modules[GG_SYMBOL_HINT_MODULES_MAX];
	size_t count;
};

/*
 * Finds the modules whose functions without a name have the most bytes.  Fewer than 2 % of all
 * bytes do not count, except that the first module is there in any case.  Code in no module is left
 * out.
 */
struct gg_symbol_hint_modules gg_symbol_hint_rank(const struct gg_model *model);

/*
 * Appends the hint.  `root` is the system's root folder for the look-up of packages; NULL is "/".
 * Appends nothing if no module has functions without a name.
 */
void gg_symbol_hint_append(const struct gg_model *model, const char *root, struct gg_buf *out);
