/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_age - finds the median age of the live blocks of each row.
 *
 *   double *ages_ns;
 *
 *   if (gg_live_ages_find(model, result, now_ns, &ages_ns, error) == 0)
 *           ... ages_ns[i] belongs to result->rows[i] ...
 *   free(ages_ns);
 *
 * Half of the row's live bytes are at least that old.  The samples are weighted, so the median is
 * that of all blocks, and not of those that happened to be sampled.
 *
 * Cost      a sort of the live samples: 0.2 s for 1 M.
 * Threads   Any; it only reads the model.
 */
#pragma once

#include <stdint.h>

#include "query/query.h"

/*
 * The result must be one of the metric live; rows have the blocks that they allocated themselves.
 * A row without such a block, or without their times, has NAN.  The caller frees the array.
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_live_ages_find(const struct gg_model *model,
                                    const struct gg_query_result *result, int64_t now_ns,
                                    double **ret_ages_ns, struct gg_error *error);
