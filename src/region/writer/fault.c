/* SPDX-License-Identifier: Apache-2.0 */
/* fault - adds memory errors of the program, which are few. */
#include <string.h>

#include "region/writer/space.h"

bool gg_region_add_fault(struct gg_region *region, const struct gg_region_fault *fault)
{
	struct gg_region_fault *place;
	uint32_t index;

	gg_region_count(region, GG_COUNT_FAULTS, 1);
	index = gg_region_space_take(region, GG_TABLE_FAULTS);
	if (index == GG_INDEX_NONE)
		return false;
	place = gg_region_at(region, GG_TABLE_FAULTS, index);
	memcpy((uint8_t *)place + sizeof(place->ready),
	       (const uint8_t *)fault + sizeof(fault->ready),
	       sizeof(*fault) - sizeof(fault->ready));
	/* Release: a reader that sees 1 sees the rest. */
	gg_store_release(&place->ready, 1);
	return true;
}
