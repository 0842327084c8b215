/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pinned_cells - the blocks of looks, in groups that the page cannot tell apart, from which
 * the page estimates pinned memory.
 *
 * The size of a block does not tell how much it keeps, so these groups are no classes of samples
 * (page_classes.h): each has sums of its own.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"
#include "page/page_tree.h"

/* Fills run->looks, which stay empty if no look saw the memory around blocks. */
GG_MUST_CHECK int gg_page_pinned_find(struct gg_page_run *run);
void gg_page_pinned_done(struct gg_page_run *run);

/*
 * Writes "pinned_looks".  If there are more groups than `cell_limit` cells leave room for, they are
 * groups by node alone.  0: no limit.
 */
GG_MUST_CHECK int gg_page_pinned_cells_write(struct gg_page_run *run,
                                             const struct gg_page_tree *tree, size_t cell_limit,
                                             struct gg_json *json);
