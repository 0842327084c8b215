/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery - turns the p-values of rows into q-values (stats/estimate/compare.h), for rows of any
 * type.
 *
 *   row->q_value = row->difference.p_value;              of each row
 *   status = gg_discovery_run(&rows[0].q_value, sizeof(rows[0]), row_count);
 *   row->is_significant = row->q_value <= false_discovery_rate;
 *
 * Threads   Any; one owner of the rows at a time.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/*
 * first: the p-value of the first row; the next one lies stride_bytes behind it.  NaN stays NaN.
 * 0 or -ENOMEM; then the values are as they were.
 */
GG_MUST_CHECK int gg_discovery_run(double *first, size_t stride_bytes, size_t count);
