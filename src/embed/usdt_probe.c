/* SPDX-License-Identifier: Apache-2.0 */
/* usdt_probe - the semaphore and the probe site. */
#include "embed/usdt_probe.h"

#if HAVE_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "base/compiler.h"

/* Named by the macro; in a section that tracers know, counted up by them. */
extern volatile unsigned short geiger_allocation_sampled_semaphore;
__attribute__((section(".probes"), visibility("hidden"),
               used)) volatile unsigned short geiger_allocation_sampled_semaphore;

bool gg_embed_probe_is_on(void)
{
	return gg_unlikely(geiger_allocation_sampled_semaphore != 0);
}

void gg_embed_probe(const char *heap, const char *type, size_t bytes, size_t offset,
                    uint64_t interval_bytes, const uint64_t *stack)
{
	STAP_PROBE6(geiger, allocation_sampled, heap, type, bytes, offset, interval_bytes, stack);
}

#else /* built where systemtap's header is not installed, such as by a cross compiler */

bool gg_embed_probe_is_on(void)
{
	return false;
}

void gg_embed_probe(const char *heap, const char *type, size_t bytes, size_t offset,
                    uint64_t interval_bytes, const uint64_t *stack)
{
	(void)heap;
	(void)type;
	(void)bytes;
	(void)offset;
	(void)interval_bytes;
	(void)stack;
}

#endif
