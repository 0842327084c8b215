/* SPDX-License-Identifier: Apache-2.0 */
/*
 * difference - the law of gg_difference_of() as docs/ESTIMATION.md states it, word for word and
 * slow: each side's interval by the functions of interval.h, and the p-value by halving.
 */
#pragma once

#include "stats/estimate/compare.h"

struct gg_difference reference_difference(const struct gg_tally *before,
                                          const struct gg_tally *after, enum gg_quantity quantity,
                                          double scale, double confidence);
