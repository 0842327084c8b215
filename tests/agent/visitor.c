/* SPDX-License-Identifier: Apache-2.0 */
/* visitor - a library that a test loads and unloads while it allocates through it. */
#include <stdlib.h>

void *visitor_allocate(size_t bytes);
void *visitor_allocate(size_t bytes)
{
	return malloc(bytes);
}

void visitor_release(void *p);
void visitor_release(void *p)
{
	free(p);
}
