/* SPDX-License-Identifier: Apache-2.0 */
/* exposure - the coarsest sampling interval that allocations of this process were exposed to. */
#include "runtime/exposure.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "runtime/process.h"

static uint64_t coarsest_interval, coarsest_of_threads; /* so far */

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

	if (header != NULL)
		raise_to(&header->counters[GG_COUNT_COARSEST_INTERVAL],
		         gg_load_relaxed(&coarsest_interval));
}

void gg_exposure_begin(void)
{
	gg_store_relaxed(&coarsest_interval, gg_load_relaxed(&coarsest_of_threads));
}

void gg_exposure_note(uint64_t interval_bytes)
{
	if (raise_to(&coarsest_interval, interval_bytes))
		gg_exposure_publish();
}

void gg_exposure_note_thread(uint64_t interval_bytes)
{
	raise_to(&coarsest_of_threads, interval_bytes);
	gg_exposure_note(interval_bytes);
}
