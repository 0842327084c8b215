/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fast_exit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"

static int skips_destructors;

void gg_fast_exit_enable(void)
{
	gg_store_relaxed(&skips_destructors, 1); /* main() joins threads before it ends */
}

int gg_fast_exit(int status)
{
	if (gg_load_relaxed(&skips_destructors) == 0)
		return status;
	fflush(NULL);
	_exit(status);
}
