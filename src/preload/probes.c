/* SPDX-License-Identifier: Apache-2.0 */
/* probes - the semaphores and the probe sites. */
#include "preload/probes.h"

#if HAVE_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "base/compiler.h"
#include "stats/sampling/weight.h"

/* The macros expect these names, and tracers find the counters in this section. */
#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden"), used))

extern volatile unsigned short otel_memory_alloc_semaphore;
extern volatile unsigned short otel_memory_free_semaphore;
extern volatile unsigned short geiger_sample_semaphore;
SEMAPHORE volatile unsigned short otel_memory_alloc_semaphore;
SEMAPHORE volatile unsigned short otel_memory_free_semaphore;
SEMAPHORE volatile unsigned short geiger_sample_semaphore;

void gg_probe_alloc(const struct gg_allocation *sample, uint64_t id)
{
	if (gg_unlikely(otel_memory_alloc_semaphore)) {
		struct gg_weight weight = gg_weight_of(&sample->draw, sample->size_bytes);

		STAP_PROBE3(otel_memory, alloc, sample->address, sample->size_bytes,
		            (uint64_t)(weight.bytes + 0.5));
	}
	if (gg_unlikely(geiger_sample_semaphore))
		STAP_PROBE7(geiger, sample, sample->address, sample->size_bytes, id, sample->stack,
		            sample->type, sample->draw.offset_bytes, sample->usable_bytes);
}

void gg_probe_free(void *p)
{
	if (gg_unlikely(otel_memory_free_semaphore))
		STAP_PROBE1(otel_memory, free, p);
}

#else /* systemtap's header is not installed, as for a cross compiler */

void gg_probe_alloc(const struct gg_allocation *sample, uint64_t id)
{
	(void)sample;
	(void)id;
}

void gg_probe_free(void *p)
{
	(void)p;
}

#endif
