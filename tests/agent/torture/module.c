/* SPDX-License-Identifier: Apache-2.0 */
/* module - is loaded and unloaded while its code is on stacks of samples. */
#include <stdlib.h>

#include "agent/torture/torture.h"

__attribute__((visibility("default"))) torture_module_call torture_call;

static void *held;

__attribute__((constructor)) static void construct(void)
{
	held = malloc(500 + MODULE_NUMBER);
}

__attribute__((destructor)) static void destruct(void)
{
	free(held);
}

__attribute__((noinline)) static unsigned char *deeper(unsigned char *(*callback)(void *),
                                                       void *argument, int depth)
{
	void *volatile here = malloc(60);
	unsigned char *result = depth == 0 ? callback(argument)
	                                   : deeper(callback, argument, depth - 1);

	free(here);
	return result;
}

unsigned char *torture_call(unsigned char *(*callback)(void *), void *argument)
{
	return deeper(callback, argument, MODULE_NUMBER);
}
