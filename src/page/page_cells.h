/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cells - the samples, in groups that the page cannot tell apart.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"
#include "page/page_tree.h"

/*
 * Writes "kinds", "classes", "cells" and "held".  Returns -E2BIG, and writes nothing, if
 * there are more than cell_limit cells (0: no limit).
 */
GG_MUST_CHECK int gg_page_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree,
                                      size_t cell_limit, struct gg_json *json);
