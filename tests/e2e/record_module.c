/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice, with another size and another place of the call: what the tests load and unload. */
#include <stdlib.h>

void *allocate_here(void);

static void *(*volatile call_malloc)(size_t) = malloc;

__attribute__((visibility("default"))) void *allocate_here(void)
{
	void *p;

#if MODULE_BYTES > 2000
	__asm__ volatile(".fill 64, 1, 0x90"); /* nops */
#endif
	p = call_malloc(MODULE_BYTES);
	__asm__ volatile("" : "+r"(p)); /* no tail call */
	return p;
}
