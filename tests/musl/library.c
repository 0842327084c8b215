/* SPDX-License-Identifier: Apache-2.0 */
/* library - allocates in its constructor and in a function (tests/musl/program.c). */
#include <stdlib.h>

void in_library(void);

static void *volatile kept;

__attribute__((noinline)) static void allocate(int count)
{
	for (int i = 0; i < count; i++)
		kept = malloc(100);
}

__attribute__((constructor, noinline)) static void in_constructor(void)
{
	allocate(1000);
}

void in_library(void)
{
	allocate(1000);
}
