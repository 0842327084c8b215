/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize - finds the factor for the earlier of two profiles, to compare runs of different
 * lengths.
 *
 *   gg_normalize_find(before, after, &query, "time", "diff: --normalize", &scale, error);
 *
 * Cost      "allocated" needs one sum over each profile; the others need none.
 * Threads   Any; it only reads the models.
 */
#pragma once

#include "query/query.h"

/*
 * normalize: "time" (the ratio of the durations), "allocated" (the ratio of all allocated bytes), a
 * number, or NULL, which means 1.  query: selects the processes; its focus and metric do not
 * matter. place: the name of the option in errors.  -EINVAL: an unknown measure, or no ratio above
 * 0.
 */
GG_MUST_CHECK int gg_normalize_find(const struct gg_model *before, const struct gg_model *after,
                                    const struct gg_query *query, const char *normalize,
                                    const char *place, double *ret_scale, struct gg_error *error);
