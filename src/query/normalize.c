/* SPDX-License-Identifier: Apache-2.0 */
/* normalize - see normalize.h. */
#include "query/normalize.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bytes that the selected processes allocated in total. */
static int sum_allocated(const struct gg_model *model, const struct gg_query *query,
                         double *ret_bytes, struct gg_error *error)
{
	struct gg_query allocated = *query;
	struct gg_sum_up sum;
	int status;

	allocated.metric = GG_METRIC_ALLOCATED;
	allocated.focus = allocated.ignore = NULL;
	status = gg_query_sum(model, &allocated, &sum, error);
	if (status == 0)
		*ret_bytes = gg_tally_estimate(&sum.total, GG_BYTES).value;
	return status;
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
	int status = 0;

	if (normalize == NULL) {
		*ret_scale = 1;
		return 0;
	}
	if (strcmp(normalize, "time") == 0) {
		of_before = (double)before->end_ns;
		of_after = (double)after->end_ns;
	} else if (strcmp(normalize, "allocated") == 0) {
		status = sum_allocated(before, query, &of_before, error);
		if (status == 0)
			status = sum_allocated(after, query, &of_after, error);
		if (status < 0)
			return status;
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
