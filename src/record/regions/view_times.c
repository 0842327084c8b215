/* SPDX-License-Identifier: Apache-2.0 */
#include "record/regions/view_times.h"

#include <string.h>

#include "base/assert.h"
#include "profile/records.h"

void gg_view_times_add(struct gg_view_times *times, int64_t view_ns)
{
	gg_assert(times->count == 0 || times->items[times->count - 1] <= view_ns);
	if (times->count == GG_VIEW_TIMES_MAX) {
		times->count--;
		memmove(times->items, times->items + 1, times->count * sizeof(*times->items));
	}
	times->items[times->count++] = view_ns;
}

int64_t gg_view_times_before(const struct gg_view_times *times, int64_t length_ns)
{
	size_t last;

	if (times->count < 2)
		return GG_TIME_NONE;
	last = times->count - 1;
	for (size_t i = last; i-- > 0;)
		if (times->items[i] <= times->items[last] - length_ns)
			return times->items[i];
	return times->items[0];
}
