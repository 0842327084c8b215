/* SPDX-License-Identifier: Apache-2.0 */
/* usdt_probe - defines the probe's semaphore and its only site. */
#include "embed/usdt_probe.h"

#if HAVE_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "base/compiler.h"

/*
 * The semaphore counts the attached tracers, which change it themselves.  They find it in the
 * section .probes, and the macro STAP_PROBE6 requires its name.
 */
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

#else /* systemtap's header is not installed, as is common with cross compilers */

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
