/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate - checks that the private state of a region and its file agree, for tests.
 *
 *   const char *fault = gg_region_validate(&region);
 *
 *   CHECK_MSG(fault == NULL, "%s", fault);
 *
 * It covers the private live table and its mirror, the address index, the filter, the stack of free
 * records, the site totals, the redo log, and the trie of stacks.  It compares sums over all
 * stacks; with a view, gg_region_view_check() compares them for each stack.
 *
 * Threads   one, while no thread is in a call: a state in the middle of an operation is not valid.
 */
#pragma once

#include "region/writer/region.h"

/* NULL, or the first invariant that does not hold, as a sentence. */
const char *gg_region_validate(const struct gg_region *region);
