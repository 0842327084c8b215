/* SPDX-License-Identifier: Apache-2.0 */
#include "query/normalize.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that were allocated in all. */
static int sum_allocated(const struct gg_model *model, const struct gg_query *query,
                         double *ret_bytes, struct gg_error *error)
{
	struct gg_query allocated = *query;
	struct gg_sum_up sum;
	int code;

	allocated.metric = GG_METRIC_ALLOCATED;
	allocated.focus = allocated.ignore = NULL;
	code = gg_query_sum(model, &allocated, &sum, error);
	if (code == 0)
		*ret_bytes = gg_tally_estimate(&sum.total, GG_BYTES).value;
	return code;
}

static int refuse(const char *place, const char *why, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, place,
	                    "Give time, allocated, or a number that 'before' is multiplied by.",
	                    "%s", why);
}

int gg_normalize_find(const struct gg_model *before, const struct gg_model *after,
                      const struct gg_query *query, const char *normalize, const char *place,
                      double *ret_scale, struct gg_error *error)
{
	double of_before = 1, of_after = 1;
	char *end;
	int code = 0;

	if (normalize == NULL) {
		*ret_scale = 1;
		return 0;
	}
	if (strcmp(normalize, "time") == 0) {
		of_before = (double)gg_model_end_ns(before);
		of_after = (double)gg_model_end_ns(after);
	} else if (strcmp(normalize, "allocated") == 0) {
		code = sum_allocated(before, query, &of_before, error);
		if (code == 0)
			code = sum_allocated(after, query, &of_after, error);
		if (code < 0)
			return code;
	} else {
		of_after = strtod(normalize, &end);
		if (end == normalize || *end != '\0')
			return refuse(place, "is no such measure", error);
	}
	if (!(of_before > 0) || !(of_after > 0) || !isfinite(of_after / of_before))
		return refuse(place, "has no ratio above 0 in these profiles", error);
	*ret_scale = of_after / of_before;
	return 0;
}
