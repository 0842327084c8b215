/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_pinned_values - finds what blocks keep, as reports do, for the functions gg_pinned_...() of
 * `geiger sql`.
 *
 *   struct gg_sql_pinned_values values = { 0 };
 *
 *   if (gg_sql_pinned_values_find(&values, profile, question, error) < 0)
 *           return error->status;
 *   status = gg_sql_query_new_pinned(&query, profile, question, &values.source, error);
 *   gg_sql_pinned_values_done(&values);
 *
 * Ends of confidence intervals need all blocks of the looks and the sampling of all processes.  So
 * the profile is loaded as for a report, but only for a question that names such a function.
 */
#pragma once

#include "base/map.h"
#include "profile/sql_query.h"
#include "query/pinned.h"

/* The blocks of the looks at one moment. */
struct gg_sql_pinned_moment {
	struct gg_pinned pinned;
	struct gg_pinned_scope scope;
	struct gg_map numbers; /* of blocks, by the id of their samples in the file */
};

struct gg_sql_pinned_values {
	struct gg_model *model; /* NULL: the question needs no values */
	struct gg_sql_pinned_moment last, peak;
	struct gg_sql_pinned source; /* refers to this struct, which must not move */
};

/* Finds nothing if the question does not name the functions.  -ENOMEM, or an error of reading. */
GG_MUST_CHECK int gg_sql_pinned_values_find(struct gg_sql_pinned_values *values,
                                            struct gg_profile *profile, const char *question,
                                            struct gg_error *error);
void gg_sql_pinned_values_done(struct gg_sql_pinned_values *values);
