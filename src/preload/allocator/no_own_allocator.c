/* SPDX-License-Identifier: Apache-2.0 */
/* no_own_allocator - the agent has no allocator of its own, and uses the one that it finds. */
#include <stddef.h>

#include "runtime/platform/real_functions.h"

void gg_real_replace(struct gg_real *real)
{
	(void)real;
}

const char *gg_real_other_allocator(void)
{
	return NULL;
}
