/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize - what the earlier of two profiles is multiplied by, so that runs of other lengths can be compared.
 *
 *   gg_normalize_find(before, after, &query, "time", "diff: --normalize", &scale, error);
 *
 * Cost      "allocated" asks for one sum of each profile, the others for nothing.
 * Threads   any; the models are only read.
 */
#pragma once

#include "query/query.h"

/*
 * normalize: "time" (the ratio of the durations), "allocated" (of the bytes allocated in all), a number, or NULL:
 * 1.  query: which process; its focus and metric do not matter.  place: what refused values are said of.
 * -EINVAL: no such measure, or no ratio above 0.
 */
GG_MUST_CHECK int gg_normalize_find(const struct gg_model *before, const struct gg_model *after,
                                    const struct gg_query *query, const char *normalize,
                                    const char *place, double *ret_scale, struct gg_error *error);
