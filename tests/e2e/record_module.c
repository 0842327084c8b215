/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice, with another size, but the same code otherwise: what the tests load and unload. */
#include <stdlib.h>

void *allocate_here(void);

static void *(*volatile call_malloc)(size_t) = malloc;

__attribute__((visibility("default"))) void *allocate_here(void)
{
	void *p = call_malloc(MODULE_BYTES);

	__asm__ volatile("" : "+r"(p)); /* no tail call */
	return p;
}
