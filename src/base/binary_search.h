/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary_search - finds the first index of a sorted array at which a condition no longer holds.
 *
 *   size_t at = gg_lower_bound(0, count, i, times_ns[i] < wanted_ns);
 *
 *   if (at < count && times_ns[at] == wanted_ns)
 *           ...
 *
 * The condition must hold for the first indices of [first, end) and for no later one. The result is
 * the first index for which it does not hold, or `end`. `<` finds the first item that equals the
 * wanted one or follows it; `<=` finds the first item that follows it.
 *
 * Cost  The macro evaluates the condition at most 1 + log2(end - first) times.
 */
#pragma once

#include <stddef.h>

#define gg_lower_bound(first, end, index, is_before)                    \
	({                                                              \
		size_t low_ = (first), high_ = (end);                   \
                                                                        \
		while (low_ < high_) {                                  \
			const size_t index = low_ + (high_ - low_) / 2; \
                                                                        \
			if (is_before)                                  \
				low_ = index + 1;                       \
			else                                            \
				high_ = index;                          \
		}                                                       \
		low_;                                                   \
	})
