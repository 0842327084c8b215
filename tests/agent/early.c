/* SPDX-License-Identifier: Apache-2.0 */
/* early - is a library that allocates in its constructor, which runs before the agent's. */
#include <stdlib.h>

void *early_block;

__attribute__((constructor)) static void allocate(void)
{
	early_block = malloc(7654321);
}
