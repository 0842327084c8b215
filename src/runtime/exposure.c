/* SPDX-License-Identifier: Apache-2.0 */
/* exposure - the coarsest sampling interval that allocations of this process were exposed to. */
#include "runtime/exposure.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "region/control.h"
#include "runtime/process.h"

static uint64_t coarsest_interval, was_off; /* so far */

/* True if that changed the word. */
static bool raise_to(uint64_t *word, uint64_t value)
{
	uint64_t seen = gg_load_relaxed(word);

	while (value > seen)
		if (gg_cas_acq_rel(word, &seen, value))
			return true;
	return false;
}

void gg_exposure_publish(void)
{
	struct gg_region_header *header = gg_process.region.header;

	if (header == NULL)
		return;
	raise_to(&header->counters[GG_COUNT_COARSEST_INTERVAL],
	         gg_load_relaxed(&coarsest_interval));
	raise_to(&header->counters[GG_COUNT_WAS_OFF], gg_load_relaxed(&was_off));
}

void gg_exposure_begin(void)
{
	gg_store_relaxed(&coarsest_interval, 0);
	gg_store_relaxed(&was_off, 0);
}

void gg_exposure_note(uint64_t interval_bytes)
{
	/* Exact counts are exposed to no interval, whatever the settings are. */
	if (gg_process.options.exact)
		return;
	if (interval_bytes > GG_REGION_INTERVAL_MAX)
		interval_bytes = GG_REGION_INTERVAL_MAX;
	if (raise_to(&coarsest_interval, interval_bytes))
		gg_exposure_publish();
}

void gg_exposure_note_off(void)
{
	if (raise_to(&was_off, 1))
		gg_exposure_publish();
}
